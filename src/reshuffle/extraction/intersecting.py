"""Which intersections hard constraints capture, for heads that several roots decide.

Each (start, exit) of the head is a clause that some conjunct must meet, alone or, where inverses are known, together
with others by going forth and back between the two entities. Clause by clause the least sets of relations that meet
it are found by walking backwards from its exit; a captured intersection is the union of one such set per clause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.constraints import UNCONSTRAINED
from reshuffle.kg import inverse_name
from reshuffle.kg.inverses import is_inverse
from reshuffle.rules import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.constraints import OrderingConstraints

    Names = frozenset[str]
    Place = tuple[int, int]  # which of the two entities, and the slot


def captured_intersections(
    constraints: OrderingConstraints, *, most_conjuncts: int
) -> Iterator[IntersectionRule]:
    """Intersections without needless conjuncts, about relations with several roots."""
    for head, pairs in constraints.roots.items():
        if len(pairs) < 2 or head in constraints.hidden:
            continue
        sets = [frozenset[str]()]
        for start, leave in pairs:
            clause = _meeting(constraints, start, leave, most_conjuncts)
            sets = least(
                left | right for left in sets for right in clause if len(left | right) <= most_conjuncts
            )
        for names in sorted(sets, key=sorted):
            if len(names) >= 2 and head not in names:
                rule = IntersectionRule(tuple(names), head)
                yield _in_order(rule.reversed() if is_inverse(head) else rule, constraints)


def _in_order(rule: IntersectionRule, constraints: OrderingConstraints) -> IntersectionRule:
    """With its conjuncts in the order of the relations, whichever of its two directions it was found in."""
    known = constraints.relation_ids

    def place(name: str) -> tuple[int, str]:
        both = (name, inverse_name(name))
        return min(known.get(one, len(known)) for one in both), name

    return IntersectionRule(tuple(sorted(rule.body, key=place)), rule.head)


def least(sets: Iterable[Names]) -> list[Names]:
    """Those that contain no other.

    >>> least([frozenset("ab"), frozenset("a"), frozenset("bc")])
    [frozenset({'a'}), frozenset({...})]
    """
    kept: list[Names] = []
    for candidate in sorted(set(sets), key=lambda names: (len(names), sorted(names))):
        if not any(smaller <= candidate for smaller in kept):
            kept.append(candidate)
    return kept


def _meeting(constraints: OrderingConstraints, start: int, leave: int, most: int) -> list[Names]:
    """The least sets of relations between two entities by which `start` of the first flows to `leave` of the second."""
    found: dict[Place, list[Names]] = {(1, leave): [frozenset()]}
    waiting: list[tuple[Place, Names]] = [((1, leave), frozenset())]
    while waiting:
        place, used = waiting.pop()
        if used not in found[place]:
            continue  # a smaller set has come here since
        for origin, names in _before(constraints, place):
            grown = used | names
            known = found.setdefault(origin, [])
            if len(grown) > most or any(smaller <= grown for smaller in known):
                continue
            found[origin] = [*(other for other in known if not grown <= other), grown]
            waiting.append((origin, grown))
    return found.get((0, start), [])


def _before(constraints: OrderingConstraints, place: Place) -> Iterator[tuple[Place, Names]]:
    """Where the value of a place may have come from, and by which relation between the entities."""
    entity, slot = place
    for relation in constraints.relations:
        if relation in constraints.identities:
            origin, names = (entity, int(constraints.source_of(relation)[slot])), frozenset[str]()
        elif relation in constraints.hidden:
            continue
        elif entity == 1:
            origin, names = (0, int(constraints.source_of(relation)[slot])), frozenset({relation})
        else:
            back = constraints.inverse_of(relation)
            if back is None:
                continue
            origin, names = (1, int(constraints.source_of(back)[slot])), frozenset({relation})
        if origin[1] != UNCONSTRAINED:
            yield origin, names
