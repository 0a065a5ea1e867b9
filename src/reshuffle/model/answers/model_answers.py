"""A trained model on a graph, as users ask it for scores, predictions and reasons: by names.

Below it is `ModelOnGraph`, which speaks ids.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from reshuffle.errors import InputError, UnknownNameError, near_names
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.evaluation.link_limits import LinkLimits
from reshuffle.evaluation.queries import passed_over
from reshuffle.evaluation.questions import Question, check_about_one, check_wanted, question_of
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.kg.coerce import Triples, as_graph
from reshuffle.kg.io.files import made_directory
from reshuffle.model.answers import explanations
from reshuffle.model.answers.missing_links import LinkSearch, asked_ids, missing_links, predictions_of
from reshuffle.model.answers.missing_on_spark import links_on_spark
from reshuffle.model.answers.model_on_graph import ModelOnGraph
from reshuffle.model.answers.predictions import Judgement, parts_of, predict
from reshuffle.model.channels.registry import channel_kind
from reshuffle.model.exporting import export_head_states, export_states
from reshuffle.pictures.notebook import shown_rows
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.answers import DerivedByOthers
from reshuffle.reasoning.proofs import no_facts_note
from reshuffle.reasoning.sharing import Shared
from reshuffle.rulelist.links.rule_links import Wanted
from reshuffle.spark.spark_session import IN_MEMORY, spark_of
from reshuffle.text import counted
from reshuffle.work_shares import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from reshuffle.evaluation.questions import Known
    from reshuffle.evaluation.ranked_links import Predictions
    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.explanations import Explanation, Reason
    from reshuffle.model.answers.missing_on_spark import SavableModel
    from reshuffle.model.answers.predictions import Prediction
    from reshuffle.model.channels.registry import Kind
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.model.scoring import Calibration
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning import Answers
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.rulelist.rule_model import RuleModel
    from reshuffle.work_shares import Shares


_FEW = 3  # triples, and relations with a similar name, that a note names


class ModelAnswers(DerivedByOthers):
    """Scores triples of one graph; the states of its entities are computed once, from the draw that `seed` names.

    Relations that the model has not seen send no messages, and `learned_relations` says which they are. Head queries
    (?, r, f) go through the inverse relation, that is through B_{r^-1} Z_f, as in the official code, unless
    `heads_through_inverse` is False: then the candidates are scored as heads. `initial` may be another kind of
    initial states than the model was trained with; private ones need no draw, and a propagation per head.

    As a collection the answers are what is certain: the triples that are no facts and follow from the hardened matrices
    or from injected rules, as `reshuffle infer` prints them. `predict` and `missing` rank all others.

    Threads may share one object. Questions run beside each other; `add` and `remove` wait for those that run, and a
    question sees the facts before a change or after it. Ids, as `scores` takes them, are those of the `graph` of the
    moment: to ask by id while others change facts, do both inside `with answers.shared.reading():`.
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
        listed: RuleModel | None = None,
        source: SavableModel | None = None,
        notes: Notes = UNHEARD,
    ) -> None:
        """`source` is the model as other processes can load it, for those who ask on Spark."""
        if initial is not None:
            channel_kind(initial)  # refuses what is none
        self.shared = Shared()
        self._model, self._seed, self._source = model, seed, source
        self.relations, self.calibration = tuple(relations), calibration
        self.training_types = training_types
        """Which roles went together in training, where that is known."""
        self._on_graph = ModelOnGraph(
            model,
            self.relations,
            graph,
            initial=initial or model.architecture.initial,
            seed=seed,
            through_inverse=heads_through_inverse,
            listed=listed,
        )
        self._gone: set[str] = set()
        if notes is not UNHEARD and (told := _unlearned_facts(graph, relations)) is not None:
            notes(told)

    @property
    def on_graph(self) -> ModelOnGraph:
        """The model's tensors on the facts as they are now, for those who compute with them."""
        return self._on_graph

    @property
    def graph(self) -> KnowledgeGraph:
        """The facts as they are now; its relations are those of the facts, and behind them all of the model."""
        return self._on_graph.graph

    def _repr_html_(self) -> str:
        rows = [{"relation": name} for name in self.relations]
        return shown_rows(
            repr(self)[1:-1], rows, remarks=["ask answers.predict(head=..., relation=...)"], most=10
        )

    def __repr__(self) -> str:
        with self.shared.reading():
            return self._described()

    def _described(self) -> str:
        shape = self._model.architecture
        size = f"{counted(shape.num_slots, 'slot')}, {counted(shape.num_layers, 'layer')}"
        known = f"{counted(len(self.relations), 'relation')}, channels '{self._on_graph.initial}'"
        facts, entities = len(self.graph), self.graph.num_entities
        graph = f"{counted(facts, 'fact')} of {counted(entities, 'entity', 'entities')}"
        strange = facts - len(self._on_graph.tensors.triples)
        left_out = f", {strange:,} of them skipped" if strange else ""
        return f"<ModelAnswers: {size}, {known}; on {graph}{left_out}>"

    @property
    def passed_over(self) -> str | None:
        """Names and counts the facts of relations that the model does not know; None where there are none."""
        return _unlearned_facts(self.graph, self.relations)

    def on(self, graph: Triples, *, notes: Notes = UNHEARD) -> ModelAnswers:
        """The same model on another graph; `notes` hears of facts that are skipped."""
        return ModelAnswers(
            self._model,
            self.relations,
            as_graph(graph),
            seed=self._seed,
            training_types=self.training_types,
            initial=self._on_graph.initial,
            heads_through_inverse=self._on_graph.through_inverse,
            calibration=self.calibration,
            listed=self._on_graph.listed,
            source=self._source,
            notes=notes,
        )

    @property
    def facts(self) -> KnowledgeGraph:
        """The facts as they are now."""
        return self.graph

    def entailed(self) -> Sequence[Answers]:
        """The answers of the hardened matrices, and those of injected rules where there are any."""
        with self.shared.reading():
            model = self._on_graph
            return [one for one in (model.hard_answers, model.rule_answers) if one is not None]

    @property
    def type_baseline(self) -> TypeBaseline:
        """Fitted on the training facts where those are known, else on this graph."""
        return self.training_types or TypeBaseline.fit(self.graph)

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """For each relation of the graph: was it there in training?"""
        return self._on_graph.numbers >= 0

    @property
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity, as they are now: a change of the facts may change them in place."""
        with self.shared.reading():
            return self._on_graph.channels.states

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
        with self.shared.reading():
            if not len(anchors):
                width = self.graph.num_entities if candidates is None else candidates.shape[1]
                return np.empty((0, width), dtype=np.float32)
            return self._on_graph.totals(anchors, relations, candidates, side=side)

    def first_answers(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        scores: NDArray[np.float32],
        *,
        side: Side,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # query
        """`SaysHowLikely.first_answers`: by their confidences."""
        graph, rows = self.graph, np.arange(len(anchors))
        with_loops = np.unique(graph.relation_ids[graph.heads == graph.tails])
        asked = zip(anchors.tolist(), relations.tolist(), strict=True)
        closed = np.array([Question(*one, side).known(graph) for one in asked]).reshape(scores.shape)
        alone = ~np.isin(relations, with_loops)
        likely = np.full(scores.shape, np.nan)
        if self.calibration is not None:
            likely = self.calibration.confidences(scores, closed)
        closed[rows[alone], anchors[alone]] = True
        best = np.where(closed, -np.inf, scores).argmax(axis=1)
        return np.where(closed[rows, best], -1, best), likely[rows, best]

    def judge(self, head: str, relation: str, tail: str, *, side: Side = "tail") -> Judgement:
        """What a triple's score is made of, as an answer to (head, relation, ?), or to (?, relation, tail).

        The two questions have their own matrices, r and r^-1, and so their own scores.
        """
        if relation not in self.relations:
            raise UnknownNameError("relation", relation, self.relations)
        with self.shared.reading():
            model, graph = self._on_graph, self.graph
            ends = np.array([graph.entities.id(name) for name in (head, tail)])
            anchor, answer = ends if side == "tail" else ends[::-1]
            number = graph.relations.id(relation)
            found = model.scores(np.array([anchor]), np.array([number]), np.array([[answer]]), side=side)
            parts = parts_of(found, 0, 0, derived=model.derived[number])
        return Judgement((head, relation, tail), **parts)

    def export(self, directory: str | Path, *, heads: Sequence[str] | None = None) -> list[Path]:
        """Write the states of the entities, or those in the channels of given heads, as Parquet (see `exporting`)."""
        folder = made_directory(directory)
        with self.shared.reading():
            if heads is None:
                return [export_states(self._on_graph, folder)]
            return [export_head_states(self._on_graph, heads, folder)]

    # --- updates (details in `channels/entity_states.py`) ------------------------------------------------------

    def add(self, triples: Triples, *, notes: Notes = UNHEARD) -> None:
        """New facts, new entities included; of the states only what changes is computed again.

        Facts of relations that the model does not know are skipped, and `notes` hears of them.
        """
        new = as_graph(triples)
        with self.shared.writing():
            self._on_graph = self._on_graph.moved(self.graph | new)
        if (told := _unlearned_facts(new, self.relations)) is not None:
            notes(told)

    def remove(self, triples: Triples, *, notes: Notes = UNHEARD) -> None:
        """Take facts back; an entity that came by `add` goes with its last fact, given ones stay.

        Triples that are no facts, or not any more, are skipped, as the answers of rules do, and `notes` hears of
        them; a name that was never known is refused before anything is taken back.
        """
        taken = as_graph(triples)
        with self.shared.writing():
            before = self.graph
            for head, relation, tail in taken:
                before.entities.ids(name for name in (head, tail) if name not in self._gone)
                before.relations.id(relation)
            self._on_graph = self._on_graph.moved(before - taken)
            self._gone.update(self._on_graph.gone)
        if (told := no_facts_note(taken, before)) is not None:
            notes(told)

    # --- predictions and reasons (details in the modules beside) ----------------------------------------------------

    def predict(
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int = 10,
        known: Known = "exclude",
        progress: Progress = SILENT,
    ) -> Predictions[Prediction]:
        """The best new tails of (head, relation, ?), or heads of (?, relation, tail); "mark" shows facts, too.

        Without a relation, all of them are asked about: the most plausible links from the head, or to the tail. An
        entity is proposed as its own neighbour only where the graph has a fact of that form of the relation.
        A fact is scored with itself in the graph, so that its score does not compare with those of new links.
        """
        with self.shared.reading():
            if relation is None:
                check_about_one(head=head, tail=tail, known=known)
                return self.missing(head=head, tail=tail, top=top, progress=progress)
            model = self._on_graph
            question = question_of(model.graph, self.relations, relation, head=head, tail=tail)
            return predict(self, model, question, top=top, known=known)

    def missing(  # noqa: PLR0913 - all are options by name
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int | None = 100,
        progress: Progress = SILENT,
        shares: Shares = WHOLE,
        engine: str = IN_MEMORY,
        session: Any = None,
        master: str | None = None,
        partitions: int | None = None,
        folder: str | PathLike[str] | None = None,
        beside: str | PathLike[str] | None = None,
        notes: Notes = UNHEARD,
        per_relation: int | None = None,
        min_probability: float | None = None,
        head_types: Iterable[str] = (),
        tail_types: Iterable[str] = (),
        type_relation: str | None = None,
        seen_ends: bool = False,
        not_linked: bool = False,
        all_questions: bool = False,
    ) -> Predictions[Prediction]:
        """The most plausible links that are no facts: of one relation or all, from a head, to a tail, or anywhere.

        They come in the order of their `plausibility`, which compares links of several questions. Where there are many
        questions, a model with a rule list asks those alone to which its rules have the best answers, and `notes` hears
        how many; `all_questions` asks all.

        `per_relation` links of each relation at most are given, with a confidence of at least `min_probability`;
        `top=None` gives all of these. Heads are of one of `head_types`, and tails of one of `tail_types`:
        `type_relation` says so, or a relation that is called `rdf:type`, `instance_of`, P31 or the like. `seen_ends`
        asks for heads and tails alone that the relation has in the facts already, and `not_linked` for pairs that no
        fact joins.

        `shares`: of several processes each asks its own, and all get the links. `engine="spark"` asks on the workers
        of Spark (docs/how-to/scale.md), with the same result; a `session` that is given is used, and not stopped.
        `folder` is one that all workers see. `beside` is an output, also where they see it: links that were found lie
        beside it meanwhile, and the same call goes on from them after a kill; `notes` hears of it.
        """
        options = {"master": master, "partitions": partitions, "folder": folder, "beside": beside}
        spark = spark_of(engine, session=session, **options)
        check_wanted(top, per_relation, min_probability)
        least = self._least_confidence(min_probability)
        with self.shared.reading():
            model = self._on_graph
            limits = LinkLimits.of(
                model.graph,
                head_types=head_types,
                tail_types=tail_types,
                type_relation=type_relation,
                seen_ends=seen_ends,
                not_linked=not_linked,
            )
            asked = asked_ids(model, relation=relation, head=head, tail=tail, limits=limits)
            search = LinkSearch(asked, Wanted(top, per_relation), least, all_questions)
            if spark is None:
                return missing_links(self, model, search, progress=progress, notes=notes, shares=shares)
            found = links_on_spark(self._source, self, search, spark, progress=progress, notes=notes)
            return predictions_of(self, found, asked.side)

    def _least_confidence(self, given: float | None) -> float:
        if given is None:
            return 0.0
        if self.calibration is None:
            raise InputError(
                "this model does not say how likely its links are",
                hint="leave the least probability out, or train the model with validation triples, which calibrate it",
            )
        return given

    def reasons(
        self, head: str, relation: str, tail: str, *, most: int = 3, side: Side = "tail"
    ) -> tuple[Reason, ...]:
        """The facts that support a triple and the rule that they follow, best first."""
        with self.shared.reading():
            return explanations.reasons(self._on_graph, Triple(head, relation, tail), most=most, side=side)

    def explain(
        self, head: str, relation: str, tail: str, *, most: int = 3, side: Side = "tail"
    ) -> Explanation:
        """What a triple's score is made of as an answer to (head, relation, ?), the reasons for it, and what the
        evidence looked at; `side="head"` asks about it as an answer to (?, relation, tail), which has its own score.
        """
        triple, calibration = Triple(head, relation, tail), self.calibration
        with self.shared.reading():
            return explanations.explain(self._on_graph, triple, most=most, side=side, calibration=calibration)

    def rule_proofs(self, triple: Triple, *, most: int) -> tuple[Proof, ...]:
        """How injected rules derive a triple that they capture; that it is a fact is no derivation."""
        with self.shared.reading():
            return explanations.rule_proofs(self._on_graph, triple, most=most)


def _unlearned_facts(graph: KnowledgeGraph, relations: Sequence[str]) -> str | None:
    """A note that counts the facts of relations that the model does not know, with similar names that it does."""
    learned = frozenset(relations)
    if learned.issuperset(graph.relations):
        return None
    told = passed_over(graph, learned)
    if told is None:
        return None
    counts = np.bincount(graph.relation_ids)
    names = (graph.relations[int(number)] for number in np.argsort(-counts, kind="stable") if counts[number])
    strange = islice((name for name in names if name not in learned), _FEW)  # to look for near names is slow
    near = [(name, near_names(name, relations, most=1)) for name in strange]
    meant = [f"'{found[0]}' for '{name}'" for name, found in near if found]
    return f"{told}; did you mean {', '.join(meant)}?" if meant else told
