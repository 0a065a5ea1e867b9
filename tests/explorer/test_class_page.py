"""The page of classes: direct parents, equal classes, properties, and classes that can have no member."""

from __future__ import annotations

import pytest

from reshuffle import KnowledgeGraph, parse_rules
from reshuffle.errors import UnknownNameError
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.subject import Source, World
from reshuffle.explorer.views.class_page import SUBCLASS, classes_page, has_classes
from reshuffle.explorer.web.csv_tables import csv_of
from reshuffle.rules.class_axioms import TYPE

IS = f'"{TYPE}"'


def below(one: str, other: str) -> str:
    return f'{IS}(X, "{one}") -> {IS}(X, "{other}")\n'


AXIOMS = "".join(
    (
        *(below(*pair) for pair in (("cat", "mammal"), ("mammal", "animal"), ("cat", "animal"))),
        *(below(*pair) for pair in (("pet", "housePet"), ("housePet", "pet"), ("pet", "animal"))),
        *(below(*pair) for pair in (("catfish", "cat"), ("catfish", "fish"), ("tiny", "catfish"))),
        f'{IS}(X, "fish") & {IS}(X, "mammal") -> false\n',
        f'purrs(X, Y) -> {IS}(X, "cat")\n',
        f'purrs(Y, X) -> {IS}(X, "sound")\n',
        f'{IS}(X, "cat") -> legs(X, "four")\n',
    )
)


@pytest.fixture(scope="module")
def world() -> World:
    facts = KnowledgeGraph([("tom", TYPE, "cat"), ("tiger", SUBCLASS, "cat"), ("_:b1", SUBCLASS, "cat")])
    return RuleBaseSubject(parse_rules(AXIOMS), Source("x", facts)).as_given


def test_parents_and_children_are_direct(world: World) -> None:
    cat = classes_page(world, "cat")
    assert cat["parents"] == ["mammal"]  # not animal, which mammal leads to
    assert [row["name"] for row in cat["children"]] == ["catfish", "tiger"]
    assert cat["above"] == 2 and cat["below"] == 3
    assert cat["members"] == {"count": 1, "names": ["tom"]}
    roots = classes_page(world)["roots"]
    assert roots == [{"name": "animal", "children": 2}, {"name": "fish", "children": 1}]


def test_equal_classes_are_one_place_in_the_tree(world: World) -> None:
    pet = classes_page(world, "pet")
    assert pet["equal"] == ["housePet"] and pet["parents"] == ["animal"] and pet["children"] == []


def test_classes_below_disjoint_ones_can_have_no_member(world: World) -> None:
    assert classes_page(world)["unsatisfiable"] == ["catfish", "tiny"]
    assert classes_page(world, "tiny")["unsatisfiable"] and not classes_page(world, "cat")["unsatisfiable"]


def test_properties_and_axioms_of_a_class_are_told(world: World) -> None:
    cat = classes_page(world, "cat")
    assert cat["properties"] == [
        {"property": "purrs", "as": "domain", "value": None},
        {"property": "legs", "as": "value", "value": "four"},
    ]
    assert classes_page(world, "sound")["properties"][0]["as"] == "range"
    assert cat["rules"]["count"] == len(cat["rules"]["shown"]) == 5


def test_what_has_no_classes_says_so(world: World) -> None:
    other = RuleBaseSubject(parse_rules("a(X, Y) -> b(X, Y)"), Source("x", KnowledgeGraph([]))).as_given
    assert has_classes(world) and not has_classes(other)
    assert classes_page(other)["count"] == 0
    with pytest.raises(UnknownNameError, match="unknown class 'dog'"):
        classes_page(world, "dog")
    assert csv_of("classes", classes_page(world, "cat")).splitlines()[1] == "mammal,parent,"
