"""What the library does, written down: computes each recorded thing from the present code.

`python tests/recorded/recording.py` records anew what verbs say, what models score, and which proofs there are;
`--artefacts` also writes the models and compiled files in `files/` anew, which stand for those that users have.
Only the command line and the public names are used, so that everything behind them may move.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import math
import os
import platform
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numba
import numpy as np
import pyarrow.parquet as pq
import torch
from recorded_bases import random_base, random_questions
from recorded_calls import CALLS, Call

import reshuffle as rs
import reshuffle.progress
from reshuffle.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILES, INPUTS = HERE / "files", HERE / "inputs"
VERBS, SCORES, PROOFS, BENCH = (
    HERE / "verbs.json",
    HERE / "scores.json",
    HERE / "proofs.jsonl.gz",
    HERE / "bench.json",
)
DATA = ROOT.parent / "shared" / "datasets"

NUM_BASES = 40
QUESTIONS_PER_BASE = 25
ENGINES: dict[str, dict[str, Any]] = {
    "auto": {"engine": "geometry"},
    "bound": {"bound": 2},
    "chase": {"engine": "chase"},
}

# --- the machine: where it is the same, numbers are compared bit by bit -----------------------------------------


def machine() -> dict[str, Any]:
    """What the last bits of a number may depend on."""
    lines = _lines(Path("/proc/cpuinfo"))
    named = [line for line in lines if line.startswith(("model name", "flags"))][:2]
    return {
        "processor": hashlib.sha256("\n".join(sorted(named)).encode()).hexdigest()[:16]
        if named
        else "unknown",
        "architecture": platform.machine(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "threads": 1,
    }


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums in one order."""
    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        numba.set_num_threads(before[1])


# --- verbs ------------------------------------------------------------------------------------------------------


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Inside `folder`: `inputs/` and `files/` as recorded, and an empty `out/`."""
    (folder / "inputs").symlink_to(INPUTS)
    (folder / "files").symlink_to(FILES)
    (folder / "out").mkdir()
    before = Path.cwd()
    os.chdir(folder)
    # argparse fills lines to the width of the terminal, in colour where it can.
    with mock.patch.dict(os.environ, {"COLUMNS": "110", "LINES": "40", "NO_COLOR": "1"}):
        os.environ.pop("RESHUFFLE_DATA", None)
        os.environ.pop("FORCE_COLOR", None)
        try:
            yield folder
        finally:
            os.chdir(before)


def ran(call: Call) -> list[dict[str, Any]]:
    """Each step of a call, in the current workplace: arguments, exit status, and what was said and written."""
    for target, source in call.copies.items():
        shutil.copytree(source, target)
    return [_step(argv, call.stdin) for argv in call.steps]


def _step(argv: list[str], stdin: str) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    filled = [argument.replace("{root}", str(ROOT)) for argument in argv]
    # No progress: whether work is long enough for it depends on the machine, and on which kernels are compiled.
    silent = mock.patch.object(reshuffle.progress, "SHORT", math.inf)
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "stdin", given), silent:
        try:
            status: Any = main(filled)
        except SystemExit as end:  # of argparse
            status = end.code
    step = {"argv": argv, "status": status, "stdout": out.getvalue(), "stderr": err.getvalue()}
    step = {key: told(value) if isinstance(value, str) else value for key, value in step.items()}
    return step | {"written": _written()}


def told(text: str) -> str:
    """Without paths and times; a digest of what is too long to keep."""
    text = normalised(text)
    return text if len(text) < 20_000 else f"{text.count(chr(10))} lines, SHA-256 {_digest(text)}"


def normalised(text: str) -> str:
    """Without paths, times, argparse's usage lines, and the home of a module, which may move."""
    text = _USAGE.sub("usage: ...\n", text)
    text = re.sub(r"\breshuffle(\.\w+)+\.RULES\b", "{module}.RULES", text)
    for path, name in ((Path.cwd(), "{here}"), (DATA, "{data}"), (ROOT, "{root}")):
        text = text.replace(str(path), name)
    text = re.sub(r'("seconds": )[0-9.e-]+', r"\1{seconds}", text)
    return re.sub(r"(, seed \d+, )[0-9.,]+ s\b", r"\1{seconds}", text)


_USAGE = re.compile(r"^usage: .*\n(?: +.*\n)*", re.MULTILINE)


def _written() -> dict[str, Any]:
    """The files below `out/`: their text or rows; of what is neither, that it is there."""
    found = sorted(path for path in Path("out").rglob("*") if path.is_file())
    return {str(path): _content(path) for path in found if "tensorboard" not in path.parts}


def _content(path: Path) -> Any:
    if path.name == "log.csv":
        with path.open(newline="", encoding="utf-8") as file:
            return [row[:-1] for row in csv.reader(file)]  # the last column is the time
    if path.suffix == ".parquet":
        return told(json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False))
    if path.suffix == ".gz":
        return told(gzip.decompress(path.read_bytes()).decode())
    if path.suffix in {".safetensors", ".log", ".lock"}:
        return "..."
    if path.name == "list.rules":  # without the last digits; the settings hold a digest of all
        return told(_NUMBER.sub(_rounded, path.read_text(encoding="utf-8")))
    return told(path.read_text(encoding="utf-8"))


def differences(recorded: Any, present: Any, *, exact: bool, where: str = "") -> list[str]:
    """Where two records differ; unless `exact`, numbers may differ a little, also those in a text."""
    if isinstance(recorded, dict) and isinstance(present, dict) and recorded.keys() == present.keys():
        parts = [(f"{where}.{key}", recorded[key], present[key]) for key in recorded]
    elif isinstance(recorded, list) and isinstance(present, list) and len(recorded) == len(present):
        parts = [(f"{where}[{n}]", *pair) for n, pair in enumerate(zip(recorded, present, strict=True))]
    elif recorded == present or (not exact and _near(recorded, present)):
        return []
    else:
        return [f"{where}:\n--- recorded\n{_short(recorded)}\n--- now\n{_short(present)}"]
    return [found for name, old, new in parts for found in differences(old, new, exact=exact, where=name)]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 3000 else text[:3000] + " ..."


_NUMBER = re.compile(r"(-?0x[01]\.[0-9a-f]+p[+-]\d+|-?\d+\.\d+(?:e[+-]?\d+)?)")
_DIGEST_OF_NUMBERS = re.compile(r'^((?:arrays|digest|rules) = )"[0-9a-f]{64}"$', re.MULTILINE)


def _near(recorded: Any, present: Any) -> bool:
    """Is it the same text but for the last digits of numbers, and digests of them?

    Numbers in hexadecimal are floats in full.
    """
    if not isinstance(recorded, str) or not isinstance(present, str):
        return False
    old, new = (_NUMBER.split(_DIGEST_OF_NUMBERS.sub(r"\1...", text)) for text in (recorded, present))
    if len(old) != len(new) or old[::2] != new[::2]:
        return False
    return all(abs(_value(a) - _value(b)) <= _allowed(a) for a, b in zip(old[1::2], new[1::2], strict=True))


def _rounded(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 2) + 0.0:.2f}"


def _value(text: str) -> float:
    return float.fromhex(text) if "0x" in text else float(text)


def _allowed(text: str) -> float:
    digits = 12 if "0x" in text or "e" in text else len(text.partition(".")[2])
    return 1e-5 * abs(_value(text)) + 1e-7 + 1.1 * 10.0**-digits


def record_verbs() -> None:
    """What every call says."""
    found = {}
    for call in CALLS:
        with (
            tempfile.TemporaryDirectory() as name,
            workplace(Path(name).resolve()),
            one_thread(),
        ):
            found[call.name] = ran(call)
    _put(VERBS, {"machine": machine(), "calls": found})


def bench_rows() -> dict[str, str]:
    """Of every stored result of the repository a digest of what `bench report --json` says."""
    out = io.StringIO()
    folders = [
        "--results",
        str(ROOT / "benchmarks/results/paper"),
        "--settings",
        str(ROOT / "benchmarks/paper"),
    ]
    with redirect_stdout(out):
        assert main(["bench", "report", "--json", *folders]) == 0
    keys = ("dataset", "recipe", "variant", "seed", "protocol")
    return {
        " ".join(str(row[key]) for key in keys): _digest(json.dumps(row, sort_keys=True))[:16]
        for row in json.loads(out.getvalue())
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- models -----------------------------------------------------------------------------------------------------

_HEAD = {"num_slots": 4, "num_layers": 2, "epoch_steps": 4, "batch_size": 16, "look_every": 1}
_DRAWN = {
    "num_slots": 4,
    "num_channels": 6,
    "num_layers": 2,
    "num_negatives": 5,
    "batch_size": 32,
    "look_every": 1,
}

# Every kind of channel, evidence, row function, loss and drawing at least once.
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "best": ("best-0.1", _HEAD, None),
    "paper": ("paper", _DRAWN, None),
    "evidence": (
        "best-0.1",
        {
            **_HEAD,
            "evidence": ["unary", "proximity", "paths", "ways", "negative"],
            "num_hops": 3,
            "drop_facts": 0.2,
            "direct_facts": "against",
            "seed": 2,
        },
        None,
    ),
    "ways": ("best-0.1", {**_HEAD, "evidence": ["ways"], "evidence_prior": "equal", "identity": True}, None),
    "plain-head": ("paper", {**_DRAWN, "initial": "head", "identity": False, "hide_targets": True}, None),
    "official": ("paper", {**_DRAWN, "initial": "official", "identity": False, "redraw": "once"}, None),
    "continuous": ("paper", {**_DRAWN, "initial": "continuous", "bias": True, "redraw": "call"}, None),
    "shared": (
        "paper",
        {**_DRAWN, "initial": "shared", "evidence": ["unary", "negative"], "loss": "softmax"},
        None,
    ),
    "squared": ("paper", {**_DRAWN, "row_function": "square", "symmetric": ["sibling", "spouse"]}, None),
    "injected": ("best-0.1", _HEAD, "frozen"),
    "refined": ("paper", {**_DRAWN, "num_slots": 16}, "refine"),
}
PRIVATE = "private"
"""A model that was made of constraints, whose channels are private."""
MODELS = (*CONFIGURATIONS, PRIVATE)
UNFINISHED = ("best", "paper", "evidence", "injected", "refined")
EPOCHS, CUT, LONG = 2, 2, 4
"""Epochs of a stored model; of one that was cut off, when, and how many it was to have."""
_RULES = "inputs/family.rules"


def train_command(name: str, directory: str, *more: str, epochs: int = EPOCHS) -> list[str]:
    """How a stored model was trained."""
    recipe, settings, mode = CONFIGURATIONS[name]
    command = ["train", "inputs/facts.tsv", "-o", directory, "--valid", "inputs/valid.tsv", "--device", "cpu"]
    command += ["--recipe", recipe, *more]
    if mode is not None:
        command += ["--inject", _RULES, "--inject-mode", mode]
    for key, value in {**settings, "max_epochs": epochs}.items():
        command += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return command


def fitted(name: str, *, epochs: int, **more: Any) -> rs.Reshuffle:
    """The same training by the names of Python."""
    recipe, settings, mode = CONFIGURATIONS[name]
    inject = {} if mode is None else {"inject": _rules(), "inject_mode": mode}
    model = rs.Reshuffle(recipe=recipe, device="cpu", **{**settings, "max_epochs": epochs})
    return model.fit(_graph("facts"), valid=_graph("valid"), **inject, **more)


def _rules() -> rs.RuleBase:
    return rs.parse_rules((INPUTS / "family.rules").read_text(encoding="utf-8"))


def _graph(name: str) -> rs.KnowledgeGraph:
    return rs.KnowledgeGraph.read(INPUTS / f"{name}.tsv")


QUESTIONS: tuple[dict[str, str], ...] = (
    {"head": "Esther Birkenfall", "relation": "cousin"},
    {"head": "Mina Heathermoor", "relation": "parent"},
    {"tail": "Zoe Barleycroft", "relation": "grandparent"},
)
JUDGED = ("Esther Birkenfall", "parent", "Aaron Birkenfall")


def scores_of(model: rs.Reshuffle) -> dict[str, Any]:
    """Exact scores of all entities for some questions, before and after an update, and with private channels."""
    graph = _graph("facts")
    answers = model.on(graph)
    found: dict[str, Any] = {
        "summary": _exactly(model.summary()),
        "model": repr(model),
        "answers": repr(answers),
    }
    found["questions"] = [_ranked(answers, question) for question in QUESTIONS]
    found["judged"] = [_exactly(answers.judge(*JUDGED, side=side).to_dict()) for side in ("tail", "head")]
    answers.add(_graph("strange"))
    answers.remove([("Aaron Birkenfall", "sibling", "Rita Birkenfall")])
    found["updated"] = _ranked(answers, QUESTIONS[0], top=8)
    found["private"] = _ranked(model.on(graph, initial="private"), QUESTIONS[1], top=8)
    return found


def _ranked(answers: Any, question: dict[str, str], *, top: int = 1000) -> dict[str, Any]:
    """One list of exact numbers for each entity."""
    rows = answers.predict(**question, top=top, known="mark").to_dict()["predictions"]
    end = "tail" if "head" in question else "head"
    named = {row[end] if end in row else row["triple"][2 if end == "tail" else 0]: row for row in rows}
    return {name: _exactly({k: v for k, v in row.items() if k not in _NAMES}) for name, row in named.items()}


_NAMES = ("head", "relation", "tail", "triple")


def _exactly(value: Any) -> Any:
    """With every float in hexadecimal; lists and names stay."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {key: _exactly(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_exactly(part) for part in value]
    return value


def loaded_scores(name: str) -> dict[str, Any]:
    """Of a stored model."""
    return scores_of(rs.Reshuffle.load(FILES / name, device="cpu"))


def losses_of(name: str) -> dict[str, Any]:
    """The epochs of a new training, five of them, and some scores after it."""
    model = fitted(name, epochs=5)
    assert model.history is not None
    epochs = [[epoch.number, epoch.loss, epoch.hits_at_10, epoch.mrr] for epoch in model.history.epochs]
    ranked = _ranked(model.on(_graph("facts")), QUESTIONS[0], top=5)
    return {"epochs": _exactly(epochs), "best_epoch": model.history.best_epoch, "ranked": ranked}


def resumed_scores(name: str) -> dict[str, Any]:
    """In the current workplace: finishes the training that was cut off, and scores."""
    directory = f"out/unfinished-{name}"
    shutil.copytree(FILES / f"unfinished-{name}", directory)
    with redirect_stdout(io.StringIO()):
        assert main(train_command(name, directory, "--resume", epochs=LONG)) == 0
    return {
        "log": _content(Path(directory) / "log.csv"),
        **scores_of(rs.Reshuffle.load(directory, device="cpu")),
    }


def compiled_answers(name: str) -> dict[str, Any]:
    """What a compiled file derives, by the verb that takes it."""
    facts = "counting.tsv" if name == "counting.json" else "facts.tsv"
    out = io.StringIO()
    with redirect_stdout(out):
        status = main(["infer", str(FILES / name), str(INPUTS / facts), "--json"])
    return {"status": status, "triples": json.loads(out.getvalue())}


COMPILED = {"family.json": [], "ancestors.json": [], "counting.json": ["--bound", "4"], "meeting.json": []}


def record_scores() -> None:
    """Of the stored models and of new trainings."""
    found: dict[str, Any] = {"machine": machine()}
    with one_thread():
        found["models"] = {name: loaded_scores(name) for name in MODELS}
        found["trainings"] = {name: losses_of(name) for name in CONFIGURATIONS}
        found["resumed"] = {}
        for name in UNFINISHED:
            with tempfile.TemporaryDirectory() as folder, workplace(Path(folder).resolve()):
                found["resumed"][name] = resumed_scores(name)
        found["compiled"] = {name: compiled_answers(name) for name in COMPILED}
    _put(SCORES, found)


# --- proofs -----------------------------------------------------------------------------------------------------


def proofs_of(base: dict[str, Any]) -> dict[str, Any]:
    """By every engine that can: what follows, how, what does not, and what follows after facts come and go."""
    return {name: _proved(base, options) for name, options in ENGINES.items()}


def _proved(base: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    facts = [tuple(fact) for fact in base["facts"]]
    try:
        answers = rs.Reasoner(rs.parse_rules(base["rules"]), **options).on(rs.KnowledgeGraph(facts))
    except rs.NotExpressibleError as error:
        return {"error": str(error)}
    found: dict[str, Any] = {
        "answers": repr(answers),
        "exactness": answers.exactness,
        "count": answers.count(),
        "triples": _digest(json.dumps(sorted(answers.triples()))),
        "proofs": [_told(answers, question) for question in base["questions"]],
        "violations": [str(violation) for violation in answers.violations()],
    }
    answers.add([tuple(fact) for fact in base["more"]])
    found["added"] = _digest(json.dumps(sorted(answers.triples())))
    answers.remove(facts[:: max(1, len(facts) // 5)])
    found["removed"] = _digest(json.dumps(sorted(answers.triples())))
    return found


def _told(answers: Any, question: list[str]) -> str:
    """The proof; how near it comes where there is none; or that a name is unknown."""
    try:
        proof = answers.explain(*question)
        if proof:
            return f"{proof}\n{len(answers.proofs(*question, most=4))}"
        return "\n".join(["no", *(str(partial) for partial in answers.why_not(*question))])
    except rs.ReshuffleError as error:
        return f"{type(error).__name__}: {error}"


def record_proofs() -> None:
    """Of random rule bases; the bases themselves are recorded with them."""
    lines = []
    for number in range(NUM_BASES):
        base = random_base(number)
        reasoner = rs.Reasoner(rs.parse_rules(base["rules"]), engine="chase")
        follows = reasoner.on(rs.KnowledgeGraph([tuple(fact) for fact in base["facts"]])).triples()
        base["questions"] = random_questions(number, base["facts"], sorted(follows), most=QUESTIONS_PER_BASE)
        lines.append(json.dumps({"base": base, "found": proofs_of(base)}, ensure_ascii=False))
    PROOFS.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def recorded_proofs() -> list[dict[str, Any]]:
    """As they were recorded."""
    return [json.loads(line) for line in gzip.decompress(PROOFS.read_bytes()).decode().split("\n")]


# --- artefacts --------------------------------------------------------------------------------------------------

_KEPT = ("model.safetensors", "settings.toml", "injected.json", "injected.rules")
_KEPT_UNFINISHED = ("checkpoint.safetensors", "log.csv")


def write_artefacts(*, anew: bool) -> None:
    """Compiled files, models, and trainings that were cut off; those that are there stay, unless `anew`."""
    FILES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, workplace(Path(folder).resolve()), one_thread():
        for name, options in COMPILED.items():
            if _wanted(name, anew):
                rules = f"inputs/{name.removesuffix('.json')}.rules"
                assert main(["compile", rules, "-o", str(FILES / name), *options]) == 0
        for name in CONFIGURATIONS:
            if _wanted(name, anew):
                assert main(train_command(name, f"out/{name}")) == 0
                _keep(Path("out") / name, name, _KEPT)
            if name in UNFINISHED and _wanted(f"unfinished-{name}", anew):
                _cut_off(name)
        if _wanted(PRIVATE, anew):
            constraints = rs.Reshuffle.load(FILES / "best", device="cpu").harden()
            rs.Reshuffle.from_constraints(constraints, num_layers=3, device="cpu").save(FILES / PRIVATE)


def _wanted(name: str, anew: bool) -> bool:
    return anew or not (FILES / name).exists()


def _keep(source: Path, name: str, kept: tuple[str, ...]) -> None:
    target = FILES / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in kept:
        if (source / file).exists():
            shutil.copy(source / file, target / file)


def _cut_off(name: str) -> None:
    def interrupt(epoch: Any) -> None:
        if epoch.number == CUT:
            raise KeyboardInterrupt

    source = Path("out") / f"unfinished-{name}"
    try:
        fitted(name, epochs=LONG, directory=source, after_epoch=interrupt)
    except KeyboardInterrupt:
        _keep(source, source.name, _KEPT_UNFINISHED)
    else:
        raise AssertionError("the training was not cut off")


def _put(path: Path, data: dict[str, Any]) -> None:
    path.write_text(_laid_out(data, depth=2) + "\n", encoding="utf-8")


def _laid_out(data: Any, *, depth: int) -> str:
    """JSON with a line for each entry down to a depth, so that a change shows where it is."""
    if not depth or not isinstance(data, dict):
        return json.dumps(data, ensure_ascii=False)
    parts = [
        f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(data[key], depth=depth - 1)}" for key in data
    ]
    return "{\n" + ",\n".join(parts) + "\n}"


def record() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artefacts", action="store_true", help="write files/ anew, too")
    parser.add_argument("--only", choices=["verbs", "scores", "proofs", "bench"], action="append")
    options = parser.parse_args()
    write_artefacts(anew=options.artefacts)
    parts = {
        "verbs": record_verbs,
        "scores": record_scores,
        "proofs": record_proofs,
        "bench": lambda: _put(BENCH, bench_rows()),
    }
    for name in options.only or parts:
        parts[name]()


if __name__ == "__main__":
    record()
