"""Full filtered ranking on the device, for early stopping. The numbers that are reported come from `evaluation`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reshuffle.errors import ReshuffleError
from reshuffle.kg.inverses import with_inverses
from reshuffle.kg.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from reshuffle.progress import Notes


@dataclass(frozen=True)
class ValidationQueries:
    """(anchor, relation, ?) with one true answer each, both directions, and the other answers that are known."""

    anchors: Tensor  # query
    relations: Tensor  # query
    answers: Tensor  # query
    known_queries: Tensor  # known
    known_entities: Tensor  # known

    @classmethod
    def build(
        cls, triples: NDArray[np.int64], known: NDArray[np.int64], *, num_entities: int, num_relations: int
    ) -> ValidationQueries:
        """Head queries go through the inverse relation, as in the official code."""
        queries = with_inverses(triples, num_relations)
        facts = np.unique(with_inverses(np.concatenate([known, triples]), num_relations), axis=0)
        asked, row = np.unique(facts[:, 1] * num_entities + facts[:, 0], return_inverse=True)
        answers = Rows.grouped(row.reshape(-1), facts[:, 2], num_rows=len(asked))
        # Every query is a fact itself, so that each of them is found.
        owner, entities = answers.entries(
            np.searchsorted(asked, queries[:, 1] * num_entities + queries[:, 0])
        )
        others = entities != queries[owner, 2]
        columns = (queries[:, 0], queries[:, 1], queries[:, 2], owner[others], entities[others])
        return cls(*(torch.from_numpy(np.ascontiguousarray(column)) for column in columns))

    def to(self, device: torch.device) -> ValidationQueries:
        """The same queries on another device."""
        tensors = (self.anchors, self.relations, self.answers, self.known_queries, self.known_entities)
        return ValidationQueries(*(tensor.to(device) for tensor in tensors))


@torch.no_grad()
def realistic_ranks(
    scores_of: Callable[[Tensor, Tensor], Tensor], queries: ValidationQueries, *, at_once: int
) -> Tensor:  # query
    """Mean of the optimistic and the pessimistic rank among all entities that are not known answers.

    `scores_of` gets heads and relations, and returns the scores [query, entity] of all tails. Where one of them is NaN
    the rank is NaN: no comparison with it holds, so that any answer would look best.
    """
    ranks = []
    step = max(1, at_once)
    for start in range(0, len(queries.anchors), step):
        piece = slice(start, start + step)
        scores = scores_of(queries.anchors[piece], queries.relations[piece])
        senseless = scores.isnan().any(1)
        inside = (queries.known_queries >= start) & (queries.known_queries < start + step)
        scores[queries.known_queries[inside] - start, queries.known_entities[inside]] = -torch.inf
        true = scores.gather(1, queries.answers[piece, None])
        better = (scores > true).sum(1)
        equal = (scores == true).sum(1) - 1
        ranks.append((better + equal / 2 + 1).masked_fill(senseless, torch.nan))
    return torch.cat(ranks)


def ranks_within_memory(
    look: Callable[[], Callable[[Tensor, Tensor], Tensor]],
    queries: ValidationQueries,
    *,
    at_once: int,
    notes: Notes,
) -> tuple[Tensor, int]:
    """The ranks of a look, and how many queries it took at a time: half as many while the GPU's memory runs out."""
    at_once = max(1, min(at_once, len(queries.anchors)))
    scores_of: Callable[[Tensor, Tensor], Tensor] | None = None
    while True:
        try:
            scores_of = scores_of or look()  # once: it draws
            return realistic_ranks(scores_of, queries, at_once=at_once), at_once
        except torch.cuda.OutOfMemoryError as error:
            reason = str(error).split(". ", maxsplit=1)[0]
        # Outside of the handler, whose exception still holds the tensors that did not fit.
        if scores_of is None or at_once == 1:
            raise ReshuffleError(
                f"the GPU memory does not suffice for a look at a single validation triple: {reason}",
                hint="lower num_channels or num_slots, or train with --device cpu",
            )
        at_once //= 2
        torch.cuda.empty_cache()
        notes(
            f"out of GPU memory: going on with looks at {at_once} of the validation queries at a time ({reason})"
        )
