"""The model word for word, one triple and one entity at a time, in plain torch: what the fast is tested against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

Triple = tuple[int, int, int]


def random_triples(seed: int, *, entities: int, relations: int, count: int) -> np.ndarray:
    """Distinct triples of ids, self-loops included."""
    chance = np.random.default_rng(seed)
    size = (entities, relations, entities)
    return np.unique(np.stack([chance.integers(n, size=count) for n in size], axis=1), axis=0).astype(
        np.int64
    )


def edges_of(
    triples: np.ndarray,
    *,
    entities: int,
    relations: int,
    identities: int,
    hidden: frozenset[int] = frozenset(),
) -> list[Triple]:
    """The triples that are not hidden (by position), their inverses, and the self-loops."""
    edges: list[Triple] = []
    for position, (head, relation, tail) in enumerate(triples.tolist()):
        if position not in hidden:
            edges += [(head, relation, tail), (tail, relation + relations, head)]
    return edges + [
        (entity, 2 * relations + identity, entity)
        for identity in range(identities)
        for entity in range(entities)
    ]


def propagate(states: Tensor, matrices: Tensor, edges: list[Triple], *, layers: int) -> Tensor:
    """Z_f <- max(Z_f, max over (e, r, f) of B_r Z_e)."""
    for _ in range(layers):
        updated = list(states.unbind())
        for head, relation, tail in edges:
            updated[tail] = torch.maximum(updated[tail], matrices[relation] @ states[head])
        states = torch.stack(updated)
    return states


def score(matrix: Tensor, head: Tensor, tail: Tensor) -> Tensor:
    """s(e, r, f) = -||ReLU(B_r Z_e - Z_f)||_2."""
    return -torch.relu(matrix @ head - tail).square().sum().sqrt()
