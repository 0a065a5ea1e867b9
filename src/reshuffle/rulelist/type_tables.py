"""Type features: the roles of the entities of a graph, and the shares counted in training.

A role is a relation with one of its sides, numbered by the directed relation that it answers (`kg.roles`). For a
question over the directed relation a, an entity has three features:

    share   log of the largest c(a, b) over its roles b: the share of entities with role b that have role a
    count   log of one more than the number of its facts in role a
    degree  log of one more than the number of its facts
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import starts_in
from reshuffle.rulelist.kernels.scoring_sums import LEAST_SHARE, all_type_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph

KINDS = ("share", "count", "degree")
RoleArrays = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def log_shares(shares: NDArray[np.floating]) -> NDArray[np.float64]:  # role role
    """The logarithms of c(a, b), of which kernels take the largest."""
    return np.log(shares.astype(np.float64) + LEAST_SHARE)


@dataclass(frozen=True)
class RoleCounts:
    """The number of facts of each entity in each role and in total, as log(1 + number).

    Each has a second column, for the entity without one of these facts.
    """

    starts: NDArray[np.int64]  # entity + 1
    roles: NDArray[np.int64]  # entry: sorted for each entity
    log_counts: NDArray[np.float64]  # entry hidden
    log_degrees: NDArray[np.float64]  # entity hidden

    @classmethod
    def of(cls, graph: KnowledgeGraph, numbers: NDArray[np.integer], num_relations: int) -> RoleCounts:
        """The roles in a graph; `numbers` renumbers its relations, and facts of -1 are left out."""
        ids = numbers[graph.relation_ids].astype(np.int64)
        known = ids >= 0
        entities = np.concatenate([graph.tails[known], graph.heads[known]]).astype(np.int64)
        roles = np.concatenate([ids[known], ids[known] + num_relations])
        keys, counts = np.unique(entities * (2 * num_relations) + roles, return_counts=True)
        owners, distinct = np.divmod(keys, max(1, 2 * num_relations))
        degrees = np.bincount(entities, minlength=graph.num_entities)
        starts = starts_in(owners, num_rows=graph.num_entities)
        return cls(starts, distinct, _logs(counts), _logs(degrees))

    @property
    def arrays(self) -> RoleArrays:
        """As kernels take them."""
        return self.starts, self.roles, self.log_counts, self.log_degrees

    def values(
        self, row: int, logs: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:  # entity
        """What the features of every entity come to over one directed relation; `logs` are those of the shares."""
        out = np.empty(len(self.log_degrees))
        all_type_values(row, self.arrays, logs, weights, out)
        return out


def _logs(counts: NDArray[np.int64]) -> NDArray[np.float64]:  # count hidden
    logs: NDArray[np.float64] = np.log(np.stack([counts + 1, np.maximum(counts, 1)], axis=1))
    return logs
