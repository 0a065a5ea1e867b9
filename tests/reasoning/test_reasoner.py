"""The way in: engines, bounds, files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from reshuffle import KnowledgeGraph, Reasoner, RuleBase, parse_rules
from reshuffle.errors import InputError, NotExpressibleError, UnknownNameError

RULES = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\nciti(X, Y) -> citizenOf(X, Y)")
FACTS = KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")])
ODD = parse_rules("a(X, Y) & b(Y, Z) & a(Z, U) -> b(X, U)")


def test_the_engines_say_what_they_are():
    assert Reasoner(RULES).on(FACTS).exactness == "exact"
    assert Reasoner(RULES, bound=1).on(FACTS).exactness == "exact within 1 step"
    assert "no geometry" in Reasoner(RULES, engine="chase").on(FACTS).exactness
    assert (
        repr(Reasoner(RULES, engine="chase")) == "<Reasoner: the exact fixpoint, by the chase (no geometry)>"
    )
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


def test_without_exact_geometry_the_chase_answers_unless_a_geometry_is_asked_for():
    facts, told = KnowledgeGraph([("x", "a", "y"), ("y", "b", "z"), ("z", "a", "u")]), []
    reasoner = Reasoner(ODD)
    answers = reasoner.on(facts, notes=told.append)
    assert answers.holds("x", "b", "u")
    assert answers.exactness.startswith(
        "the exact fixpoint, by the chase (no exact geometry: `b` calls itself"
    )
    assert len(told) == 1 and told[0].endswith(": answered by the chase")
    for asked in (
        lambda: Reasoner(ODD, engine="geometry"),
        lambda: reasoner.save("x.json"),
        lambda: reasoner.sketch(facts, channels=4),
    ):
        with pytest.raises(NotExpressibleError, match=r"engine='chase' .*bound=M"):
            asked()


def test_few_facts_are_chased_where_building_the_geometry_of_many_rules_takes_longer():
    """Decided by counts: atoms times relations, against facts."""
    rules = parse_rules("\n".join(f"r{n}(X, Y) -> r{n + 1}(X, Y)" for n in range(130)))
    told = []
    few = Reasoner(rules).on([("a", "r0", "b")], notes=told.append)
    assert few.exactness == "the exact fixpoint, by the chase (cheaper here than a geometry)"
    assert len(told) == 1 and told[0].startswith("answered by the chase: for so few facts it is cheaper")
    many = KnowledgeGraph([(f"a{n}", "r0", "b") for n in range(10_000)])
    assert (
        Reasoner(rules).on(many).exactness == Reasoner(rules, engine="geometry").on(many).exactness == "exact"
    )
    assert few.count() == 130 and Reasoner(rules).constraints is not None


def test_without_exact_geometry_there_is_a_way_out():
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
    with pytest.raises(InputError, match="has no compiled form"):
        Reasoner(RULES, engine="chase").save(tmp_path / "x.json")


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_facts_that_no_rule_knows_are_noted(engine):
    notes: list[str] = []
    Reasoner(RULES, engine=engine).on(KnowledgeGraph([("ada", "BornIn", "london")]), notes=notes.append)
    assert len(notes) == 1 and "'bornIn' (facts: 'BornIn')" in notes[0]


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_relations_of_bodies_that_nothing_gives_are_noted_with_near_names(engine):
    typed = parse_rules("bornln(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\ncitizenOf(X, Y) -> livesIn(X, Y)")
    notes: list[str] = []
    assert not Reasoner(typed, engine=engine).on(FACTS, notes=notes.append)
    assert notes == [
        "note: 'bornln' (near: 'bornIn') is a relation of a rule body that no fact has and no rule concludes"
    ]
    many = "\n".join(f"{name}(X, Y) -> livesIn(X, Y)" for name in ("nn", "oo", "pp", "CityIn"))
    Reasoner(parse_rules(f"cityIn(X, Y) -> in(X, Y)\n{many}"), engine=engine).on(FACTS, notes=notes.append)
    assert notes[1] == (
        "note: 'CityIn' (near: 'cityIn'), 'nn', 'oo' and 1 more are relations of rule bodies that no fact has and no "
        "rule concludes"
    )
    Reasoner(RULES, engine=engine).on(FACTS | KnowledgeGraph([("ada", "citi", "uk")]), notes=notes.append)
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"bound": 2.5}, "found bound = 2.5, expected a whole number\n  hint: a bound is 0"),
        ({"bound": True}, "found bound = True, expected a whole number"),
        ({"bound": "2"}, "found bound = '2', expected a whole number"),
        ({"bound": math.nan}, "found bound = nan, expected a whole number"),
        ({"bound": -1}, "a bound of -1 steps"),
        ({"node_budget": 2.5}, "found node_budget = 2.5, expected a whole number"),
        ({"node_budget": True}, "found node_budget = True, expected a whole number"),
        ({"node_budget": 0}, "node_budget = 0 allows no rule graph"),
        ({"memory": True}, "not a size: 'True'"),
        ({"memory": math.nan}, "not a size: 'nan'"),
        ({"engine": None}, "found engine = None, expected a name"),
        ({"engine": ["chase"]}, "found engine = ['chase'], expected a name"),
    ],
)
def test_options_of_another_kind_are_refused(options, found):
    with pytest.raises(InputError) as caught:
        Reasoner(RULES, **options)
    assert str(caught.value).startswith(found)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"channels": 2.5}, "found channels = 2.5, expected a whole number"),
        ({"channels": True}, "found channels = True, expected a whole number"),
        ({"epsilon": math.nan}, "epsilon is a rate between 0 and 1, not nan"),
        ({"epsilon": "0.1"}, "epsilon is a rate between 0 and 1, not '0.1'"),
        ({"channels": 8, "seed": 1.5}, "found seed = 1.5, expected a whole number"),
    ],
)
def test_options_of_a_sketch_of_another_kind_are_refused(options, found):
    with pytest.raises(InputError) as caught:
        Reasoner(RULES).sketch(FACTS, **options)
    assert str(caught.value).startswith(found)


@pytest.mark.parametrize("engine", ["auto", "chase"])
@pytest.mark.parametrize("most", [2.5, True, "2", -1])
def test_a_number_of_proofs_is_a_whole_number(engine, most):
    answers = Reasoner(RULES, engine=engine).on(FACTS)
    for ask in (answers.proofs, answers.why_not):
        for triple in (("ada", "citizenOf", "uk"), ("uk", "citizenOf", "ada")):
            with pytest.raises(InputError, match=f"most = {most!r}"):
                ask(*triple, most=most)


def test_a_bound_of_numpy_is_a_bound():
    assert Reasoner(RULES, bound=np.int64(1)).on(FACTS).holds("ada", "citizenOf", "uk")


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


# --- what is handed over ----------------------------------------------------------------------------

NO_GRAPH = (
    "expected a graph or triples of names: (head, relation, tail)\n"
    "  hint: reshuffle.read_graph(path) reads a file"
)
NO_RULES = (
    "expected rules\n  hint: parse_rules(text) takes rules as text, reshuffle.read_rules(path) reads a file"
)


@pytest.mark.parametrize("given", [list(FACTS), set(FACTS), [list(triple) for triple in FACTS]])
@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_triples_do_for_a_graph(given, engine):
    answers = Reasoner(RULES, engine=engine).on(given)
    assert answers.holds("ada", "citizenOf", "uk")
    assert answers.facts == FACTS


def test_a_sketch_takes_triples_too():
    assert Reasoner(RULES).sketch(list(FACTS), channels=8).holds("ada", "citizenOf", "uk")


@pytest.mark.parametrize("given", ["facts.tsv", Path("facts.tsv"), None])
@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_a_path_is_no_graph(given, engine):
    with pytest.raises(InputError) as caught:
        Reasoner(RULES, engine=engine).on(given)
    assert str(caught.value) == f"found {given!r}, {NO_GRAPH}"


@pytest.mark.parametrize("options", [{}, {"bound": 2}, {"engine": "chase"}])
@pytest.mark.parametrize("change", ["add", "remove"])
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("new.tsv", f"found 'new.tsv', {NO_GRAPH}"),
        (Path("new.tsv"), f"found {Path('new.tsv')!r}, {NO_GRAPH}"),
        (("eve", "bornIn", "london"), "found 'eve', expected a triple of names: (head, relation, tail)"),
        ([1], "found 1, expected a triple of names: (head, relation, tail)"),
        ([("eve", "bornIn")], "found ('eve', 'bornIn'), expected a triple of names: (head, relation, tail)"),
        ([("eve", "bornIn", None)], "found None (NoneType) as the name of an entity, expected text"),
        ([("eve", "", "london")], "found an empty text as the name of a relation, expected at least one"),
        ([("\ud800", "bornIn", "london")], "found '\\ud800' (str) as the name of an entity, expected text"),
    ],
)
def test_what_are_no_triples_is_refused_and_nothing_changes(options, change, given, found):
    answers = Reasoner(RULES, **options).on(FACTS)
    with pytest.raises(InputError) as caught:
        getattr(answers, change)(given)
    assert str(caught.value).startswith(found)
    assert answers.facts == FACTS
    with pytest.raises(UnknownNameError):
        answers.holds("eve", "bornIn", "london")


def test_rules_may_come_in_a_list():
    assert Reasoner(list(RULES)).on(FACTS).holds("ada", "citizenOf", "uk")
    apart = parse_rules("a(X, Y) -> b(X, Y)\na(X, Y) & b(X, Y) -> false")
    assert Reasoner([*apart, *apart.disjointness]).rules == RuleBase(apart.rules, apart.disjointness)


@pytest.mark.parametrize("engine", ["auto", "chase"])
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("med.rules", f"found 'med.rules', {NO_RULES}"),
        (Path("med.rules"), f"found {Path('med.rules')!r}, {NO_RULES}"),
        ("a(X, Y) -> b(X, Y)", f"found 'a(X, Y) -> b(X, Y)', {NO_RULES}"),
        ("a(X, Y) -> b(X, Y)\n" * 1000, f"found 'a(X, Y) -> b(X, Y)\\na(X, Y) -> ...', {NO_RULES}"),
        (None, f"found None, {NO_RULES}"),
        (["a(X, Y) -> b(X, Y)"], f"found 'a(X, Y) -> b(X, Y)' among the rules, {NO_RULES}"),
    ],
)
def test_what_are_no_rules_is_refused(given, found, engine):
    with pytest.raises(InputError) as caught:
        Reasoner(given, engine=engine)
    assert str(caught.value) == found


@pytest.mark.parametrize("engine", ["auto", "chase"])
@pytest.mark.parametrize("question", [("a", None, "b"), (None, "r", "b"), ("a", "r", 3)])
def test_a_name_that_is_no_text_is_an_unknown_name(engine: str, question):
    answers = Reasoner(parse_rules("r(X, Y) -> s(X, Y)"), engine=engine).on([("a", "r", "b")])
    odd = next(name for name in question if not isinstance(name, str))
    for ask in (answers.holds, answers.explain):
        with pytest.raises(UnknownNameError, match=f"unknown (entity|relation) {odd!r}: a name is text"):
            ask(*question)


def test_a_variable_that_is_an_entity_of_the_facts_is_told():
    rules = parse_rules("P19(X, Q30) -> P27(X, Q30)")
    heard: list[str] = []
    Reasoner(rules).on([("ada", "P19", "Q30")], notes=heard.append)
    assert heard == [
        'warning: Q30 is a variable in the rules and an entity in the facts; write "Q30" for the entity'
    ]
    Reasoner(rules).on([("ada", "P19", "Q31")], notes=heard.append)
    assert len(heard) == 1
