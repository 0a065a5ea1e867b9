"""The inner loops of fitting: the candidates of a question, and the loss of a batch with its gradient."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.rulelist.kernels.scoring_sums import type_features


@compiled
def choose_candidates(questions, known, walks, order, windows, out):
    """Write the candidates of each question: the answer, entities reached by rules, and a window of all entities.

    Known answers are no candidates. `order` is a permutation of the entities, and question q takes those from
    `windows[q]` on, as many as `out` has room for. Entries of known answers are dropped, the others get the place of
    their candidate; returns the numbers of candidates and of entries.

    Invariant: `place[entity]` is 0 for entities that are no candidates yet, -1 for known answers, else one more than
    its place. Cost: a step per entry of `walks`, per known answer, and per entity of a window.
    """
    answers = questions[2]
    known_starts, known_answers = known
    walk_starts, walk_rules, walk_ends, walk_counts = walks
    starts, reached, entities, entry_starts, places, rules, logs = out
    window = windows[1]
    place = np.zeros(len(order), dtype=np.int64)
    filled, entries = 0, 0
    for query in range(len(answers)):
        first = filled
        for at in range(known_starts[query], known_starts[query + 1]):
            place[known_answers[at]] = -1
        place[answers[query]] = 1
        entities[filled] = answers[query]
        filled += 1
        for at in range(walk_starts[query], walk_starts[query + 1]):
            end = walk_ends[at]
            if place[end] < 0:
                continue
            if place[end] == 0:
                entities[filled] = end
                filled += 1
                place[end] = filled - first
            places[entries], rules[entries] = place[end] - 1, walk_rules[at]
            logs[entries] = np.log(walk_counts[at])
            entries += 1
        reached[query] = filled - first
        at = windows[0][query]
        for _ in range(window):
            entity = order[at]
            at = at + 1 if at + 1 < len(order) else 0
            if place[entity] == 0:
                entities[filled] = entity
                filled += 1
                place[entity] = filled - first
        for at in range(first, filled):
            place[entities[at]] = 0
        for at in range(known_starts[query], known_starts[query + 1]):
            place[known_answers[at]] = 0
        starts[query + 1], entry_starts[query + 1] = filled, entries
    return filled, entries


@compiled
def loss_and_gradient(batch, data, roles, log_shares, weights, gradients):
    """The summed loss of some questions; adds its gradient to `gradients`.

    The loss of a question is -log of the answer's share in a softmax over its candidates. The first candidate is the
    answer, with its own fact hidden. A candidate from a window represents several absent ones, by `boosts`.

    Invariant: a gradient is the sum over questions of (share - target) times the feature. Cost: two steps per
    candidate, with its roles, and two per entry.
    """
    relations, starts, reached, entities, distances, entry_starts, places, rules, logs, boosts = data
    rule_weights, count_weights, distance_weights, type_weights = weights
    for_rules, for_counts, for_distances, for_types = gradients
    widest = 0
    for query in batch:
        widest = max(widest, starts[query + 1] - starts[query])
    scores = np.empty(widest, dtype=np.float64)
    seen = np.empty((widest, 3), dtype=np.float64)
    loss = 0.0
    for query in batch:
        relation, first = relations[query], starts[query]
        size = starts[query + 1] - first
        for at in range(size):
            own = 1 if at == 0 else 0
            share, count, degree = type_features(entities[first + at], relation, own, roles, log_shares)
            seen[at, 0], seen[at, 1], seen[at, 2] = share, count, degree
            score = distance_weights[relation, distances[first + at]]
            score += type_weights[relation, 0] * share + type_weights[relation, 1] * count
            score += type_weights[relation, 2] * degree
            scores[at] = score + boosts[query] if at >= reached[query] else score
        for entry in range(entry_starts[query], entry_starts[query + 1]):
            rule = rules[entry]
            scores[places[entry]] += rule_weights[rule] + count_weights[rule] * logs[entry]
        loss += _pushes(scores[:size])
        for at in range(size):
            for_distances[relation, distances[first + at]] += scores[at]
            for kind in range(3):
                for_types[relation, kind] += scores[at] * seen[at, kind]
        for entry in range(entry_starts[query], entry_starts[query + 1]):
            push = scores[places[entry]]
            for_rules[rules[entry]] += push
            for_counts[rules[entry]] += push * logs[entry]
    return loss


@compiled
def _pushes(scores):
    """The loss of one question, whose scores become its gradient: share - target for each candidate.

    Invariant: the target of the first candidate, the answer, is 1, of all others 0. Cost: linear.
    """
    highest, wanted, total = scores.max(), scores[0], 0.0
    for at in range(len(scores)):
        scores[at] = np.exp(scores[at] - highest)
        total += scores[at]
    loss = np.log(total) + highest - wanted
    scores /= total
    scores[0] -= 1
    return loss
