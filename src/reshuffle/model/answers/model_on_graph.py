"""A model on one graph, by id: what is computed once per graph, and the scores of queries."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, Vocabulary, refuse_inverse_names
from reshuffle.model.answers.walks import WalkGraph
from reshuffle.model.channels.interface import ModelGraph
from reshuffle.model.channels.registry import channel_kind
from reshuffle.model.scoring import Scores
from reshuffle.reasoning import Reasoner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.predictions import Question
    from reshuffle.model.answers.walks import Walks
    from reshuffle.model.channels.registry import Kind
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.reasoning import Answers


class ModelOnGraph:
    """Scores queries about one graph.

    The graph names the model's relations, too, behind its own: what can be asked about does not depend on which
    relations happen to have a fact. The model numbers relations in its own way: r + R asks the inverse of r.
    """

    def __init__(
        self,
        model: ReshuffleModel,
        relations: Sequence[str],
        graph: KnowledgeGraph,
        *,
        initial: Kind,
        seed: int,
        through_inverse: bool = True,
        matrices: Tensor | None = None,
    ) -> None:
        """Head queries ask for the tails of the inverse relation, unless `through_inverse` is False.

        `matrices` are those of the model, where they are computed already.
        """
        refuse_inverse_names(graph.relations)
        self.model, self.graph, self.relations = model, _naming(graph, relations), relations
        self.initial, self._seed, self.through_inverse = initial, seed, through_inverse
        self._num_given = graph.num_entities
        self.gone: Sequence[str] = ()
        """Entities that came with an update and went with the last one."""
        known = {relation: number for number, relation in enumerate(relations)}
        numbers = [known.get(relation, -1) for relation in self.graph.relations]
        self.numbers = np.array(numbers, dtype=np.int64)
        """For each relation of the graph its number in the model, or -1."""
        rules = frozenset() if model.injected is None else model.injected.derived
        derived = [relation in rules for relation in self.graph.relations]
        self.derived = np.array(derived, dtype=np.bool_)
        """For each relation of the graph: does an injected rule derive it?"""
        learned = self.numbers[self.graph.relation_ids]
        triples = np.stack([self.graph.heads, learned, self.graph.tails], axis=1).astype(np.int64)
        if matrices is None:
            with torch.no_grad():
                matrices = model.matrices()
        self.matrices = matrices
        self.tensors = ModelGraph(model, triples[learned >= 0], graph.num_entities)
        self.kind = channel_kind(initial)
        self.channels = self.kind.on_graph(self.tensors, matrices, seed=seed)

    def walks(self, question: Question, answer: int, *, most: int) -> Walks:
        """How the answer is reached from the anchor, as if the fact itself were not there; at most so many walks."""
        if most < 1:
            raise InputError(f"most = {most} asks for no reason", hint="give 1 or more")
        backwards = question.side == "head" and self.through_inverse
        ends, number = question.ends(answer), int(self.numbers[question.relation])
        return self.walk_graph.between(ends, number, backwards=backwards, most=most)

    def follows(self, question: Question, answer: int) -> bool:
        """Do the learned constraints entail the answer, exactly, whichever channels score it?"""
        backwards = question.side == "head" and self.through_inverse
        ends, number = question.ends(answer), int(self.numbers[question.relation])
        return self.walk_graph.follows(ends, number, backwards=backwards)

    @cached_property
    def walk_graph(self) -> WalkGraph:
        """What the search for reasons needs; as much of it as does not depend on the question."""
        return WalkGraph(self.tensors, self.matrices, by_slot=not self.kind.per_query)

    @cached_property
    def rule_answers(self) -> Answers | None:
        """What the injected rules entail, where there are any."""
        block = self.model.injected
        return None if block is None else Reasoner(block.constraints).on(self.graph)

    @torch.no_grad()
    def moved(self, graph: KnowledgeGraph) -> ModelOnGraph:
        """The model on a graph that has facts more or less, whose ids begin with those of this one.

        Entities that came with facts go with the last of them, so that the ids of those behind change; who was there
        before the first change stays. What is kept is handed over: this object is not to be used any more.
        """
        everyone = graph.entities
        graph, kept = _without_gone(graph, self._num_given)
        after = ModelOnGraph(
            self.model,
            self.relations,
            graph,
            initial=self.initial,
            seed=self._seed,
            through_inverse=self.through_inverse,
            matrices=self.matrices,
        )
        after._num_given = self._num_given
        if len(kept) < len(everyone):
            after.gone = everyone[np.setdiff1d(np.arange(len(everyone)), kept)]
        kept = kept[kept < self.graph.num_entities]
        touched = np.zeros(0, dtype=np.int64)
        if self.channels.keeps_layers:
            left = _ends(self.graph - graph, self.numbers)
            left = np.searchsorted(kept, left[np.isin(left, kept)])  # by their new ids
            touched = np.union1d(_ends(graph - self.graph, after.numbers), left)
        after.channels = self.channels.moved(after.tensors, self.on_device(touched), self.on_device(kept))
        return after

    def totals(
        self,
        anchors: NDArray[np.integer],
        relations: NDArray[np.integer],
        candidates: NDArray[np.integer] | None,
        *,
        side: Side,
    ) -> NDArray[np.float32]:  # query candidate
        """The sums by which candidates are ranked: the given ones of each query, or all entities."""
        pieces = self._pieces(anchors, relations, candidates, side)
        return np.concatenate([piece.total.cpu().numpy() for piece in pieces])

    def scores(
        self,
        anchors: NDArray[np.integer],
        relations: NDArray[np.integer],
        candidates: NDArray[np.integer] | None = None,
        *,
        side: Side,
    ) -> Scores[NDArray[np.float32]]:  # query candidate
        """What these sums are made of."""
        pieces = list(self._pieces(anchors, relations, candidates, side))
        constraint = np.concatenate([piece.constraint.cpu().numpy() for piece in pieces])
        injected = [piece.injected.cpu().numpy() for piece in pieces if piece.injected is not None]
        return Scores(
            constraint + np.float32(0),  # -0 becomes 0
            {
                part: np.concatenate([piece.evidence[part].cpu().numpy() for piece in pieces])
                for part in pieces[0].evidence
            },
            np.concatenate(injected) if injected else None,
        )

    def _pieces(
        self,
        anchors: NDArray[np.integer],
        relations: NDArray[np.integer],
        candidates: NDArray[np.integer] | None,
        side: Side,
    ) -> Iterator[Scores[Tensor]]:
        numbers, inverse = self.numbers[relations], side == "head" and self.through_inverse
        asked = self.on_device(numbers + self.model.num_relations if inverse else numbers)
        some = None if candidates is None else self.on_device(candidates)
        forward = inverse or side == "tail"
        return self.channels.pieces(self.on_device(anchors), asked, some, forward=forward)

    def on_device(self, ids: NDArray[np.integer]) -> Tensor:
        """Ids where the model is."""
        return torch.from_numpy(ids.astype(np.int64)).to(self.matrices.device)


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
