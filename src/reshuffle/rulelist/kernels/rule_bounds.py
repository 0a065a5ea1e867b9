"""What rules add to links of a question at most, told from the edges around its anchor, without a walk.

A walk through an entity with very many facts reaches very many others. A rule adds something only where its first step
leads on from the anchor, and its second one from there, and it cannot walk more ways than its steps have edges.
"""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.rulelist.kernels.link_sums import ROUNDING, fill_types, value_of


@compiled
def codes_around(edges, words):
    """For each entity the codes of its edges, as bits of so many words; codes may share a bit.

    Invariant: the bit of a code is the rest of dividing it by the number of bits. Cost: a step per edge.
    """
    starts, codes, _ = edges
    found = np.zeros((len(starts) - 1, words), dtype=np.uint64)
    for entity in range(len(found)):
        for edge in range(starts[entity], starts[entity + 1]):
            bit = codes[edge] % (64 * words)
            found[entity, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return found


@compiled
def most_edges(edges, count):
    """For each of `count` codes how many edges of it one entity has at most.

    Invariant: edges are sorted by code. Cost: a step per edge.
    """
    starts, codes, _ = edges
    found = np.zeros(count, dtype=np.int64)
    for entity in range(len(starts) - 1):
        edge = starts[entity]
        while edge < starts[entity + 1]:
            first = edge
            while edge < starts[entity + 1] and codes[edge] == codes[first]:
                edge += 1
            found[codes[first]] = max(found[codes[first]], edge - first)
    return found


@compiled
def _add_rules(anchor, reach, seconds, totals):
    """Write for each directed relation what its rules add to a link of the anchor at most.

    `reach` is the edges, the codes around each entity, and rules by their first code: where the rules of a code begin,
    and for each its directed relation, its second code (-1 for none, and for an intersection), its weight, its count
    weight, and the log of how many edges its steps between the first and the last have at most.

    Invariant: two facts that differ have different edges, so the last step to an entity has one. Cost: the edges of the
    anchor, and a step for each rule that begins with one.
    """
    (starts, codes, neighbours), around, firsts, rules = reach
    relations, nexts, weights, count_weights, between = rules
    totals[:] = 0.0
    edge, end = starts[anchor], starts[anchor + 1]
    while edge < end:
        code, first = codes[edge], edge
        seconds[:] = 0
        while edge < end and codes[edge] == code:
            if firsts[code] < firsts[code + 1]:
                for word in range(len(seconds)):
                    seconds[word] |= around[neighbours[edge], word]
            edge += 1
        for rule in range(firsts[code], firsts[code + 1]):
            added = weights[rule]
            if nexts[rule] >= 0:
                bit = nexts[rule] % (64 * len(seconds))
                if (seconds[bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) == 0:
                    continue
                added += count_weights[rule] * (np.log(edge - first) + between[rule])
            totals[relations[rule]] += added


@compiled
def within_reach(reach, questions, tables, order, floors, constants, bounds, found):  # noqa: PLR0913, PLR0917
    """Mark the questions that may have a link that reaches the floor of their row, without a walk.

    All is as `promising_questions` takes it, and `reach` as `_add_rules` does; `bounds` are room for what types add at
    most in each row, and for the log of the sum of their exponentials, NaN where they are not known.

    Invariant: none that has such a link is missed, as long as a value rises with each of its parts. Cost: that of
    `_add_rules` for each anchor, and a step for every entity once for each row.
    """
    anchors, directed, rows = questions
    highest, sums = bounds
    seconds, totals = np.zeros(reach[1].shape[1], dtype=np.uint64), np.zeros(len(reach[2]) - 1)
    starts, _, values = constants
    last = -1
    for query in range(len(anchors)):
        row = rows[query]
        if anchors[query] != last:
            last = anchors[query]
            _add_rules(last, reach, seconds, totals)
        added = totals[directed[query]]
        for at in range(starts[query], starts[query + 1]):
            added += max(0.0, values[at])
        if np.isnan(highest[row]):
            fill_types(row, tables, highest, sums)
        base = tables[2][row, 0] + highest[row]
        found[query] = value_of(base + added, base, 0.0, order, row) + ROUNDING >= floors[row]


@compiled
def most_by_rules(reach, anchors, rows, order, found):
    """Write for each anchor what its best question is worth at most if tables say nothing.

    `rows` are the rows of the tables of directed relations, -1 for one that is not asked about.

    Invariant: nothing is written but `found`. Cost: that of `_add_rules`, and a step for each relation.
    """
    seconds, totals = np.zeros(reach[1].shape[1], dtype=np.uint64), np.zeros(len(rows))
    for place in range(len(anchors)):
        _add_rules(anchors[place], reach, seconds, totals)
        found[place] = -np.inf
        for relation in range(len(rows)):
            if totals[relation] > 0 and rows[relation] >= 0:
                value = value_of(totals[relation], 0.0, 0.0, order, rows[relation])
                found[place] = max(found[place], value)
