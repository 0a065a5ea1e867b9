"""Find walks along a rule's body from one entity to another, on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg import Triple, inverse_name
from reshuffle.rules import IntersectionRule
from reshuffle.rules.rule import ConstantRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist.features import FeatureGraph
    from reshuffle.rules import Rule


def walks_of(
    features: FeatureGraph, rule: Rule, head: int, tail: int, *, most: int, facts: KnowledgeGraph
) -> Iterator[tuple[Triple, ...]]:
    """Up to `most` walks, each as its facts in the order of the body; the smallest ids first.

    Features may read some of the facts in both directions; a fact is given as it stands among `facts`.
    """
    if isinstance(rule, ConstantRule):
        yield from ((_fact(facts, *edge),) for edge in _edges_of(rule, features, head, tail, facts)[:most])
        return
    body = [features.codes[name] for name in rule.body]
    if isinstance(rule, IntersectionRule):
        found = [[(head, code, tail) for code in body]][:most]
    else:
        found = _paths(features, body, head, tail, most)
    for walk in found:
        yield tuple(_fact(facts, *edge) for edge in walk)


def _edges_of(
    rule: ConstantRule, features: FeatureGraph, head: int, tail: int, facts: KnowledgeGraph
) -> list[tuple[int, int, int]]:
    """The edges that are the body of a rule with one atom, for the entity that the conclusion is about."""
    (_, start, end), ((name, first, second),) = rule.conclusion, rule.atoms
    who, about = (head, start) if isinstance(start, int) else (tail, end)
    turned = second == about
    other = first if turned else second
    code = features.codes[inverse_name(name) if turned else name]
    found = features.adjacency.of(who, code).tolist()
    named = facts.entities.find(other)
    return [(who, code, there) for there in found if named is None or there == named]


def _paths(
    features: FeatureGraph, body: list[int], head: int, tail: int, most: int
) -> list[list[tuple[int, int, int]]]:
    """Walks from head to tail, looked for among those who lie on one."""
    count = features.num_relations
    leading = [{tail}]  # who leads to the tail by the rest of the body, longest rest first
    for code in reversed(body[1:]):
        back = code - count if code >= count else code + count
        before = [features.adjacency.of(here, back) for here in leading[0]]
        leading.insert(0, set(np.concatenate(before).tolist()) if before else set())
    walks: list[list[tuple[int, int, int]]] = []
    waiting: list[tuple[int, list[tuple[int, int, int]]]] = [(head, [])]
    while waiting and len(walks) < most:
        here, walk = waiting.pop()
        if len(walk) == len(body):
            walks.append(walk)
            continue
        code = body[len(walk)]
        onward = [int(e) for e in features.adjacency.of(here, code) if int(e) in leading[len(walk)]]
        waiting += [(there, [*walk, (here, code, there)]) for there in reversed(onward)]
    return walks


def _fact(facts: KnowledgeGraph, here: int, code: int, there: int) -> Triple:
    count = len(facts.relations)
    start, end = (there, here) if code >= count else (here, there)
    if not facts.has_ids(start, code % count, end):
        start, end = end, start
    return Triple(facts.entities[start], facts.relations[code % count], facts.entities[end])
