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


@compiled(inline=True)
def _is_left_out(here, code, there, pair, hidden):
    """Is this edge the pair's own, in one of its two directions?

    Invariant: without relations to hide, no edge is. Cost: a few comparisons.
    """
    if here == pair[0] and there == pair[1] and code == hidden[0]:
        return True
    return here == pair[1] and there == pair[0] and code == hidden[1]


@compiled
def _joined(pair, body, last, hidden, edges, buffers, stamp):
    """Does the body lead from the one entity of the pair to the other?

    `last` is the inverse of the body's last relation. `hidden` are two relations: the edge from the first to the second
    by the one is left out, and that from the second to the first by the other. Marks what is reached in step k by
    `stamp` + k, but for the last step, which is looked up from the second entity.

    Invariant: no stamp in use is above `stamp`, so that marks of earlier calls do not count. Cost: the edges of the
    last relation at the second entity, and those that the body walks from the first one in all steps but the last.
    """
    starts, relations, neighbours = edges
    frontiers, stamps = buffers
    behind = starts[pair[1] + 1]
    closing = lower_bound(relations, starts[pair[1]], behind, last)
    if closing == behind or relations[closing] != last:
        return False
    frontiers[0, 0] = pair[0]
    size = 1
    stamps[pair[0]] = stamp + 1
    for step in range(len(body) - 1):
        count = 0
        for place in range(size):
            entity = frontiers[step % 2, place]
            end = starts[entity + 1]
            edge = lower_bound(relations, starts[entity], end, body[step])
            while edge < end and relations[edge] == body[step]:
                other = neighbours[edge]
                edge += 1
                if stamps[other] != stamp + step + 2 and not _is_left_out(
                    entity, body[step], other, pair, hidden
                ):
                    stamps[other] = stamp + step + 2
                    frontiers[(step + 1) % 2, count] = other
                    count += 1
        size = count
    while size > 0 and closing < behind and relations[closing] == last:
        other = neighbours[closing]
        closing += 1
        if stamps[other] == stamp + len(body) and not _is_left_out(
            other, body[len(body) - 1], pair[1], pair, hidden
        ):
            return True
    return False


@compiled
def _joined_from_either(pair, ways, hidden, edges, buffers, stamp):
    """The same for a body and its reversal, one row each: walked from the entity that has fewer edges.

    Invariant: that of `_joined`. Cost: the same, from that end.
    """
    starts = edges[0]
    one, other = pair
    if starts[other + 1] - starts[other] < starts[one + 1] - starts[one]:
        turned, swapped = np.array([other, one]), np.array([hidden[1], hidden[0]])
        return _joined(turned, ways[1], ways[0, 0], swapped, edges, buffers, stamp)
    return _joined(pair, ways[0], ways[1, 0], hidden, edges, buffers, stamp)


@compiled
def found_by_others(pairs, ways, hidden, edges):
    """Which of the pairs the body joins once their own edge (`_joined`) is left out; `ways` are it and its reversal.

    Invariant: pair p has the stamps from p times the atoms on. Cost: one `_joined` per pair.
    """
    num_entities, length = len(edges[0]) - 1, ways.shape[1]
    frontiers = np.empty((2, num_entities), dtype=np.int32)
    stamps = np.zeros(num_entities, dtype=np.int64)
    found = np.zeros(len(pairs), dtype=np.bool_)
    for place in range(len(pairs)):
        found[place] = _joined_from_either(
            pairs[place], ways, hidden, edges, (frontiers, stamps), place * length
        )
    return found


@compiled
def found_by_themselves(pairs, ways, hidden, edges):
    """How many of the pairs the body joins, but not once their own edge (`_joined`) is left out.

    Invariant: each `_joined` gets as many stamps after the last one's as there are atoms. Cost: one or two `_joined`
    per pair.
    """
    num_entities, length = len(edges[0]) - 1, ways.shape[1]
    frontiers = np.empty((2, num_entities), dtype=np.int32)
    stamps = np.zeros(num_entities, dtype=np.int64)
    none = np.array([-1, -1])
    stamp, count = 0, 0
    for place in range(len(pairs)):
        without = _joined_from_either(pairs[place], ways, hidden, edges, (frontiers, stamps), stamp)
        stamp += length
        if not without:
            count += _joined_from_either(pairs[place], ways, none, edges, (frontiers, stamps), stamp)
            stamp += length
    return count
