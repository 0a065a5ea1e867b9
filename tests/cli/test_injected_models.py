"""Models that rules were injected into: every verb that reasons goes by both blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main
from reshuffle.kg import KnowledgeGraph
from reshuffle.rules import parse_rules
from reshuffle.rules.entailment import closure

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch")

RULES = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> mayVote(X, Z)")  # no fact speaks of the head
FACTS = KnowledgeGraph(
    [(f"p{n}", "bornIn", f"c{n % 4}") for n in range(12)]
    + [(f"p{n}", "livesIn", f"c{n % 3}") for n in range(12)]
    + [(f"c{n}", "cityIn", f"s{n % 2}") for n in range(4)]
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    from reshuffle.learning.estimator import Reshuffle

    folder: Path = tmp_path_factory.mktemp("injected")
    model = Reshuffle(num_slots=4, num_layers=2, epoch_steps=2, max_epochs=1, device="cpu")
    model.fit(FACTS, inject=RULES).save(folder / "model")
    FACTS.write(str(folder / "facts.tsv"))
    return [str(folder / "model"), str(folder / "facts.tsv")]


@pytest.fixture(scope="module")
def entailed() -> set[tuple[str, str, str]]:
    return set(closure(RULES, FACTS)) - set(FACTS)


def test_infer_lists_what_injected_rules_entail_each_once_and_sorted(files, entailed, capsys):
    assert main(["infer", *files]) == 0
    told = capsys.readouterr()
    lines = [tuple(line.split("\t")) for line in told.out.splitlines()]
    assert lines == sorted(set(lines))
    assert len(entailed) == 12
    assert entailed <= set(lines)
    assert "and with 1 injected rule" in told.err

    from reshuffle.learning.estimator import Reshuffle

    answers = Reshuffle.load(files[0], device="cpu").on(FACTS)  # are a collection of the same triples
    assert (
        sorted(answers.triples()) == lines
        and len(answers) == len(lines)
        and all(map(answers.__contains__, entailed))
    )
    assert all(fact not in answers and answers.holds(*fact) for fact in FACTS)

    assert main(["infer", *files, "--count", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    for relation in ("bornIn", "livesIn", "cityIn", "mayVote"):
        derived = sum(line[1] == relation for line in lines)
        facts = sum(fact[1] == relation for fact in FACTS)
        assert counts[relation] == {"derived": derived, "total": derived + facts}


def test_explain_hard_proves_by_the_injected_rule(files, entailed, capsys):
    triple = min(entailed)
    assert main(["explain", *files, *triple, "--hard"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("by injected rules:")
    assert "bornIn(X, Y) & cityIn(Y, Z) -> mayVote(X, Z)" in out
    # What they do not derive is a matter of what was learned, and a fact is no derivation.
    main(["explain", *files, "p0", "bornIn", "c0", "--hard"])
    assert "injected rules:" not in capsys.readouterr().out


def test_predict_shows_the_proof_before_what_was_learned(files, capsys):
    assert main(["predict", *files, "--head", "p1", "--relation", "mayVote", "--top", "1"]) == 0
    first = capsys.readouterr().out.split("\n1. ")[1].splitlines()
    assert first[:2] == ["p1 mayVote s1", "by injected rules:"]
    assert "[bornIn(X, Y) & cityIn(Y, Z) -> mayVote(X, Z)]" in first[2]
    assert main(["predict", *files, "--head", "p1", "--relation", "mayVote", "--top", "1", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["predictions"][0]
    assert [proof["triple"] for proof in row["proofs"]] == [["p1", "mayVote", "s1"]]


def test_rules_says_where_the_injected_ones_are(files, capsys):
    assert main(["rules", files[0], "--on", files[1]]) == 0
    told = capsys.readouterr()
    assert f"1 injected rule beside what was learned: {files[0]}/injected.rules" in told.err


def test_infer_says_why_nothing_follows(tmp_path, files, capsys):
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.rulegraphs import constraints_for

    constraints = constraints_for(parse_rules("parent(X, Y) -> ancestor(X, Y)"))
    Reshuffle.from_constraints(constraints, device="cpu").save(tmp_path / "model")
    facts = tmp_path / "facts.tsv"
    facts.write_text("ann\tancestor\tbob\n")
    for more in ([], ["--count"], ["-o", str(tmp_path / "out.tsv")]):
        assert main(["infer", str(tmp_path / "model"), str(facts), *more]) == 0
        told = "nothing follows from the hardened matrices; `reshuffle predict` ranks by the soft ones"
        assert told in capsys.readouterr().err
    facts.write_text("ann\tparent\tbob\n")
    assert main(["infer", str(tmp_path / "model"), str(facts)]) == 0
    assert "nothing follows" not in capsys.readouterr().err
