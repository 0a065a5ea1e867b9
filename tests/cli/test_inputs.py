"""The data that verbs are given by name: files that are not there, files without triples, names that are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch")
FACTS = "".join(f"p{n}\tknows\tp{n + 1}\n" for n in range(30))
SMALL = ["--set", "num_slots=2", "--set", "max_epochs=1", "--set", "epoch_steps=1", "--device", "cpu"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.tsv").write_text(FACTS)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("facts", "; did you mean 'facts.tsv'?"),
        ("famly", "; did you mean 'family' or 'families'?"),
        ("zzz", ""),
    ],
)
def test_a_name_of_nothing(name: str, meant: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", name, "-o", "model"]) == 2
    assert capsys.readouterr().err == (
        f"there is no file '{name}' and no benchmark of that name{meant}\n"
        "  hint: give a file of triples, or a name that `reshuffle data list` shows\n"
    )


def test_no_validation_triples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "none.tsv").touch()
    assert main(["train", "facts.tsv", "--valid", "none.tsv", "-o", "model", *SMALL]) == 0
    told = capsys.readouterr().err
    assert "none.tsv: no triples\n" in told
    assert "3 of the facts are held out instead" in told


@pytest.mark.parametrize("verb", ["train", "rules", "evaluate", "predict", "explain"])
def test_no_verb_takes_relations_named_like_inverses(
    verb: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "weird.tsv").write_text("a\tknows\tb\nb\tknows^-1\ta\n")
    if verb != "train":
        assert main(["-q", "train", "facts.tsv", "-o", "model", *SMALL]) == 0
    arguments = {
        "train": ["weird.tsv", "-o", "model"],
        "rules": ["model", "--on", "weird.tsv"],
        "evaluate": ["model", "--facts", "weird.tsv", "--queries", "facts.tsv"],
        "predict": ["model", "weird.tsv", "--all"],
        "explain": ["model", "weird.tsv", "a", "knows", "b"],
    }
    capsys.readouterr()
    assert main([verb, *arguments[verb]]) == 2
    assert "weird.tsv:2: found the relation 'knows^-1'" in capsys.readouterr().err
