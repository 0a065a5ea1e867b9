"""No output replaces an input, on any verb, by whatever name."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.inputs import MODEL_FILES, InputFacts, InputFile, InputModel
from reshuffle.cli.main import build_parser, main
from reshuffle.cli.outputs import OutputDirectory, OutputFile
from reshuffle.learning import model_files
from reshuffle.rulelist.model_text import FILE

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

# Every verb with an output, with each of its inputs: what is written, and what it must not be.
FILES = {
    "infer": [
        ("infer {it} facts.tsv -o {out}", "it.rules"),
        ("infer my.rules {it} -o {out}", "it.tsv"),
        ("infer my.rules {it} --count -o {out}", "it.tsv"),
        ("infer model facts.tsv -o {out}", "model/settings.toml"),
        ("infer model facts.tsv -o {out}", "model/model.safetensors"),
    ],
    "compile": [("compile {it} -o {out}", "it.rules")],
    "draw": [("draw {it} -o {out}", "it.dot")],
    "explain": [
        ("explain {it} facts.tsv ada bornIn london -o {out}", "it.json"),
        ("explain my.rules {it} ada bornIn london -o {out}", "it.json"),
        ("explain model facts.tsv ada bornIn london -o {out}", "model/settings.toml"),
    ],
    "rules": [
        ("rules {it} -o {out}", "it.html"),
        ("rules model --on {it} -o {out}", "it.html"),
    ],
    "predict": [
        ("predict model {it} --all -o {out}", "it.tsv"),
        ("predict model facts.tsv --all -o {out}", "model/injected.rules"),
    ],
    "evaluate": [
        ("evaluate types --facts {it} --queries facts.tsv --save-negatives {out}", "it.tsv"),
        ("evaluate types --facts facts.tsv --queries {it} --save-negatives {out}", "it.tsv"),
        (
            "evaluate types --facts facts.tsv --queries facts.tsv --known {it} --save-negatives {out}",
            "it.tsv",
        ),
        (
            "evaluate types --facts facts.tsv --queries facts.tsv --train {it} --save-negatives {out}",
            "it.tsv",
        ),
        ("evaluate types --benchmark families --negatives {it} --save-negatives {out}", "it.parquet"),
        ("evaluate model --benchmark families --save-negatives {out}", "model/settings.toml"),
        ("evaluate types --facts {it} --queries facts.tsv -o {out}", "it.html"),
    ],
    "train": [
        ("train {it} -o {out}", "it.tsv"),
        ("train {it} -o {out} --resume", "it.tsv"),
        ("train facts.tsv -o {out} --valid {it}", "it.tsv"),
        ("train facts.tsv -o {out} --config {it}", "settings.toml"),
        ("train facts.tsv -o {out} --inject {it}", "injected.rules"),
        ("train facts.tsv -o {out} --recipe rules --rules {it}", "my.rules"),
    ],
    "data": [("data show {it} --bad-rows skip --report {out}", "it.csv")],
    "serve": [
        ("serve {it} facts.tsv --bad-rows skip --report {out}", "it.rules"),
        ("serve my.rules {it} --bad-rows skip --report {out}", "it.csv"),
    ],
    "check": [
        ("check {it} facts.tsv --bad-rows skip --report {out}", "it.rules"),
        ("check my.rules {it} --bad-rows skip --report {out}", "it.csv"),
    ],
    "distil": [
        ("distil model --on {it} -o {out}", "it.tsv"),
        ("distil {it} --on facts.tsv -o {out}", "model.rules"),
    ],
}
CASES = [(line, name) for cases in FILES.values() for line, name in cases]
CONTENT = b"ada\tbornIn\tlondon\n"


def writers() -> dict[str, list[argparse.Action]]:
    """The verbs that write, with all their arguments."""
    (verbs,) = (action for action in build_parser()._actions if isinstance(action.choices, dict))
    found = {name: verb._actions for name, verb in verbs.choices.items()}
    return {
        name: actions
        for name, actions in found.items()
        if any(action.type in (OutputFile, OutputDirectory) for action in actions)
    }


def test_every_verb_that_writes_is_tested() -> None:
    assert set(writers()) == set(FILES)


PATHS = {
    "RULES",
    "FACTS",
    "FACTS_OR_BENCHMARK",
    "MODEL",
    "SCORER",
    "FILE",
    "FILE.toml",
    "DIR",
    "OUT",
    "RULES.html",
    "REPORT.html",
    "F",
    "Q",
    "K",
}
NAMES = {"tail", "head", "relation", "sketch", "per_relation"}  # whose letters stand for something else


@pytest.mark.parametrize("verb", FILES)
def test_every_argument_that_is_a_path_says_so(verb: str) -> None:
    kinds = (InputFacts, InputFile, InputModel, OutputFile, OutputDirectory)
    paths = [action for action in writers()[verb] if action.metavar in PATHS and action.dest not in NAMES]
    assert len(paths) >= 2
    assert [action.dest for action in paths if action.type not in kinds] == []


def test_a_model_has_the_files_that_are_guarded() -> None:
    names = (model_files.ARRAYS, model_files.SETTINGS, model_files.INJECTED, model_files.INJECTED_RULES, FILE)
    assert names == MODEL_FILES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.tsv").write_bytes(CONTENT)
    (tmp_path / "my.rules").write_text("bornIn(X, Y) -> livesIn(X, Y)\n", encoding="utf-8")
    (tmp_path / "model").mkdir()
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


def same(name: str, kind: str, place: Path) -> str:
    """Another name of a file that is there."""
    path = place / name
    if kind == "relative":
        return f"elsewhere/../{name}"
    if kind == "absolute":
        return str(path)
    other = path.with_name(f"other{path.suffix}")
    other.symlink_to(path.name) if kind == "symbolic link" else os.link(path, other)
    return os.path.relpath(other, place)


@pytest.mark.parametrize("kind", ["itself", "relative", "absolute", "symbolic link", "hard link"])
@pytest.mark.parametrize(("line", "name"), CASES)
def test_an_output_that_is_an_input_is_refused(
    line: str, name: str, kind: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / name).write_bytes(CONTENT)
    is_directory = line.split(maxsplit=1)[0] in ("train", "distil")
    if is_directory:
        (place / "out").mkdir()
        (place / name).rename(place / "out" / name)
        name = f"out/{name}"
        if "link" in kind:  # the input lies elsewhere, and a name of it in the directory
            (place / name).rename(place / "input")
            (place / name).symlink_to(place / "input") if kind == "symbolic link" else os.link("input", name)
        given, out = {"symbolic link": "input", "hard link": "input"}.get(kind, name), "out"
        out = {"relative": "elsewhere/../out", "absolute": str(place / "out")}.get(kind, out)
        reason = f"the output directory holds the input '{given}', which could be replaced"
    else:
        given = name if "{it}" in line else "model"
        out = name if kind == "itself" else same(name, kind, place)
        reason = f"the output would replace the input '{given}'"
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert main(line.format(it=given, out=out).split()) == 2
    assert capsys.readouterr().err == f"{out}: {reason}\n  hint: name another output\n"
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_what_comes_by_stdin_is_an_input(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("facts.tsv", encoding="utf-8") as facts:  # noqa: PTH123 - as a shell opens it
        monkeypatch.setattr(sys, "stdin", facts)
        assert main(["infer", "my.rules", "-", "-o", "facts.tsv"]) == 2
    assert "the output would replace the input '-'" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONTENT)))
    assert main(["infer", "my.rules", "-", "-o", "out.tsv"]) == 0


def test_other_outputs_are_written_as_before(place: Path) -> None:
    assert main(["infer", "my.rules", "facts.tsv", "-o", "model/derived.tsv"]) == 0
    assert main(["infer", "my.rules", "facts.tsv", "-o", "model/derived.tsv"]) == 0
    assert main(["compile", "my.rules", "-o", os.devnull]) == 0


def test_a_directory_may_have_the_name_of_a_benchmark(place: Path) -> None:
    settings = ("max_epochs=1", "epoch_steps=1", "num_slots=2", "rules_weight=0")
    quick = [word for setting in settings for word in ("--set", setting)]
    (place / "families").mkdir()
    assert main(["train", "families", "-o", "families", *quick]) == 0
    assert (place / "families" / "model.safetensors").exists()


def test_a_dash_is_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.rules").write_text("p(X, Y) -> q(X, Y)\n")
    (tmp_path / "facts.tsv").write_text("a\tp\tb\n")
    assert main(["infer", "my.rules", "facts.tsv", "-o", "-"]) == 2
    assert capsys.readouterr().err.startswith("found '-' as the output, expected a name\n")
    assert not (tmp_path / "-").exists()
