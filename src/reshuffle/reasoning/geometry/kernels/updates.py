"""The changes to stored pairs when one fact is added or removed.

A fact (h, s, t) adds an edge (u, x) -> (v, y) to the product for every arc x -s-> y, where (u, v) is (h, t), or
(t, h) for an arc that walks s backwards. A pair (a, b) is new only if a path from (a, start) to an accepting
(b, state) uses such an edge. Take one with the fewest uses: a reached (u, x) before, and did not reach (v, y)
before; b is reached from (v, y) now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning import keysets
from reshuffle.reasoning.geometry.changing_graph import Edges, discard_fact, insert_fact
from reshuffle.reasoning.geometry.kernels.product_search import (
    STATE_BITS,
    STATE_MASK,
    Arcs,
    Clauses,
    Scratch,
    doubled,
    ends_of,
    is_marked,
    search,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Touches(NamedTuple):
    """For every label the arcs that carry it: `starts[label] : starts[label + 1]`, by relation."""

    starts: NDArray[np.int32]  # label + 1
    relations: NDArray[np.int32]  # which of the stored relations
    first: NDArray[np.int32]  # the first state of the arc's automaton
    words: NDArray[np.int32]  # its mask words
    sources: NDArray[np.int32]  # the arc's states
    targets: NDArray[np.int32]
    clause_starts: NDArray[np.int32]  # stored relation + 1: its clauses
    clause_first: NDArray[np.int32]
    clause_sizes: NDArray[np.int32]
    clause_words: NDArray[np.int32]


class Stored(NamedTuple):
    """The materialised pairs: a table, how many keys of each relation it holds, and the width of an id."""

    table: NDArray[np.int64]
    counts: NDArray[np.int64]  # stored relation
    bits: int


@compiled
def _packed(relation: int, source: int, target: int, bits: int) -> int:
    """The key of a pair of a relation; `bits` is the width of an entity id.

    Invariant: different pairs have different keys while ids fit into `bits`. Cost: constant.
    """
    return (((relation << bits) | source) << bits) | target


@compiled
def with_room(table: NDArray[np.int64], used: int, more: int) -> NDArray[np.int64]:
    """The table, or a larger copy of it, that is at most half full once `more` keys are added.

    Invariant: the keys are the same. Cost: none, or one search per key where the table grows.
    """
    size = len(table)
    while 2 * (used + more) > size:
        size *= 2
    return table if size == len(table) else keysets.rehashed(table, size)


@compiled
def insert_pairs(
    table: NDArray[np.int64], relation: int, heads: NDArray[np.int32], tails: NDArray[np.int32], bits: int
) -> None:
    """Put many pairs of one relation into a table with room for them.

    Invariant: the table is a set, so a pair is in it once. Cost: one search per pair.
    """
    for place in range(len(heads)):
        keysets.insert(table, _packed(relation, heads[place], tails[place], bits))


@compiled
def _goal_entities(  # noqa: PLR0913, PLR0917
    edges: Edges,
    arcs: Arcs,
    first: int,
    words: int,
    scratch: Scratch,
    tick: int,
    queue: NDArray[np.int64],
    entity: int,
    state: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct entities of goal nodes; each has `met` = -tick afterwards.

    Cost: one search from the node.
    """
    queue, filled = search(edges, arcs, first, words, scratch, tick, queue, entity, state)
    goals, met = arcs.goals, scratch.met
    found = np.empty(filled, dtype=np.int64)
    count = 0
    for place in range(filled):
        reached = queue[place] >> STATE_BITS
        if goals[queue[place] & STATE_MASK] and met[reached] != -tick:
            met[reached] = -tick
            found[count] = reached
            count += 1
    return queue, found[:count]


@compiled
def _clauses(touches: Touches, relation: int) -> Clauses:
    """The clauses of one stored relation.

    Invariant: views, not copies. Cost: constant.
    """
    start, end = touches.clause_starts[relation], touches.clause_starts[relation + 1]
    return Clauses(
        touches.clause_first[start:end], touches.clause_sizes[start:end], touches.clause_words[start:end]
    )


@compiled
def _new_sources(  # noqa: PLR0913, PLR0917
    edges: Edges,
    backwards: Arcs,
    touches: Touches,
    touch: int,
    scratch: Scratch,
    tick: int,
    queue: NDArray[np.int64],
    u: int,
    v: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sources that reach (u, x) but do not yet reach (v, y).

    Invariant: the fact is not in the graph yet. Cost: two searches against the arcs.
    """
    first, words = touches.first[touch], touches.words[touch]
    queue, reaching = _goal_entities(
        edges, backwards, first, words, scratch, tick + 1, queue, u, touches.sources[touch]
    )
    if len(reaching) == 0:
        return queue, reaching
    queue, _ = _goal_entities(
        edges, backwards, first, words, scratch, tick + 2, queue, v, touches.targets[touch]
    )
    count = 0
    for source in reaching:
        if scratch.met[source] != -(tick + 2):
            reaching[count] = source
            count += 1
    return queue, reaching[:count]


@compiled
def _store(  # noqa: PLR0913, PLR0917
    edges: Edges,
    forwards: Arcs,
    touches: Touches,
    touch: int,
    scratch: Scratch,
    tick: int,
    queue: NDArray[np.int64],
    v: int,
    sources: NDArray[np.int64],
    stored: Stored,
    table: NDArray[np.int64],
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Add the pairs that the new edge gives these sources; returns the next tick, the queue and the table.

    Invariant: `counts` is the number of keys of each relation.
    Cost: with one clause one search and sources x targets insertions; with several, one search per source.
    """
    relation = touches.relations[touch]
    clauses = _clauses(touches, relation)
    counts, bits = stored.counts, stored.bits
    if len(clauses.first) > 1:  # the other clauses have their say too, so each source is searched anew
        hits = np.empty(64, dtype=np.int64)
        for source in sources:
            queue, hits, found = ends_of(edges, forwards, clauses, scratch, tick + 1, queue, source, hits)
            tick += len(clauses.first)
            table = with_room(table, counts.sum(), found)
            for target in hits[:found]:
                counts[relation] += keysets.insert(table, _packed(relation, source, target, bits))
        return tick, queue, table
    queue, targets = _goal_entities(
        edges,
        forwards,
        touches.first[touch],
        touches.words[touch],
        scratch,
        tick + 1,
        queue,
        v,
        touches.targets[touch],
    )
    table = with_room(table, counts.sum(), len(sources) * len(targets))
    for source in sources:
        for target in targets:
            counts[relation] += keysets.insert(table, _packed(relation, source, target, bits))
    return tick + 1, queue, table


@compiled
def add_fact(  # noqa: PLR0913, PLR0917
    edges: Edges,
    used: int,
    forwards: Arcs,
    backwards: Arcs,
    touches: Touches,
    scratch: Scratch,
    tick: int,
    stored: Stored,
    fact: tuple[int, int, int],
) -> tuple[int, int, NDArray[np.int64]]:
    """Insert the fact and the pairs that follow from it; the places used, the next free tick, the table.

    The caller has seen that the fact is new, and made room for it.

    Invariant: sources are found before the edge is in, targets after it.
    Cost: searches near the fact, and the new pairs.
    """
    head, relation, tail = fact
    queue = np.empty(64, dtype=np.int64)
    start, end = touches.starts[2 * relation], touches.starts[2 * relation + 2]
    middle = touches.starts[2 * relation + 1]
    sources, filled = np.empty(64, dtype=np.int64), 0
    ends = np.zeros(end - start + 1, dtype=np.int64)
    for touch in range(start, end):
        u, v = (head, tail) if touch < middle else (tail, head)
        queue, new = _new_sources(edges, backwards, touches, touch, scratch, tick, queue, u, v)
        tick += 2
        while filled + len(new) > len(sources):
            sources = doubled(sources)
        sources[filled : filled + len(new)] = new
        filled += len(new)
        ends[touch - start + 1] = filled
    used = insert_fact(edges, *fact, used)
    table = stored.table
    for touch in range(start, end):
        new = sources[ends[touch - start] : ends[touch - start + 1]]
        if len(new):
            v = tail if touch < middle else head
            tick, queue, table = _store(
                edges, forwards, touches, touch, scratch, tick, queue, v, new, stored, table
            )
    return used, tick + 1, table


@compiled
def _take_out(  # noqa: PLR0913, PLR0917
    edges: Edges,
    forwards: Arcs,
    backwards: Arcs,
    touches: Touches,
    touch: int,
    scratch: Scratch,
    tick: int,
    fact: tuple[int, int, int],
    backwards_over_it: bool,
    stored: Stored,
) -> int:
    """Remove the pairs that needed the edge (u, x) -> (v, y) of a fact that is gone; the last tick.

    Invariant: the fact is out of the graph before and after.
    Cost: one search where there is a way round; otherwise one per source that reached (u, x).
    """
    head, _, tail = fact
    u, v = (tail, head) if backwards_over_it else (head, tail)
    queue = np.empty(64, dtype=np.int64)
    first, words = touches.first[touch], touches.words[touch]
    x, y = touches.sources[touch], touches.targets[touch]
    queue, _ = search(edges, forwards, first, words, scratch, tick + 1, queue, u, x)
    if is_marked(scratch.stamps, scratch.masks, tick + 1, v * words, y - first):
        return tick + 1  # there is a way round
    # With the fact back in its place for a moment: paths may use it several times.
    insert_fact(edges, *fact, 0)
    queue, sources = _goal_entities(edges, backwards, first, words, scratch, tick + 2, queue, u, x)
    queue, targets = _goal_entities(edges, forwards, first, words, scratch, tick + 3, queue, v, y)
    discard_fact(edges, *fact)
    tick += 3
    relation = touches.relations[touch]
    for source in sources:
        tick += 1
        queue, _ = _goal_entities(edges, forwards, first, words, scratch, tick, queue, source, first)
        for target in targets:
            if scratch.met[target] != -tick:
                key = _packed(relation, source, target, stored.bits)
                stored.counts[relation] -= keysets.discard(stored.table, key)
    return tick


@compiled
def remove_fact(  # noqa: PLR0913, PLR0917
    edges: Edges,
    forwards: Arcs,
    backwards: Arcs,
    touches: Touches,
    scratch: Scratch,
    tick: int,
    stored: Stored,
    fact: tuple[int, int, int],
) -> int:
    """Take the fact (head, relation, tail) and all that followed only from it out; the next free tick.

    Where (u, x) still reaches (v, y), every path finds a way round. Otherwise a pair that is lost has a source
    that reached (u, x) and a target that was reached from (v, y): only these sources are searched again.

    Cost: one `_take_out` for every arc that carries the relation.
    """
    discard_fact(edges, *fact)
    label = 2 * fact[1]
    for touch in range(touches.starts[label], touches.starts[label + 2]):
        turned = touch >= touches.starts[label + 1]
        tick = _take_out(edges, forwards, backwards, touches, touch, scratch, tick, fact, turned, stored)
    return tick + 1
