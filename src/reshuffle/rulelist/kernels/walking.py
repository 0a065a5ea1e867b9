"""The inner loops of rule features: walks along bodies with their numbers, and steps from an entity to all others.

A fact that is asked for is hidden: with `answer` >= 0 the edge from the anchor over the asked relation to the answer,
and the same edge backwards, are not there. Codes of relations are r, and r + R for the inverse of r.
"""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.kg.row_kernels import lower_bound


@compiled(inline=True)
def is_hidden(here, code, there, anchor, asked, answer, num_relations):
    """Is this edge the fact that is asked for, in one of its two directions?

    Invariant: with `answer` < 0 no edge is hidden. Cost: a few comparisons.
    """
    if here == anchor and there == answer and code == asked:
        return True
    back = asked - num_relations if asked >= num_relations else asked + num_relations
    return here == answer and there == anchor and code == back


@compiled
def _step(  # noqa: PLR0913, PLR0917 - numba passes arrays, not objects
    reached, size, counts, code, edges, anchor, asked, answer, num_relations, further, further_counts
):
    """Walk one edge of `code` on from `reached[:size]`; returns how many entities are reached.

    Invariant: `further_counts` is 0 before; after, it is the number of walks to each entity of `further`, 0 elsewhere.
    Cost: the edges of `code` at the entities reached, and a binary search for each of these.
    """
    starts, codes, neighbours = edges
    found = 0
    for place in range(size):
        here = reached[place]
        walks = counts[here]
        end = starts[here + 1]
        edge = lower_bound(codes, starts[here], end, code)
        while edge < end and codes[edge] == code:
            there = neighbours[edge]
            edge += 1
            if is_hidden(here, code, there, anchor, asked, answer, num_relations):
                continue
            if further_counts[there] == 0:
                further[found] = there
                found += 1
            further_counts[there] += walks
    return found


@compiled
def _meet(  # noqa: PLR0913, PLR0917 - numba passes arrays, not objects
    body, length, edges, anchor, asked, answer, num_relations, further, further_counts
):
    """Who is a neighbour of the anchor over all relations of an intersection; returns how many.

    Invariant: as for `_step`; each entity that is found has the count 1. Cost: the edges of the first relation at the
    anchor, with a binary search for each other relation.
    """
    starts, codes, neighbours = edges
    first, end = starts[anchor], starts[anchor + 1]
    edge = lower_bound(codes, first, end, body[0])
    found = 0
    while edge < end and codes[edge] == body[0]:
        there = neighbours[edge]
        edge += 1
        holds = not is_hidden(anchor, body[0], there, anchor, asked, answer, num_relations)
        for atom in range(1, length):
            if not holds:
                break
            low = lower_bound(codes, first, end, body[atom])
            high = lower_bound(codes, low, end, body[atom] + 1)
            place = lower_bound(neighbours, low, high, there)
            holds = place < high and neighbours[place] == there
            holds = holds and not is_hidden(anchor, body[atom], there, anchor, asked, answer, num_relations)
        if holds:
            further[found] = there
            further_counts[there] = 1
            found += 1
    return found


@compiled(inline=True)
def _common(body, other, most):
    """How many first codes two bodies share, at most so many.

    Invariant: all codes before the answer are equal. Cost: one step per code.
    """
    same = 0
    while same < most and body[same] == other[same]:
        same += 1
    return same


@compiled
def _clear(state, first, last):
    """Forget the levels from `first` to `last` of a walk.

    Invariant: afterwards their numbers are 0 everywhere. Cost: the entities that they hold.
    """
    frontiers, numbers, sizes = state
    for level in range(first, last + 1):
        for place in range(sizes[level]):
            numbers[level, frontiers[level, place]] = 0
        sizes[level] = 0


@compiled
def _walk_on(state, body, depth, length, edges, question, num_relations):
    """Walk a body on from its first `depth` steps; returns how many steps are done, fewer where nobody is reached.

    Invariant: level d + 1 is what one edge leads to from level d. Cost: that of the steps.
    """
    frontiers, numbers, sizes = state
    anchor, relation, answer = question
    while depth < length and sizes[depth] > 0:
        sizes[depth + 1] = _step(
            frontiers[depth], sizes[depth], numbers[depth], body[depth], edges,
            anchor, relation, answer, num_relations, frontiers[depth + 1], numbers[depth + 1],
        )  # fmt: skip
        depth += 1
    return depth


@compiled
def _write(state, level, rule, skipped, filled, rules, ends, counts):  # noqa: PLR0913, PLR0917
    """Write whom a level holds, but for the entity `skipped`; returns how many entries there are then.

    Invariant: there is room for all. Cost: the entities of the level.
    """
    frontiers, numbers, sizes = state
    for place in range(sizes[level]):
        end = frontiers[level, place]
        if end != skipped:
            rules[filled], ends[filled], counts[filled] = rule, end, numbers[level, end]
            filled += 1
    return filled


@compiled
def walk(program, edges, num_relations, questions, most_reached, starts, rules, ends, counts):  # noqa: PLR0913, PLR0917
    """For each question the rules that lead from its anchor, where to, and by how many walks.

    Writes (rule, end, count) for every end, question after question, until one does not fit any more; returns how many
    are done, where question q has the entries `starts[q] : starts[q + 1]`. An end that is the anchor itself is left
    out unless the relation has loops, and a rule that reaches more than `most_reached` entities for that anchor is.

    Invariant: in `state`, level d is where the first d steps of the body `walked` lead, for d up to `valid`, and by how
    many walks. Cost: the edges that the bodies walk, shared first steps once; bodies whose first steps lead nowhere
    are passed over together.
    """
    firsts, bodies, lengths, jumps, meets, rule_ids, loops = program
    num_entities, deepest = len(edges[0]) - 1, bodies.shape[1] + 1
    frontiers = np.empty((deepest, num_entities), dtype=np.int32)
    numbers = np.zeros((deepest, num_entities), dtype=np.float64)
    sizes = np.zeros(deepest, dtype=np.int64)
    state = frontiers, numbers, sizes
    for query in range(len(starts) - 1):
        anchor, relation, answer = question = questions[0][query], questions[1][query], questions[2][query]
        frontiers[0, 0], numbers[0, anchor], sizes[0] = anchor, 1, 1
        filled, valid, walked, row = starts[query], 0, -1, firsts[relation]
        while row < firsts[relation + 1]:
            depth, length, following = 0, lengths[row], row + 1
            if walked >= 0 and not meets[row]:
                depth = _common(bodies[row], bodies[walked], min(valid, length))
            _clear(state, depth + 1, valid)
            if meets[row]:
                sizes[1] = _meet(
                    bodies[row],
                    length,
                    edges,
                    anchor,
                    relation,
                    answer,
                    num_relations,
                    frontiers[1],
                    numbers[1],
                )
                valid, walked = 1, -1
            else:
                valid, walked = (
                    _walk_on(state, bodies[row], depth, length, edges, question, num_relations),
                    row,
                )
                if sizes[valid] == 0:
                    following = jumps[row, valid - 1]
            if sizes[valid] <= most_reached:
                if filled + sizes[valid] > len(rules):
                    return query
                filled = _write(
                    state,
                    valid,
                    rule_ids[row],
                    -1 if loops[relation] else anchor,
                    filled,
                    rules,
                    ends,
                    counts,
                )
            row = following
        _clear(state, 0, valid)
        starts[query + 1] = filled
    return len(starts) - 1


@compiled
def steps_from(edges, num_relations, questions, most, steps):
    """Write into `steps[query, entity]` how many edges lead from the anchor to each entity; `most + 1`: more.

    Invariant: entities come into `queue` by rising number of steps. Cost: the edges within `most` steps of the anchor.
    """
    starts, codes, neighbours = edges
    anchors, asked, answers = questions
    queue = np.empty(len(starts) - 1, dtype=np.int32)
    for query in range(len(anchors)):
        anchor, relation, answer = anchors[query], asked[query], answers[query]
        row = steps[query]
        row[:] = most + 1
        row[anchor] = 0
        queue[0] = anchor
        first, last = 0, 1
        while first < last:
            here = queue[first]
            first += 1
            if row[here] == most:
                break
            for edge in range(starts[here], starts[here + 1]):
                there = neighbours[edge]
                if row[there] <= most:
                    continue
                if is_hidden(here, codes[edge], there, anchor, relation, answer, num_relations):
                    continue
                row[there] = row[here] + 1
                queue[last] = there
                last += 1
