"""The inner loop of missing links: sums of all entities reached by rules, and the links above a threshold."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.kg.row_kernels import lower_bound
from reshuffle.rulelist.kernels.scoring_sums import type_value
from reshuffle.rulelist.kernels.walking import clear_walk, room_for_walks, walk_row

ROUNDING = 1e-9
"""By how much a bound on a value may be below the value, since sums are rounded."""


@compiled
def links_of_questions(graph, questions, first, limits, tables, order, floors, constants, out):  # noqa: PLR0913, PLR0917
    """Write the links of the questions from `first` on that reach the floor of their row, until one does not fit.

    Returns the next question and how many links there are. `graph` is the program, the edges to walk over, the facts,
    and the number of relations; `questions` are anchors, directed relations, rows of the tables, and for each its line
    in an array of steps to all entities. `limits` are who may be an answer (empty for everyone), whether an answer
    must be one of the relation in a fact, and whether no fact may join it with the anchor; the share is that among all
    answers whatever they say.
    `order` says what a value is: a factor for what rules add, one for what tables add, one for the log of the share, a
    constant for each row, whether the logarithm of 1 + what rules add is meant, and whether links are left out of which
    tables say more than rules. A share is that of the softmax over
    all entities. `constants` are what rules about particular entities add: where the entries of each question begin,
    the answers, and the values. `out` is which question, which answer, the value, and its three parts.

    Invariant: between questions `state` is empty, and `seen[entity]` is below the number of the next question. Cost:
    the edges that bodies walk, a step for each entity that they reach, and one for every entity where a question may
    have a link that is good enough: without the others, shares are bounded from above by the entities reached.
    """
    program, edges, facts, num_relations = graph
    lines, steps = questions[3], questions[4]
    num_entities = len(edges[0]) - 1
    state = room_for_walks(program, num_entities)
    sums, bases = np.empty(num_entities, dtype=np.float64), np.empty(num_entities, dtype=np.float64)
    seen, known = np.full(num_entities, -1, dtype=np.int64), np.full(num_entities, -1, dtype=np.int64)
    reached = np.empty(num_entities, dtype=np.int32)
    room = sums, bases, seen, reached
    filled = 0
    for query in range(first, len(questions[0])):
        relation, row = questions[1][query], questions[2][query]
        line = steps[lines[query]]
        size = _sum_rules(program, edges, num_relations, questions, query, line, tables, state, room)
        size = _sum_constants(constants, query, row, line, tables, room, size)
        _mark_known(facts, questions[0][query], relation, query, known)
        _mark_unwanted(limits, facts, questions[0][query], relation, query, num_relations, room, size, known)
        open_, bound = _promising(room, size, known, query, order, row, floors[row])
        if open_ == 0:
            continue
        if filled + open_ > len(out[0]):
            return query, filled
        total = _log_sum(line, row, tables, room, size, bound)
        filled = _write_links(room, size, known, query, order, row, floors[row], total, filled, out)
    return len(questions[0]), filled


@compiled
def promising_questions(graph, questions, tables, order, floors, constants, bounds, found):  # noqa: PLR0913, PLR0917
    """Mark the questions that may have a link that reaches the floor of their row, without knowing any distance.

    The tables say for every distance what they say at most for an entity that a rule leads to, and questions have no
    lines. `bounds` are for each row how much less they may say for such an entity, the least that they say for any
    distance, and room for what types add at most, and for the log of the sum of the exponentials of what they add, NaN
    where that is not known. Questions that are not in `found` before are passed over.

    Invariant: none that has such a link is missed, as long as rules add nothing below 0 and a value rises with each of
    its parts. Cost: as `links_of_questions`, but the step for every entity is made once for each row.
    """
    program, edges, facts, num_relations = graph
    gaps, least, highest, totals = bounds
    num_entities = len(edges[0]) - 1
    state, line = room_for_walks(program, num_entities), np.zeros(num_entities, dtype=np.uint8)
    sums, bases = np.empty(num_entities, dtype=np.float64), np.empty(num_entities, dtype=np.float64)
    seen, known = np.full(num_entities, -1, dtype=np.int64), np.full(num_entities, -1, dtype=np.int64)
    room = sums, bases, seen, np.empty(num_entities, dtype=np.int32)
    for query in range(len(questions[0])):
        if not found[query]:
            continue
        row = questions[2][query]
        size = _sum_rules(program, edges, num_relations, questions, query, line, tables, state, room)
        size = _sum_constants(constants, query, row, line, tables, room, size)
        _mark_known(facts, questions[0][query], questions[1][query], query, known)
        found[query] = False
        if _promising(room, size, known, query, order, row, floors[row] - order[2] * gaps[row])[0] == 0:
            continue
        if np.isnan(totals[row]):
            fill_types(row, tables, highest, totals)
        found[query] = _may_reach(
            room, size, known, query, order, row, floors[row], gaps[row], least[row] + totals[row]
        )


@compiled
def _may_reach(room, size, known, query, order, row, floor, gap, others):  # noqa: PLR0913, PLR0917
    """May a new link reach the floor? Of every entity reached the sum is up to `gap` less than it is here.

    `others` is no more than the log of the sum of the exponentials of what the tables say of all entities.
    Invariant: as `promising_questions` says. Cost: a step and an exponential for each entity reached.
    """
    sums, bases, _, reached = room
    highest, total = others, 0.0
    for place in range(size):
        highest = max(highest, sums[reached[place]])
    for place in range(size):
        end = reached[place]
        total += np.exp(sums[end] - gap - highest) - np.exp(bases[end] - gap - highest)
    total += np.exp(others - highest)
    for place in range(size):
        end = reached[place]
        if known[end] != query:
            own = np.exp(sums[end] - highest)
            rest = max(0.0, total - np.exp(sums[end] - gap - highest))
            if value_of(sums[end], bases[end], np.log(own / (own + rest)), order, row) + ROUNDING >= floor:
                return True
    return False


@compiled
def fill_types(row, tables, most, sums):
    """Write the largest number that types add to an entity, and the log of the sum of their exponentials, of all.

    Invariant: the largest of them is taken out of the sum; two threads that both do it write the same, the sum first.
    Cost: two steps per role of each entity.
    """
    _, _, _, type_weights, roles, log_shares, typed, _, _, _ = tables
    count = len(roles[0]) - 1
    if not typed[row]:
        sums[row], most[row] = np.log(count), 0.0
        return
    highest, total = -np.inf, 0.0
    for entity in range(count):
        value = type_value(entity, row, roles, log_shares, type_weights)
        if value > highest:
            total *= np.exp(highest - value)
            highest = value
        total += np.exp(value - highest)
    sums[row] = highest + np.log(total)
    most[row] = highest


@compiled
def _sum_rules(program, edges, num_relations, questions, query, line, tables, state, room):  # noqa: PLR0913, PLR0917
    """Add the weights of rules for each entity they reach to the tables; returns the number of these entities.

    Invariant: parts are added in the order of the program's rows, as everywhere else. Cost: that of the walks.
    """
    firsts, _, _, _, _, rule_ids, loops = program
    frontiers, numbers, sizes = state
    sums, bases, seen, reached = room
    anchor, relation, row = questions[0][query], questions[1][query], questions[2][query]
    frontiers[0, 0], numbers[0, anchor], sizes[0] = anchor, 1, 1
    skipped = -1 if loops[relation] else anchor
    weights, count_weights = tables[0], tables[1]
    found, valid, walked, at = 0, 0, -1, firsts[relation]
    while at < firsts[relation + 1]:
        valid, walked, following = walk_row(
            state, program, at, walked, valid, 0, edges, (anchor, relation, np.int32(-1)), num_relations
        )
        rule = rule_ids[at]
        for place in range(sizes[valid]):
            end = frontiers[valid, place]
            if end == skipped:
                continue
            if seen[end] != query:
                seen[end] = query
                reached[found] = end
                found += 1
                bases[end] = sums[end] = base_value(end, row, line, tables)
            sums[end] += weights[rule] + count_weights[rule] * np.log(numbers[valid, end])
        at = following
    clear_walk(state, 0, valid)
    return found


@compiled
def _sum_constants(constants, query, row, line, tables, room, found):
    """Add what rules about particular entities say; returns the number of entities reached by any rule.

    Invariant: parts are added in the order of the entries, behind those of other rules. Cost: a step per entry.
    """
    starts, answers, values = constants
    sums, bases, seen, reached = room
    for at in range(starts[query], starts[query + 1]):
        end = answers[at]
        if seen[end] != query:
            seen[end] = query
            reached[found] = end
            found += 1
            bases[end] = sums[end] = base_value(end, row, line, tables)
        sums[end] += values[at]
    return found


@compiled(inline=True)
def base_value(entity, row, line, tables):
    """What the tables add for an entity as the answer of a question: by its distance, and by what it is like.

    Invariant: a value in `stored` is that of the same entity and row. Cost: a step per role where it is not stored.
    """
    _, _, distances, type_weights, roles, log_shares, typed, stored, _, _ = tables
    value = distances[row, line[entity]]
    if not typed[row]:
        return value
    if len(stored) == 0:
        return value + type_value(entity, row, roles, log_shares, type_weights)
    types = stored[row, entity]
    if types == 0:
        types = type_value(entity, row, roles, log_shares, type_weights)
        stored[row, entity] = types  # two threads may both write it, and write the same
    return value + types


@compiled
def _mark_known(facts, anchor, code, query, known):
    """Mark the answers of a question that are facts.

    Invariant: `known[entity]` is `query` for these alone. Cost: a binary search, and a step for each of them.
    """
    starts, codes, neighbours = facts
    end = starts[anchor + 1]
    edge = lower_bound(codes, starts[anchor], end, code)
    while edge < end and codes[edge] == code:
        known[neighbours[edge]] = query
        edge += 1


@compiled
def _mark_unwanted(limits, facts, anchor, code, query, num_relations, room, size, known):  # noqa: PLR0913, PLR0917
    """Mark the entities reached that are not asked for, as if they were facts.

    Invariant: `known[entity]` is `query` for facts and for these alone. Cost: a step for each entity reached, with a
    binary search where answers must be seen ones, and a step for each edge of the anchor where it must not be linked.
    """
    typed, seen_ends, not_linked = limits
    starts, codes, neighbours = facts
    if not_linked:
        for edge in range(starts[anchor], starts[anchor + 1]):
            known[neighbours[edge]] = query
    if not seen_ends and len(typed) == 0:
        return
    back = code + num_relations if code < num_relations else code - num_relations
    for place in range(size):
        end = room[3][place]
        if len(typed) and not typed[end]:
            known[end] = query
        elif seen_ends:
            edge = lower_bound(codes, starts[end], starts[end + 1], back)
            if edge == starts[end + 1] or codes[edge] != back:
                known[end] = query


@compiled
def _promising(room, size, known, query, order, row, floor):
    """How many new links may reach the floor, by the share among the entities reached; and the highest sum.

    Invariant: none that reaches the floor is missed. Cost: a step for each entity reached, and an exponential for
    each where one link would reach it with a share of 1.
    """
    sums, bases, _, reached = room
    highest, promising = -np.inf, False
    for place in range(size):
        end = reached[place]
        highest = max(highest, sums[end])
        if known[end] != query and not promising:
            promising = value_of(sums[end], bases[end], 0.0, order, row) + ROUNDING >= floor
    if not promising:
        return 0, highest
    total = 0.0
    for place in range(size):
        total += np.exp(sums[reached[place]] - highest)
    least, count = highest + np.log(total), 0
    for place in range(size):
        end = reached[place]
        if known[end] != query:
            value = value_of(sums[end], bases[end], min(0.0, sums[end] - least), order, row)
            count += value + ROUNDING >= floor
    return count, highest


@compiled(inline=True)
def value_of(score, base, log_share, order, row):
    """What links are compared by.

    Invariant: it rises with the share. Cost: a few operations.
    """
    by_rules, by_tables, by_share, constants, curved, reasons_only = order
    rules = score - base
    if reasons_only and rules <= base:
        return -np.inf
    if curved:
        rules = np.log1p(max(rules, 0.0))
    return by_rules * rules + by_tables * base + by_share * log_share + constants[row]


@compiled
def _log_sum(line, row, tables, room, size, bound):
    """The log of the sum of the exponentials of all scores; `bound` is the highest score of the entities reached.

    Invariant: the result depends on the question alone. An entity reached scores no less than by the tables, so what is
    taken away is no larger than what is there. Cost: an addition for every entity.
    """
    sums, bases, _, reached = room
    distances, mass, peaks = tables[2], tables[8], tables[9]
    own = mass[row] if len(mass) else np.empty(len(sums), dtype=np.float64)
    peak = peaks[row]
    if not len(mass) or np.isnan(peak):
        peak = _fill_mass(row, tables, own)
        peaks[row] = peak  # two threads may both do it, and write the same
    at = np.zeros(distances.shape[1], dtype=np.float64)
    for entity in range(len(own)):
        at[line[entity]] += own[entity]
    highest = max(bound, distances[row].max() + peak)
    total = 0.0
    for number in range(len(at)):
        total += at[number] * np.exp(distances[row, number] + peak - highest)
    for place in range(size):
        end = reached[place]
        total += np.exp(sums[end] - highest) - np.exp(bases[end] - highest)
    return highest + np.log(total)


@compiled
def _fill_mass(row, tables, own):
    """Write the exponential of what types add for every entity, less the largest of these; returns that one.

    Invariant: nothing is above 1, and another thread that reads `own`, or does the same, meets no other numbers in it.
    Cost: a step per role of each entity.
    """
    _, _, _, type_weights, roles, log_shares, typed, _, _, _ = tables
    types = np.zeros(len(own), dtype=np.float64)
    if typed[row]:
        for entity in range(len(own)):
            types[entity] = type_value(entity, row, roles, log_shares, type_weights)
    peak = types.max()
    for entity in range(len(own)):
        own[entity] = np.exp(types[entity] - peak)
    return peak


@compiled
def _write_links(room, size, known, query, order, row, floor, total, filled, out):  # noqa: PLR0913, PLR0917
    """Write the new links that reach the floor; returns how many links there are then.

    Invariant: there is room for all. Cost: a step for each entity reached.
    """
    sums, bases, _, reached = room
    of, ends, values, parts = out
    for place in range(size):
        end = reached[place]
        if known[end] == query:
            continue
        value = value_of(sums[end], bases[end], sums[end] - total, order, row)
        if value >= floor:
            of[filled], ends[filled], values[filled] = query, end, value
            parts[filled, 0], parts[filled, 1] = sums[end] - bases[end], bases[end]
            parts[filled, 2] = sums[end] - total
            filled += 1
    return filled
