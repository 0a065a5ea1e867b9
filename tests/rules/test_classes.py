"""Each class, and for every "no" the witness a person can read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.classes import CLASSES, Classification, classify
from reshuffle.rules.grammar import conjunctive_relations
from strategies import acyclic_bases, left_regular_bases, right_regular_bases, rule_bases


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("a(X, Y) & b(Y, Z) -> c(X, Z)", "acyclic"),
        ("a(X, Y) -> b(X, Y)", "acyclic"),
        ("a(X, Y) -> b(Y, X)", "acyclic"),
        ("r(X, Y) & a(Y, Z) -> r(X, Z)", "left-regular"),
        ("r(X, Y) -> r(Y, X)", "left-regular"),
        ("a(X, Y) -> b(X, Y)\nb(X, Y) -> a(X, Y)", "left-regular"),
        ("a(X, Y) & r(Y, Z) -> r(X, Z)", "right-regular"),
        ("r(X, Y) & r(Y, Z) -> r(X, Z)", "regular"),
        ("r(X, Y) & a(Y, Z) & r(Z, U) -> r(X, U)", "regular"),
        ("r(X, Y) & r(Y, Z) -> r(X, Z)\nr(X, Y) -> r(Y, X)", "regular"),
        ("r(X, Y) & r(Y, Z) -> r(X, Z)\nr(X, Y) & s(Y, Z) -> s(X, Z)", "regular"),
        ("a(X, Y) & b(X, Y) -> c(X, Y)", "hierarchy-intersection"),
        ("a(X, Y) & b(X, Y) -> c(X, Y)\nc(X, Y) -> a(Y, X)", "hierarchy-intersection"),
        ("a(X, Y) & b(X, Y) -> c(X, Y)\na(X, Y) & a(Y, Z) -> a(X, Z)", "mixed"),
        ("a(X, Y) & b(X, Y) -> c(X, Y)\na(X, Y) & b(Y, Z) -> c(X, Z)", "mixed"),
        ("a(X, Y) & b(X, Y) -> c(X, Y)\nc(X, Y) & a(Y, Z) -> d(X, Z)", "none"),
        ("a(X, Y) & r(Y, Z) & a(Z, U) -> r(X, U)", "none"),
    ],
)
def test_the_first_class_that_fits(rules: str, expected: str) -> None:
    found = classify(parse_rules(rules))
    assert found.name == expected
    assert found.faithful == (expected != "none")
    assert (found.reason is None) == found.faithful


def why_not(rules: str) -> dict[str, str]:
    return classify(parse_rules(rules)).why_not


def test_why_not_acyclic() -> None:
    found = why_not("a(X, Y) & b(Y, Z) -> c(X, Z)\nc(X, Y) & b(Y, Z) -> a(X, Z)")
    assert found["acyclic"] == "`c` depends on itself through `a`: rule 1: a(X, Y) & b(Y, Z) -> c(X, Z)"


def test_why_not_one_sided() -> None:
    found = why_not("a(X, Y) & r(Y, Z) & b(Z, U) -> s(X, U)\na(X, Y) & a(Y, Z) -> r(X, Z)")
    rule = "rule 1: a(X, Y) & r(Y, Z) & b(Z, Z1) -> s(X, Z1)"
    assert found["left-regular"] == f"`r` is derived by a rule and is not the first atom: {rule}"
    assert found["right-regular"] == f"`r` is derived by a rule and is not the last atom: {rule}"


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (
            "b(X, Y) -> r(X, Y)\na(X, Y) & r(Y, Z) & a(Z, U) -> r(X, U)",
            "`r` calls itself between other atoms: rule 2: a(X, Y) & r(Y, Z) & a(Z, Z1) -> r(X, Z1)",
        ),
        (
            "r(X, Y) & r(Y, Z) & r(Z, U) -> r(X, U)",
            "`r` calls itself 3 times: rule 1: r(X, Y) & r(Y, Z) & r(Z, Z1) -> r(X, Z1)",
        ),
        (
            "r(X, Y) & a(Y, Z) & r(Z, U) & b(U, V) -> r(X, V)",
            "`r` calls itself twice, not only on both sides: "
            "rule 1: r(X, Y) & a(Y, Z) & r(Z, Z1) & b(Z1, Z2) -> r(X, Z2)",
        ),
        (
            "s(X, Y) & a(Y, Z) -> r(X, Z)\nb(X, Y) & r(Y, Z) -> s(X, Z)",
            "`r`, `s` call each other, not all as the first atom and not all as the last: "
            "rule 1: s(X, Y) & a(Y, Z) -> r(X, Z)",
        ),
    ],
)
def test_why_not_regular(rules: str, reason: str) -> None:
    assert why_not(rules)["regular"] == reason
    assert classify(parse_rules(rules)).reason == reason


def test_a_reversed_rule_is_cited_as_it_was_written() -> None:
    found = why_not("a(Y, X) & r(Y, Z) & a(Z, U) -> r(X, U)\nb(X, Y) & a(X, Y) -> c(X, Y)")
    assert found["mixed"].startswith("`r` calls itself between other atoms: rule 1: ")
    only_backwards = classify(RuleBase((PathRule(("a^-1", "r^-1", "a"), "r^-1"), PathRule(("r",), "s"))))
    assert only_backwards.reason is not None
    assert "rule 1" in only_backwards.reason


def test_large_groups_name_only_a_few() -> None:
    ring = [PathRule((f"r{(n + 1) % 6}", "a"), f"r{n}") for n in range(6)]
    found = classify(RuleBase((*ring, PathRule(("a", "r1"), "r0"))))
    assert found.reason is not None
    assert found.reason.startswith("`r0`, `r1`, `r2`, `r3` and 2 more call each other, ")


def test_why_not_with_intersections() -> None:
    found = why_not("a(X, Y) & b(X, Y) -> c(X, Y)\nc(X, Y) -> d(X, Y)\nd(X, Y) & a(Y, Z) -> e(X, Z)")
    present = "an intersection rule is present: rule 1: a(X, Y) & b(X, Y) -> c(X, Y)"
    assert found == {
        "acyclic": present,
        "left-regular": present,
        "right-regular": present,
        "regular": present,
        "hierarchy-intersection": "a path of 2 atoms is present: rule 3: d(X, Y) & a(Y, Z) -> e(X, Z)",
        "mixed": "`d` depends on an intersection rule and occurs inside a longer path, where its conditions could be "
        "met through different middle entities: rule 3: d(X, Y) & a(Y, Z) -> e(X, Z)",
    }


def test_a_relation_called_intersection_changes_nothing() -> None:
    base = RuleBase((PathRule(("a", "intersection", "a"), "intersection"),))
    assert classify(base).reason == classify(base).why_not["regular"]


def test_conjunctive_relations_spread_through_one_atom_and_intersection_rules_only() -> None:
    base = RuleBase(
        (
            IntersectionRule(("a", "b"), "c"),
            PathRule(("c",), "d"),
            IntersectionRule(("d", "a"), "e"),
            PathRule(("e", "a"), "f"),
            PathRule(("a",), "g"),
        )
    )
    assert conjunctive_relations(base) == {"c", "d", "e"}


# --- every class contains the random bases made for it ------------------------------------------------------------


def fits(found: Classification, *names: str) -> bool:
    return found.name in names


@given(acyclic_bases())
def test_a_ranking_puts_bodies_before_heads(base: RuleBase) -> None:
    found = classify(base)
    assert found.name == "acyclic"
    assert found.ranking is not None
    place = {relation: index for index, relation in enumerate(found.ranking)}
    assert sorted(place) == sorted(base.relations)
    for rule in base.path_rules:
        assert all(place[relation] < place[rule.head] for relation in rule.body)


@given(left_regular_bases())
def test_left_regular_bases(base: RuleBase) -> None:
    assert "left-regular" not in classify(base).why_not


@given(right_regular_bases())
def test_right_regular_bases(base: RuleBase) -> None:
    assert "right-regular" not in classify(base).why_not


@given(rule_bases(most_rules=5))
def test_the_mirror_image_is_in_the_mirrored_class(base: RuleBase) -> None:
    mirrored = RuleBase(tuple(PathRule(rule.body[::-1], rule.head) for rule in base.path_rules))
    found, other = classify(base).why_not, classify(mirrored).why_not
    assert ("left-regular" in found) == ("right-regular" in other)
    for name in ("acyclic", "regular", "hierarchy-intersection", "mixed"):
        assert (name in found) == (name in other)


@given(rule_bases(most_rules=5, intersections=True, inverses=True))
def test_classes_nest(base: RuleBase) -> None:
    """Each path class lies in `regular`, and everything faithful in `mixed`; only acyclic bases have a ranking."""
    found = classify(base)
    fitting = [name for name in CLASSES if name not in found.why_not]
    if fitting:
        assert "mixed" in fitting
    if {"acyclic", "left-regular", "right-regular"} & set(fitting):
        assert "regular" in fitting
    assert (found.ranking is not None) == (found.name == "acyclic")
    assert found.name == (fitting[0] if fitting else "none")


@given(st.data())
@settings(max_examples=50)
def test_the_order_of_rules_does_not_matter(data: st.DataObject) -> None:
    base = data.draw(rule_bases(most_rules=5, intersections=True))
    shuffled = RuleBase(tuple(data.draw(st.permutations(base.given))))
    assert classify(shuffled).name == classify(base).name


def test_thousands_of_rules_are_classified() -> None:
    """2,000 rules over 200 relations, as a miner writes them; `benchmarks/speed/rules.py` has the time."""
    rules = tuple(
        PathRule((f"r{(7 * n) % 200}", f"r{(11 * n + 3) % 200}"), f"r{(13 * n + 5) % 200}")
        for n in range(2000)
    )
    assert classify(RuleBase(rules)).name == "none"
