"""Far evidence: the connectivity of candidates beyond `num_hops` steps from the query's head.

For such candidates proximity is constant and paths say nothing, so without this evidence only their roles would
distinguish them. Far evidence counts the walks of 1 to 6 steps that leave the candidate: candidates in dense parts of
the graph have many, candidates at its border have few. It uses logarithms of the counts relative to the mean of the
graph, so that graphs of different sizes are comparable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reshuffle.model.evidence.interface import Asked, EvidenceKind, Weight
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.propagation import EvidenceGraph, MessageGraph

STEPS = 6
_SPREAD = 1e-3  # a standard deviation that is less counts as this one


class Far(EvidenceKind):
    """A weight for each number of steps, shared by all relations: weights of their own were no better."""

    name = "far"
    shown = "surroundings"

    own_weights = (Weight("of_surroundings", lambda _: torch.zeros(STEPS)),)

    def scores(self, asked: Asked) -> dict[str, Tensor]:
        """What the surroundings of every entity that is further away than proximity looks say."""
        told = self.weights.of_surroundings @ surroundings(asked.graph, asked.hidden)
        return {self.name: told * (asked.distances(self.shape.num_hops) > self.shape.num_hops)}

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
        """How many facts the answer has."""
        del messages, question
        starts = graph.by_head.starts, graph.by_tail.starts
        number = sum(int(each[answer + 1] - each[answer]) for each in starts)
        return f"{graph.entities[answer]} has {counted(number, 'fact')}; how many its neighbours have counts, too"


@torch.no_grad()
def surroundings(graph: EvidenceGraph, hidden: Tensor | None) -> Tensor:  # step entity
    """The logarithm of the number of walks of 1, 2, ... steps that leave each entity, standardised over the graph."""
    there = torch.ones(len(graph.edges) // 2, device=graph.edges.device)
    if hidden is not None:
        there[hidden] = 0.0
    edges = there[graph.edges % max(1, len(there))]
    walks, rows = torch.ones(graph.num_entities, device=edges.device), []
    for _ in range(STEPS):
        walks = torch.zeros_like(walks).index_add(0, graph.heads, walks[graph.tails] * edges)
        logs = torch.log1p(walks)
        rows.append((logs - logs.mean()) / logs.std(correction=0).clamp(min=_SPREAD))
    return torch.stack(rows)
