"""A rule model on a graph: ranks, predicts, explains, and takes new facts.

What depends on the facts lies in a `RulesOnGraph`, which never changes; `add` and `remove` put another in its place.
So threads may ask while one of them adds: each question is answered by the facts as they were when it came.
"""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.queries import passed_over
from reshuffle.evaluation.questions import (
    anchor_of,
    check_about_one,
    check_known,
    check_top,
    learned_relation,
    question_about,
    question_of,
)
from reshuffle.kg import KnowledgeGraph, Triple, refuse_inverse_names
from reshuffle.kg.coerce import Triples, as_graph
from reshuffle.kg.symmetric_relations import read_both_ways
from reshuffle.pictures.notebook import shown_rows
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.answers import DerivedByOthers
from reshuffle.reasoning.proofs import no_facts_note
from reshuffle.reasoning.sharing import built_once
from reshuffle.rulelist.body_walks import walks_of
from reshuffle.rulelist.features import MOST_STEPS, FeatureGraph, Questions
from reshuffle.rulelist.kernels.scoring_sums import add_rules
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.rule_links import LinkQuestions, best_links
from reshuffle.rulelist.rule_predictions import RulePrediction, RulePredictions
from reshuffle.rulelist.spark.links_on_spark import links_on_spark
from reshuffle.rulelist.sums import Part, RuleSum
from reshuffle.rulelist.type_tables import RoleCounts, log_shares
from reshuffle.spark.spark_session import IN_MEMORY, spark_of
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from reshuffle.evaluation.baselines.types import TypeBaseline
    from reshuffle.evaluation.questions import Known, Question
    from reshuffle.evaluation.scorer import Side
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rulelist.features import WalkRows
    from reshuffle.rulelist.rule_model import RuleModel

_SCORES_AT_ONCE = 1 << 22


class RulesOnGraph:
    """Scores questions about one graph by ids; the graph names the model's relations, too, behind its own."""

    def __init__(self, model: RuleModel, graph: KnowledgeGraph) -> None:
        refuse_inverse_names(graph.relations)
        self.model, self.graph = model, graph.naming(model.relations)
        self.features = FeatureGraph(read_both_ways(self.graph, model.both_ways))
        rules = [one.rule for one in model.rules]
        self.program = Program.of(rules, list(self.graph.relations), loops=model.loops)
        places = {name: number for number, name in enumerate(model.relations)}
        self.numbers = np.array([places.get(name, -1) for name in self.graph.relations], dtype=np.int64)
        """For each relation of the graph its number in the model, or -1."""
        self._types: dict[int, NDArray[np.float64]] = {}

    def directed(self, relations: NDArray[np.integer], side: Side) -> NDArray[np.int32]:
        """The directed relations that questions walk over."""
        shift = len(self.graph.relations) if side == "head" else 0
        return (relations + shift).astype(np.int32)

    def row_of(self, directed: int) -> int:
        """The row of the tables for a directed relation of the graph, or -1."""
        count = len(self.graph.relations)
        number = int(self.numbers[directed % count])
        return number if number < 0 or directed < count else number + len(self.model.relations)

    def questions(
        self, anchors: NDArray[np.integer], relations: NDArray[np.integer], side: Side
    ) -> Questions:
        """Questions without anything hidden."""
        nobody = np.full(len(anchors), -1, dtype=np.int32)
        return Questions(anchors.astype(np.int32), self.directed(relations, side), nobody)

    def scores(
        self, anchors: NDArray[np.integer], relations: NDArray[np.integer], side: Side
    ) -> Iterator[NDArray[np.float64]]:  # question entity
        """The scores of all entities, some questions at a time."""
        step = max(1, _SCORES_AT_ONCE // max(1, self.graph.num_entities))
        for start in range(0, len(anchors), step):
            piece = slice(start, start + step)
            yield self.scored(self.questions(anchors[piece], relations[piece], side))[0]

    def scored(self, questions: Questions) -> tuple[NDArray[np.float64], WalkRows]:
        """The scores [question, entity] of some questions, and the walks of rules that they count."""
        scores = np.zeros((len(questions.anchors), self.graph.num_entities))
        steps = self.features.steps(questions)
        for place, directed in enumerate(questions.relations.tolist()):
            row = self.row_of(directed)
            if row >= 0:
                scores[place] = self.model.tables.distances[row][steps[place]] + self.types(row)
        walks = self.features.walks(self.program, questions)
        add_rules(walks.arrays, *self.model.arrays, scores)
        return scores, walks

    def types(self, row: int) -> NDArray[np.float64]:  # entity
        """What the table of types adds for every entity, over the directed relation of a row."""
        found = self._types.get(row)
        if found is None:
            weights = self.model.tables.types[row]
            if weights.any():
                found = self._roles.features(row, self._log_shares) @ weights
            else:
                found = np.zeros(self.graph.num_entities)
            self._types[row] = found  # two threads may both compute it, and find the same
        return found

    @cached_property
    def _roles(self) -> RoleCounts:
        return RoleCounts.of(self.graph, self.numbers, len(self.model.relations))

    @cached_property
    def _log_shares(self) -> NDArray[np.float64]:
        return log_shares(self.model.tables.shares)

    @built_once
    def sure_answers(self) -> Answers:
        """What follows from the rules without an exception; by the chase, which takes whatever was mined."""
        return Reasoner(self.model.sure_rules(), engine="chase").on(self.graph)

    def has_loops(self, relation: int) -> bool:
        """May an entity be its own answer?"""
        return bool(self.program.walks.loops[relation])

    def sum_of(self, question: Question, answer: int, *, most: int) -> RuleSum:
        """The score of one answer, written out, with up to `most` walks for each rule."""
        asked = self.questions(np.array([question.anchor]), np.array([question.relation]), question.side)
        row, (head, tail) = self.row_of(int(asked.relations[0])), question.ends(answer)
        steps = int(self.features.steps(asked)[0, answer])
        tables = self.model.tables
        distance = float(tables.distances[row, steps]) if row >= 0 else 0.0
        types = float(self.types(row)[answer]) if row >= 0 else 0.0
        parts = [
            Part("distance", distance, steps=steps if steps <= MOST_STEPS else None),
            Part("types", types),
            *self._rule_parts(asked, question, answer, most),
        ]
        score = distance + types
        for part in parts[2:]:
            score += part.value
        kept = [part for part in parts if part.value or part.rule is not None]
        return RuleSum(
            question.triple(self.graph, answer),
            tuple(sorted(kept, key=lambda part: -part.value)),
            self.graph.has_ids(head, question.relation, tail),
            question.side,
            score,
        )

    def _rule_parts(self, asked: Questions, question: Question, answer: int, most: int) -> Iterator[Part]:
        """In the order in which scores are added up."""
        walks = self.features.walks(self.program, asked)
        head, tail = question.ends(answer)
        for entry in np.flatnonzero(walks.ends == answer).tolist():
            one, count = self.model.rules[int(walks.rules[entry])], float(walks.counts[entry])
            proofs = walks_of(self.features, one.rule, head, tail, most=most, facts=self.graph)
            yield Part("rule", one.part(count), one, round(count), tuple(proofs))


class RuleAnswers(DerivedByOthers):
    """Answers questions about one graph by a rule model; has the surface of a trained model's answers.

    As a collection the answers are what is certain: the triples that are no facts and follow from the rules that had no
    exception, as `reshuffle infer` prints them. `predict` and `missing` rank all others.
    """

    name = "rule model"

    def __init__(self, model: RuleModel, graph: KnowledgeGraph, *, notes: Notes = UNHEARD) -> None:
        self.model = model
        self._lock = Lock()
        self._state = RulesOnGraph(model, graph)
        self._num_given = graph.num_entities
        self._gone: set[str] = set()
        if (told := passed_over(graph, frozenset(model.relations))) is not None:
            notes(told)

    def _repr_html_(self) -> str:
        rows = [{"relation": name} for name in self.relations]
        return shown_rows(
            repr(self)[1:-1], rows, remarks=["ask answers.predict(head=..., relation=...)"], most=10
        )

    def __repr__(self) -> str:
        graph = self.graph
        facts = f"{counted(len(graph), 'fact')} of {counted(graph.num_entities, 'entity', 'entities')}"
        return f"<RuleAnswers: {counted(len(self.model), 'rule')}; on {facts}>"

    @property
    def graph(self) -> KnowledgeGraph:
        """The facts as they are now; its relations are those of the facts, and behind them all of the model."""
        return self._state.graph

    @property
    def facts(self) -> KnowledgeGraph:
        """The facts as they are now."""
        return self.graph

    def entailed(self) -> Sequence[Answers]:
        """The answers of the rules that had no exception."""
        return (self._state.sure_answers,)

    @property
    def relations(self) -> tuple[str, ...]:
        """Those that the model knows."""
        return self.model.relations

    @property
    def type_baseline(self) -> TypeBaseline:
        """Of the training facts."""
        return self.model.type_baseline

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """For each relation of the graph: does the model know it?"""
        return self._state.numbers >= 0

    @property
    def passed_over(self) -> str | None:
        """Names and counts the facts of relations that the model does not know; None where there are none."""
        return passed_over(self.graph, frozenset(self.relations))

    def on(self, graph: Triples, *, notes: Notes = UNHEARD) -> RuleAnswers:
        """The same model on another graph."""
        return RuleAnswers(self.model, as_graph(graph), notes=notes)

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:  # question candidate
        """`Scorer.scores`: the sums of the parts."""
        state = self._state
        width = state.graph.num_entities if candidates is None else candidates.shape[1]
        rows = np.empty((len(anchors), width), dtype=np.float32)
        done = 0
        for piece in state.scores(anchors, relations, side):
            here = slice(done, done + len(piece))
            rows[here] = piece if candidates is None else np.take_along_axis(piece, candidates[here], axis=1)
            done += len(piece)
        return rows

    # --- answers ------------------------------------------------------------------------------------------------------

    def predict(
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int = 10,
        known: Known = "exclude",
    ) -> RulePredictions:
        """The best new tails of (head, relation, ?), or heads of (?, relation, tail); "mark" shows facts, too.

        Without a relation, all of them are asked about, as `missing` does. An entity is its own answer only where the
        relation may have loops.
        """
        check_known(known)
        if relation is None:
            check_about_one(head=head, tail=tail, known=known)
            return self.missing(head=head, tail=tail, top=top)
        check_top(top)
        state = self._state
        question = question_of(state.graph, self.relations, relation, head=head, tail=tail)
        (scores,) = state.scores(np.array([question.anchor]), np.array([question.relation]), question.side)
        facts = question.known(state.graph)
        order = np.argsort(-scores[0], kind="stable")  # equal ones by id
        if not state.has_loops(question.relation):
            order = order[(order != question.anchor) | facts[order]]
        best = order if known == "mark" else order[~facts[order]]
        rows = (
            RulePrediction(
                question.triple(state.graph, place),
                state.sum_of(question, place, most=1),
                known=bool(facts[place]),
            )
            for place in best[:top].tolist()
        )
        return RulePredictions(tuple(rows))

    def missing(  # noqa: PLR0913 - all are options by name
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int = 100,
        progress: Progress = SILENT,
        engine: str = IN_MEMORY,
        session: Any = None,
        master: str | None = None,
        partitions: int | None = None,
        folder: str | PathLike[str] | None = None,
        beside: str | PathLike[str] | None = None,
        notes: Notes = UNHEARD,
    ) -> RulePredictions:
        """The most plausible links that are no facts and that rules lead to: of one relation or all, from a head, to a
        tail, or anywhere. They come in the order of their `plausibility`, score + log of its share in a softmax.

        `engine="spark"` asks on the workers of Spark (docs/how-to/scale.md), with the same result; a `session` that is
        given is used, and not stopped. `folder` is one that all workers see. `beside` is an output, also where they see
        it: links that were found lie beside it meanwhile, and the same call goes on from them after a kill; `notes`
        hears of it.
        """
        check_top(top)
        options = {"master": master, "partitions": partitions, "folder": folder, "beside": beside}
        spark = spark_of(engine, session=session, **options)
        state = self._state
        names = self.relations if relation is None else (relation,)
        numbers = tuple(learned_relation(state.graph, self.relations, name) for name in names)
        asked = LinkQuestions(numbers, *anchor_of(state.graph, head=head, tail=tail))
        if spark is None:
            links = best_links(state, asked, top=top, progress=progress)
        else:
            links = links_on_spark(state, asked, spark, top=top, progress=progress, notes=notes)
        rows = (
            RulePrediction(
                question.triple(state.graph, answer), state.sum_of(question, answer, most=1), False, value
            )
            for value, question, answer in links
        )
        return RulePredictions(tuple(rows), several=True)

    def tails(self, head: str, relation: str, *, top: int = 10) -> list[str]:
        """The best new tails."""
        return [row.triple.tail for row in self.predict(relation=relation, head=head, top=top)]

    def heads(self, relation: str, tail: str, *, top: int = 10) -> list[str]:
        """The best new heads."""
        return [row.triple.head for row in self.predict(relation=relation, tail=tail, top=top)]

    def explain(self, head: str, relation: str, tail: str, *, most: int = 3, side: Side = "tail") -> RuleSum:
        """The score of a triple, written out, with up to `most` walks for each rule.

        The rules' part is the same for both sides; the tables are those of the end that is asked for.
        """
        if most < 0:
            raise InputError(f"most = {most}", hint="give 0 or more")
        state = self._state
        question, answer = question_about(state.graph, self.relations, Triple(head, relation, tail), side)
        return state.sum_of(question, answer, most=most)

    def judge(self, head: str, relation: str, tail: str, *, side: Side = "tail") -> RuleSum:
        """The score of a triple and its parts, without walks."""
        return self.explain(head, relation, tail, most=0, side=side)

    # --- updates ------------------------------------------------------------------------------------------------------

    def add(self, triples: Triples, *, notes: Notes = UNHEARD) -> None:
        """New facts, new entities included."""
        new = as_graph(triples)
        with self._lock:
            self._move(self._state.graph | new)
        if (told := passed_over(new, frozenset(self.relations))) is not None:
            notes(told)

    def remove(self, triples: Triples, *, notes: Notes = UNHEARD) -> None:
        """Take facts back, and with its last fact whoever came by `add`; given entities stay.

        Triples that are no facts are passed over, and `notes` hears of them; a name that was never known is refused.
        """
        taken = as_graph(triples)
        with self._lock:
            before = self._state.graph
            for head, relation, tail in taken:
                before.entities.ids(name for name in (head, tail) if name not in self._gone)
                before.relations.id(relation)
            self._move(before - taken)
        if (told := no_facts_note(taken, before)) is not None:
            notes(told)

    def _move(self, graph: KnowledgeGraph) -> None:
        left, kept = graph.without_gone(self._num_given)
        gone = np.setdiff1d(np.arange(graph.num_entities), kept)
        self._gone.update(graph.entities[gone])
        self._state = RulesOnGraph(self.model, left)
