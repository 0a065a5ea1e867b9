"""The attack itself: it runs, finds planted defects of each kind, makes them small, and passes on this version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.attack.__main__ import attack, main, shrunk
from benchmarks.attack.ontologies import broken, closed
from benchmarks.attack.registry import PARTS
from benchmarks.attack.rule_lists import _LINES
from benchmarks.attack.worker import Worker, outcome
from planted import found, plant

import reshuffle.cli.main
import reshuffle.cli.verbs.compile
from reshuffle.reasoning.chase.answers import ChaseAnswers
from reshuffle.rulelist import model_text
from reshuffle.rules.formats.ontology import RDFS
from reshuffle.rules.ontologies import rdf_axioms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg import Triple

CASES = {
    "readers": 8,
    "directories": 1,
    "rules": 8,
    "peers": 8,
    "updates": 8,
    "ontologies": 4,
    "constants": 6,
    "what-if": 3,
    "requests": 4,
    "slow-connections": 1,
    "links": 6,
    "bombs": 1,
    "rule-lists": 30,
    "copies": 10,
    "kills": 1,
}
"""How many of each are run here; all of them with `make test-slow`."""
RULES = {"rules": ["r0(X, Y) & r1(Y, Z) -> r2(X, Z)"], "facts": [["a", "r0", "b"], ["b", "r1", "c"]]}


def test_every_part_is_tried() -> None:
    assert list(CASES) == list(PARTS)


@pytest.mark.parametrize("part", CASES)
def test_a_few_cases_of_each_part(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seed", "1", "--minutes", "5", "--parts", part, "-o", str(tmp_path / "failures")]
    result = tmp_path / "result.json"
    assert main([*arguments, "--cases", str(CASES[part]), "--result", str(result)]) == 0
    told = capsys.readouterr().out
    assert "seed 1\n" in told
    stored = json.loads(result.read_text("utf-8"))
    if PARTS[part].missing() is None:
        assert f"{part}: {CASES[part]} cases, 0 failures" in told
        assert (stored["parts"][part]["cases"], stored["skipped"]) == (CASES[part], [])
    else:
        assert stored["skipped"] == [part]
    assert not (tmp_path / "failures").exists()


def test_time_is_shared_fairly(tmp_path: Path) -> None:
    """A part whose cases are slow does not keep the others from theirs."""
    tallies = attack(["rules", "copies"], seed=1, folder=tmp_path, seconds=15)
    assert tallies["rules"].cases > 2 * tallies["copies"].cases > 0
    assert tallies["rules"].seconds > tallies["copies"].seconds / 2


def test_a_failure_is_made_small_and_stored(tmp_path: Path) -> None:
    """A rule that cannot be read is no case of this part, so it fails like a wrong answer would."""
    case = {
        "rules": ["r0(X, Y) -> r1(X, Y)", "r1(X, Y) -> nonsense(", "r2(X, Y) -> r3(X, Y)"],
        "facts": [["a", "r0", "b"], ["b", "r1", "c"]],
    }
    worker = Worker()
    try:
        failure = worker.failure("rules", case)
        assert failure is not None
        small, why = shrunk(worker, "rules", case, failure)
    finally:
        worker.stop()
    assert small == {"rules": ["r1(X, Y) -> nonsense("], "facts": []}
    assert "InputError" in why
    stored = tmp_path / "case.json"
    stored.write_text(json.dumps({"part": "rules", "case": small}), encoding="utf-8")
    assert main(["--replay", str(stored)]) == 1


def test_a_failure_tells_how_to_see_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(monkeypatch, tmp_path, "import reshuffle.rules.entailment as at\nat.closure = lambda *_: set()\n")
    arguments = ["--seed", "1", "--parts", "rules", "--cases", "3", "-o", str(tmp_path / "failures")]
    assert main(arguments) == 1
    told = capsys.readouterr()
    again = "python -m benchmarks.attack --seed 1 --parts rules --first 0 --cases 1"
    assert again in told.err and f"--replay {tmp_path}/failures/rules-1-0.json" in told.err
    assert main([*arguments, "--first", "2", "--cases", "1"]) == 1
    assert (tmp_path / "failures" / "rules-1-2.json").exists()


# --- planted defects --------------------------------------------------------------------------------------------------


def _lose_a_triple(monkeypatch: pytest.MonkeyPatch) -> None:
    triples = ChaseAnswers.triples

    def fewer(self: ChaseAnswers) -> Iterator[Triple]:
        yield from list(triples(self))[1:]

    monkeypatch.setattr(ChaseAnswers, "triples", fewer)


def test_a_lost_triple_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome("rules", RULES).failure is None
    steps = [["add", "b", "r1", "d"]]
    ontology = {"axioms": [["sub class", "C0", "C1"]], "facts": [["e0", "type", "C0"]], "texts": []}
    _lose_a_triple(monkeypatch)
    assert "('a', 'r2', 'c')" in found("rules", RULES)
    assert "after add" in found("updates", {**RULES, "facts": RULES["facts"][:1], "steps": [*steps, *steps]})
    assert "chase: derived [('e0', 'type', 'C1')]" in found("ontologies", ontology)


def test_an_axiom_that_is_passed_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {
        "axioms": [["range", "p0", "C0"], ["domain", "p1", "C1"]],
        "facts": [["e0", "p0", "e1"]],
        "texts": [],
    }
    assert outcome("ontologies", case).counts["triples"] > 0
    monkeypatch.setitem(rdf_axioms._BY_PREDICATE, f"{RDFS}range", lambda *_: None)
    assert "derived [('e1', 'type', 'C0')] wrongly or not" in found("ontologies", case)


def test_an_error_of_a_foreign_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(arguments: list[str]) -> int:
        raise ValueError(arguments[0])

    monkeypatch.setattr(reshuffle.cli.main, "main", fails)
    assert "ValueError: infer" in found("readers", {"kind": "facts.tsv", "files": {}})
    assert "ValueError: rules" in found("directories", {"kind": "model", "files": {}})


def test_a_file_written_through_a_link_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [{"at": ".{out}.part", "kind": "link to a file", "within": "names"}]
    case = {"verb": "compile", "output": "out.json", "engine": "auto", "planted": planted, "open": False}
    assert outcome("links", case).failure is None
    run = reshuffle.cli.verbs.compile.run

    def aside(arguments: Any, console: Any) -> int:
        out = Path(arguments.output)
        out.with_name(f".{out.name}.part").write_text("half of it", encoding="utf-8")
        return run(arguments, console)

    monkeypatch.setattr(reshuffle.cli.verbs.compile, "run", aside)
    assert "these are changed: ['precious/keep.txt']" in found("links", case)


@pytest.mark.parametrize(
    ("defect", "what"),
    [
        ("raise ValueError('planted')", "Traceback"),
        ("kept = bytearray(3 << 30)", "more than"),
        ("while True: pass", "seconds of the processor"),
        ("import os; os.kill(os.getpid(), 11)", "status -11"),
    ],
)
def test_what_a_bomb_does_is_found(
    defect: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.attack.bombs.MOST_SECONDS", 15)
    case = {"bomb": "long rule", "size": 50, "command": "check FILE"}
    text = f"import reshuffle.cli.verbs.check as at\ndef run(*_):\n    {defect}\n    return 0\nat.run = run\n"
    plant(monkeypatch, tmp_path, text)
    assert what in found("bombs", case)


def test_a_number_that_is_written_as_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"edits": [], "mark": False, "asked": "ada"}
    assert outcome("rule-lists", case).counts["read"] == 1
    number = model_text._number
    monkeypatch.setattr(model_text, "_number", lambda value: number(round(value, 1)))
    assert "another model when it is written and read again" in found("rule-lists", case)


def test_a_line_that_is_passed_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    misspelt = {"kind": "misspell", "line": 0, "more": ["loops", "x"]}
    read = model_text.parse_rule_model

    def lenient(text: str, *, file: str = "<text>") -> Any:
        return read(
            "".join(line for line in text.splitlines(True) if not line.startswith("loopsx")), file=file
        )

    monkeypatch.setattr(model_text, "parse_rule_model", lenient)
    assert "read in spite of" in found("rule-lists", {"edits": [misspelt], "mark": False, "asked": "ada"})
    assert any(line.startswith("loops\t") for line in _LINES)


def test_a_copy_that_is_none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    step = ["copy", "add", "b", "r1", "d"]
    case = {**RULES, "answers": "chase", "way": "deepcopy", "asked_before": True, "steps": [step]}
    assert outcome("copies", case).counts["comparisons"] == 4
    monkeypatch.setattr(ChaseAnswers, "__deepcopy__", lambda self, _: self, raising=False)
    assert "deepcopy of chase: the original says what is not so" in found("copies", case)


def test_a_command_that_does_not_go_on_after_a_kill_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import reshuffle.cli.verbs.compile as at\ndef run(*_):\n    raise ValueError('planted')\nat.run = run\n"
    plant(monkeypatch, tmp_path, text)
    assert "compile rules.txt" in found("kills", {"verb": "compile", "after": 0.1})


# --- the oracle of ontologies -----------------------------------------------------------------------------------------


def test_the_oracle_follows_the_tables() -> None:
    facts = {("a", "p", "b"), ("b", "p", "c"), ("b", "type", "C")}
    axioms = [
        ["transitive", "p"], ["inverse", "p", "q"], ["chain", "s", "q", "q"], ["has value", "p", "c", "D"],
        ["sub class", "C", "E"], ["domain", "type", "Typed"], ["range", "d", "F"], ["domain", "d", "G"],
        ["sub property", "d", "d2"], ["domain", "d2", "H"], ["one of", "O", "z"],
    ]  # fmt: skip
    derived = closed(axioms, facts, {("a", "d", "1")}) - facts
    links = {("a", "p", "c"), ("b", "q", "a"), ("c", "q", "b"), ("c", "q", "a"), ("c", "s", "a")}
    types = {("a", "D"), ("b", "D"), ("b", "E"), ("a", "G"), ("a", "H"), ("z", "O")}
    typed = {(one, "Typed") for one in "abz"}
    assert derived == links | {(name, "type", cls) for name, cls in types | typed}
    pairs = broken([["disjoint classes", "C", "D"], ["disjoint properties", "p", "s"]], facts | derived)
    assert pairs == {frozenset({("b", "type", "C"), ("b", "type", "D")})}


@pytest.mark.slow
def test_the_attack_finds_nothing(tmp_path: Path) -> None:
    minutes = float(os.environ.get("RESHUFFLE_ATTACK_MINUTES", "10"))
    parts = [name for name, part in PARTS.items() if part.missing() is None]
    tallies = attack(parts, seed=int.from_bytes(os.urandom(3), "big"), folder=tmp_path, seconds=60 * minutes)
    failures = [path.read_text("utf-8") for tally in tallies.values() for path in tally.failures]
    assert not failures, "\n".join(failures)
