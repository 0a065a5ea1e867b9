"""Negative evidence: other facts between head and tail, as most pairs have only one relation.

With `direct_facts = "both"` a fact between the two may also speak for a triple. Then this kind has two parts, which are
reported apart: what speaks for the triple as "proximity", what speaks against it as "negative".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import softplus

from reshuffle.kg import Triple
from reshuffle.model.evidence.interface import WEAK, Asked, LocalEvidence, Weight
from reshuffle.model.evidence.proximity import Proximity
from reshuffle.model.propagation import runs
from reshuffle.reasoning.proofs import spelled

if TYPE_CHECKING:
    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.propagation import MessageGraph

_FEW = 3  # facts that the words name


class Negative(LocalEvidence):
    """A weight for each relation that may hold between the two, per relation that is asked for."""

    name = "negative"
    shown = "other links"

    own_weights = (
        # Columns: the relation that holds already; the last one is being the same entity.
        Weight("of_fact", lambda shape: torch.zeros(shape.num_roles, shape.num_roles + 1), penalty="fact"),
    )

    @property
    def parts(self) -> tuple[str, ...]:
        """Facts that speak for a triple count as proximity."""
        return (self.name,) if self.shape.direct_facts == "against" else (Proximity.name, self.name)

    def _weights_of_parts(self) -> dict[str, Tensor]:
        """The weight of each fact, by the part that it is reported as."""
        if self.shape.direct_facts == "against":
            return {self.name: -softplus(self.weights.of_fact + WEAK)}
        # Clamping, unlike ReLU, has a gradient at 0, where the weights start.
        of_fact = self.weights.of_fact
        return {Proximity.name: of_fact.clamp(min=0), self.name: of_fact.clamp(max=0)}

    def scores(self, asked: Asked) -> dict[str, Tensor]:
        """The sum of the weights of all facts that lead from the head to each entity."""
        heads, relations, graph = asked.heads, asked.relations, asked.graph
        by_part = self._weights_of_parts()
        first = graph.starts[heads]
        queries, places = runs(first, graph.starts[heads + 1] - first)
        there = torch.ones(len(graph.edges) // 2, device=heads.device)
        if asked.hidden is not None:
            there[asked.hidden] = 0.0
        everyone = torch.arange(len(heads), device=heads.device)
        rows, columns = torch.cat([queries, everyone]), torch.cat([graph.tails[places], heads])
        parts = {}
        for part, weights in by_part.items():
            values = weights[relations[queries], graph.relations[places]]
            if asked.hidden is not None:
                values = values * there[graph.edges[places] % len(there)]
            flat = torch.zeros(len(heads) * graph.num_entities, device=heads.device)
            values = torch.cat([values, weights[relations, -1]])
            flat = flat.index_add(0, rows * graph.num_entities + columns, values)
            parts[part] = flat.view(len(heads), -1)
        return parts

    def candidate_scores(self, candidates: Tensor, asked: Asked, without: Tensor | None) -> dict[str, Tensor]:
        """The same for some candidates, from the edges between the two."""
        heads, relations, graph = asked.heads, asked.relations, asked.graph
        keys, places = graph.pairs
        wanted = (heads[:, None] * graph.num_entities + candidates).flatten()
        first = torch.searchsorted(keys, wanted)
        pairs, found = runs(first, torch.searchsorted(keys, wanted, right=True) - first)
        queries, edges = pairs // candidates.shape[1], places[found]
        parts = {}
        for part, weights in self._weights_of_parts().items():
            columns = relations[queries] * weights.shape[1] + graph.relations[edges]
            values = weights.flatten().index_select(0, columns)
            if without is not None:
                values = values * (graph.edges[edges] % (len(graph.edges) // 2) != without[queries])
            of_same = weights[:, -1].index_select(0, relations)[:, None] * (candidates == heads[:, None])
            parts[part] = of_same.flatten().index_add(0, pairs, values).view_as(candidates)
        return parts

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
        """The other facts that hold between the two."""
        del messages
        asked, by_head = question.triple(graph, answer), graph.by_head
        found = [
            Triple(graph.entities[head], graph.relations[int(by_head.relations[place])], graph.entities[tail])
            for head, tail in sorted({(question.anchor, answer), (answer, question.anchor)})
            for place in range(by_head.starts[head], by_head.starts[head + 1])
            if by_head.neighbours[place] == tail
        ]
        others = [spelled(fact) for fact in found if fact != asked]
        same = ["both ends are the same"] if question.anchor == answer else []
        shown = [*same, *others[:_FEW], *([f"{len(others) - _FEW} more"] if len(others) > _FEW else [])]
        return "; ".join(shown) if shown else "no other fact holds between the two"
