"""The test oracle: entailment by definition, slow and simple on purpose.

Everything fast in this package is tested against these functions, so they follow the paper's definitions
word for word and share no code with what they test.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import NotExpressibleError
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.rules.rule import ConstantRule, DisjointEnds, IntersectionRule, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.rules.rule import Rule, RuleBase, Term

Fact: TypeAlias = tuple[str, str, str]
Word: TypeAlias = tuple[str, ...]


def closure(rules: RuleBase, facts: Iterable[Fact]) -> set[Fact]:
    """All (e, r, f) with P u G |= (e, r, f), by forward chaining until nothing new appears.

    Variables may bind to the same entity, as in Datalog and unlike AnyBURL.

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> transitive = RuleBase((PathRule(("r", "r"), "r"),))
    >>> sorted(closure(transitive, [("a", "r", "b"), ("b", "r", "c")]))
    [('a', 'r', 'b'), ('a', 'r', 'c'), ('b', 'r', 'c')]
    """
    return set(fewest_steps(rules, facts, count_steps=False))


def entails_within(rules: RuleBase, facts: Iterable[Fact], triple: Fact, bound: int) -> bool:
    """P u G |=_m (e, r, f): derivable in m steps, where a rule with n body atoms costs n - 1.

    For rules of two atoms this is the paper's definition, m = m1 + m2 + 1. One-atom rules are free.
    """
    if rules.intersection_rules:
        raise NotExpressibleError(
            "steps are not defined for intersection rules (an open question of the paper)",
            remedy="leave out the bound, or leave out the intersection rules",
        )
    return fewest_steps(rules, facts).get(triple, bound + 1) <= bound


def fewest_steps(rules: RuleBase, facts: Iterable[Fact], *, count_steps: bool = True) -> dict[Fact, int]:
    """For every entailed triple the least m with P u G |=_m, by repeated application of all rules.

    A rule with constants and n atoms costs n - 1, too; without a body, nothing. A variable that only its conclusion
    has stands for every entity that a fact or a rule names.
    """
    facts = list(facts)
    entities = {name for head, _, tail in facts for name in (head, tail)}
    entities.update(name for rule in rules if isinstance(rule, ConstantRule) for name in rule.constants)
    entities.update(
        end for pair in rules.disjointness if isinstance(pair, DisjointEnds) for _, end in pair.sides
    )
    steps: dict[Fact, int] = dict.fromkeys(((e, r, f) for e, r, f in facts), 0)
    changed = True
    while changed:
        changed = False
        for rule in rules:
            found = (
                _instances(rule, steps, entities)
                if isinstance(rule, ConstantRule)
                else _consequences(rule, steps)
            )
            for derived, cost in list(found):
                if not count_steps:
                    cost = 0  # noqa: PLW2901
                if derived not in steps or cost < steps[derived]:
                    steps[derived] = cost
                    changed = True
    return steps


def _instances(rule: ConstantRule, steps: dict[Fact, int], entities: set[str]) -> Iterator[tuple[Fact, int]]:
    """Every instance of the conclusion: for each way to put entities in the place of variables, atom by atom."""
    ways: list[tuple[dict[int, str], int]] = [({}, max(len(rule.atoms) - 1, 0))]
    for relation, start, end in rule.atoms:
        ways = [
            (more, cost + steps[e, r, f])
            for bound, cost in ways
            for e, r, f in steps
            if r == relation and (more := _binding(bound, ((start, e), (end, f)))) is not None
        ]
    relation, start, end = rule.conclusion
    for bound, cost in ways:
        for e in _meant(start, bound, entities):
            for f in _meant(end, bound, entities):
                yield (e, relation, f), cost


def _meant(term: Term, bound: dict[int, str], entities: set[str]) -> Iterable[str]:
    """The entities that a term of a conclusion can mean."""
    if isinstance(term, str):
        return [term]
    return [bound[term]] if term in bound else entities


def _binding(bound: dict[int, str], pairs: Iterable[tuple[Term, str]]) -> dict[int, str] | None:
    """What is bound and these pairs of a term and an entity; None where they do not fit."""
    more = dict(bound)
    for term, entity in pairs:
        if entity != (term if isinstance(term, str) else more.setdefault(term, entity)):
            return None
    return more


def _consequences(rule: PathRule | IntersectionRule, steps: dict[Fact, int]) -> Iterator[tuple[Fact, int]]:
    """Every instance of the head, with the sum of its atoms' steps plus (atoms - 1)."""
    if isinstance(rule, IntersectionRule):
        pairs = [_pairs(relation, steps) for relation in rule.body]
        matches = {pair: 0 for pair in pairs[0] if all(pair in other for other in pairs)}
    else:
        matches = _pairs(rule.body[0], steps)
        for relation in rule.body[1:]:
            matches = _joined(matches, _pairs(relation, steps))
    for (start, end), cost in matches.items():
        yield _oriented(start, rule.head, end), cost


def _pairs(relation: str, steps: dict[Fact, int]) -> dict[tuple[str, str], int]:
    """The pairs of a relation; an inverse relation has the pairs of its relation turned around."""
    if is_inverse(relation):
        base = inverse_name(relation)
        return {(f, e): cost for (e, r, f), cost in steps.items() if r == base}
    return {(e, f): cost for (e, r, f), cost in steps.items() if r == relation}


def _joined(
    left: dict[tuple[str, str], int], right: dict[tuple[str, str], int]
) -> dict[tuple[str, str], int]:
    joined: dict[tuple[str, str], int] = {}
    for (e, g), first in left.items():
        for (h, f), second in right.items():
            if g == h:
                cost = first + second + 1
                joined[e, f] = min(cost, joined.get((e, f), cost))
    return joined


def _oriented(start: str, relation: str, end: str) -> Fact:
    if is_inverse(relation):
        return (end, inverse_name(relation), start)
    return (start, relation, end)


def entails_rule(rules: RuleBase, rule: Rule) -> bool:
    """P |= rule: freeze the body into a graph of new entities and see whether the head follows.

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> transitive = RuleBase((PathRule(("r", "r"), "r"),))
    >>> entails_rule(transitive, PathRule(("r", "r", "r"), "r"))
    True
    >>> entails_rule(transitive, PathRule(("r",), "s"))
    False
    """
    if isinstance(rule, PathRule):
        ends = [str(position) for position in range(len(rule.body) + 1)]
        steps = zip(ends, rule.body, ends[1:], strict=False)
        start, end = ends[0], ends[-1]
    else:
        start, end = "0", "1"
        steps = zip(itertools.repeat(start), rule.body, itertools.repeat(end), strict=False)
    facts = [_oriented(*step) for step in steps]
    return _oriented(start, rule.head, end) in closure(rules, facts)


def entailed_words(rules: RuleBase, *, max_length: int) -> dict[str, set[Word]]:
    """For every relation the body words up to a length that P entails for it (the paper's language L_r).

    Each relation derives at least itself. Only for rule bases without intersection rules: with them, a
    relation does not follow from single words alone.

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> words = entailed_words(RuleBase((PathRule(("r", "s"), "r"),)), max_length=3)
    >>> sorted(words["r"], key=len)
    [('r',), ('r', 's'), ('r', 's', 's')]
    """
    closed = rules.closed_under_reversal()
    words: dict[str, set[Word]] = {relation: {(relation,)} for relation in closed.relations}
    changed = True
    while changed:
        changed = False
        for rule in closed.path_rules:
            new = _concatenations([words[relation] for relation in rule.body], max_length)
            if not new <= words[rule.head]:
                words[rule.head] |= new
                changed = True
    return words


def _concatenations(parts: list[set[Word]], max_length: int) -> set[Word]:
    built: set[Word] = {()}
    for remaining, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        limit = max_length - remaining  # each later atom needs at least one symbol
        built = {left + right for left in built for right in part if len(left) + len(right) <= limit}
    return built
