"""The inner loops of soft extraction."""

from __future__ import annotations

# Types would say "array" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.kg.row_kernels import lower_bound


@compiled
def best_products(left, right):
    """[i, j]: the largest left[i, m] * right[m, j] over all m.

    Invariant: after m, result[i] is the best over the middle slots up to m. Cost: rows * middles * columns, where the
    zeros of `left` cost nothing.
    """
    rows, columns = left.shape[0], right.shape[1]
    result = np.zeros((rows, columns))
    for i in range(rows):
        for m in range(left.shape[1]):
            factor = left[i, m]
            if factor > 0:
                for j in range(columns):
                    value = factor * right[m, j]
                    result[i, j] = max(result[i, j], value)
    return result


@compiled
def best_walks(moves):
    """[i, j]: the largest product of entries along any walk from j to i; no walk at all counts 1.

    Entries are at most 1, so a best walk visits no slot twice, and one pass per middle slot finds all
    (Floyd and Warshall). Invariant: after a middle slot, result has the best walks whose inner slots are among those
    done. Cost: slots^3.
    """
    result = moves.copy()
    slots = len(result)
    for i in range(slots):
        result[i, i] = 1.0
    for middle in range(slots):
        for i in range(slots):
            factor = result[i, middle]
            if factor > 0:
                for j in range(slots):
                    value = factor * result[middle, j]
                    result[i, j] = max(result[i, j], value)
    return result


@compiled
def _excess(head, flow, allowed):
    """How far the worst row of `head` exceeds that of `flow`; above `allowed` any number above it.

    Invariant: `worst` is the largest excess of the rows done. Cost: slots^2, less where a row exceeds `allowed`.
    """
    worst = 0.0
    for row in range(len(head)):
        total = 0.0
        for slot in range(len(head)):
            if head[row, slot] > flow[row, slot]:
                total += head[row, slot] - flow[row, slot]
        worst = max(worst, total)
        if worst > allowed:
            break
    return worst


@compiled
def degrees(heads, flow, floor):
    """Per head 1 - excess over the flow / largest row sum; -1 where that is below the floor.

    Invariant: a result is -1 or at least `floor`, and only the former may come from an excess that was cut short. Cost:
    heads * slots^2.
    """
    result = np.full(len(heads), -1.0)
    for head in range(len(heads)):
        asked = 0.0
        for row in range(len(flow)):
            asked = max(asked, heads[head, row].sum())
        excess = _excess(heads[head], flow, (1.0 - floor) * asked)
        degree = 1.0 - excess / asked if asked > 0 else 1.0
        if degree >= floor:
            result[head] = degree
    return result


@compiled
def degree_bounds(heads, highest, shares, floor):
    """The same for the flow highest[s] * shares[x], which no continuation exceeds.

    Invariant: at least the degree of every continuation of the prefix. Cost: that of `degrees`.
    """
    slots = len(shares)
    flow = np.empty((slots, slots))
    for row in range(slots):
        for slot in range(slots):
            flow[row, slot] = shares[row] * highest[slot]
    return degrees(heads, flow, floor)


@compiled
def _joined(pair, body, hidden, edges, buffers, stamp):
    """Does the body lead from the one entity of the pair to the other?

    `hidden` are two relations: the edge from the first to the second by the one is left out, and that from the second
    to the first by the other. Marks what is reached in step k by `stamp` + k.

    Invariant: no stamp in use is above `stamp`, so that marks of earlier calls do not count. Cost: the edges that the
    body walks from the first entity.
    """
    starts, relations, neighbours = edges
    frontiers, stamps = buffers
    frontiers[0, 0] = pair[0]
    size = 1
    for step in range(len(body)):
        stamp += 1
        count = 0
        for place in range(size):
            entity = frontiers[step % 2, place]
            last = starts[entity + 1]
            edge = lower_bound(relations, starts[entity], last, body[step])
            while edge < last and relations[edge] == body[step]:
                other = neighbours[edge]
                edge += 1
                itself = (entity == pair[0] and other == pair[1] and body[step] == hidden[0]) or (
                    entity == pair[1] and other == pair[0] and body[step] == hidden[1]
                )
                if not itself and stamps[other] != stamp:
                    stamps[other] = stamp
                    frontiers[(step + 1) % 2, count] = other
                    count += 1
        size = count
    return stamps[pair[1]] == stamp


@compiled
def found_by_others(pairs, body, hidden, edges):
    """Which of the pairs the body joins once their own edge (`_joined`) is left out.

    Invariant: pair p uses the stamps p * len(body) + 1 to (p + 1) * len(body). Cost: one `_joined` per pair.
    """
    num_entities = len(edges[0]) - 1
    frontiers = np.empty((2, num_entities), dtype=np.int32)
    stamps = np.zeros(num_entities, dtype=np.int64)
    found = np.zeros(len(pairs), dtype=np.bool_)
    for place in range(len(pairs)):
        found[place] = _joined(pairs[place], body, hidden, edges, (frontiers, stamps), place * len(body))
    return found


@compiled
def found_by_themselves(pairs, body, hidden, edges):
    """How many of the pairs the body joins, but not once their own edge (`_joined`) is left out.

    Invariant: each `_joined` gets the len(body) stamps after the last one's. Cost: one or two `_joined` per pair.
    """
    num_entities = len(edges[0]) - 1
    frontiers = np.empty((2, num_entities), dtype=np.int32)
    stamps = np.zeros(num_entities, dtype=np.int64)
    none = np.array([-1, -1])
    stamp, count = 0, 0
    for place in range(len(pairs)):
        without = _joined(pairs[place], body, hidden, edges, (frontiers, stamps), stamp)
        stamp += len(body)
        if not without:
            count += _joined(pairs[place], body, none, edges, (frontiers, stamps), stamp)
            stamp += len(body)
    return count
