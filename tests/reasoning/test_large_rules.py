"""Rule bases of many rules: a geometry in about linear time, or the chase where it would grow over its budget."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.errors import BudgetError
from reshuffle.rulegraphs import build
from reshuffle.rulegraphs.checks import check_graph
from reshuffle.rulegraphs.draw import draw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reshuffle.rules import RuleBase

MANY = 120  # seconds; the quadratic ways took many minutes


def chain(count: int) -> RuleBase:
    return parse_rules("\n".join(f"r{n}(X, Y) & q(Y, Z) -> r{n + 1}(X, Z)" for n in range(count)))


def hierarchy(count: int) -> RuleBase:
    return parse_rules("\n".join(f"r{n}(X, Y) -> r{n + 1}(X, Y)" for n in range(count)))


def ring(count: int) -> RuleBase:
    return parse_rules("\n".join(f"r{n}(X, Y) -> r{(n + 1) % count}(X, Y)" for n in range(count)))


def pairs(count: int) -> RuleBase:
    return parse_rules("\n".join(f"a{n}(X, Y) & b{n}(Y, Z) -> c{n}(X, Z)" for n in range(count)))


def meets(count: int) -> RuleBase:
    return parse_rules("\n".join(f"a{n}(X, Y) & b{n}(X, Y) -> c(X, Y)" for n in range(count)))


def long_body(count: int) -> RuleBase:
    names = ["X", *(f"V{n}" for n in range(1, count)), "Z"]
    atoms = [f"q({names[n]}, {names[n + 1]})" for n in range(count)]
    return parse_rules(f"{' & '.join(atoms)} -> h(X, Z)")


@pytest.mark.parametrize(
    ("made", "count", "answered_by"),  # made in the test, since collecting them took a second
    [
        pytest.param(chain, 1000, "arcs of its automata", id="chain"),
        pytest.param(chain, 20_000, "20,000 nodes", id="long chain"),
        pytest.param(hierarchy, 3000, "steps for its automata", id="hierarchy"),
        pytest.param(ring, 300, "", id="ring"),
        pytest.param(pairs, 1500, "", id="pairs"),
        pytest.param(meets, 22, "need more than 20,000 clauses", id="meets"),
        pytest.param(long_body, 3000, "", id="long body"),
    ],
)
def test_many_rules_are_answered_soon(made: Callable[[int], RuleBase], count: int, answered_by: str) -> None:
    """Each took minutes, or more memory than there is; what follows is what the chase says."""
    rules = made(count)
    first, second, last = rules.relations[0], rules.relations[1], rules.relations[-1]
    triples = [("a", first, "b"), ("b", second, "c"), ("a", last, "c")]
    facts = KnowledgeGraph([*triples, *(("d", relation, "e") for relation in rules.relations[:600])])
    began = time.monotonic()
    reasoner = Reasoner(rules)
    assert (
        reasoner.constraints is not None or answered_by
    )  # asked for, so that few facts do not decide for the chase
    answers = reasoner.on(facts)
    found = answers.count()
    for triple in list(answers.triples())[:1]:
        assert answers.explain(*triple)
    assert time.monotonic() - began < MANY
    assert found == Reasoner(rules, engine="chase").on(facts).count()
    assert answered_by in answers.exactness
    assert ("by the chase" in answers.exactness) == bool(answered_by)


FEW = parse_rules("a(X, Y) & b(Y, Z) -> c(X, Z)\nc(X, Y) & b(Y, Z) -> d(X, Z)")
FACTS = [("u", "a", "v"), ("v", "b", "w"), ("w", "b", "x")]


def test_a_geometry_over_its_budget_gives_way_to_the_chase() -> None:
    told: list[str] = []
    reasoner = Reasoner(FEW, node_budget=3)
    answers = reasoner.on(FACTS, notes=told.append)
    assert set(answers.triples()) == set(Reasoner(FEW).on(FACTS).triples())
    reason = "the rule graph needs more than the 3 nodes it was allowed"
    assert reasoner.exactness == answers.exactness
    assert answers.exactness == f"the exact fixpoint, by the chase (no geometry: {reason})"
    assert told == [f"{reason}: answered by the chase"]
    for refused in (lambda: reasoner.sketch(FACTS, channels=4), lambda: reasoner.save("x.json")):
        with pytest.raises(BudgetError, match="needs more than the 3 nodes"):
            refused()


def test_automata_over_their_budget_give_way_to_the_chase() -> None:
    """The rule graph fits; the automata, of which every relation has one, do not."""
    rules, facts = chain(30), [("a", f"r{n}", "b") for n in range(30)] + [("b", "q", "c")]
    reasoner = Reasoner(rules, node_budget=70)
    assert reasoner.constraints is not None
    answers = reasoner.on(facts)
    assert "needs more than the 350 arcs of its automata it was allowed" in answers.exactness
    assert answers.count() == Reasoner(rules).on(facts).count() == 30


@pytest.mark.parametrize("options", [{"engine": "geometry"}, {"bound": 3}])
def test_where_the_chase_may_not_answer_the_budget_is_an_error(options: dict[str, object]) -> None:
    with pytest.raises(BudgetError, match=r"hint: .*engine='chase' \(--engine chase of"):
        Reasoner(FEW, node_budget=3, **options)  # type: ignore[arg-type]
    rules, facts = chain(30), [("a", f"r{n}", "b") for n in range(30)] + [("b", "q", "c")]
    with pytest.raises(BudgetError, match="arcs of its automata it was allowed"):
        Reasoner(rules, node_budget=70, engine="geometry").on(facts)


def test_the_engine_geometry_answers_within_its_budget() -> None:
    assert Reasoner(FEW, engine="geometry").on(FACTS).exactness == "exact"


def test_checks_beyond_their_budget_claim_nothing() -> None:
    graph = build(hierarchy(60))
    assert str(check_graph(graph)["R4"]) == "holds"
    assert str(check_graph(graph, node_budget=20)["R4"]) == "verified up to length 0"
    assert str(check_graph(graph, node_budget=0)["R3"]) == "verified up to length 0"


def test_a_picture_of_too_many_arrows_is_refused(tmp_path: Path) -> None:
    graph = build(hierarchy(1500))
    with pytest.raises(BudgetError) as caught:
        draw(graph, tmp_path / "graph.svg")
    assert str(caught.value) == (
        f"{tmp_path / 'graph.svg'}: 3,001 arrows are too many for Graphviz; at most 2,000\n"
        "  hint: write .dot or .mmd, or draw fewer rules"
    )
    draw(graph, tmp_path / "graph.dot")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.dot"]


def test_matrices_over_their_budget_are_not_made() -> None:
    with pytest.raises(BudgetError, match="64,000,000 entries of its matrices"):
        Reasoner(hierarchy(8100), engine="geometry")
