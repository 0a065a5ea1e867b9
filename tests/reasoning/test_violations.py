"""Broken disjointness constraints: all of them, in every engine, whichever way their atoms run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import fact_lists, regular_bases, relation_names

from reshuffle.cli.main import main
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.reasoning import Reasoner
from reshuffle.rules import Disjointness, RuleBase, parse_rules
from reshuffle.rules.entailment import closure

ENGINES = ["auto", "bound", "chase", "sketch"]
BASE = "s(X, Y) -> u(X, Y)\n"


def answers_of(engine: str, rules: RuleBase, facts: KnowledgeGraph):
    if engine == "sketch":
        return Reasoner(rules).sketch(facts, channels=64)
    return Reasoner(rules, bound=3 if engine == "bound" else None, engine=engine.replace("bound", "auto")).on(
        facts
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("atom", ["t(X, Y)", "t(Y, X)"])
@pytest.mark.parametrize("order", ["{} & u(X, Y)", "u(X, Y) & {}"])
def test_a_constraint_may_name_a_relation_without_facts(engine: str, atom: str, order: str):
    rules = parse_rules(f"{BASE}{order.format(atom)} -> false")
    answers = answers_of(engine, rules, KnowledgeGraph([("a", "s", "b")]))
    assert list(answers.violations()) == []
    assert not answers.holds("b", "t", "a")
    assert set(answers.counts()) == {"s", "t", "u"}
    answers.add([("b", "t", "a")])
    assert len(list(answers.violations())) == (atom == "t(Y, X)")


@given(
    regular_bases(),
    fact_lists(),
    st.lists(st.builds(Disjointness, relation_names(5, inverses=True), relation_names(5, inverses=True))),
)
def test_every_violation_is_found_and_no_other(base: RuleBase, facts, constraints: list[Disjointness]):
    rules = RuleBase(base.rules, tuple(dict.fromkeys(constraints)))
    holding = closure(base, facts)

    def pairs(relation: str) -> set[tuple[str, str]]:
        name = relation.removesuffix("^-1")
        found = [(head, tail) for head, other, tail in holding if other == name]
        return {pair[::-1] if is_inverse(relation) else pair for pair in found}

    expected = {(one, pair) for one in rules.disjointness for pair in pairs(one.first) & pairs(one.second)}
    for engine in ("auto", "chase"):
        answers = answers_of(engine, rules, KnowledgeGraph(facts))
        found = []
        for violation in answers.violations():
            triple = violation.first.triple
            backwards = is_inverse(violation.constraint.first)
            found.append((violation.constraint, (triple.head, triple.tail)[:: -1 if backwards else 1]))
        assert set(found) == expected, engine
        assert len(found) == len(expected), engine


@pytest.mark.parametrize("options", [[], ["--count"], ["--engine", "chase"]])
def test_infer_tells_of_a_broken_constraint_whose_atom_runs_backwards(options, tmp_path, capsys):
    rules, facts = tmp_path / "my.rules", tmp_path / "facts.tsv"
    rules.write_text(BASE + "u(X, Y) & t(Y, X) -> false\n")
    facts.write_text("a\ts\tb\n")
    assert main(["infer", str(rules), str(facts), *options]) == 0
    told = capsys.readouterr()
    assert "u\t1\t1" in told.out if options == ["--count"] else told.out == "a\tu\tb\n"
    assert told.err == ""
    facts.write_text("a\ts\tb\nb\tt\ta\n")
    assert main(["infer", str(rules), str(facts), *options]) == 1
    assert capsys.readouterr().err.startswith(
        "warning: what follows breaks a constraint:\nu(X, Y) & t(Y, X) -> false\n"
    )
