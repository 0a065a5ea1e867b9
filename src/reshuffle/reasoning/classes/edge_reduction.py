"""Edges between classes that do not follow from the others.

An edge `C p D` follows if there is one to a class strictly below D, from a class strictly above C, by a relation
strictly below p, or over a chain through another class. Equivalent classes and relations keep their edges, since each
follows from the other's. Where the classes of a chain lead back to each other by relations that take part in the chain,
nothing is left out on its account: two edges must not be left out because of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.reasoning.classes.edge_reduction_kernels import Edges, reduce_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.reasoning.classes.saturation import Saturated

    Ints = NDArray[np.int32]


def reduced_edges(saturated: Saturated) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Blocks of edges (class, relation, class), by class, without those that follow from the rest."""
    edges = _all_edges(saturated)
    kept = np.ones(len(edges.keys), np.bool_)
    for a in range(len(edges.starts) - 1):
        if edges.starts[a] < edges.starts[a + 1]:
            reduce_class(edges, a, kept)
    relations, tails = np.divmod(edges.keys[kept], len(edges.starts) - 1)
    heads = np.repeat(np.arange(len(edges.starts) - 1), np.diff(edges.starts))[kept]
    yield heads.astype(np.int32), relations.astype(np.int32), tails.astype(np.int32)


def _all_edges(saturated: Saturated) -> Edges:
    """All edges as sorted keys in rows by class, and what the relations have to do with each other."""
    count, is_a = saturated.forms.num_named, len(saturated.above)
    blocks = [
        (heads, relations.astype(np.int64) * count + tails) for heads, relations, tails in saturated.edges()
    ]
    heads = np.concatenate([np.empty(0, np.int32), *(heads for heads, _ in blocks)])
    keys = np.concatenate([np.empty(0, np.int64), *(keys for _, keys in blocks)])
    order = np.lexsort((keys, heads))
    starts = np.searchsorted(heads[order], np.arange(count + 1)).astype(np.int64)
    strict, inside = _relations(saturated)
    rules = saturated.rules
    return Edges(
        starts, keys[order], is_a, strict, inside, rules.chain_places, rules.chain_starts, rules.chain
    )


def _relations(saturated: Saturated) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which relations are above each, strictly or not; and which may take part in deriving each."""
    count = len(saturated.above)
    above = np.zeros((count, count), np.bool_)
    for relation, sups in enumerate(saturated.above):
        above[relation, sups] = True
    inside = above.T.copy()  # by head
    for first, second, sup, _ in saturated.forms.chains:
        inside[sup, [first, second]] = True
    changed = True
    while changed:
        wider = inside | (inside.astype(np.int32) @ inside.astype(np.int32) > 0)
        changed = bool((wider != inside).any())
        inside = wider
    return above, inside
