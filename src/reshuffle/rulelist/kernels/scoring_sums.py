"""The inner loops of scores: what the tables say of an entity, and the sums over rules."""

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


@compiled
def all_type_features(relation, roles, log_shares, out):
    """Write the features of all entities over one directed relation into `out[entity]`.

    Invariant: nothing is hidden. Cost: a step per role of each entity.
    """
    for entity in range(len(roles[0]) - 1):
        out[entity, 0], out[entity, 1], out[entity, 2] = type_features(entity, relation, 0, roles, log_shares)


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
