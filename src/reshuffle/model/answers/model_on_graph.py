"""A model on one graph, by id: what is computed once per graph, and the scores of all kinds of channels."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from reshuffle.kg import KnowledgeGraph, Vocabulary, refuse_inverse_names
from reshuffle.model.channels.private import ExactScores
from reshuffle.model.channels.query import Parts
from reshuffle.model.channels.random import Draw, LayeredStates
from reshuffle.model.evidence.evidence_graph import EvidenceGraph
from reshuffle.model.evidence.interface import Asked
from reshuffle.model.kernels import all_threads_for
from reshuffle.model.propagation import propagate
from reshuffle.model.scoring import all_tail_scores, tail_scores
from reshuffle.model.supporting import Supports
from reshuffle.reasoning import Reasoner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.model.channels.query import HeadChannels
    from reshuffle.model.channels.registry import Kind
    from reshuffle.model.evidence.registry import Evidence
    from reshuffle.model.propagation import MessageGraph
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.reasoning import Answers

_MOST_NUMBERS = 1 << 26  # of bodies held at a time
_QUICK_NUMBERS = 1 << 22  # with more a CPU waits for memory
_FEW_QUERIES = 64  # with fewer at a time those of one head would be parted, and its channel propagated again


class PlacedModel:
    """Relations are numbered as the model does: r + R asks the inverse of r.

    The graph names the model's relations, too, behind its own: what can be asked about does not depend on which
    relations happen to have a fact.
    """

    def __init__(
        self,
        model: ReshuffleModel,
        relations: Sequence[str],
        graph: KnowledgeGraph,
        *,
        initial: Kind,
        seed: int,
    ) -> None:
        refuse_inverse_names(graph.relations)
        self.model, self.graph, self.initial = model, _naming(graph, relations), initial
        self._relations, self._seed = relations, seed
        self._num_given = graph.num_entities
        self.gone: Sequence[str] = ()
        """Who came by an update and went with the last one."""
        self._layers: LayeredStates | None = None
        self._keeps_layers = False

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """For each relation of the graph its number in the model, or -1."""
        known = {relation: number for number, relation in enumerate(self._relations)}
        return np.array([known.get(relation, -1) for relation in self.graph.relations], dtype=np.int64)

    @cached_property
    def matrices(self) -> Tensor:
        """All B_r."""
        with torch.no_grad():
            matrices: Tensor = self.model.matrices()
        return matrices

    @cached_property
    def triples(self) -> NDArray[np.int64]:  # triple (head relation tail)
        """The facts of the model's relations."""
        relations = self.numbers[self.graph.relation_ids]
        triples = np.stack([self.graph.heads, relations, self.graph.tails], axis=1).astype(np.int64)
        return triples[relations >= 0]

    @cached_property
    def messages(self) -> MessageGraph:
        """The graph as the layers need it."""
        return self.model.graph_of(self.triples, num_entities=self.graph.num_entities)

    @cached_property
    def channels(self) -> HeadChannels:
        """The graph as questions with a channel of their own need it."""
        return self.model.head_channels(self.triples, num_entities=self.graph.num_entities)

    @cached_property
    def facts(self) -> EvidenceGraph:
        """The graph as evidence and walks need it."""
        if self.initial == "head":
            return self.channels.graph
        return EvidenceGraph.build(
            self.triples,
            num_entities=self.graph.num_entities,
            num_relations=self.model.num_relations,
            device=self.model.device,
        )

    @property
    def evidence(self) -> Evidence | None:
        """What is added to the scores: with a channel per query whatever the model has, else if all of it is local."""
        evidence = self.model.evidence
        return evidence if evidence is not None and (self.initial == "head" or evidence.local) else None

    @cached_property
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity."""
        architecture = self.model.architecture
        draw = Draw(self.initial, architecture, self._seed)
        with torch.no_grad():
            if self._layers is None and self._keeps_layers:
                self._layers = LayeredStates(draw, self.matrices, self.messages)
            if self._layers is not None:
                return self._layers.last
            drawn = draw.next(self.graph.num_entities).to(self.model.device)
            return propagate(drawn, self.matrices, self.messages, num_layers=architecture.num_layers)

    @cached_property
    def exact(self) -> ExactScores:
        """For private channels."""
        return ExactScores(self.model, self.messages, self.matrices)

    @cached_property
    def supports(self) -> Supports:
        """What the search for reasons needs; as much of it as does not depend on the question."""
        by_slot = self.initial != "head"
        return Supports(self.model, self.matrices, self.facts, self.triples, by_slot=by_slot)

    @cached_property
    def rule_answers(self) -> Answers | None:
        """What the injected rules entail, where there are any."""
        block = self.model.injected
        return None if block is None else Reasoner(block.constraints).on(self.graph)

    @torch.no_grad()
    def moved(self, graph: KnowledgeGraph) -> PlacedModel:
        """The model on a graph that has facts more or less, whose ids begin with those of this one.

        Entities that came with facts go with the last of them, so that the ids of those behind change; who was there
        before the first change stays. The first change computes all states again and keeps every layer of them; from
        then on only what changes is computed. What is kept is handed over: this placement is not to be used any more.
        """
        everyone = graph.entities
        graph, kept = _without_gone(graph, self._num_given)
        placed = PlacedModel(self.model, self._relations, graph, initial=self.initial, seed=self._seed)
        placed.__dict__["matrices"] = self.matrices
        placed._num_given = self._num_given
        if len(kept) < len(everyone):
            placed.gone = everyone[np.setdiff1d(np.arange(len(everyone)), kept)]
        placed._keeps_layers = self._keeps_layers or "states" in self.__dict__
        if self._layers is not None:
            kept = kept[kept < self.graph.num_entities]
            left = _ends(self.graph - graph, self.numbers)
            left = np.searchsorted(kept, left[np.isin(left, kept)])  # by their new ids
            touched = np.union1d(_ends(graph - self.graph, placed.numbers), left)
            self._layers.follow(placed.messages, placed.on_device(touched), placed.on_device(kept))
            placed._layers = self._layers
        return placed

    # --- scores -------------------------------------------------------------------------------------------------

    def parts(
        self,
        anchors: NDArray[np.integer],
        numbers: NDArray[np.int64],
        candidates: NDArray[np.integer] | None = None,
        *,
        forward: bool = True,
    ) -> list[Parts]:  # query candidate
        """What the scores are made of, candidates as tails of the anchors or else as heads; some queries at a time."""
        with all_threads_for(self._work(len(anchors))):
            return list(self._pieces(anchors, numbers, candidates, forward=forward))

    def scores(
        self,
        anchors: NDArray[np.integer],
        numbers: NDArray[np.int64],
        candidates: NDArray[np.integer] | None,
        *,
        forward: bool,
    ) -> NDArray[np.float32]:  # query candidate
        """What is ranked by."""
        with all_threads_for(self._work(len(anchors))):
            pieces = self._pieces(anchors, numbers, candidates, forward=forward)
            return np.concatenate([array_of(piece.total) for piece in pieces])

    @torch.no_grad()
    def _pieces(
        self,
        anchors: NDArray[np.integer],
        numbers: NDArray[np.int64],
        candidates: NDArray[np.integer] | None,
        *,
        forward: bool,
    ) -> Iterator[Parts]:
        step = self._at_once(candidates, forward=forward)
        for piece in (slice(start, start + step) for start in range(0, len(anchors), step)):
            yield self._parts(
                self.on_device(anchors[piece]),
                self.on_device(numbers[piece]),
                None if candidates is None else self.on_device(candidates[piece]),
                forward=forward,
            )

    def _work(self, queries: int) -> int:
        """How many numbers some queries go through, roughly."""
        architecture = self.model.architecture
        if self.initial == "head":
            return queries * self.messages.num_messages * architecture.num_slots**2
        return queries * self.graph.num_entities * architecture.num_slots * architecture.num_channels

    def _at_once(self, candidates: NDArray[np.integer] | None, *, forward: bool) -> int:
        architecture = self.model.architecture
        # "ways" has a number for each edge.
        numbers = max(self.graph.num_entities * architecture.num_slots, 2 * len(self.graph))
        if self.initial != "head":
            bodies = 1 if forward else self.graph.num_entities if candidates is None else candidates.shape[1]
            numbers = bodies * architecture.num_slots * architecture.num_channels
            numbers = max(numbers, self._evidence_numbers(candidates))
        most = max(1, _MOST_NUMBERS // max(1, numbers))
        if self.initial != "head" or self.model.device.type != "cpu":
            return most
        return min(most, max(_FEW_QUERIES, _QUICK_NUMBERS // max(1, numbers)))

    def _evidence_numbers(self, candidates: NDArray[np.integer] | None) -> int:
        """How many entries evidence goes through per query, roughly; 0 where there is none."""
        if self.evidence is None:
            return 0
        entries, entities = len(self.facts.entities), max(1, self.graph.num_entities)
        return (
            max(entries, entities) if candidates is None else candidates.shape[1] * (1 + entries // entities)
        )

    def _parts(
        self, anchors: Tensor, numbers: Tensor, candidates: Tensor | None, *, forward: bool
    ) -> Parts:  # query candidate
        if self.initial == "head" and forward:
            parts = self.channels.parts(self.matrices, anchors, numbers)
            return parts if candidates is None else parts.of(candidates)
        score = self._tail_scores if forward else self._head_scores
        constraint = score(anchors, numbers, candidates)
        if self.evidence is None:
            return Parts(constraint, {})
        # The head of (?, r, t) is the tail of (t, r^-1, ?), and that is how its evidence is learned.
        asked = numbers if forward else numbers + self.model.num_relations
        queries = Asked(anchors, asked, self.facts)
        if candidates is None:
            return Parts(constraint, self.evidence.scores(queries))
        return Parts(constraint, self.evidence.candidate_scores(candidates, queries))

    def _tail_scores(self, heads: Tensor, relations: Tensor, tails: Tensor | None) -> Tensor:
        if self.initial == "private":
            return self.exact.scores(heads, relations, tails)
        bodies = self.model.bodies(self.matrices, self.states, heads, relations)
        if tails is None:
            return all_tail_scores(bodies, self.states)
        return tail_scores(bodies, self.states, tails)

    def _head_scores(self, tails: Tensor, relations: Tensor, heads: Tensor | None) -> Tensor:
        if heads is None:
            heads = torch.arange(self.graph.num_entities, device=tails.device).repeat(len(tails), 1)
        width = heads.shape[1]
        if self.initial == "private":
            flat = self.exact.scores(
                heads.flatten(), relations.repeat_interleave(width), tails.repeat_interleave(width)[:, None]
            )
            return flat.view(-1, width)
        return self.model.head_scores(self.matrices, self.states, heads, relations, tails)

    def on_device(self, ids: NDArray[np.integer]) -> Tensor:
        """Ids where the model is."""
        return torch.from_numpy(ids.astype(np.int64)).to(self.model.device)


def _naming(graph: KnowledgeGraph, relations: Sequence[str]) -> KnowledgeGraph:
    """The same facts, over a vocabulary that has these relations as well; the ids of the others stay."""
    names, _ = graph.relations.extended_by(Vocabulary(relations, kind="relation"))
    if names is graph.relations:
        return graph
    return KnowledgeGraph.from_ids(
        graph.heads, graph.relation_ids, graph.tails, entities=graph.entities, relations=names
    )


def _without_gone(graph: KnowledgeGraph, num_given: int) -> tuple[KnowledgeGraph, NDArray[np.int64]]:
    """The graph without the entities behind the given ones that have no fact, and the ids of those that it has."""
    there = np.zeros(graph.num_entities, dtype=np.bool_)
    there[:num_given] = there[graph.heads] = there[graph.tails] = True
    kept = np.flatnonzero(there)
    if there.all():
        return graph, kept
    places = np.cumsum(there, dtype=np.int32) - np.int32(1)
    names = Vocabulary(graph.entities.to_arrow().filter(pa.array(there)), kind=graph.entities.kind)
    heads, tails = places[graph.heads], places[graph.tails]
    left = KnowledgeGraph.from_ids(
        heads, graph.relation_ids, tails, entities=names, relations=graph.relations
    )
    return left, kept


def _ends(facts: KnowledgeGraph, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Who is at an end of facts of learned relations."""
    learned = numbers[facts.relation_ids] >= 0
    return np.concatenate([facts.heads[learned], facts.tails[learned]]).astype(np.int64)


def array_of(scores: Tensor) -> NDArray[np.float32]:
    """On the CPU, for everyone else."""
    result: NDArray[np.float32] = scores.cpu().numpy()
    return result
