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


@compiled
def number_edges(starts, properties, members, numbers):
    """Write the number of the property that each edge of an entity stands for.

    `properties` are where the members of each property begin, by code and neighbour, as the edges of each entity lie.

    Invariant: every edge is written once. Cost: a step per edge.
    """
    after = starts[:-1].copy()
    for number in range(len(properties) - 1):
        for at in range(properties[number], properties[number + 1]):
            numbers[after[members[at]]] = number
            after[members[at]] += 1


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
    the places of rules; `by_head` are sorted keys (head), the properties of the bodies here (-1: nobody has them), and
    the places of rules. `out` is which answer, which rule, and whether it answers
    with members of its body.

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
        filled = _by_heads(anchor, inverse, skipped, members, by_head, num_entities, filled, out)
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
                filled = _answers(key, skipped, by_body, filled, out)
                if filled < 0:
                    return filled
            at += 1
        if seen:
            key = np.int64(body) * (num_entities + 1) * num_codes + code
            filled = _answers(key, skipped, by_body, filled, out)
            if filled < 0:
                return filled
    return filled


@compiled
def _answers(key, skipped, by_body, filled, out):
    """Write the rules of a key; -1 where there is no room.

    Invariant: none beside them is written. Cost: a binary search, a step per rule.
    """
    keys, entities, places = by_body
    answers, rules, of_members = out
    at = lower_bound(keys, 0, len(keys), key)
    while at < len(keys) and keys[at] == key:
        if entities[at] != skipped:
            if filled == len(answers):
                return -1
            answers[filled], rules[filled], of_members[filled] = entities[at], places[at], False
            filled += 1
        at += 1
    return filled


@compiled
def _by_heads(anchor, inverse, skipped, members, by_head, num_entities, filled, out):  # noqa: PLR0913, PLR0917
    """Write the members of the bodies of rules whose head is the anchor; -1 where there is no room.

    Invariant: the members of one body are written together. Cost: a step per member, a binary search per rule.
    """
    keys, properties, places = by_head
    answers, rules, of_members = out
    key = np.int64(inverse) * num_entities + anchor
    at = lower_bound(keys, 0, len(keys), key)
    while at < len(keys) and keys[at] == key:
        if properties[at] >= 0:
            begin, end = members[0][properties[at]], members[0][properties[at] + 1]
            if filled + end - begin > len(answers):
                return -1
            for member in range(begin, end):
                if members[1][member] != skipped:
                    answers[filled], rules[filled], of_members[filled] = members[1][member], places[at], True
                    filled += 1
        at += 1
    return filled
