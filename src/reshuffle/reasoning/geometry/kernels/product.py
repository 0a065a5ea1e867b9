"""The product of the graph and one relation's automata, written out, for searches from every entity.

A single question walks the product without building it. All questions at once pass the same nodes many times,
so it pays to look every edge up once, and to leave out the nodes from which no goal can be reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int32]

NONE = -1


class Product(NamedTuple):
    """Node `offsets[c] + e * sizes[c]` is the start of clause c at entity e; `starts[n] : starts[n + 1]` follow n."""

    starts: NDArray[np.int64]  # node + 1
    targets: Column  # edge
    answers: Column  # node: its entity where a search ends there, else NONE
    offsets: NDArray[np.int64]  # clause
    sizes: NDArray[np.int64]  # clause: states
    shares: Column  # entity: those with one number, unless it is NONE, have the same answers


class Marks(NamedTuple):
    """What the searches of one thread write on."""

    stamps: Column  # node
    met: NDArray[np.int64]  # entity
    queue: Column  # node
    hits: Column  # entity


@compiled(small_in_python=True)
def grouped(keys: Column, values: Column, num_keys: int) -> tuple[NDArray[np.int64], Column]:
    """A counting sort: the values of each key, `starts[key] : starts[key + 1]`.

    Invariant: the values of a key keep their order. Cost: two passes over the keys.
    """
    starts = np.zeros(num_keys + 1, dtype=np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(num_keys):
        starts[key + 1] += starts[key]
    place = starts[:-1].copy()
    ordered = np.empty(len(values), dtype=np.int32)
    for number in range(len(keys)):
        ordered[place[keys[number]]] = values[number]
        place[keys[number]] += 1
    return starts, ordered


@compiled(small_in_python=True)
def useful(sources: Column, targets: Column, answers: Column) -> NDArray[np.bool_]:
    """The nodes from which some answer can be reached.

    Invariant: a node enters the queue once, when it is found alive. Cost: one pass over nodes and edges.
    """
    starts, before = grouped(targets, sources, len(answers))
    alive = np.zeros(len(answers), dtype=np.bool_)
    queue = np.empty(len(answers), dtype=np.int32)
    filled, done = 0, 0
    for node in range(len(answers)):  # expressions on whole arrays take seconds to compile
        if answers[node] != NONE:
            alive[node] = True
            queue[filled] = node
            filled += 1
    while done < filled:
        node = queue[done]
        done += 1
        for edge in range(starts[node], starts[node + 1]):
            if not alive[before[edge]]:
                alive[before[edge]] = True
                queue[filled] = before[edge]
                filled += 1
    return alive


@compiled(small_in_python=True)
def _answers_from(product: Product, clause: int, source: int, marks: Marks, tick: int) -> int:
    """Flood one clause; the entities of its goal nodes go to `hits`, with repetition; returns how many.

    Invariant: a node enters the queue once, when it is first stamped.
    Cost: the nodes and edges that are reached.
    """
    starts, targets, answers = product.starts, product.targets, product.answers
    stamps, queue, hits = marks.stamps, marks.queue, marks.hits
    node = product.offsets[clause] + source * product.sizes[clause]
    queue[0] = node
    stamps[node] = tick
    done, filled, found = 0, 1, 0
    while done < filled:
        node = queue[done]
        done += 1
        if answers[node] != NONE:
            hits[found] = answers[node]
            found += 1
        for edge in range(starts[node], starts[node + 1]):
            target = targets[edge]
            if stamps[target] != tick:
                stamps[target] = tick
                queue[filled] = target
                filled += 1
    return found


@compiled(small_in_python=True)
def answers_of(product: Product, source: int, marks: Marks, tick: int) -> int:
    """The distinct entities that every clause reaches go to `hits`; returns how many.

    Uses one tick per clause. An entity that meets the first c clauses has `met` = (tick << 16) + c.

    Cost: one flood per clause, as long as some entity meets all clauses so far.
    """
    met, hits = marks.met, marks.hits
    base = tick << 16
    kept = 0
    for clause in range(len(product.offsets)):
        found = _answers_from(product, clause, source, marks, tick + clause)
        kept = 0
        for place in range(found):
            entity = hits[place]
            before = met[entity]
            if (clause == 0 and before != base + 1) or (clause > 0 and before == base + clause):
                met[entity] = base + clause + 1
                hits[kept] = entity
                kept += 1
        if kept == 0:
            break
    return kept


@compiled(small_in_python=True)
def count_answers(product: Product, sources: Column, marks: Marks, tick: int) -> int:
    """How many pairs hold with these sources.

    Invariant: sources with one share follow each other, so one search serves them all.
    Cost: one search per share.
    """
    total, found, share = 0, 0, NONE
    for source in sources:
        if share == NONE or product.shares[source] != share:
            share = product.shares[source]
            found = answers_of(product, source, marks, tick)
            tick += len(product.offsets)
        total += found
    return total


@compiled(small_in_python=True)
def pairs_of(
    product: Product, sources: Column, marks: Marks, tick: int, most: int
) -> tuple[Column, Column, int]:
    """The pairs that hold with these sources, and how many sources are done.

    Stops before the source that would exceed `most` pairs (one source may exceed it alone).

    Cost: one search per share, and a copy of its answers per source.
    """
    room = min(most, 4096)
    heads, tails = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    filled, found, share = 0, 0, NONE
    for place in range(len(sources)):
        if share == NONE or product.shares[sources[place]] != share:
            share = product.shares[sources[place]]
            found = answers_of(product, sources[place], marks, tick)
            tick += len(product.offsets)
        if filled > 0 and filled + found > most:
            return heads[:filled], tails[:filled], place
        if filled + found > room:
            room = max(filled + found, min(2 * room, most))
            heads, tails = _moved(heads, filled, room), _moved(tails, filled, room)
        for hit in range(found):
            heads[filled + hit] = sources[place]
            tails[filled + hit] = marks.hits[hit]
        filled += found
    return heads[:filled], tails[:filled], len(sources)


@compiled(small_in_python=True)
def _moved(column: Column, filled: int, room: int) -> Column:
    """The first `filled` values in an array with more room.

    Invariant: the rest is not set. Cost: one copy.
    """
    grown = np.empty(room, dtype=np.int32)
    for place in range(filled):
        grown[place] = column[place]
    return grown


@compiled(small_in_python=True)
def components(starts: NDArray[np.int64], targets: Column) -> Column:
    """The strongly connected component of every node (Tarjan's algorithm, with a stack of its own).

    Invariant: `low` is the earliest node on the stack that a node is known to reach.
    Cost: one pass over nodes and edges.
    """
    size = len(starts) - 1
    component = np.full(size, NONE, dtype=np.int32)
    order, low = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)  # order 0: not met yet
    edge = starts[:-1].copy()
    path, open_ = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    met, found, num_open = 0, 0, 0
    for root in range(size):
        depth = 0 if order[root] == 0 else -1
        path[0] = root
        while depth >= 0:
            node = path[depth]
            if order[node] == 0:
                met += 1
                order[node] = low[node] = met
                open_[num_open] = node
                num_open += 1
            if edge[node] < starts[node + 1]:
                target = targets[edge[node]]
                if order[target] == 0:  # looked at again when the walk comes back
                    depth += 1
                    path[depth] = target
                else:
                    edge[node] += 1
                    if component[target] == NONE:
                        low[node] = min(low[node], low[target])
                continue
            if low[node] == order[node]:
                while component[node] == NONE:
                    num_open -= 1
                    component[open_[num_open]] = found
                found += 1
            depth -= 1
    return component


@compiled(small_in_python=True)
def shared_by(starts: NDArray[np.int64], targets: Column, answers: Column, size: int) -> Column:
    """For sources whose first steps all lead into one component: its number; otherwise NONE.

    The search from such a source finds what the search from any node of that component finds. `size` is the
    number of states; the start of entity e is node e * size, and no answer itself.

    Cost: `components`, and one pass over the first edges of every source.
    """
    component = components(starts, targets)
    shares = np.full((len(starts) - 1) // size, NONE, dtype=np.int32)
    for entity in range(len(shares)):
        node = entity * size
        first, last = starts[node], starts[node + 1]
        if first == last or answers[node] != NONE:
            continue
        share = component[targets[first]]
        for edge in range(first + 1, last):
            if component[targets[edge]] != share:
                share = NONE
                break
        shares[entity] = share
    return shares
