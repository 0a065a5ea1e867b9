"""Walks between two entities, in numba: what reaches whom in one channel, and one step back along every edge.

Everything runs on edges by head, `starts`, `relations`, `tails`, with every edge in both directions. So the edges that
arrive at an entity are those that leave it, turned around. `hidden` is an edge (of the first half) to pass over.
"""

from __future__ import annotations

import numpy as np

from reshuffle.compiled import compiled


@compiled(fastmath={"reassoc", "contract", "nsz", "arcp"})
def layers_between(
    head, begun, left, starts, relations, tails, edges, matrices, num_identities, num_layers, hidden
):
    """Z^(0), ..., Z^(m) in one channel of a head, where it can still matter: `left` is the way to the tail.

    `begun` [slot] is what the head has before the first layer.

    A message is sent again only when its head has changed, so that the first layers cost next to nothing.
    """
    num_entities, num_slots = len(starts) - 1, matrices.shape[1]
    half = len(edges) // 2
    layers = np.zeros((num_layers + 1, num_entities, num_slots), np.float32)
    layers[0, head] = begun
    changed = np.zeros(num_entities, np.bool_)
    changed[head] = True
    message = np.empty(num_slots, np.float32)
    for layer in range(num_layers):
        old, new = layers[layer], layers[layer + 1]
        new[:] = old
        changing = np.zeros(num_entities, np.bool_)
        for entity in range(num_entities):
            if not changed[entity]:
                continue
            made = -1
            for place in range(starts[entity], starts[entity + 1]):
                tail = tails[place]
                if left[tail] > num_layers - layer - 1 or (hidden >= 0 and edges[place] % half == hidden):
                    continue
                if relations[place] != made:
                    made = relations[place]
                    _apply(matrices[made], old[entity], message)
                changing[tail] |= _raise(new[tail], message)
            for identity in range(num_identities):
                _apply(matrices[len(matrices) - num_identities + identity], old[entity], message)
                changing[entity] |= _raise(new[entity], message)
        changed = changing
    return layers


@compiled(fastmath={"reassoc", "contract", "nsz", "arcp"})
def _apply(matrix, vector, result):
    for row in range(len(result)):
        total = np.float32(0)
        for column in range(len(vector)):
            total += matrix[row, column] * vector[column]
        result[row] = total


@compiled
def _raise(state, message):
    higher = False
    for slot in range(len(state)):
        if message[slot] > state[slot]:
            state[slot] = message[slot]
            higher = True
    return higher


@compiled(fastmath={"reassoc", "contract", "nsz", "arcp"})
def steps_back(entities, pulls, reached, starts, relations, tails, edges, turned, num_identities, hidden):
    """One step back from each entity: which of them, the relation walked, who is there, and the most it may bring.

    `pulls` [entity, slot] says what a unit in each slot of an entity is worth in the end; `reached` [entity, slot] is
    what could have arrived there; `turned` are the matrices, transposed.
    """
    half = len(edges) // 2
    num_relations = (len(turned) - num_identities) // 2
    room = len(entities) * num_identities
    for entity in entities:
        room += starts[entity + 1] - starts[entity]
    parents, labels = np.empty(room, np.int64), np.empty(room, np.int64)
    found, bounds = np.empty(room, np.int64), np.empty(room, np.float32)
    pull = np.empty(pulls.shape[1], np.float32)
    number = 0
    for parent in range(len(entities)):
        entity, made = entities[parent], -1
        for place in range(starts[entity], starts[entity + 1]):
            if hidden >= 0 and edges[place] % half == hidden:
                continue
            label = relations[place]
            if label != made:
                made = label
                label_back = label + num_relations if label < num_relations else label - num_relations
                _apply(turned[label_back], pulls[parent], pull)
            bound = _product(pull, reached[tails[place]])
            if bound > 0:
                parents[number], labels[number] = parent, label_back
                found[number], bounds[number] = tails[place], bound
                number += 1
        for identity in range(2 * num_relations, len(turned)):
            _apply(turned[identity], pulls[parent], pull)
            bound = _product(pull, reached[entity])
            if bound > 0:
                parents[number], labels[number] = parent, identity
                found[number], bounds[number] = entity, bound
                number += 1
    return parents[:number], labels[:number], found[:number], bounds[:number]


@compiled(fastmath={"reassoc", "contract", "nsz", "arcp"})
def _product(one, other):
    total = np.float32(0)
    for place in range(len(one)):
        total += one[place] * other[place]
    return total
