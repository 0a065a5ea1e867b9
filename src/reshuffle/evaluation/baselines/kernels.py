"""The inner loop of the rule baseline."""

from __future__ import annotations

# Types would say "array" and "integer" over and over, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import numpy as np

from reshuffle.compiled import compiled
from reshuffle.kg.row_kernels import lower_bound


@compiled
def _step(  # noqa: PLR0913, PLR0917 - numba passes arrays, not objects
    frontier, size, relation, starts, relations, neighbours, reached, stamps, stamp
):
    """Write who is one edge of `relation` away from `frontier[:size]` into `reached`; returns how many.

    Invariant: an entity is in `reached[:count]` iff its stamp is `stamp`, so each is written once. Cost: the edges of
    `relation` at the frontier, and a binary search per entity of it.
    """
    count = 0
    for place in range(size):
        entity = frontier[place]
        end = starts[entity + 1]
        edge = lower_bound(relations, starts[entity], end, relation)
        while edge < end and relations[edge] == relation:
            other = neighbours[edge]
            if stamps[other] != stamp:
                stamps[other] = stamp
                reached[count] = other
                count += 1
            edge += 1
    return count


@compiled
def add_evidence(  # noqa: PLR0913, PLR0917 - numba passes arrays, not objects
    anchors, firsts, lasts, bodies, lengths, shared, weights, starts, relations, neighbours, out
):
    """Add to `out[query, entity]` the weight of every rule that leads from the anchor to the entity.

    Query q uses the rules `firsts[q] : lasts[q]`, sorted by body, so that a rule repeats the first `shared`
    steps of the one before and need not walk them again.

    Invariant: `frontiers[d, :sizes[d]]` is where the first d steps of the current rule lead. Cost: for each query the
    edges that its rules walk, shared first steps once, and memory for as many frontiers as a body has steps.
    """
    longest, num_entities = bodies.shape[1], out.shape[1]
    frontiers = np.empty((longest + 1, num_entities), dtype=np.int32)
    sizes = np.zeros(longest + 1, dtype=np.int64)
    stamps = np.zeros(num_entities, dtype=np.int64)
    stamp = 0
    for query in range(len(anchors)):
        frontiers[0, 0] = anchors[query]
        sizes[0] = 1
        for rule in range(firsts[query], lasts[query]):
            depth = 0 if rule == firsts[query] else shared[rule]
            while depth < lengths[rule]:
                stamp += 1
                sizes[depth + 1] = _step(
                    frontiers[depth],
                    sizes[depth],
                    bodies[rule, depth],
                    starts,
                    relations,
                    neighbours,
                    frontiers[depth + 1],
                    stamps,
                    stamp,
                )
                depth += 1
            for place in range(sizes[depth]):
                out[query, frontiers[depth, place]] += weights[rule]
