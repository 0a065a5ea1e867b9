"""Class axioms as path rules with helper facts: exactly what OWL RL says of `rdf:type`, and no trace of the helpers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle import KnowledgeGraph, Reasoner, RuleBase, parse_rules
from reshuffle.errors import InputError, NotExpressibleError, UnknownNameError
from reshuffle.kg.rows import LITERAL
from reshuffle.reasoning.proofs import check_proof
from reshuffle.rules.class_axioms import (
    TYPE,
    disjoint_classes,
    domain_of,
    member_of,
    sub_class_of,
    value_of,
)
from reshuffle.rules.encoding import HUB
from reshuffle.rules.entailment import closure
from reshuffle.rules.parsing import as_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.rules.rule import ConstantRule, DisjointEnds

CLASSES, ENTITIES, RELATIONS = list("ABCD"), list("abcdef"), ["p", "q", "r"]
names = st.sampled_from(CLASSES)
relations = st.sampled_from(RELATIONS)
inverses = st.sampled_from([f"{name}^-1" for name in RELATIONS])
axioms = st.one_of(
    st.builds(sub_class_of, names, names),
    st.builds(domain_of, st.one_of(relations, inverses), names),
    st.builds(value_of, st.one_of(relations, inverses), st.sampled_from([*ENTITIES, "A"]), names),
    st.builds(member_of, st.sampled_from([*ENTITIES, "new"]), names),
)
# Property axioms with exact geometry, beside which that of the classes must stay exact.
PROPERTIES = (
    "p(X, Y) -> q(X, Y)",
    "q(Y, X) -> q(X, Y)",
    "r(X, Y) & r(Y, Z) -> r(X, Z)",
    "p(X, Y) & r(Y, Z) -> q(X, Z)",
)
triples = st.one_of(
    st.tuples(st.sampled_from(ENTITIES), relations, st.sampled_from([*ENTITIES, "A"])),
    st.tuples(st.sampled_from(ENTITIES), st.just(TYPE), names),
)
literals = st.tuples(st.sampled_from([*ENTITIES, "new"]), relations, st.just(LITERAL))
ENGINES: list[dict[str, str]] = [{}, {"engine": "chase"}]


def base_of(said: Iterable[ConstantRule | DisjointEnds], *rules: str) -> RuleBase:
    return as_rules([*said, *(parse_rules("\n".join(rules)).given if rules else ())])


@pytest.mark.parametrize("options", ENGINES)
@given(
    said=st.lists(axioms, max_size=6),
    rules=st.sets(st.sampled_from(PROPERTIES)),
    facts=st.sets(triples, min_size=1, max_size=8),
    later=st.sets(triples, max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_classes_are_exact_in_every_engine_and_after_every_change(options, said, rules, facts, later):
    """The encoding proved: geometry and chase derive what the definitions say, before and after changes."""
    base = base_of(said, *sorted(rules))
    answers = Reasoner(base, **options).on(KnowledgeGraph(facts))
    for present, change in ((facts, None), (facts | later, answers.add), (facts, answers.remove)):
        if change:
            change(sorted(later - facts))
        expected = closure(base, present)
        assert set(answers.triples()) == expected - present
        assert list(answers.sorted_triples()) == sorted(expected - present)
        assert set(answers.facts) == present
        assert answers.count() == len(expected - present)
        for head, relation, tail in expected - present:
            (proof,) = answers.proofs(head, relation, tail)
            check_proof(proof, base, answers.facts)
        assert not any("~" in name for name in answers.counts())


def about_entities(triples: set) -> set:
    return {triple for triple in triples if LITERAL not in triple}


@pytest.mark.parametrize("options", ENGINES)
@given(
    said=st.lists(axioms, min_size=1, max_size=6),
    rules=st.sets(st.sampled_from([rule for rule in PROPERTIES if " & " not in rule])),
    facts=st.sets(triples, min_size=1, max_size=6),
    texts=st.sets(literals, min_size=1, max_size=4),
    later=st.sets(literals, max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_literals_say_the_types_of_their_subjects_alone(options, said, rules, facts, texts, later):
    """As if a literal were a node, but that nothing is ever said about it; also after changes."""
    base = base_of(said, *sorted(rules))
    given = KnowledgeGraph(facts).with_literals(KnowledgeGraph(texts))
    answers = Reasoner(base, **options).on(given)
    more = KnowledgeGraph().with_literals(KnowledgeGraph(later - texts))
    for present, change in ((texts, None), (texts | later, answers.add), (texts, answers.remove)):
        if change:
            change(more)
        known = closure(base, facts | present)
        expected = about_entities(known) - facts
        assert set(answers.triples()) == expected
        assert answers.count() == len(expected)
        assert (set(answers.facts), set(answers.facts.literals)) == (facts, present)
        for head, relation, tail in expected:
            (proof,) = answers.proofs(head, relation, tail)
            check_proof(proof, base, facts | present)


@pytest.mark.parametrize("options", ENGINES)
def test_a_literal_is_named_in_short_and_its_facts_are_not_answers(options):
    base = base_of(
        [domain_of("attribute", "Thing"), domain_of("age^-1", "Number")], "age(X, Y) -> attribute(X, Y)"
    )
    answers = Reasoner(base, **options).on(
        KnowledgeGraph().with_literals(KnowledgeGraph([("ada", "age", LITERAL)]))
    )
    assert list(answers.triples()) == [("ada", TYPE, "Thing")]
    assert str(answers.explain("ada", TYPE, "Thing")).replace(f'"{TYPE}"', "type") == (
        'type(ada, Thing)    [attribute(X, Y) -> type(X, "Thing")]\n'
        "└─ attribute(ada, a literal)    [age(X, Y) -> attribute(X, Y)]\n"
        "   └─ age(ada, a literal)    fact"
    )
    assert not len(answers.facts) and "ada" not in answers.facts.entities
    with pytest.raises(UnknownNameError):
        answers.holds("ada", TYPE, LITERAL)


def university() -> RuleBase:
    said = [
        sub_class_of("Student", "Person"),
        sub_class_of("Teacher", "Person"),
        domain_of("teaches", "Teacher"),
        domain_of("teaches^-1", "Course"),
        value_of("colour", "red", "Red"),
        disjoint_classes("Course", "Person"),
        disjoint_classes("Course", "Nowhere"),
    ]
    return base_of(said, "taughtBy(Y, X) -> teaches(X, Y)")


FACTS = [("logic", "taughtBy", "ada"), ("bob", TYPE, "Student"), ("apple", "colour", "red")]


@pytest.mark.parametrize("options", ENGINES)
def test_proofs_show_axioms_and_facts_alone(options):
    answers = Reasoner(university(), **options).on(FACTS)
    assert str(answers.explain("ada", TYPE, "Person")).replace(f'"{TYPE}"', "type") == (
        'type(ada, Person)    [type(X, "Teacher") -> type(X, "Person")]\n'
        '└─ type(ada, Teacher)    [teaches(X, Y) -> type(X, "Teacher")]\n'
        "   └─ teaches(ada, logic)    [taughtBy(Y, X) -> teaches(X, Y)]\n"
        "      └─ taughtBy(logic, ada)    fact"
    )
    assert "~" not in json.dumps(answers.explain("logic", TYPE, "Course").to_dict())


@pytest.mark.parametrize("options", ENGINES)
def test_why_not_names_the_axioms_that_are_near(options):
    answers = Reasoner(university(), **options).on(FACTS)
    nearest = answers.why_not("apple", TYPE, "Person") + answers.why_not("bob", TYPE, "Course")
    assert [[tuple(atom) for atom in partial.missing] for partial in nearest] == [
        [("apple", TYPE, "Student")],
        [("apple", TYPE, "Teacher")],
        [("?", "teaches", "bob")],
    ]
    assert "~" not in "".join(map(str, nearest))


@pytest.mark.parametrize("options", ENGINES)
def test_helpers_are_unknown_names(options):
    answers = Reasoner(university(), **options).on(FACTS)
    assert list(answers.heads(TYPE, "Teacher")) == ["ada"]  # a class that no fact names is known all the same
    for relation in ("~anything", "~literal", "~reshuffle: relation 1", "subclass"):
        with pytest.raises(UnknownNameError) as caught:
            answers.holds("ada", relation, "bob")
        assert "did you mean" not in str(caught.value)
    with pytest.raises(UnknownNameError):
        answers.holds("ada", TYPE, HUB)
    with pytest.raises(InputError, match="'~anything', whose name is kept for rules with constants"):
        answers.add([("ada", "~anything", "bob")])
    with pytest.raises(InputError, match="kept for rules with constants"):
        Reasoner(university(), **options).on([("ada", "~anything", "bob")])
    assert set(answers.facts.entities) == {"logic", "ada", "bob", "Student", "apple", "red"}


@pytest.mark.parametrize("options", ENGINES)
def test_members_of_disjoint_classes_are_violations(options):
    answers = Reasoner(university(), **options).on([*FACTS, ("ada", "teaches", "bob")])
    (violation,) = answers.violations()
    assert (violation.first.triple, violation.second.triple) == (
        ("bob", TYPE, "Course"),
        ("bob", TYPE, "Person"),
    )
    assert (
        str(violation)
        .replace(f'"{TYPE}"', "type")
        .startswith('type(X, "Course") & type(X, "Person") -> false\n')
    )


def test_compiled_constraints_keep_the_classes(tmp_path):
    Reasoner(university()).save(tmp_path / "compiled.json")
    loaded = Reasoner.load(tmp_path / "compiled.json").on(FACTS)
    assert sorted(loaded.triples()) == sorted(Reasoner(university()).on(FACTS).triples())
    assert loaded.explain("ada", TYPE, "Person") == Reasoner(university()).on(FACTS).explain(
        "ada", TYPE, "Person"
    )
    data = json.loads((tmp_path / "compiled.json").read_text())
    data["classes"] = [["subclass", "Student"]]
    del data["digest"]
    (tmp_path / "changed.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="modified after they were written"):
        Reasoner.load(tmp_path / "changed.json")


def test_a_sketch_misses_no_type():
    exact, sketch = Reasoner(university()).on(FACTS), Reasoner(university()).sketch(FACTS, channels=200)
    assert set(exact.triples()) <= set(sketch.triples())
    assert not any("~" in name for name in sketch.counts())


def test_a_bound_does_not_count_helper_steps():
    with pytest.raises(NotExpressibleError, match="rules with constants take helper steps"):
        Reasoner(university(), bound=2)


def test_the_geometry_does_not_grow_with_the_classes():
    """Classes are entities: a thousand of them need the same slots as three."""
    few, many = (
        Reasoner(base_of([sub_class_of(f"C{i}", f"C{i + 1}") for i in range(count)] + [domain_of("p", "C0")]))
        for count in (3, 1000)
    )
    assert few.constraints is not None and many.constraints is not None
    assert few.constraints.num_slots == many.constraints.num_slots
    assert many.on([("a", "p", "b")]).holds("a", TYPE, "C1000")
