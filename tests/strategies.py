"""Random rule bases and graphs for the property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from reshuffle.rules import IntersectionRule, PathRule, RuleBase

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from reshuffle.rules import Rule
    from reshuffle.rules.entailment import Fact


def relation_names(count: int, *, inverses: bool = False) -> SearchStrategy[str]:
    """One of r1 ... r`count`, or also one of their inverses."""
    names = [f"r{number}" for number in range(1, count + 1)]
    return st.sampled_from([*names, *(f"{name}^-1" for name in names)] if inverses else names)


def path_rules(relations: int, *, longest: int = 3, inverses: bool = False) -> SearchStrategy[Rule]:
    """Closed path rules with bodies of 1 to `longest` atoms."""
    names = relation_names(relations, inverses=inverses)
    bodies = st.lists(names, min_size=1, max_size=longest).map(tuple)
    return st.builds(PathRule, bodies, relation_names(relations))


def intersection_rules(relations: int, *, inverses: bool = False) -> SearchStrategy[Rule]:
    """Intersections of two or three relations."""
    names = relation_names(relations, inverses=inverses)
    bodies = st.lists(names, min_size=2, max_size=3, unique=True).map(tuple)
    return st.builds(IntersectionRule, bodies, relation_names(relations))


@st.composite
def rule_bases(
    draw: st.DrawFn,
    *,
    most_relations: int = 4,
    most_rules: int = 4,
    longest: int = 3,
    intersections: bool = False,
    inverses: bool = False,
) -> RuleBase:
    """Rule bases of 1 to `most_rules` rules over 2 to `most_relations` relations."""
    relations = draw(st.integers(2, most_relations))
    kinds = path_rules(relations, longest=longest, inverses=inverses)
    if intersections:
        kinds = st.one_of(kinds, intersection_rules(relations, inverses=inverses))
    return RuleBase(tuple(draw(st.lists(kinds, min_size=1, max_size=most_rules))))


@st.composite
def fact_lists(draw: st.DrawFn, *, relations: int = 4, entities: int = 5, most: int = 12) -> list[Fact]:
    """Triples over e1 ... and r1 ..., duplicates and self-loops included."""
    entity = st.integers(1, entities).map(lambda number: f"e{number}")
    return draw(st.lists(st.tuples(entity, relation_names(relations), entity), max_size=most))
