"""The inner loops of rule features: counts of walks along bodies, without the hidden fact.

The fact of a question is hidden: with `answer` >= 0 the edge from the anchor over the asked relation to the answer,
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
    """Write the neighbours of the anchor over all relations of an intersection; returns how many.

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
    """The number of first codes that two bodies share, up to a limit.

    Invariant: all codes before the answer are equal. Cost: one step per code.
    """
    same = 0
    while same < most and body[same] == other[same]:
        same += 1
    return same


@compiled
def clear_walk(state, first, last):
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
    """Write the entities of a level except `skipped`; returns the number of entries.

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
def walk_row(state, program, row, walked, valid, spared, edges, question, num_relations):  # noqa: PLR0913, PLR0917
    """Walk the body of a row from the anchor of a question, on from what it shares with the body `walked`.

    Of a path the last `spared` steps are left to the caller. Returns the level where it ends, the body that the levels
    are now about (-1 for none), and the next row to look at.

    Invariant: level d is where the first d steps of the body `walked` lead, for d up to `valid`, and by how many walks.
    Cost: the edges that the body walks behind its shared steps.
    """
    _, bodies, lengths, jumps, meets, _, _ = program
    frontiers, numbers, sizes = state
    anchor, relation, answer = question
    depth, length = 0, lengths[row] - spared
    if walked >= 0 and not meets[row]:
        depth = _common(bodies[row], bodies[walked], min(valid, length))
    clear_walk(state, depth + 1, valid)
    if meets[row]:
        sizes[1] = _meet(
            bodies[row],
            lengths[row],
            edges,
            anchor,
            relation,
            answer,
            num_relations,
            frontiers[1],
            numbers[1],
        )
        return 1, -1, row + 1
    reached = _walk_on(state, bodies[row], depth, length, edges, question, num_relations)
    return reached, row, jumps[row, reached - 1] if sizes[reached] == 0 else row + 1


@compiled
def room_for_walks(program, num_entities):
    """Levels without anybody, for the longest body.

    Invariant: the numbers are 0 everywhere. Cost: the room itself.
    """
    deepest = program[1].shape[1] + 1
    frontiers = np.empty((deepest, num_entities), dtype=np.int32)
    return frontiers, np.zeros((deepest, num_entities), dtype=np.float64), np.zeros(deepest, dtype=np.int64)


@compiled
def walk(program, edges, num_relations, questions, most_reached, starts, rules, ends, counts):  # noqa: PLR0913, PLR0917
    """For each question the rules that lead from its anchor, where to, and by how many walks.

    Writes (rule, end, count) for every end, question after question, until one does not fit any more; returns how many
    are done, where question q has the entries `starts[q] : starts[q + 1]`. An end that is the anchor itself is left
    out unless the relation has loops, and a rule that reaches more than `most_reached` entities for that anchor is.

    Invariant: that of `walk_row`. Cost: the edges that the bodies walk, shared first steps once; bodies whose first
    steps lead nowhere are skipped together.
    """
    firsts, _, _, _, _, rule_ids, loops = program
    state = room_for_walks(program, len(edges[0]) - 1)
    frontiers, numbers, sizes = state
    for query in range(len(starts) - 1):
        anchor, relation = questions[0][query], questions[1][query]
        question = anchor, relation, questions[2][query]
        frontiers[0, 0], numbers[0, anchor], sizes[0] = anchor, 1, 1
        filled, valid, walked, row = starts[query], 0, -1, firsts[relation]
        while row < firsts[relation + 1]:
            valid, walked, following = walk_row(
                state, program, row, walked, valid, 0, edges, question, num_relations
            )
            if sizes[valid] <= most_reached:
                if filled + sizes[valid] > len(rules):
                    return query
                skipped = -1 if loops[relation] else anchor
                filled = _write(state, valid, rule_ids[row], skipped, filled, rules, ends, counts)
            row = following
        clear_walk(state, 0, valid)
        starts[query + 1] = filled
    return len(starts) - 1


@compiled
def only_edge_hidden(edges, questions):
    """The answer of each question that the hidden fact alone makes a neighbour of its anchor, else -1.

    Invariant: nothing is written but the result. Cost: the edges of the anchors.
    """
    starts, codes, neighbours = edges
    anchors, asked, answers = questions
    hidden = answers.copy()
    for query in range(len(anchors)):
        if answers[query] < 0:
            continue
        for edge in range(starts[anchors[query]], starts[anchors[query] + 1]):
            if neighbours[edge] == answers[query] and codes[edge] != asked[query]:
                hidden[query] = -1
                break
    return hidden
