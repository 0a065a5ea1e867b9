"""The inner loop of measuring: which rules lead from the given entity of a question to its answer."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
from reshuffle.compiled import compiled
from reshuffle.kg.row_kernels import lower_bound
from reshuffle.rulelist.kernels.walking import clear_walk, is_hidden, room_for_walks, walk_row

_MUCH_LONGER = 16  # a row that is so much longer than what is reached is searched, not read


@compiled(inline=True)
def _row_of(edges, entity, code):
    """The first edge of a code at an entity, and the one behind the last.

    Invariant: edges of an entity go by code, then by neighbour. Cost: two binary searches.
    """
    starts, codes, _ = edges
    first = lower_bound(codes, starts[entity], starts[entity + 1], code)
    return first, lower_bound(codes, first, starts[entity + 1], code + 1)


@compiled
def _leads(here, code, there, edges, question, num_relations):
    """Does an edge of a code lead from one entity to the other, and is it not the hidden fact?

    Invariant: nothing is written. Cost: three binary searches.
    """
    first, last = _row_of(edges, here, code)
    neighbours = edges[2]
    place = lower_bound(neighbours, first, last, there)
    if place == last or neighbours[place] != there:
        return False
    return not is_hidden(here, code, there, question[0], question[1], question[2], num_relations)


@compiled
def _is_met(body, length, answer, edges, question, num_relations):
    """Do all relations of an intersection lead to the answer?

    Invariant: nothing is written. Cost: a search for each of them.
    """
    holds = True
    for atom in range(length):
        holds = holds and _leads(question[0], body[atom], answer, edges, question, num_relations)
    return holds


@compiled
def _closes(state, level, last_edges, answer, edges, question, num_relations):
    """Does one more edge, of those of one code at the answer, lead there from the entities of a level?

    Invariant: nothing is written. Cost: the answer's edges of that kind, or a search for each entity of the level
    where these are far fewer.
    """
    frontiers, numbers, sizes = state
    _, codes, neighbours = edges
    first, behind = last_edges
    back = codes[first]
    code = back - num_relations if back >= num_relations else back + num_relations
    if behind - first > _MUCH_LONGER * sizes[level]:
        for place in range(sizes[level]):
            if _leads(frontiers[level, place], code, answer, edges, question, num_relations):
                return True
        return False
    for edge in range(first, behind):
        here = neighbours[edge]
        if numbers[level, here] > 0 and not is_hidden(
            here, code, answer, question[0], question[1], question[2], num_relations
        ):
            return True
    return False


@compiled
def count_found(program, edges, num_relations, questions, answers, counts):
    """Add to `counts[rule]` the number of questions from which the rule leads to the answer.

    A question hides its own answer's fact, or nothing where that is -1.

    Invariant: that of `walk_row`. Cost: the edges that the bodies walk up to their last step, shared first steps once,
    and the last step looked up from the answer; bodies whose last relation the answer lacks are not walked.
    """
    firsts, bodies, lengths, _, meets, rule_ids, _ = program
    state = room_for_walks(program, len(edges[0]) - 1)
    frontiers, numbers, sizes = state
    for query in range(len(answers)):
        anchor, relation, answer = questions[0][query], questions[1][query], answers[query]
        question = anchor, relation, questions[2][query]
        frontiers[0, 0], numbers[0, anchor], sizes[0] = anchor, 1, 1
        valid, walked, row = 0, -1, firsts[relation]
        while row < firsts[relation + 1]:
            rule, length = rule_ids[row], lengths[row]
            if meets[row]:
                counts[rule] += _is_met(bodies[row], length, answer, edges, question, num_relations)
                row += 1
                continue
            code = bodies[row, length - 1]
            back = code - num_relations if code >= num_relations else code + num_relations
            last_edges = _row_of(edges, answer, back)
            if last_edges[0] == last_edges[1]:
                row += 1
                continue
            valid, walked, following = walk_row(
                state, program, row, walked, valid, 1, edges, question, num_relations
            )
            if valid == length - 1:
                counts[rule] += _closes(state, valid, last_edges, answer, edges, question, num_relations)
            row = following
        clear_walk(state, 0, valid)
    return len(answers)
