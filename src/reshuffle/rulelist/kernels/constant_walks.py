"""The inner loops of rules about particular entities: counting them, and finding those that answer a question.

A property of an entity is an edge to a certain entity, or that it has some edge of a code. A rule says that who has one
property has another one: body and head are numbers of properties.
"""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.kg.row_kernels import lower_bound

OF_ANY, OF_MEMBERS = 1, 2
"""Bits of a shape: the body names no entity; the head names the entity that is asked about."""
PER_CODE = 4
"""Shapes for each code of a body."""


@compiled
def count_heads(bodies, members, edges, sizes, limits, room, out):
    """Write, for bodies from `bodies[0]` to `bodies[1]`, the heads that are more frequent among their members.

    Returns the first body that has no room, and how many rules there are. `members` are the entities of each property,
    `edges` the codes and properties of each entity, `sizes` how many have each property, how many have each code, and
    the code of each property. `limits` are the least support, and the most members and edges that are looked at: of
    more, each second, third, ... one. `room` is zeros for each property and for each code.

    Invariant: `room` is zero between bodies. Cost: a step for each edge of each member.
    """
    least, most_members, most_edges = limits
    counts, having, touched = room
    bodies_out, heads, supports, predictions = out
    filled = 0
    for body in range(bodies[0], bodies[1]):
        begin, end = members[0][body], members[0][body + 1]
        if end - begin < least:
            continue
        found = 0
        for at in range(begin, end, 1 + (end - begin - 1) // most_members):
            found = _count_edges(members[1][at], body, edges, most_edges, counts, having, touched, found)
        if filled + found > len(heads):
            _clear(counts, having, touched, found, body, sizes[2])
            return body, filled
        for place in range(found):
            head = touched[place]
            support, joined = counts[head], having[sizes[2][head]]
            if support >= least and support * sizes[1][sizes[2][head]] > joined * sizes[0][head]:
                bodies_out[filled], heads[filled] = body, head
                supports[filled], predictions[filled] = support, joined
                filled += 1
        _clear(counts, having, touched, found, body, sizes[2])
    return bodies[1], filled


@compiled
def _count_edges(entity, body, edges, most_edges, counts, having, touched, found):  # noqa: PLR0913, PLR0917
    """Count the properties and the codes of a member; returns how many properties were met so far.

    Invariant: `touched` has each property once. Cost: a step per edge, of which up to `most_edges` are counted.
    """
    starts, codes, properties = edges
    begin, end = starts[entity], starts[entity + 1]
    before = -1
    for at in range(begin, end, 1 + (end - begin - 1) // most_edges):
        if codes[at] != before:
            before = codes[at]
            having[before] += 1
        if properties[at] != body:
            if counts[properties[at]] == 0:
                touched[found] = properties[at]
                found += 1
            counts[properties[at]] += 1
    return found


@compiled
def _clear(counts, having, touched, found, body, codes):
    """Forget what was counted.

    Invariant: all of it is zero again. Cost: a step per property.
    """
    having[codes[body]] = 0
    for place in range(found):
        counts[touched[place]] = 0
        having[codes[touched[place]]] = 0


@compiled
def rules_of_questions(questions, first, edges, members, by_body, by_head, loops, starts, out):  # noqa: PLR0913, PLR0917
    """Write the rules that answer the questions from `first` on, with their answers, until there is no room.

    Returns the next question. A question is an anchor, a directed relation, and the answer whose fact is hidden, or -1.
    A rule answers with the entity of its head where the anchor has its body, or where its head is to be linked with the
    anchor, with the members of its body. `by_body` are sorted keys (body, code of the head), the entities of heads and
    the places of rules; `by_head` are sorted keys (head), codes and entities of bodies (-1: any), the properties of the
    bodies here (-1: nobody has them), and the places of rules. `out` is which answer, which shape, which rule, and
    whether the hidden fact was counted for the rule. Entries of one shape follow each other.

    Invariant: `starts` holds what was written. Cost: a binary search per edge of the anchor, and a step per answer.
    """
    num_entities, num_codes = len(edges[0]) - 1, len(loops)
    half = num_codes // 2
    filled = 0
    for query in range(first, len(questions[0])):
        anchor, code, hidden = questions[0][query], questions[1][query], questions[2][query]
        starts[query - first] = filled
        skipped = np.int32(-1) if loops[code] else anchor
        filled = _by_bodies(
            anchor, code, hidden, skipped, edges, by_body, num_entities, num_codes, filled, out
        )
        if filled < 0:
            return query
        inverse = code - half if code >= half else code + half
        filled = _by_heads(anchor, inverse, hidden, skipped, members, by_head, num_entities, filled, out)
        if filled < 0:
            return query
    starts[len(questions[0]) - first] = filled
    return len(questions[0])


@compiled
def _by_bodies(anchor, code, hidden, skipped, edges, by_body, num_entities, num_codes, filled, out):  # noqa: PLR0913, PLR0917
    """Write the rules whose bodies the anchor has; -1 where there is no room.

    Invariant: the edge that is hidden is no body. Cost: a binary search per edge of the anchor, a step per rule.
    """
    starts, codes, neighbours = edges
    at, end = starts[anchor], starts[anchor + 1]
    while at < end:
        body = codes[at]
        seen = False
        while at < end and codes[at] == body:
            if body != code or neighbours[at] != hidden:
                seen = True
                key = (np.int64(body) * (num_entities + 1) + neighbours[at] + 1) * num_codes + code
                filled = _answers(key, body * PER_CODE, hidden, skipped, by_body, filled, out)
                if filled < 0:
                    return filled
            at += 1
        if seen:
            key = np.int64(body) * (num_entities + 1) * num_codes + code
            filled = _answers(key, body * PER_CODE + OF_ANY, hidden, skipped, by_body, filled, out)
            if filled < 0:
                return filled
    return filled


@compiled
def _answers(key, shape, hidden, skipped, by_body, filled, out):
    """Write the rules of a key; -1 where there is no room.

    Invariant: none beside them is written. Cost: a binary search, a step per rule.
    """
    keys, entities, places = by_body
    answers, shapes, rules, less = out
    at = lower_bound(keys, 0, len(keys), key)
    while at < len(keys) and keys[at] == key:
        if entities[at] != skipped:
            if filled == len(answers):
                return -1
            answers[filled], shapes[filled], rules[filled] = entities[at], shape, places[at]
            less[filled] = entities[at] == hidden
            filled += 1
        at += 1
    return filled


@compiled
def _by_heads(anchor, inverse, hidden, skipped, members, by_head, num_entities, filled, out):  # noqa: PLR0913, PLR0917
    """Write the members of the bodies of rules whose head is the anchor; -1 where there is no room.

    Invariant: the members of one body are written together. Cost: a step per member, a binary search per rule.
    """
    keys, codes, properties, places = by_head
    answers, shapes, rules, less = out
    key = np.int64(inverse) * num_entities + anchor
    at = lower_bound(keys, 0, len(keys), key)
    while at < len(keys) and keys[at] == key:
        if properties[at] >= 0:
            begin, end = members[0][properties[at]], members[0][properties[at] + 1]
            if filled + end - begin > len(answers):
                return -1
            place = lower_bound(members[1], begin, end, hidden)
            counted = place < end and members[1][place] == hidden
            shape = codes[at] * PER_CODE + OF_MEMBERS
            for member in range(begin, end):
                if members[1][member] != skipped:
                    answers[filled], shapes[filled] = members[1][member], shape
                    rules[filled], less[filled] = places[at], counted
                    filled += 1
        at += 1
    return filled


@compiled
def mark_strongest(starts, answers, shapes, values, room, strongest):
    """Mark, of the entries of each question that have one answer and one shape, the one with the largest value.

    `room` is for each entity the last group in which it was met, and its entry there. Of equal entries the first one is
    marked, and none with a value that is not positive.

    Invariant: a group is a run of one shape within a question. Cost: a step per entry.
    """
    met, entry = room
    group, shape = 0, -1
    for query in range(len(starts) - 1):
        group += 1
        for at in range(starts[query], starts[query + 1]):
            if at == starts[query] or shapes[at] != shape:
                shape = shapes[at]
                group += 1
            if values[at] <= 0:
                continue
            answer = answers[at]
            if met[answer] != group:
                met[answer], entry[answer] = group, at
                strongest[at] = True
            elif values[at] > values[entry[answer]]:
                strongest[entry[answer]], strongest[at] = False, True
                entry[answer] = at


@compiled
def constants_loss(questions, rows, weights, gradient):
    """The loss of some questions, -log softmax(scores)[first candidate]; adds its gradient to `gradient`.

    `rows` are: where the candidates of a question begin, the scores that they have already, the log of what all other
    entities add up to, where the entries of each candidate begin, the shapes of entries, and their numbers. What an
    entry adds is weights[shape] times its numbers.

    Invariant: the answer is the first candidate. Cost: a step per entry.
    """
    starts, fixed, rest, entry_starts, shapes, numbers = rows
    loss = 0.0
    for query in questions:
        begin, end = starts[query], starts[query + 1]
        scores = np.empty(end - begin, dtype=np.float64)
        highest = rest[query]
        for candidate in range(begin, end):
            score = float(fixed[candidate])
            for at in range(entry_starts[candidate], entry_starts[candidate + 1]):
                shape = shapes[at]
                score += weights[shape, 0] * numbers[at, 0] + weights[shape, 1] * numbers[at, 1]
            scores[candidate - begin] = score
            highest = max(highest, score)
        total = np.exp(rest[query] - highest)
        for place in range(end - begin):
            total += np.exp(scores[place] - highest)
        loss += highest + np.log(total) - scores[0]
        for candidate in range(begin, end):
            share = np.exp(scores[candidate - begin] - highest) / total - (1.0 if candidate == begin else 0.0)
            for at in range(entry_starts[candidate], entry_starts[candidate + 1]):
                gradient[shapes[at], 0] += share * numbers[at, 0]
                gradient[shapes[at], 1] += share * numbers[at, 1]
    return loss
