"""Find the rules of a list that follow from others of the list.

A rule follows from others iff its head holds on its frozen body: entities 0, ..., n, one fact per atom, and the
consequences of the others. Bodies have few entities, so the consequences of even thousands of rules are few.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from reshuffle.kg import inverse_name
from reshuffle.rules import IntersectionRule, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reshuffle.rules import Rule

    Pairs = set[tuple[int, int]]


def redundant_rules(
    rules: Sequence[Rule], *, trusted: int = 0, confidences: Mapping[Rule, float] = MappingProxyType({})
) -> set[Rule]:
    """The rules that follow from shorter rules of the list, or from equally long ones before them.

    What is left entails all of them, and nothing is dropped because of something that is itself dropped for it. What
    nobody believes makes nothing superfluous: the first `trusted` rules are judged by each other alone, and each of the
    others by these and by those that are at least as confident.

    >>> a_b, b_c, a_c = (PathRule((x,), y) for x, y in ("ab", "bc", "ac"))
    >>> redundant_rules([a_b, b_c, a_c]) == {a_c}
    True
    """
    known = _Consequences()
    redundant: set[Rule] = set()
    others = sorted(_by_length(rules[trusted:]), key=lambda rule: -confidences.get(rule, 0.0))
    for rule in (*_by_length(rules[:trusted]), *others):
        if known.entail(rule):
            redundant.add(rule)
        else:
            known.add(rule)
    return redundant


def _by_length(rules: Sequence[Rule]) -> list[Rule]:
    return sorted(rules, key=lambda rule: len(rule.body))


def goes_nowhere(rule: Rule) -> bool:
    """Does the body go forth and back around the head relation itself, as in `r ; s ; s^-1 -> r`?

    Such rules are often captured and nearly always confident, since coming back to the same entity makes the head the
    fact that the body already has.

    >>> goes_nowhere(PathRule(("s^-1", "s", "r"), "r")), goes_nowhere(PathRule(("s", "s^-1"), "r"))
    (True, False)
    """
    if not isinstance(rule, PathRule):
        return False
    left: list[str] = []
    for relation in rule.body:
        if left and left[-1] == inverse_name(relation):
            left.pop()
        else:
            left.append(relation)
    return left == [rule.head]


class _Consequences:
    """Rules by their first relation. Facts hold in both directions, so no rule need be read backwards."""

    def __init__(self) -> None:
        self._by_atom: dict[str, list[Rule]] = {}

    def add(self, rule: Rule) -> None:
        """Use the rule from now on."""
        self._by_atom.setdefault(rule.body[0], []).append(rule)

    def entail(self, rule: Rule) -> bool:
        """Does the head hold on the frozen body?"""
        facts: dict[str, Pairs] = {}
        goal = (0, len(rule.body) if isinstance(rule, PathRule) else 1)
        for place, relation in enumerate(rule.body):
            start, end = (place, place + 1) if isinstance(rule, PathRule) else goal
            _put(facts, relation, {(start, end)})
        while goal not in facts.get(rule.head, ()):
            new = [
                (head, pairs) for head, pairs in self._derived(facts) if not pairs <= facts.get(head, set())
            ]
            if not new:
                return False
            for head, pairs in new:
                _put(facts, head, pairs)
        return True

    def _derived(self, facts: dict[str, Pairs]) -> Iterator[tuple[str, Pairs]]:
        for relation in facts:
            for rule in self._by_atom.get(relation, ()):
                if all(name in facts for name in rule.body):
                    yield rule.head, _matches(rule, facts)


def _put(facts: dict[str, Pairs], relation: str, pairs: Iterable[tuple[int, int]]) -> None:
    """Add facts in both directions."""
    for start, end in list(pairs):  # perhaps the set that is added to
        facts.setdefault(relation, set()).add((start, end))
        facts.setdefault(inverse_name(relation), set()).add((end, start))


def _matches(rule: Rule, facts: dict[str, Pairs]) -> Pairs:
    if isinstance(rule, IntersectionRule):
        return set.intersection(*(facts[name] for name in rule.body))
    pairs = facts[rule.body[0]]
    for name in rule.body[1:]:
        pairs = {(e, g) for e, f in pairs for f2, g in facts[name] if f == f2}
    return pairs
