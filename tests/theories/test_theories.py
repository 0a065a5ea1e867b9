"""One interface for all that answers."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reshuffle as rs
from reshuffle.data.families import families
from reshuffle.errors import InputError
from reshuffle.reasoning.joined_answers import JoinedAnswers
from reshuffle.rulegraphs import constraints_for
from reshuffle.rulelist import save_rule_model
from reshuffle.rules.entailment import closure
from reshuffle.theories import Reasoning, Theory
from reshuffle.theories.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

RULES = "8\t6\t0.75\tbornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\ncitizenOf(X, Y) -> knows(X, Y)\n"
FACTS = [
    ("ada", "bornIn", "london"),
    ("london", "cityIn", "uk"),
    ("bob", "bornIn", "london"),
    ("bob", "knows", "ada"),
]
MORE = [("cleo", "bornIn", "london")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path of each kind."""
    made = tmp_path_factory.mktemp("theories")
    (made / "my.rules").write_text(RULES)
    base = rs.parse_rules(RULES)
    constraints_for(base).save(made / "compiled.json")
    save_rule_model(rs.RuleModel.from_rules(base), made / "list")
    if TORCH:
        constraints = constraints_for(base)
        rs.Reshuffle.from_constraints(constraints, device="cpu").save(made / "network")
    return made


TORCH = find_spec("torch") is not None
PATHS = {"my.rules": "rules", "compiled.json": "constraints", "list": "rule model"}
PATHS |= {"network": "soft model"} if TORCH else {}


@pytest.mark.parametrize(("name", "kind"), PATHS.items())
def test_every_path_is_the_theory_that_it_holds(folder: Path, name: str, kind: str) -> None:
    theory = rs.load(folder / name)
    assert isinstance(theory, Theory) and theory.kind == kind
    assert {"bornIn", "cityIn", "citizenOf", "knows"} <= set(theory.relations)


def test_there_is_a_path_of_every_kind() -> None:
    with_tests_of_their_own = {"ontology_files"}
    assert len(PATHS) == len(KINDS.keys() - with_tests_of_their_own) - (not TORCH)


@pytest.mark.parametrize("name", PATHS)
def test_what_is_certain_is_the_same_question_for_all(folder: Path, name: str) -> None:
    theory = rs.load(folder / name)
    answers = theory.certain(least=0.7 if name == "list" else None).on(FACTS)
    derived = {
        ("ada", "citizenOf", "uk"),
        ("bob", "citizenOf", "uk"),
        ("ada", "knows", "uk"),
        ("bob", "knows", "uk"),
    }
    assert set(answers.triples()) == set(answers) == derived
    assert answers.holds("ada", "citizenOf", "uk") and not answers.holds("uk", "citizenOf", "ada")
    assert list(answers.tails("ada", "citizenOf")) == ["uk"]
    assert set(answers.heads("citizenOf", "uk")) == {"ada", "bob"}
    assert answers.count() == len(derived) and answers.counts()["knows"].total == 3
    assert answers.proofs("ada", "citizenOf", "uk")
    assert list(answers.sorted_triples()) == sorted(derived)


@pytest.mark.parametrize("name", PATHS)
def test_facts_come_and_go(folder: Path, name: str) -> None:
    answers = rs.load(folder / name).certain(least=0.7 if name == "list" else None).on(FACTS)
    answers.add(MORE)
    assert answers.holds("cleo", "citizenOf", "uk") and ("cleo", "bornIn", "london") in answers.facts
    answers.remove(MORE)
    assert set(answers.facts) == set(FACTS)
    assert answers.count() == 4


@pytest.mark.parametrize("name", [name for name in PATHS if name != "compiled.json"])
def test_what_ranks_predicts_and_keeps_up_with_facts(folder: Path, name: str) -> None:
    answers = rs.load(folder / name).on(FACTS)
    assert answers.predict(head="ada", relation="citizenOf", top=1)[0].triple.tail == "uk"
    assert answers.count() >= 0  # both parts are there now
    answers.add(MORE)
    assert answers.predict(head="cleo", relation="citizenOf", top=1)[0].triple.tail == "uk"
    one = np.array([answers.graph.entities.id("ada")], dtype=np.int32)
    relation = np.array([answers.graph.relations.id("citizenOf")], dtype=np.int32)
    scores = answers.scores(one, relation, side="tail", candidates=None)
    assert answers.graph.entities[int(scores[0].argmax())] == "uk"


def test_what_cannot_score_says_so_in_one_place(folder: Path) -> None:
    answers = rs.load(folder / "compiled.json").on(FACTS)
    asked: list[Any] = [
        lambda: answers.predict(head="ada", relation="knows"),
        answers.missing,
        lambda: answers.type_baseline,
        lambda: answers.graph,
    ]
    for ask in asked:
        with pytest.raises(InputError, match="constraints have no scores"):
            ask()


def test_explanations_are_proofs_or_sums(folder: Path) -> None:
    proof = rs.load(folder / "my.rules").on(FACTS).explain("ada", "citizenOf", "uk")
    assert proof and "bornIn(ada, london)" in str(proof)
    assert "+" in str(rs.load(folder / "list").on(FACTS).explain("ada", "citizenOf", "uk"))


def test_edited_is_another_theory(folder: Path) -> None:
    (new,) = rs.parse_rules("bornIn(X, Y) -> knows(X, Y)").rules
    for name in ("my.rules", "list"):
        theory = rs.load(folder / name)
        assert theory.rules is not None
        struck = theory.rules.rules[1]
        after = theory.edited(without=[struck], written=[new])
        assert after.rules is not None and set(after.rules.rules) == {theory.rules.rules[0], new}
        assert len(theory.rules.rules) == 2
    for name in PATHS.keys() - {"my.rules", "list"}:
        with pytest.raises(InputError, match=name):
            rs.load(folder / name).edited(without=[struck])


def test_a_least_confidence_is_for_rules(folder: Path) -> None:
    assert rs.load(folder / "my.rules").certain(least=0.9).on(FACTS).count() == 0
    for name in PATHS.keys() - {"my.rules", "list"}:
        with pytest.raises(InputError, match="--min-confidence is for rules"):
            rs.load(folder / name).certain(least=0.9)


def test_injected_rules_and_matrices_entail_together(tmp_path: Path) -> None:
    """What both derive is there once, and a proof by a written rule comes first."""
    pytest.importorskip("torch")
    rules = rs.parse_rules("a(X, Y) -> b(X, Y)\na(X, Y) & a(Y, Z) -> c(X, Z)")
    facts = [(f"n{place}", "a", f"n{place + 1}") for place in range(6)]
    model = rs.Reshuffle(num_slots=4, num_layers=2, epoch_steps=2, max_epochs=1, device="cpu")
    model.fit([*facts, ("n0", "b", "n1"), ("n0", "c", "n2")], inject=rules).save(tmp_path / "model")
    answers = rs.load(tmp_path / "model").certain().on(facts)
    entailed = rs.load(tmp_path / "model").certain().entailed(answers.facts, Reasoning())
    assert isinstance(entailed, JoinedAnswers) and len(entailed.each) == 2
    derived = [*answers.triples()]
    assert len(derived) == len(set(derived)) == answers.count() and {*closure(rules, facts)} - {*facts} <= {
        *derived
    }
    assert list(answers.sorted_triples()) == sorted(derived)
    assert answers.proofs("n0", "b", "n1")[0].rule in rules.rules
    answers.add([("n6", "a", "n7")])
    assert answers.holds("n5", "c", "n7") and "n7" in answers.tails("n5", "c")


def test_how_to_reason_is_said_once(folder: Path) -> None:
    answers = rs.load(folder / "my.rules").on(FACTS, how=Reasoning(engine="chase"))
    assert "chase" in answers.exactness


def test_a_path_with_nothing_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        rs.load(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        rs.load(tmp_path / "empty")


def test_facts_among_rules_are_kept(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text('b(X, Y) :- a(X, Y).\na("x", "y").\n')
    assert rs.load(tmp_path / "p.dl").facts == (("x", "a", "y"),)


def test_rules_load_no_torch(folder: Path) -> None:
    script = f"import sys, reshuffle as rs; rs.load({str(folder / 'my.rules')!r}); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_learned_list_loads(tmp_path: Path) -> None:
    benchmark = families().benchmark
    save_rule_model(rs.learn_rules(benchmark.train), tmp_path / "rules")
    answers = rs.load(tmp_path / "rules").on(benchmark.test.facts)
    assert len(answers.predict(head=benchmark.test.facts.entities[0])) > 0
