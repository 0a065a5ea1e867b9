"""The kinds of evidence that `architecture.EVIDENCE` lists, and the sum of those that a model has."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reshuffle.model import architecture
from reshuffle.model.evidence.interface import Asked, EvidenceKind, LocalEvidence, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.architecture import DirectFacts
    from reshuffle.model.propagation import EvidenceGraph, MessageGraph


def _kind(name: str, place: str) -> type[EvidenceKind]:
    """The class of a kind, from its file and its name there."""
    file, _, class_name = place.partition(".")
    kind: type[EvidenceKind] = getattr(import_module(f"reshuffle.model.evidence.{file}"), class_name)
    assert kind.name == name, (kind.name, name)
    return kind


KINDS = tuple(_kind(name, place) for name, place in architecture.EVIDENCE.items())
EVIDENCE = tuple(architecture.EVIDENCE)
SHOWN_NAMES = {kind.name: kind.shown for kind in KINDS}
LOCAL = tuple(kind.name for kind in KINDS if issubclass(kind, LocalEvidence))

# The sum of squares depends on the order in its last bit, and the losses of a training should stay the same.
_ADDED_FIRST = ("role", "fact", "slot")


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
        self._num_roles = shape.num_roles
        for weight in (weight for kind in self.kinds for weight in kind.own_weights):
            *folder, name = weight.name.split(".")
            if folder and not hasattr(self, folder[0]):
                self.add_module(folder[0], nn.Module())
            owner, start = self.get_submodule(".".join(folder)), weight.start(shape)
            if weight.trained:
                owner.register_parameter(name, nn.Parameter(start))
            else:
                owner.register_buffer(name, start)

    @property
    def local(self) -> bool:
        """Do all kinds do without a channel per query?"""
        return len(self._local) == len(self.kinds)

    @property
    def reads_states(self) -> bool:
        """Does some kind look at the states of the matrices?"""
        return any(kind.reads_states for kind in self.kinds)

    def fit_types(self, graph: EvidenceGraph) -> None:
        """Count on the training graph what some kinds need to know before they are trained."""
        for kind in self.kinds:
            if kind.counts:
                kind.fit_types(graph)

    def penalty(self, examples: Tensor | None = None) -> Tensor:
        """The squares of the weights that a relation has for itself: few facts should not teach much about it.

        Such weights can tell single entities of the training graph by what only they have, and that is worth nothing
        on another graph. With the number of examples [relation], relations that have many are held back less.
        """
        free: dict[str, list[Tensor]] = {name: [] for name in _ADDED_FIRST}
        for weight in (weight for kind in self.kinds for weight in kind.own_weights if weight.penalty):
            rows = self.get_parameter(weight.name)[: self._num_roles]
            free.setdefault(weight.penalty, []).append(rows.reshape(len(rows), -1))
        each = [torch.cat(rows, dim=1).square().sum(1) for rows in free.values() if rows]
        squares = torch.stack(each).sum(0)
        return (squares if examples is None else squares / (1 + examples)).sum()

    def scores(
        self, asked: Asked, candidates: Tensor | None = None, *, without: Tensor | None = None
    ) -> dict[str, Tensor]:  # query candidate
        """The evidence for every entity as the tail of each query, by part; without messages the local kinds alone.

        With candidates [query, candidate] it is that of the local kinds for these alone, at a cost that does not grow
        with the graph; `without` [query] are then triples by position, each hidden from its own query alone.
        """
        if candidates is not None:
            found = [kind.candidate_scores(candidates, asked, without) for kind in self._local]
        else:
            found = [kind.scores(asked) for kind in (self._local if asked.messages is None else self.kinds)]
        parts: dict[str, Tensor] = {}
        for part, values in (item for each in found for item in each.items()):
            parts[part] = parts[part] + values if part in parts else values
        return {part: parts[part] for part in EVIDENCE if part in parts}

    def worth_of_slots(self) -> Tensor | None:  # relation slot
        """What evidence adds to a score for a slot that is fully reached; None where no kind looks at slots."""
        found = [worth for kind in self.kinds if (worth := kind.worth_of_slots()) is not None]
        return torch.stack(found).sum(0) if found else None

    def words(
        self, part: str, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph
    ) -> str:
        """What a part of the evidence has looked at, in the words of the first kind that has such a part."""
        kind = next(kind for kind in self.kinds if part in kind.parts)
        return kind.words(question, answer, graph=graph, messages=messages)
