"""The kinds of evidence that there are, and the sum of those that a model has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from reshuffle.model.evidence.interface import Asked, DirectFacts, EvidenceKind, LocalEvidence, Shape
from reshuffle.model.evidence.negative import Negative
from reshuffle.model.evidence.paths import Paths
from reshuffle.model.evidence.proximity import Proximity
from reshuffle.model.evidence.unary import Unary
from reshuffle.model.evidence.walk_counts import WalkCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.evidence.evidence_graph import EvidenceGraph
    from reshuffle.model.questions import Question

KINDS: tuple[type[EvidenceKind], ...] = (
    Unary,
    Proximity,
    Paths,
    WalkCounts,
    Negative,
)
"""Every kind, in the order in which they are computed, added up and reported."""

EVIDENCE = tuple(kind.name for kind in KINDS)
LOCAL = tuple(kind.name for kind in KINDS if issubclass(kind, LocalEvidence))

if TYPE_CHECKING:
    EvidenceName = str
else:
    EvidenceName = Literal[
        EVIDENCE
    ]  # what the setting `evidence` may name; settings are checked by their types

_ADDED_FIRST = (
    "role",
    "fact",
    "slot",
)  # sums depend on the order in the last bit, and losses should not change


class Evidence(nn.Module):
    """The kinds of evidence of one model, and their weights per relation that is asked for (r, then r^-1)."""

    def __init__(
        self,
        num_relations: int,
        kinds: Sequence[str],
        *,
        num_hops: int,
        num_slots: int,
        direct_facts: DirectFacts = "against",
    ) -> None:
        super().__init__()
        shape = Shape(2 * num_relations, num_slots, num_hops, direct_facts)
        self.kinds = tuple(kind(self, shape) for kind in KINDS if kind.name in kinds)
        self._local = tuple(kind for kind in self.kinds if isinstance(kind, LocalEvidence))

    @property
    def local(self) -> bool:
        """Do all kinds do without a channel per query?"""
        return len(self._local) == len(self.kinds)

    @property
    def reads_states(self) -> bool:
        """Does some kind look at the states of the matrices?"""
        return any(kind.reads_states for kind in self.kinds)

    def fit_types(self, graph: EvidenceGraph) -> None:
        """Let each kind count on the training graph what it needs to know."""
        for kind in self.kinds:
            kind.fit_types(graph)

    def penalty(self, examples: Tensor | None = None) -> Tensor:
        """The squares of the weights that a relation has for itself: few facts should not teach much about it.

        Such weights can tell single entities of the training graph by what only they have, and that is worth nothing
        on another graph. With the number of examples [relation], relations that have many are held back less.
        """
        free = {name: weights for kind in self.kinds for name, weights in kind.free_weights().items()}
        order = sorted(
            free, key=lambda name: (*_ADDED_FIRST, name).index(name)
        )  # stable: others as they come
        each = [free[name].square().reshape(len(free[name]), -1).sum(1) for name in order]
        squares = torch.stack(each).sum(0)
        return (squares if examples is None else squares / (1 + examples)).sum()

    def scores(self, asked: Asked) -> dict[str, Tensor]:  # query entity
        """The evidence for every entity as the tail of each query, by part; without states the local kinds alone."""
        kinds = self._local if asked.states is None else self.kinds
        return _added([kind.scores(asked) for kind in kinds])

    def candidate_scores(
        self, candidates: Tensor, asked: Asked, *, without: Tensor | None = None
    ) -> dict[str, Tensor]:  # query candidate
        """The local kinds for some candidates [query, candidate], at a cost that does not grow with the graph.

        `without` [query] are triples by position, one per query, that are hidden from this query alone.
        """
        return _added([kind.candidate_scores(candidates, asked, without) for kind in self._local])

    def worth_of_slots(self) -> Tensor | None:  # relation slot
        """What evidence adds to a score for a slot that is fully reached; None where no kind looks at slots."""
        found = [worth for kind in self.kinds if (worth := kind.worth_of_slots()) is not None]
        return torch.stack(found).sum(0) if found else None

    def words(
        self, part: str, question: Question, answer: int, *, graph: KnowledgeGraph, facts: EvidenceGraph
    ) -> str:
        """What a part of the evidence has looked at, in the words of the first kind that has such a part."""
        kind = next(kind for kind in self.kinds if part in kind.parts)
        return kind.words(question, answer, graph=graph, facts=facts)


def _added(found: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The parts of all kinds in the order of `KINDS`; those of one name are added up."""
    parts: dict[str, Tensor] = {}
    for part in EVIDENCE:
        for each in found:
            if part in each:
                parts[part] = parts[part] + each[part] if part in parts else each[part]
    return parts
