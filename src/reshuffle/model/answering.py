"""A trained model on a graph: a scorer."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reshuffle.errors import ReshuffleError, UnknownNameError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import Triple
from reshuffle.model import questions
from reshuffle.model.exact import ExactScores
from reshuffle.model.judgement import Judgement
from reshuffle.model.missing import missing_links
from reshuffle.model.scoring import all_tail_scores, tail_scores
from reshuffle.model.supporting import Supports
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.confidence import Calibration
    from reshuffle.model.initial import Kind
    from reshuffle.model.messages import MessageGraph
    from reshuffle.model.predicting import Known, Predictions
    from reshuffle.model.questions import Question
    from reshuffle.model.reaching import HeadChannels
    from reshuffle.model.reasons import Explanation, Reason
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.model.walking import Walks
    from reshuffle.progress import Progress

_MOST_NUMBERS = 1 << 26  # of bodies held at a time


class ModelAnswers:
    """Scores triples of one graph; the states of its entities are computed once, from the draw that `seed` names.

    Relations that the model has not seen send no messages, and `learned_relations` says which they are. Head queries
    (?, r, f) go through the inverse relation, that is through B_{r^-1} Z_f, as in the official code, unless
    `heads_through_inverse` is False: then the candidates are scored as heads. `initial` may be another kind of
    initial states than the model was trained with; private ones need no draw, and a propagation per head.
    """

    name = "reshuffle"

    def __init__(  # noqa: PLR0913 - all that a trained model brings along; `Reshuffle.on` fills it in
        self,
        model: ReshuffleModel,
        relations: Sequence[str],
        graph: KnowledgeGraph,
        *,
        seed: int = 0,
        training_types: TypeBaseline | None = None,
        initial: Kind | None = None,
        heads_through_inverse: bool = True,
        calibration: Calibration | None = None,
    ) -> None:
        self._model, self._seed, self._types = model, seed, training_types
        self.relations, self.calibration = tuple(relations), calibration
        self._initial = initial or model.architecture.initial
        self._through_inverse = heads_through_inverse
        self.graph = graph

    def on(self, graph: KnowledgeGraph) -> ModelAnswers:
        """The same model on another graph."""
        return ModelAnswers(
            self._model,
            self.relations,
            graph,
            seed=self._seed,
            training_types=self._types,
            initial=self._initial,
            heads_through_inverse=self._through_inverse,
            calibration=self.calibration,
        )

    @property
    def type_baseline(self) -> TypeBaseline:
        """Fitted on the training facts where those are known, else on this graph."""
        return self._types or TypeBaseline.fit(self.graph)

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:  # relation of the graph -> relation of the model, or -1
        known = {relation: number for number, relation in enumerate(self.relations)}
        return np.array([known.get(relation, -1) for relation in self.graph.relations], dtype=np.int64)

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """For each relation of the graph: was it there in training?"""
        return self._numbers >= 0

    @cached_property
    def _matrices(self) -> Tensor:
        with torch.no_grad():
            matrices: Tensor = self._model.matrices()
        return matrices

    @cached_property
    def _triples(self) -> NDArray[np.int64]:  # triple (head relation tail), of the model's relations
        relations = self._numbers[self.graph.relation_ids]
        triples = np.stack([self.graph.heads, relations, self.graph.tails], axis=1).astype(np.int64)
        return triples[relations >= 0]

    @cached_property
    def _messages(self) -> MessageGraph:
        return self._model.graph_of(self._triples, num_entities=self.graph.num_entities)

    @cached_property
    def _channels(self) -> HeadChannels:
        return self._model.head_channels(self._triples, num_entities=self.graph.num_entities)

    @cached_property
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity."""
        model = self._model
        generator = torch.Generator(model.device).manual_seed(self._seed)
        with torch.no_grad():
            return model.states(self._messages, self._matrices, generator, initial=self._initial)

    @cached_property
    def _exact(self) -> ExactScores:
        return ExactScores(self._model, self._messages, self._matrices)

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:  # query candidate
        """The constraint score of every candidate, 0 iff captured, and the evidence of a model that has it added."""
        if not len(anchors):
            width = self.graph.num_entities if candidates is None else candidates.shape[1]
            return np.empty((0, width), dtype=np.float32)
        forward = side == "tail" or self._through_inverse
        numbers = self._query_numbers(relations, side="tail" if not forward else side)
        score = self._tail_piece if forward else self._head_piece
        step = max(1, _MOST_NUMBERS // max(1, self._numbers_per_query(candidates, forward=forward)))
        pieces = [
            score(anchors[piece], numbers[piece], None if candidates is None else candidates[piece])
            for piece in (slice(start, start + step) for start in range(0, len(anchors), step))
        ]
        return np.concatenate(pieces)

    def _query_numbers(self, relations: NDArray[np.int32], *, side: Side) -> NDArray[np.int64]:
        """The relations of the queries as the model numbers them: head queries go through the inverse."""
        numbers = self._numbers[relations]
        return numbers + self._model.num_relations if side == "head" else numbers

    @torch.no_grad()
    def judge(self, head: str, relation: str, tail: str, *, side: Side = "tail") -> Judgement:
        """What a triple's score is made of, as an answer to (head, relation, ?), or to (?, relation, tail).

        The two questions have their own matrices, r and r^-1, and so their own scores.
        """
        if self._initial != "head":
            raise ReshuffleError(
                f"only models with a channel per query (initial = 'head') have parts to tell apart; this has "
                f"'{self._initial}'\n  hint: ask for scores instead"
            )
        graph = self.graph
        ends = np.array([graph.entities.id(name) for name in (head, tail)])
        if relation not in self.relations:
            raise UnknownNameError("relation", relation, self.relations)
        number = self._query_numbers(np.array([graph.relations.id(relation)], dtype=np.int32), side=side)
        anchor, answer = ends if side == "tail" else ends[::-1]
        parts = self._channels.parts(
            self._matrices, self._on_device(np.array([anchor])), self._on_device(number)
        )
        return Judgement(
            (head, relation, tail),
            float(parts.constraint[0, answer]),
            {kind: float(values[0, answer]) for kind, values in parts.evidence.items()},
            None if (rules := self._of_rules([parts.injected], number)) is None else questions.told(rules[0, answer]),
        )

    # --- predictions and reasons (details in `questions`) ----------------------------------------------------

    def predict(
        self,
        *,
        relation: str,
        head: str | None = None,
        tail: str | None = None,
        top: int = 10,
        known: Known = "exclude",
    ) -> Predictions:
        """The best new tails of (head, relation, ?), or heads of (?, relation, tail); "mark" shows facts, too."""
        question = questions.question_of(self, relation, head=head, tail=tail)
        return questions.predict(self, question, top=top, known=known)

    def missing(
        self, *, relation: str | None = None, top: int = 100, progress: Progress = SILENT
    ) -> Predictions:
        """The most plausible links of the whole graph that are no facts, of one relation or of all."""
        return missing_links(self, relation=relation, top=top, progress=progress)

    def reasons(
        self, head: str, relation: str, tail: str, *, most: int = 3, side: Side = "tail"
    ) -> tuple[Reason, ...]:
        """The facts that support a triple and the rule that they follow, best first."""
        return questions.reasons(self, Triple(head, relation, tail), most=most, side=side)[0]

    def explain(
        self, head: str, relation: str, tail: str, *, most: int = 3, side: Side = "tail"
    ) -> Explanation:
        """What a triple's score is made of, the reasons for it, and what the evidence looked at."""
        return questions.explain(self, Triple(head, relation, tail), most=most, side=side)

    @property
    def num_hops(self) -> int:
        """How far proximity looks."""
        return self._model.architecture.num_hops

    def asks_inverse(self, question: Question) -> bool:
        """Does the question go through the inverse relation?"""
        return question.side == "head" and self._through_inverse

    def scored(self, question: Question) -> questions.Scored:
        """Every entity as the answer to one question."""
        anchors, relations = np.array([question.anchor]), np.array([question.relation])
        found = self.scored_all(anchors, relations, side=question.side)
        evidence = {kind: part[0] for kind, part in found.evidence.items()}
        rules = None if found.injected is None else found.injected[0]
        return questions.Scored(found.constraint[0], evidence, rules)

    def _of_rules(
        self, pieces: Sequence[Tensor | None], numbers: NDArray[np.int64]
    ) -> NDArray[np.float32] | None:
        """What injected rules add [query, entity]; NaN for the queries that they say nothing to."""
        block = self._model.injected
        found = [_array(piece) for piece in pieces if piece is not None]
        if block is None or not found:
            return None
        spoken = np.array([block.speaks_of(number) for number in numbers.tolist()], dtype=np.bool_)
        return np.where(spoken[:, None], np.concatenate(found), np.float32(np.nan))

    @torch.no_grad()
    def scored_all(
        self, anchors: NDArray[np.int64], relations: NDArray[np.int64], *, side: Side
    ) -> questions.Scored:  # query entity
        """The same for several questions; only a channel per query has evidence to tell apart."""
        known = relations.astype(np.int32)
        if self._initial != "head" or (side == "head" and not self._through_inverse):
            return questions.Scored(
                self.scores(anchors.astype(np.int32), known, side=side, candidates=None), {}
            )
        numbers = self._query_numbers(known, side=side)
        step = max(1, _MOST_NUMBERS // max(1, self._numbers_per_query(None, forward=True)))
        pieces = [
            self._channels.parts(self._matrices, heads, queries)
            for heads, queries in zip(
                self._on_device(anchors).split(step), self._on_device(numbers).split(step), strict=True
            )
        ]
        kinds = pieces[0].evidence
        return questions.Scored(
            np.concatenate([_array(piece.constraint) for piece in pieces]),
            {kind: np.concatenate([_array(piece.evidence[kind]) for piece in pieces]) for kind in kinds},
            self._of_rules([piece.injected for piece in pieces], numbers),
        )

    @cached_property
    def supports(self) -> Supports:
        """What the search for reasons needs; as much of it as does not depend on the question."""
        return Supports(
            self._model,
            self._matrices,
            self._channels.graph,
            self._triples,
            by_slot=self._initial != "head",
        )

    def walks(self, question: Question, answer: int, *, most: int) -> Walks:
        """How the answer is reached from the anchor, as if the fact itself were not there."""
        ends = (question.anchor, answer) if question.side == "tail" else (answer, question.anchor)
        number = int(self._numbers[question.relation])
        return self.supports.walks(ends, number, backwards=self.asks_inverse(question), most=most)

    def _numbers_per_query(self, candidates: NDArray[np.int32] | None, *, forward: bool) -> int:
        architecture = self._model.architecture
        if self._initial == "head":
            return self.graph.num_entities * architecture.num_slots
        bodies = 1 if forward else self.graph.num_entities if candidates is None else candidates.shape[1]
        return bodies * architecture.num_slots * architecture.num_channels

    @torch.no_grad()
    def _tail_piece(
        self, anchors: NDArray[np.int32], numbers: NDArray[np.int64], candidates: NDArray[np.int32] | None
    ) -> NDArray[np.float32]:
        heads, relations = self._on_device(anchors), self._on_device(numbers)
        tails = None if candidates is None else self._on_device(candidates)
        if self._initial == "private":
            return _array(self._exact.scores(heads, relations, tails))
        if self._initial == "head":
            scores = self._channels.parts(self._matrices, heads, relations).total
            return _array(scores if tails is None else scores.gather(1, tails))
        bodies = self._model.bodies(self._matrices, self.states, heads, relations)
        if tails is None:
            return _array(all_tail_scores(bodies, self.states))
        return _array(tail_scores(bodies, self.states, tails))

    @torch.no_grad()
    def _head_piece(
        self, anchors: NDArray[np.int32], numbers: NDArray[np.int64], candidates: NDArray[np.int32] | None
    ) -> NDArray[np.float32]:
        if candidates is None:
            candidates = np.tile(np.arange(self.graph.num_entities, dtype=np.int32), (len(anchors), 1))
        heads, tails = self._on_device(candidates), self._on_device(anchors)
        relations = self._on_device(numbers)
        width = heads.shape[1]
        if self._initial == "private":
            flat = self._exact.scores(
                heads.flatten(), relations.repeat_interleave(width), tails.repeat_interleave(width)[:, None]
            )
            return _array(flat.view(-1, width))
        return _array(self._model.head_scores(self._matrices, self.states, heads, relations, tails))

    def _on_device(self, ids: NDArray[np.integer]) -> Tensor:
        return torch.from_numpy(ids.astype(np.int64)).to(self._model.device)


def _array(scores: Tensor) -> NDArray[np.float32]:
    result: NDArray[np.float32] = scores.cpu().numpy()
    return result
