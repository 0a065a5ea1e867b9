"""Which edges of a class follow from others. An edge is a key: relation * number of classes + class.

cost: per class, its edges times the superclasses, and the unmarked edges times the edges of what they lead to
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.classes.saturation_kernels import FIRST, SECOND

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]


class Edges(NamedTuple):
    """All edges, by class, and the relations."""

    starts: Longs
    keys: Longs  # sorted in each class; subclasses last
    is_a: int
    above: NDArray[np.bool_]  # relation, relation
    inside: NDArray[np.bool_]  # relation, relations that may take part in deriving it
    chain_places: NDArray[np.int32]  # as in `saturation_kernels.Rules`
    chain_starts: NDArray[np.int32]
    chain: NDArray[np.int32]


@compiled
def _place(edges: Edges, a: int, relation: int, b: int) -> int:
    """Where the edge stands, or -1."""
    key = relation * (len(edges.starts) - 1) + b
    low, high = edges.starts[a], edges.starts[a + 1]
    while low < high:
        middle = (low + high) // 2
        if edges.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < edges.starts[a + 1] and edges.keys[low] == key else -1


@compiled
def _is_strict(edges: Edges, a: int, b: int) -> bool:
    """Is b, a superclass of a, not equivalent to it?"""
    return _place(edges, b, edges.is_a, a) < 0


@compiled
def _mark(edges: Edges, kept: NDArray[np.bool_], a: int, relation: int, b: int) -> None:
    place = _place(edges, a, relation, b)
    if place >= 0:
        kept[place] = False


@compiled
def _first_above(edges: Edges, a: int) -> int:
    """Where the superclasses of a begin."""
    low, high = edges.starts[a], edges.starts[a + 1]
    least = edges.is_a * (len(edges.starts) - 1)
    while low < high:
        middle = (low + high) // 2
        if edges.keys[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low  # type: ignore[no-any-return]


@compiled
def _mark_above(edges: Edges, a: int, near: NDArray[np.bool_]) -> None:
    """Edges to classes above those that others lead to, and by relations above theirs."""
    count = len(edges.starts) - 1
    for at in range(edges.starts[a], edges.starts[a + 1]):
        relation, b = edges.keys[at] // count, edges.keys[at] % count
        if relation == edges.is_a and not _is_strict(edges, a, b):
            continue
        for up in range(_first_above(edges, b), edges.starts[b + 1]):
            c = edges.keys[up] - edges.is_a * count
            if c != a and _is_strict(edges, b, c):
                place = _place(edges, a, relation, c)
                if place >= 0:
                    near[place - edges.starts[a]] = False
        if relation != edges.is_a:
            for other in range(len(edges.above)):
                if edges.above[relation, other] and not edges.above[other, relation]:
                    place = _place(edges, a, other, b)
                    if place >= 0:
                        near[place - edges.starts[a]] = False


@compiled
def _mark_inherited(edges: Edges, a: int, kept: NDArray[np.bool_]) -> None:
    """Edges that a class strictly above has as well."""
    count = len(edges.starts) - 1
    first = edges.starts[a]
    own = _first_above(edges, a)
    for up in range(own, edges.starts[a + 1]):
        c = edges.keys[up] - edges.is_a * count
        if not _is_strict(edges, a, c):
            continue
        at, other = first, edges.starts[c]
        while at < own and other < edges.starts[c + 1]:
            if edges.keys[at] == edges.keys[other]:
                kept[at] = False
                at += 1
                other += 1
            elif edges.keys[at] < edges.keys[other]:
                at += 1
            else:
                other += 1


@compiled
def _leads_back(edges: Edges, a: int, b: int, head: int) -> bool:
    """Does some relation lead from a to b that may take part in deriving `head`?"""
    if a == b or _place(edges, a, edges.is_a, b) >= 0:
        return True
    for relation in range(len(edges.inside)):
        if edges.inside[head, relation] and _place(edges, a, relation, b) >= 0:
            return True
    return False


@compiled
def _mark_chain(edges: Edges, a: int, then: int, first: int, b: int, kept: NDArray[np.bool_]) -> None:
    """Edges that follow from `a first b` and one edge of b."""
    count = len(edges.starts) - 1
    second, c = edges.keys[then] // count, edges.keys[then] % count
    if edges.chain_places[SECOND, second] < 0:
        return
    cell = 1 + edges.chain_places[FIRST, first] * edges.chain_starts[0] + edges.chain_places[SECOND, second]
    begins, ends = edges.chain_starts[cell], edges.chain_starts[cell + 1]
    if begins == ends or _leads_back(edges, c, b, first) or _leads_back(edges, b, a, second):
        return
    for at in range(begins, ends):
        for above in range(len(edges.above)):
            if edges.above[edges.chain[FIRST, at], above]:
                _mark(edges, kept, a, above, c)


@compiled
def _mark_chained(edges: Edges, a: int, near: NDArray[np.bool_], kept: NDArray[np.bool_]) -> None:
    """Edges over a class between."""
    count = len(edges.starts) - 1
    for at in range(edges.starts[a], _first_above(edges, a)):
        relation, b = edges.keys[at] // count, edges.keys[at] % count
        if near[at - edges.starts[a]] and edges.chain_places[FIRST, relation] >= 0:
            for then in range(edges.starts[b], _first_above(edges, b)):
                _mark_chain(edges, a, then, relation, b, kept)


@compiled
def reduce_class(edges: Edges, a: int, kept: NDArray[np.bool_]) -> None:
    """Mark the edges of one class that follow from others."""
    near = np.ones(edges.starts[a + 1] - edges.starts[a], np.bool_)
    _mark_above(edges, a, near)
    _mark_inherited(edges, a, kept)
    for at in range(len(near)):
        if not near[at]:
            kept[edges.starts[a] + at] = False
    _mark_chained(edges, a, near, kept)
