"""The inner loops of scores: table values of an entity, and sums over rules."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled

LEAST_SHARE = 0.001
"""Added to a share before its logarithm is taken, so that a share of 0 has one."""
LOG_LEAST = float(np.log(LEAST_SHARE))


@compiled(inline=True)
def type_features(entity, relation, own, roles, log_shares):
    """What an entity looks like as an answer over a directed relation: log share, log count, log degree.

    `own` is 1 where a fact of that role is hidden, else 0; that fact counts for nothing here.
    Invariant: an entity without roles has log(LEAST_SHARE), 0, 0. Cost: a step per role of the entity.
    """
    starts, ids, log_counts, log_degrees = roles
    share, count = LOG_LEAST, 0.0
    for at in range(starts[entity], starts[entity + 1]):
        role = ids[at]
        if role == relation:
            count = log_counts[at, own]
            if count == 0:
                continue
        share = max(share, log_shares[relation, role])
    return share, count, log_degrees[entity, own]


@compiled(inline=True)
def type_value(entity, row, roles, log_shares, weights):
    """What the table of types adds for an entity as the answer over a directed relation.

    Invariant: nothing is hidden. Cost: a step per role of the entity.
    """
    share, count, degree = type_features(entity, row, 0, roles, log_shares)
    return weights[row, 0] * share + weights[row, 1] * count + weights[row, 2] * degree


@compiled
def all_type_values(row, roles, log_shares, weights, out):
    """Write what the table of types adds for every entity into `out[entity]`.

    Invariant: nothing is hidden. Cost: a step per role of each entity.
    """
    for entity in range(len(roles[0]) - 1):
        out[entity] = type_value(entity, row, roles, log_shares, weights)


@compiled
def hidden_type_values(entities, rows, weights, roles, log_shares, out):
    """Write what the table of types adds for each entity over the row beside it, with one fact of that role hidden.

    Invariant: as `type_features` says. Cost: a step per role of the entities.
    """
    for place in range(len(entities)):
        row = rows[place]
        share, count, degree = type_features(entities[place], row, 1, roles, log_shares)
        out[place] = weights[row, 0] * share + weights[row, 1] * count + weights[row, 2] * degree


@compiled
def add_rules(walks, weights, count_weights, out):
    """Add the parts of all rules to `out[question, entity]`, rule after rule in the order of the entries.

    Invariant: an entry adds weight + count weight * log(number of walks). Cost: one step per entry.
    """
    starts, rules, ends, counts = walks
    for query in range(len(starts) - 1):
        for entry in range(starts[query], starts[query + 1]):
            rule = rules[entry]
            out[query, ends[entry]] += weights[rule] + count_weights[rule] * np.log(counts[entry])
