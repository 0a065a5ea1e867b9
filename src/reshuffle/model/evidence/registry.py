"""Evidence beside the constraints: what speaks for or against a triple without being a rule.

| kind | looks at | sign |
| --- | --- | --- |
| unary | the candidate alone: its roles, how often it has the one that is asked for, how connected it is | either |
| proximity | in how many steps the candidate is reached from the query's head, by any relations | either |
| paths | through which slots the candidate is reached, beyond what the constraints ask for | never negative |
| ways | in how many ways the candidate is reached (`model/evidence/walk_counts.py`) | never negative |
| negative | facts that hold between the two already, as most pairs are related in one way only | never positive |

With `direct_facts = "both"` facts between the two may also speak for a triple, and what they say counts as proximity.

Unary and negative evidence are *local*: they look at the facts of the two ends alone, so they need no channel per query
and can be told for some candidates without the others.

Each kind is a number per query and candidate, added to the constraint score for ranking and reported beside it; none
enters the messages or the constraints, so what the rules guarantee is untouched.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from reshuffle.model.evidence.walk_counts import WEAK, Ways
from reshuffle.model.kernels import runs
from reshuffle.model.propagation import propagate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.model.evidence.evidence_graph import EvidenceGraph
    from reshuffle.model.propagation import MessageGraph

EvidenceKind = Literal["unary", "proximity", "paths", "ways", "negative"]
DirectFacts = Literal["against", "both"]
EVIDENCE = get_args(EvidenceKind)
LOCAL: tuple[EvidenceKind, ...] = ("unary", "negative")

_SMOOTHING = 2.0  # added to the number of entities that a confidence is a share of: rare roles prove little
_FLOOR = 1e-3  # the confidence of having no role that is known to go with the one asked for
_REACHED = 1e-2  # states far below this count as not reached


class Evidence(nn.Module):
    """The weights of each kind of evidence, per relation that is asked for (r, then r^-1)."""

    confidences: Tensor  # role role: the share of those with the second that have the first, too

    def __init__(
        self,
        num_relations: int,
        kinds: Sequence[EvidenceKind],
        *,
        num_hops: int,
        num_slots: int,
        direct_facts: DirectFacts = "against",
    ) -> None:
        super().__init__()
        self.kinds, self.num_hops, self.direct_facts = tuple(kinds), num_hops, direct_facts
        roles = 2 * num_relations
        if "unary" in kinds:
            self.register_buffer("confidences", torch.zeros(roles, roles))
            self.of_type = nn.Parameter(torch.tensor([1.0, -1.0]))  # from other roles; from any role
            self.of_role = nn.Parameter(torch.zeros(roles, roles))
            self.of_count = nn.Parameter(torch.zeros(roles + 1))  # the last one is shared by all relations
            self.of_degree = nn.Parameter(torch.zeros(roles + 1))
        if "proximity" in kinds:
            # Columns: 0 to num_hops steps, and further away.
            self.of_distance = nn.Parameter(torch.zeros(roles + 1, num_hops + 2))
        if "paths" in kinds:
            self.of_slot = nn.Parameter(torch.zeros(roles, num_slots))
        if "ways" in kinds:
            self.ways = Ways(roles)
        if "negative" in kinds:
            # Columns: the relation that holds already; the last one is being the same entity.
            self.of_fact = nn.Parameter(torch.zeros(roles, roles + 1))

    @property
    def local(self) -> bool:
        """Does all of it do without a channel per query?"""
        return set(self.kinds) <= set(LOCAL)

    def fit_types(self, graph: EvidenceGraph) -> None:
        """Count which roles go together on the training graph."""
        if "unary" not in self.kinds:
            return
        both = torch.from_numpy(graph.role_pair_counts(len(self.confidences))).to(self.confidences)
        confidences = both / (both.diagonal() + _SMOOTHING)
        self.confidences.copy_(confidences.fill_diagonal_(0))  # having the role already is counted on its own

    def penalty(self, examples: Tensor | None = None) -> Tensor:
        """The squares of what is free per relation: few facts should not teach much about one of them.

        Free weights can tell single entities of the training graph by what only they have, and that is worth nothing
        on another graph. With the number of examples [relation], relations that have many are held back less.
        """
        last = {
            "of_role": None,
            "of_fact": None,
            "of_slot": None,
            "of_count": -1,
            "of_degree": -1,
            "of_distance": -1,
        }
        free = [getattr(self, name)[:end] for name, end in last.items() if hasattr(self, name)]
        each = [weights.square().reshape(len(weights), -1).sum(1) for weights in free]
        squares = torch.stack([*each, *([self.ways.squares()] if "ways" in self.kinds else [])]).sum(0)
        return (squares if examples is None else squares / (1 + examples)).sum()

    def parts(
        self,
        heads: Tensor,
        relations: Tensor,
        *,
        graph: EvidenceGraph,
        messages: MessageGraph,
        states: Tensor,
        hidden: Tensor | None = None,
    ) -> dict[str, Tensor]:  # query entity, by kind
        """The evidence for every entity as the tail of each query, when some triples are not there.

        `states` [entity, slot, query] are those of the constraints, or of a model before it was hardened.
        """
        parts = self.local_parts(heads, relations, graph=graph, hidden=hidden)
        if "proximity" in self.kinds:
            near = self._proximity(heads, relations, messages, hidden)
            parts["proximity"] = near + parts["proximity"] if "proximity" in parts else near
        if "paths" in self.kinds:
            weights = self._of_slots().index_select(0, relations)
            reached = torch.log(states / _REACHED + 1)
            parts["paths"] = (reached * weights.T).sum(1).T  # an einsum would copy the states
        if "ways" in self.kinds:
            parts["ways"] = self.ways.worth(heads, relations, graph, hidden)
        return {kind: parts[kind] for kind in EVIDENCE if kind in parts}

    def worth_of_slots(self) -> Tensor:  # relation slot
        """What "paths" gives for a slot that is reached fully; for a part of it, at least that part of it."""
        return self._of_slots() * math.log(1 / _REACHED + 1)

    def _of_slots(self) -> Tensor:  # relation slot
        return softplus(self.of_slot + WEAK)

    def local_parts(
        self, heads: Tensor, relations: Tensor, *, graph: EvidenceGraph, hidden: Tensor | None = None
    ) -> dict[str, Tensor]:  # query entity, by kind
        """The local kinds alone."""
        parts = {}
        if "unary" in self.kinds:
            parts["unary"] = self._unary(relations, graph, graph.counts_without(hidden))
        if "negative" in self.kinds:
            for kind, weights in self._fact_weights().items():
                parts[kind] = self._facts(weights, heads, relations, graph, hidden)
        return parts

    def parts_of(
        self,
        candidates: Tensor,
        heads: Tensor,
        relations: Tensor,
        *,
        graph: EvidenceGraph,
        without: Tensor | None = None,
    ) -> dict[str, Tensor]:  # query candidate, by kind
        """The local kinds for some candidates [query, candidate], at a cost that does not grow with the graph.

        `without` [query] are triples by position, one per query, that are not there for this query.
        """
        parts = {}
        if "unary" in self.kinds:
            parts["unary"] = self._unary_of(candidates, relations, graph, without)
        if "negative" in self.kinds:
            for kind, weights in self._fact_weights().items():
                parts[kind] = self._facts_of(weights, candidates, heads, relations, graph, without)
        return parts

    def _unary(self, relations: Tensor, graph: EvidenceGraph, counts: Tensor) -> Tensor:
        wanted, place = torch.unique(relations, return_inverse=True)
        nothing = torch.zeros(len(wanted), graph.num_entities, device=relations.device)
        present = (counts > 0).float()
        owners = graph.entities.expand(len(wanted), -1)
        confidences = self.confidences[wanted][:, graph.roles] * present
        best = nothing.scatter_reduce(1, owners, confidences, "amax")
        asked = (graph.roles == wanted[:, None]) * counts
        number = nothing.scatter_add(1, owners, asked.float())
        degree = nothing[0].scatter_add(0, graph.entities, counts.float())
        roles = nothing.index_add(1, graph.entities, self.of_role[wanted][:, graph.roles] * present)
        return self._told(wanted, best, number, roles, degree).index_select(0, place)

    def _unary_of(
        self, candidates: Tensor, relations: Tensor, graph: EvidenceGraph, without: Tensor | None
    ) -> Tensor:  # query candidate
        """The same for some candidates, from the entries of each."""
        flat, width = candidates.flatten(), candidates.shape[1]
        first = graph.role_starts[flat]
        pairs, entries = runs(first, graph.role_starts[flat + 1] - first)
        asked, given, counts = relations[pairs // width], graph.roles[entries], graph.counts[entries]
        if without is not None:
            for gone in graph.entry_of_edge.view(2, -1)[:, without]:  # of the edge, and of its inverse
                counts = counts - (entries == gone[pairs // width]).long()
        present = (counts > 0).float()
        places = asked * len(self.confidences) + given  # indexing would add up gradients in any order
        nothing = torch.zeros(len(flat), device=flat.device)
        confidences = self.confidences.flatten().index_select(0, places) * present
        best = nothing.scatter_reduce(0, pairs, confidences, "amax")
        number = nothing.index_add(0, pairs, ((given == asked) * counts).float())
        degree = nothing.index_add(0, pairs, counts.float())
        of_role = self.of_role.flatten().index_select(0, places)
        roles = nothing.index_add(0, pairs, of_role * present)
        best, number, roles, degree = (part.view_as(candidates) for part in (best, number, roles, degree))
        return self._told(relations, best, number, roles, degree)

    def _told(self, asked: Tensor, best: Tensor, number: Tensor, roles: Tensor, degree: Tensor) -> Tensor:
        """The best confidence, the number of asked roles, the weights of all roles and the degree, taken together."""
        other, any_role = softplus(self.of_type)
        result: Tensor = (
            other * torch.log(best + _FLOOR)
            + any_role * torch.log(torch.where(number > 0, 1.0, best) + _FLOOR)
            + roles
            + _with_shared(self.of_count, asked) * torch.log1p(number)
            + _with_shared(self.of_degree, asked) * torch.log1p(degree)
        )
        return result

    def _proximity(
        self, heads: Tensor, relations: Tensor, messages: MessageGraph, hidden: Tensor | None
    ) -> Tensor:
        distances = hops(heads, messages, most=self.num_hops, hidden=hidden)
        table = self.of_distance[:-1].index_select(0, relations) + self.of_distance[-1]
        return table.gather(1, distances)

    def _fact_weights(self) -> dict[str, Tensor]:
        """What a fact between the two says, by the kind of evidence that it counts as."""
        if self.direct_facts == "against":
            return {"negative": -softplus(self.of_fact + WEAK)}
        # Clamping, unlike ReLU, has a gradient at 0, where the weights start.
        return {"proximity": self.of_fact.clamp(min=0), "negative": self.of_fact.clamp(max=0)}

    def _facts(
        self,
        weights: Tensor,
        heads: Tensor,
        relations: Tensor,
        graph: EvidenceGraph,
        hidden: Tensor | None,
    ) -> Tensor:
        first = graph.starts[heads]
        number = graph.starts[heads + 1] - first
        queries, places = runs(first, number)
        values = weights[relations[queries], graph.relations[places]]
        if hidden is not None:
            there = torch.ones(len(graph.edges) // 2, device=heads.device)
            there[hidden] = 0.0
            values = values * there[graph.edges[places] % len(there)]
        everyone = torch.arange(len(heads), device=heads.device)
        rows, columns = torch.cat([queries, everyone]), torch.cat([graph.tails[places], heads])
        flat = torch.zeros(len(heads) * graph.num_entities, device=heads.device)
        values = torch.cat([values, weights[relations, -1]])
        return flat.index_add(0, rows * graph.num_entities + columns, values).view(len(heads), -1)

    def _facts_of(
        self,
        weights: Tensor,
        candidates: Tensor,
        heads: Tensor,
        relations: Tensor,
        graph: EvidenceGraph,
        without: Tensor | None,
    ) -> Tensor:  # query candidate
        """The same for some candidates, from the edges between the two."""
        keys, places = graph.pairs
        wanted = (heads[:, None] * graph.num_entities + candidates).flatten()
        first = torch.searchsorted(keys, wanted)
        pairs, found = runs(first, torch.searchsorted(keys, wanted, right=True) - first)
        queries, edges = pairs // candidates.shape[1], places[found]
        asked = relations[queries] * weights.shape[1] + graph.relations[edges]
        values = weights.flatten().index_select(0, asked)
        if without is not None:
            values = values * (graph.edges[edges] % (len(graph.edges) // 2) != without[queries])
        of_same = weights[:, -1].index_select(0, relations)[:, None] * (candidates == heads[:, None])
        return of_same.flatten().index_add(0, pairs, values).view_as(candidates)


def _with_shared(weights: Tensor, relations: Tensor) -> Tensor:  # relation 1
    return (weights[:-1].index_select(0, relations) + weights[-1])[:, None]


@torch.no_grad()
def hops(
    heads: Tensor, messages: MessageGraph, *, most: int, hidden: Tensor | None = None
) -> Tensor:  # query entity
    """In how many steps each entity is reached, either way along any relation; most + 1 where it takes more.

    It is a layer like any other, with one slot that every relation halves: 2^-steps is exact in floating point.
    """
    queries = torch.arange(len(heads), device=heads.device)
    reached = torch.zeros(messages.num_entities, 1, len(heads), device=heads.device)
    reached[heads, 0, queries] = 1.0
    halves = torch.full((messages.num_relations, 1, 1), 0.5, device=heads.device)
    edges = None if hidden is None else messages.hiding(hidden)
    reached = propagate(reached, halves, messages, num_layers=most, edge_messages=edges).squeeze(1)
    steps = -torch.log2(reached.clamp(min=2.0 ** -(most + 1)))
    return steps.round().long().T
