"""Answers are collections of the derived triples, whatever gives them; `explain` says why not where nothing follows."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from reshuffle import KnowledgeGraph, Reasoner, RuleModel, parse_rules
from reshuffle.kg import Triple
from reshuffle.kg.io.tables import rows_of
from reshuffle.reasoning.why_not import NoProof

RULES = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\ncitizenOf(X, Y) -> mayLiveIn(X, Y)")
FACTS = KnowledgeGraph(
    [
        ("ada", "bornIn", "london"),
        ("london", "cityIn", "uk"),
        ("eve", "citizenOf", "uk"),
        ("bob", "bornIn", "rome"),
    ]
)
DERIVED = {
    Triple("ada", "citizenOf", "uk"),
    Triple("ada", "mayLiveIn", "uk"),
    Triple("eve", "mayLiveIn", "uk"),
}

ANSWERS = {
    "geometry": lambda: Reasoner(RULES).on(FACTS),
    "bound": lambda: Reasoner(RULES, bound=3).on(FACTS),
    "chase": lambda: Reasoner(RULES, engine="chase").on(FACTS),
    "sketch": lambda: Reasoner(RULES).sketch(FACTS, channels=256, seed=1),
    "rule model": lambda: RuleModel.from_rules(sure()).on(FACTS),
}


def sure():
    lines = "\n".join(f"7\t7\t1.0\t{rule}" for rule in RULES)
    return parse_rules(lines)


@pytest.fixture(params=ANSWERS)
def answers(request):
    return ANSWERS[request.param]()


def test_they_hold_the_derived_triples_and_no_facts(answers):
    assert isinstance(answers, Collection)
    assert len(answers) == 3 and set(answers) == DERIVED and sorted(answers) == sorted(DERIVED)
    assert all(triple in answers for triple in DERIVED)
    assert ("ada", "bornIn", "london") not in answers and answers.holds("ada", "bornIn", "london")
    assert ("uk", "citizenOf", "ada") not in answers


@pytest.mark.parametrize(
    "other",
    [("nobody", "citizenOf", "uk"), ("ada", "none", "uk"), ("ada", "citizenOf"), "ada", 3, ("a", "b", 3)],
)
def test_what_is_unknown_or_no_triple_is_not_in_them(answers, other):
    assert other not in answers


def test_they_follow_the_facts(answers):
    assert answers
    answers.add([("bob", "citizenOf", "italy")])
    assert ("bob", "mayLiveIn", "italy") in answers and len(answers) == 4
    answers.remove([("london", "cityIn", "uk"), ("eve", "citizenOf", "uk"), ("bob", "citizenOf", "italy")])
    assert len(answers) == 0 and not answers


def test_they_go_out_as_tables_with_the_facts_or_without(answers):
    for table in (answers.to_arrow(), answers.to_pandas(), answers.to_polars()):
        assert list(getattr(table, "column_names", None) or table.columns) == ["head", "relation", "tail"]
        assert set(KnowledgeGraph.from_table(table)) == DERIVED
    for table in (answers.to_arrow(facts=True), answers.to_pandas(facts=True), answers.to_polars(facts=True)):
        assert len(table) == 7 and set(KnowledgeGraph.from_table(table)) == DERIVED | set(FACTS)
    assert set(KnowledgeGraph.from_table(answers)) == DERIVED  # by the Arrow stream interface


def test_tables_follow_the_facts_and_name_new_entities(answers):
    assert answers.to_arrow().num_rows == 3
    answers.add([("bob", "citizenOf", "italy"), ("zoë", "citizenOf", "italy")])
    answers.remove([("eve", "citizenOf", "uk")])
    derived = {Triple(name, "mayLiveIn", "italy") for name in ("bob", "zoë")} | DERIVED
    assert set(KnowledgeGraph.from_table(answers)) == derived - {Triple("eve", "mayLiveIn", "uk")}


@pytest.mark.parametrize("rows", [1, 7, 44, 45, 100])
def test_tables_go_out_in_blocks(monkeypatch, rows):
    monkeypatch.setattr("reshuffle.reasoning.geometry.answers.ROWS", rows)
    chain = [(f"e{number}", "r", f"e{number + 1}") for number in range(10)]
    answers = Reasoner(parse_rules("r(X, Y) & r(Y, Z) -> r(X, Z)")).on(chain)
    for blocks in (answers.batches(), answers.sorted_batches()):
        sizes = [block.num_rows for block in blocks]
        assert sum(sizes) == 45 and max(sizes) <= rows
    assert set(KnowledgeGraph.from_table(answers)) == set(answers)


@pytest.mark.parametrize("kind", ["geometry", "bound", "chase", "sketch"])
def test_blocks_in_order_have_the_triples_in_order(kind):
    answers = ANSWERS[kind]()
    answers.add([("bob", "citizenOf", "\U0001f3db"), ("bob", "citizenOf", "\uff21")])  # not by UTF-16
    found = [row for block in answers.sorted_batches() for row in rows_of(block)]
    assert found == sorted(answers.triples()) == list(answers.sorted_triples()) and len(found) == 5


def test_counting_stores_nothing():
    """A chain of 3,000 entities has millions of pairs; counting them takes far less memory than they would."""
    import tracemalloc

    chain = [(f"e{number}", "r", f"e{number + 1}") for number in range(3000)]
    answers = Reasoner(parse_rules("r(X, Y) & r(Y, Z) -> r(X, Z)")).on(chain)
    tracemalloc.start()
    assert len(answers) == 3000 * 3001 // 2 - 3000
    assert (
        tracemalloc.get_traced_memory()[1] < 20_000_000
    )  # a pair of ids is 8 bytes, so that all would take 36 MB
    tracemalloc.stop()


@pytest.mark.parametrize("kind", ["geometry", "bound", "chase", "sketch"])
def test_explain_is_false_and_says_why_not(kind):
    answers = ANSWERS[kind]()
    assert answers.explain("ada", "citizenOf", "uk")
    nothing = answers.explain("bob", "citizenOf", "uk")
    assert isinstance(nothing, NoProof) and not nothing
    assert list(nothing.nearest) == answers.why_not("bob", "citizenOf", "uk")
    assert str(nothing) == (
        f"citizenOf(bob, uk) does not follow ({answers.exactness})\n\nnearest:\n"
        "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\n"
        "  holds:   cityIn(london, uk)\n"
        "  missing: bornIn(bob, london)"
    )
    assert nothing.to_dict()["follows"] is False
    assert (
        str(answers.explain("bob", "bornIn", "uk"))
        == f"bornIn(bob, uk) does not follow ({answers.exactness})"
    )
