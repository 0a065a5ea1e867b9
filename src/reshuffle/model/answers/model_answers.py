"""A trained model on a graph: a scorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import UnknownNameError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.kg.coerce import Triples, as_graph
from reshuffle.kg.io.files import made_directory
from reshuffle.model import questions
from reshuffle.model.answers.missing_links import missing_links
from reshuffle.model.answers.model_on_graph import PlacedModel, array_of
from reshuffle.model.exporting import export_head_states, export_states
from reshuffle.model.judgement import Judgement
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.confidence import Calibration
    from reshuffle.model.answers.explanations import Explanation, Reason
    from reshuffle.model.answers.predictions import Known, Predictions
    from reshuffle.model.answers.walks import Walks
    from reshuffle.model.channels.registry import Kind
    from reshuffle.model.questions import Question
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.model.supporting import Supports
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.proofs import Proof


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
        notes: Notes = UNHEARD,
    ) -> None:
        self._model, self._seed, self._types = model, seed, training_types
        self.relations, self.calibration = tuple(relations), calibration
        self._initial = initial or model.architecture.initial
        self._through_inverse = heads_through_inverse
        self._placed = PlacedModel(model, self.relations, graph, initial=self._initial, seed=seed)
        self._gone: set[str] = set()
        if notes is not UNHEARD and (told := self.passed_over) is not None:
            notes(told)

    def __repr__(self) -> str:
        shape = self._model.architecture
        size = f"{counted(shape.num_slots, 'slot')}, {counted(shape.num_layers, 'layer')}"
        known = f"{counted(len(self.relations), 'relation')}, channels '{self._initial}'"
        facts, entities = len(self.graph), self.graph.num_entities
        graph = f"{counted(facts, 'fact')} of {counted(entities, 'entity', 'entities')}"
        strange = facts - len(self._placed.triples)
        left_out = f", {strange:,} of them passed over" if strange else ""
        return f"<ModelAnswers: {size}, {known}; on {graph}{left_out}>"

    @property
    def graph(self) -> KnowledgeGraph:
        """The facts as they are now; its relations are those of the facts, and behind them all of the model."""
        return self._placed.graph

    @property
    def passed_over(self) -> str | None:
        """Names and counts the facts of relations that the model does not know; None where there are none."""
        return questions.unlearned_facts(self.graph, self.relations)

    def on(self, graph: Triples, *, notes: Notes = UNHEARD) -> ModelAnswers:
        """The same model on another graph; `notes` hears of facts that are passed over."""
        return ModelAnswers(
            self._model,
            self.relations,
            as_graph(graph),
            seed=self._seed,
            training_types=self._types,
            initial=self._initial,
            heads_through_inverse=self._through_inverse,
            calibration=self.calibration,
            notes=notes,
        )

    @property
    def type_baseline(self) -> TypeBaseline:
        """Fitted on the training facts where those are known, else on this graph."""
        return self._types or TypeBaseline.fit(self.graph)

    @property
    def training_types(self) -> TypeBaseline | None:
        """Which roles went together in training, where that is known."""
        return self._types

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """For each relation of the graph: was it there in training?"""
        return self._placed.numbers >= 0

    @property
    def derived_relations(self) -> NDArray[np.bool_]:
        """For each relation of the graph: does an injected rule derive it?"""
        block = self._model.injected
        derived = frozenset() if block is None else block.derived
        return np.array([relation in derived for relation in self.graph.relations], dtype=np.bool_)

    @property
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity."""
        return self._placed.states

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:  # query candidate
        """The constraint score of every candidate, 0 iff captured, and the evidence of a model that has it added.

        Evidence that needs a channel per query is left out, all of it, where there is none.
        """
        if not len(anchors):
            width = self.graph.num_entities if candidates is None else candidates.shape[1]
            return np.empty((0, width), dtype=np.float32)
        numbers, forward = self._query_numbers(relations, side=side)
        return self._placed.scores(anchors, numbers, candidates, forward=forward)

    def _query_numbers(self, relations: NDArray[np.int32], *, side: Side) -> tuple[NDArray[np.int64], bool]:
        """The relations of the queries as the model numbers them, and whether tails are asked for.

        Head queries ask for the tails of the inverse, or else for heads.
        """
        numbers = self._placed.numbers[relations]
        if side == "head" and self._through_inverse:
            return numbers + self._model.num_relations, True
        return numbers, side == "tail"

    def judge(self, head: str, relation: str, tail: str, *, side: Side = "tail") -> Judgement:
        """What a triple's score is made of, as an answer to (head, relation, ?), or to (?, relation, tail).

        The two questions have their own matrices, r and r^-1, and so their own scores.
        """
        graph = self.graph
        ends = np.array([graph.entities.id(name) for name in (head, tail)])
        if relation not in self.relations:
            raise UnknownNameError("relation", relation, self.relations)
        anchor, answer = ends if side == "tail" else ends[::-1]
        asked = np.array([graph.relations.id(relation)], dtype=np.int32)
        found = self._parts(np.array([anchor]), asked, np.array([[answer]]), side=side)
        return Judgement(
            (head, relation, tail),
            float(found.constraint[0, 0]),
            {kind: float(values[0, 0]) for kind, values in found.evidence.items()},
            None if found.injected is None else questions.told(found.injected[0, 0]),
        )

    def export(self, directory: str | Path, *, heads: Sequence[str] | None = None) -> list[Path]:
        """Write the states of the entities, or those in the channels of given heads, as Parquet (see `exporting`)."""
        folder = made_directory(directory)
        if heads is None:
            return [export_states(self._placed, folder)]
        return [export_head_states(self._placed, heads, folder)]

    # --- updates (details in `updating`) -----------------------------------------------------------------------

    def add(self, triples: Triples, *, notes: Notes = UNHEARD) -> None:
        """New facts, new entities included; of the states only what changes is computed again.

        Facts of relations that the model does not know are passed over, and `notes` hears of them.
        """
        new = as_graph(triples)
        self._placed = self._placed.moved(self.graph | new)
        if (told := questions.unlearned_facts(new, self.relations)) is not None:
            notes(told)

    def remove(self, triples: Triples, *, notes: Notes = UNHEARD) -> None:
        """Take facts back, and with its last fact whoever came by `add`; given entities stay.

        Triples that are no facts, or not any more, are passed over, as the answers of rules do, and `notes` hears of
        them; a name that was never known is refused before anything is taken back.
        """
        before, taken = self.graph, as_graph(triples)
        for head, relation, tail in taken:
            before.entities.ids(name for name in (head, tail) if name not in self._gone)
            before.relations.id(relation)
        self._placed = self._placed.moved(before - taken)
        self._gone.update(self._placed.gone)
        if (told := questions.no_facts(taken, before)) is not None:
            notes(told)

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
        """The best new tails of (head, relation, ?), or heads of (?, relation, tail); "mark" shows facts, too.

        A fact is scored with itself in the graph, so that its score does not compare with those of new links.
        """
        question = questions.question_of(self, relation, head=head, tail=tail)
        return questions.predict(self, question, top=top, known=known)

    def missing(
        self, *, relation: str | None = None, top: int = 100, progress: Progress = SILENT
    ) -> Predictions:
        """The most plausible links of the whole graph that are no facts, of one relation or of all.

        They come in the order of their `plausibility`, which compares links of different questions (see `missing`).
        """
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

    def words(self, part: str, question: Question, answer: int) -> str:
        """What a part of the evidence for an answer has looked at."""
        evidence = self._placed.evidence
        assert evidence is not None  # it has the part
        return evidence.words(part, question, answer, graph=self.graph, facts=self._placed.facts)

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
        found = [array_of(piece) for piece in pieces if piece is not None]
        if block is None or not found:
            return None
        spoken = np.array([block.speaks_of(number) for number in numbers.tolist()], dtype=np.bool_)
        return np.where(spoken[:, None], np.concatenate(found), np.float32(np.nan))

    def scored_all(
        self, anchors: NDArray[np.int64], relations: NDArray[np.int64], *, side: Side
    ) -> questions.Scored:  # query entity
        """The same for several questions."""
        return self._parts(anchors, relations.astype(np.int32), None, side=side)

    def _parts(
        self,
        anchors: NDArray[np.int64],
        relations: NDArray[np.int32],
        candidates: NDArray[np.int64] | None,
        *,
        side: Side,
    ) -> questions.Scored:  # query candidate
        numbers, forward = self._query_numbers(relations, side=side)
        pieces = self._placed.parts(anchors, numbers, candidates, forward=forward)
        return questions.Scored(
            np.concatenate([array_of(piece.constraint) for piece in pieces]) + np.float32(0),  # -0 becomes 0
            {
                kind: np.concatenate([array_of(piece.evidence[kind]) for piece in pieces])
                for kind in pieces[0].evidence
            },
            self._of_rules([piece.injected for piece in pieces], numbers),
        )

    @property
    def supports(self) -> Supports:
        """What the search for reasons needs."""
        return self._placed.supports

    def rule_proofs(self, triple: Triple, *, most: int) -> tuple[Proof, ...]:
        """How injected rules derive a triple that they capture; that it is a fact is no derivation."""
        answers = self._placed.rule_answers
        found = () if answers is None else answers.proofs(*triple, most=most + 1)
        return tuple(proof for proof in found if proof.rule is not None)[:most]

    def walks(self, question: Question, answer: int, *, most: int) -> Walks:
        """How the answer is reached from the anchor, as if the fact itself were not there."""
        ends, number = self._triple_of(question, answer)
        return self.supports.walks(ends, number, backwards=self.asks_inverse(question), most=most)

    def follows(self, question: Question, answer: int) -> bool:
        """Do the learned constraints entail it, exactly, whichever channels score it?"""
        ends, number = self._triple_of(question, answer)
        return self.supports.follows(ends, number, backwards=self.asks_inverse(question))

    def _triple_of(self, question: Question, answer: int) -> tuple[tuple[int, int], int]:
        """Head and tail, and the relation as the model numbers it."""
        ends = (question.anchor, answer) if question.side == "tail" else (answer, question.anchor)
        return ends, int(self._placed.numbers[question.relation])
