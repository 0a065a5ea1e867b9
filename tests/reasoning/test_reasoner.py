"""The way in: engines, bounds, files."""

from __future__ import annotations

import pytest

from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.errors import InputError, NotExpressibleError, UnknownNameError

RULES = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\nciti(X, Y) -> citizenOf(X, Y)")
FACTS = KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")])
ODD = parse_rules("a(X, Y) & b(Y, Z) & a(Z, U) -> b(X, U)")


def test_the_engines_say_what_they_are():
    assert Reasoner(RULES).on(FACTS).exactness == "exact"
    assert Reasoner(RULES, bound=1).on(FACTS).exactness == "exact within 1 step"
    assert "no geometry" in Reasoner(RULES, engine="chase").on(FACTS).exactness
    assert repr(Reasoner(RULES, engine="chase")) == "<Reasoner: exact fixpoint by chase, no geometry>"
    assert "slots, exact>" in repr(Reasoner(RULES))


@pytest.mark.parametrize("options", [{}, {"bound": 2}, {"engine": "chase"}, {"memory": "1MB"}])
def test_all_engines_answer_alike(options):
    answers = Reasoner(RULES, **options).on(FACTS)
    assert list(answers.tails("ada", "citizenOf")) == ["uk"]
    assert answers.count() == 1


@pytest.mark.parametrize("options", [{}, {"bound": 2}, {"engine": "chase"}])
@pytest.mark.parametrize("materialised", [False, True])
def test_all_engines_refuse_to_remove_unknown_names_and_then_remove_nothing(options, materialised):
    answers = Reasoner(RULES, **options).on(FACTS)
    if materialised:
        answers.count()
    for wrong, near in (("adaa", "ada"), ("bornin", "bornIn")):
        strange = (wrong, "bornIn", "london") if near == "ada" else ("ada", wrong, "london")
        with pytest.raises(UnknownNameError, match=f"'{wrong}'; did you mean '{near}'"):
            answers.remove([("london", "cityIn", "uk"), strange])
    assert answers.holds("ada", "citizenOf", "uk")
    answers.remove([("uk", "cityIn", "ada"), ("ada", "citizenOf", "uk"), ("ada", "citi", "uk")])  # no facts
    assert answers.holds("ada", "citizenOf", "uk")
    answers.remove([("london", "cityIn", "uk")])
    assert not answers.holds("ada", "citizenOf", "uk")


def test_without_exact_geometry_there_is_a_way_out():
    with pytest.raises(NotExpressibleError, match=r"bound=M .*engine='chase'"):
        Reasoner(ODD)
    facts = KnowledgeGraph([("x", "a", "y"), ("y", "b", "z"), ("z", "a", "u")])
    assert Reasoner(ODD, engine="chase").on(facts).holds("x", "b", "u")
    assert Reasoner(ODD, bound=2).on(facts).holds("x", "b", "u")
    assert not Reasoner(ODD, bound=1).on(facts).holds("x", "b", "u")


def test_save_and_load(tmp_path):
    Reasoner(RULES, bound=3).save(tmp_path / "compiled.json")
    loaded = Reasoner.load(tmp_path / "compiled.json")
    assert loaded.exactness == "exact within 3 steps"
    assert str(loaded.on(FACTS).explain("ada", "citizenOf", "uk")).count("fact") == 2


def test_a_compiled_chase_needs_its_rules(tmp_path):
    constraints = Reasoner(RULES).constraints
    assert Reasoner(constraints, engine="chase").on(FACTS).holds("ada", "citizenOf", "uk")
    with pytest.raises(InputError, match="compiles nothing"):
        Reasoner(RULES, engine="chase").save(tmp_path / "x.json")


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_facts_that_no_rule_knows_are_noted(engine):
    notes: list[str] = []
    Reasoner(RULES, engine=engine).on(KnowledgeGraph([("ada", "BornIn", "london")]), notes=notes.append)
    assert len(notes) == 1 and "'bornIn' (facts: 'BornIn')" in notes[0]


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_derived_triples_go_out_as_arrow(engine):
    table = Reasoner(RULES, engine=engine).on(FACTS).to_arrow()
    assert table.to_pylist() == [{"head": "ada", "relation": "citizenOf", "tail": "uk"}]
    nothing = Reasoner(RULES, engine=engine).on(KnowledgeGraph([("a", "bornIn", "b")])).to_arrow()
    assert nothing.column_names == ["head", "relation", "tail"] and nothing.num_rows == 0


def test_negative_memory_is_refused():
    with pytest.raises(InputError, match="not a size: '-1'"):
        Reasoner(parse_rules("r(X, Y) -> s(X, Y)"), memory=-1)


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_facts_named_like_inverses_are_refused_first_and_later(engine):
    reasoner = Reasoner(RULES, engine=engine)
    with pytest.raises(
        InputError, match=r"found the relation 'bornIn\^-1', expected a name that does not end in"
    ):
        reasoner.on(KnowledgeGraph([("uk", "bornIn^-1", "ada")]))
    answers = reasoner.on(FACTS)
    with pytest.raises(InputError, match=r"stands for the inverse of 'bornIn'"):
        answers.add([("eve", "bornIn", "london"), ("uk", "bornIn^-1", "ada")])
    assert answers.count() == 1
    with pytest.raises(UnknownNameError, match="eve"):  # nothing was added
        answers.holds("eve", "bornIn", "london")
