"""Unary evidence: scores of the candidate alone, independent of the query's entity.

It uses the candidate's roles, how often the candidate has the requested role, and its degree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import softplus

from reshuffle.kg.roles import Roles
from reshuffle.kg.rows import Rows
from reshuffle.model.evidence.interface import Asked, LocalEvidence, Weight
from reshuffle.model.propagation import runs
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.propagation import EvidenceGraph, MessageGraph

_SMOOTHING = 2.0  # added to the number of entities that a confidence is a share of: rare roles prove little
_FLOOR = 1e-3  # the confidence of having no role that is known to go with the one asked for


class Unary(LocalEvidence):
    """The best confidence, the number of asked roles, the weights of all roles and the degree, taken together."""

    name = "unary"
    shown = "types"
    counts = True

    own_weights = (
        # [role, role]: the share of those with the second role that have the first, too.
        Weight("confidences", lambda shape: torch.zeros(shape.num_roles, shape.num_roles), trained=False),
        Weight("of_type", lambda _: torch.tensor([1.0, -1.0])),  # from other roles; from any role
        Weight("of_role", lambda shape: torch.zeros(shape.num_roles, shape.num_roles), penalty="role"),
        Weight("of_count", lambda shape: torch.zeros(shape.num_roles + 1), penalty="count"),
        Weight("of_degree", lambda shape: torch.zeros(shape.num_roles + 1), penalty="degree"),
    )

    def fit_types(self, graph: EvidenceGraph) -> None:
        """Count which roles go together on the training graph."""
        confidences = self.weights.confidences
        rows = Rows(graph.role_starts.cpu().numpy(), graph.roles.cpu().numpy())
        both = torch.from_numpy(Roles(rows, len(confidences)).pair_counts()).to(confidences)
        shares = both / (both.diagonal() + _SMOOTHING)
        confidences.copy_(shares.fill_diagonal_(0))  # having the role already is counted on its own

    def scores(self, asked: Asked) -> dict[str, Tensor]:
        """The evidence for every entity: that of a relation is computed once, however many queries ask for it."""
        graph, counts = asked.graph, asked.graph.counts
        if asked.hidden is not None:  # each at most once
            lost = graph.entry_of_edge.view(2, -1)[:, asked.hidden].flatten()
            counts = counts.index_add(0, lost, torch.full_like(lost, -1))
        wanted, place = torch.unique(asked.relations, return_inverse=True)
        nothing = torch.zeros(len(wanted), graph.num_entities, device=wanted.device)
        present = (counts > 0).float()
        owners = graph.entities.expand(len(wanted), -1)
        confidences = self.weights.confidences[wanted][:, graph.roles] * present
        best = nothing.scatter_reduce(1, owners, confidences, "amax")
        number = nothing.scatter_add(1, owners, ((graph.roles == wanted[:, None]) * counts).float())
        degree = nothing[0].scatter_add(0, graph.entities, counts.float())
        of_role = self.weights.of_role[wanted][:, graph.roles]
        roles = nothing.index_add(1, graph.entities, of_role * present)
        return {self.name: self._total(wanted, best, number, roles, degree).index_select(0, place)}

    def candidate_scores(self, candidates: Tensor, asked: Asked, without: Tensor | None) -> dict[str, Tensor]:
        """The same for some candidates, from the roles of each."""
        graph, flat, width = asked.graph, candidates.flatten(), candidates.shape[1]
        first = graph.role_starts[flat]
        pairs, entries = runs(first, graph.role_starts[flat + 1] - first)
        wanted, given = asked.relations[pairs // width], graph.roles[entries]
        counts = graph.counts[entries]
        if without is not None:
            for gone in graph.entry_of_edge.view(2, -1)[:, without]:  # of the edge, and of its inverse
                counts = counts - (entries == gone[pairs // width]).long()
        present = (counts > 0).float()
        places = wanted * self.shape.num_roles + given  # indexing would add up gradients in any order
        nothing = torch.zeros(len(flat), device=flat.device)
        confidences = self.weights.confidences.flatten().index_select(0, places) * present
        best = nothing.scatter_reduce(0, pairs, confidences, "amax")
        number = nothing.index_add(0, pairs, ((given == wanted) * counts).float())
        degree = nothing.index_add(0, pairs, counts.float())
        of_role = self.weights.of_role.flatten().index_select(0, places)
        roles = nothing.index_add(0, pairs, of_role * present)
        best, number, roles, degree = (part.view_as(candidates) for part in (best, number, roles, degree))
        return {self.name: self._total(asked.relations, best, number, roles, degree)}

    def _total(self, asked: Tensor, best: Tensor, number: Tensor, roles: Tensor, degree: Tensor) -> Tensor:
        weights = self.weights
        other, any_role = softplus(weights.of_type)
        of_count, of_degree = (
            (each[:-1].index_select(0, asked) + each[-1])[:, None]
            for each in (weights.of_count, weights.of_degree)
        )
        result: Tensor = (
            other * torch.log(best + _FLOOR)
            + any_role * torch.log(torch.where(number > 0, 1.0, best) + _FLOOR)
            + roles
            + of_count * torch.log1p(number)
            + of_degree * torch.log1p(degree)
        )
        return result

    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
        """In how many other facts the answer plays the part that is asked for."""
        del messages
        edges = graph.by_tail if question.side == "tail" else graph.by_head
        others = edges.of(answer, question.relation)
        number = int((others != question.anchor).sum())
        told = "no other fact" if not number else counted(number, "other fact")
        name, relation = graph.entities[answer], graph.relations[question.relation]
        return f"{name} is the {question.side} of {told} of {relation}"
