"""A rule model on a graph: rankings, predictions, explanations, and updates of facts.

All data that depends on the facts is in an immutable `RulesOnGraph`; `add` and `remove` replace it. So threads may ask
while another thread adds facts: each question uses the facts at the time it was asked.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.link_limits import ALL_LINKS, LinkLimits
from reshuffle.evaluation.queries import passed_over
from reshuffle.evaluation.questions import (
    Question,
    anchor_of,
    check_about_one,
    check_known,
    check_top,
    check_wanted,
    learned_relation,
    other_side,
    question_about,
    question_of,
)
from reshuffle.kg import KnowledgeGraph, Triple, inverse_name, refuse_inverse_names
from reshuffle.kg.coerce import Triples, as_graph
from reshuffle.kg.symmetric_relations import read_both_ways
from reshuffle.pictures.notebook import shown_rows
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.answers import DerivedByOthers
from reshuffle.reasoning.proofs import no_facts_note
from reshuffle.reasoning.sharing import Turns, built_once
from reshuffle.rulelist.body_walks import walks_of
from reshuffle.rulelist.constants.constants_on_graph import ConstantsOnGraph
from reshuffle.rulelist.features import MOST_STEPS, FeatureGraph, Questions, pieces_of
from reshuffle.rulelist.kernels.scoring_sums import add_rules
from reshuffle.rulelist.links.answer_likelihood import best_answers
from reshuffle.rulelist.links.likelihood import log_odds, probability
from reshuffle.rulelist.links.link_bounds import Reach
from reshuffle.rulelist.links.link_parts import LinkSearch
from reshuffle.rulelist.links.rule_links import BLOCK, LinkQuestions, Wanted
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.rule_predictions import RulePrediction, ranked_links
from reshuffle.rulelist.spark.links_on_spark import links_on_spark
from reshuffle.rulelist.sums import Part, RuleSum
from reshuffle.rulelist.type_tables import RoleCounts, log_shares
from reshuffle.rules.parsing import as_rules
from reshuffle.spark.spark_session import IN_MEMORY, spark_of
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from reshuffle.evaluation.baselines.types import TypeBaseline
    from reshuffle.evaluation.questions import Known
    from reshuffle.evaluation.ranked_links import Predictions
    from reshuffle.evaluation.scorer import Side
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rulelist.features import WalkRows
    from reshuffle.rulelist.links.likelihood import Likelihood
    from reshuffle.rulelist.links.rule_links import Links
    from reshuffle.rulelist.rule_model import RuleModel
    from reshuffle.rules.parsing import Rules

_SCORES_AT_ONCE = 1 << 22
_MOST_STORED = 1 << 29  # numbers that what types add may take room for


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

    def __getstate__(self) -> dict[str, Any]:
        """Without the room that kernels write on, and without what is soon made again."""
        without = ("link_tables", "link_reach")
        return {name: value for name, value in vars(self).items() if name not in without}

    def fresh(self) -> RulesOnGraph:
        """The same without what questions have filled, which may be a number for each entity and relation."""
        found = copy(self)
        found._types = {}
        return found

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
        if self.constants is not None:
            self.constants.add_to(scores, questions)
        return scores, walks

    @cached_property
    def facts(self) -> FeatureGraph:
        """The facts as they stand, none of them read in both directions."""
        return self.features if self.features.graph is self.graph else FeatureGraph(self.graph)

    @cached_property
    def constants(self) -> ConstantsOnGraph | None:
        """The rules about particular entities; None where none of them is about this graph."""
        if not self.model.constants:
            return None
        found = ConstantsOnGraph(self.model.constants, self.facts, self.program.walks.loops)
        return None if found.is_silent else found

    @property
    def likelihood(self) -> Likelihood | None:
        """How likely answers are on this graph; None where that was not fitted."""
        of_constants = None if self.constants is None else self.model.constants.likelihood
        return of_constants or self.model.likelihood

    def hide_known(self, scores: NDArray[np.float64], asked: Questions) -> None:
        """Lower the scores of facts to -inf, but for the answer that is hidden."""
        starts, codes, neighbours = self.facts.edges
        for place, (anchor, code, hidden) in enumerate(zip(*map(np.ndarray.tolist, asked), strict=True)):
            edges = slice(starts[anchor], starts[anchor + 1])
            known = neighbours[edges][codes[edges] == code]
            scores[place, known[known != hidden]] = -np.inf

    def walked_from(self, program: Program) -> NDArray[np.float64]:  # entity
        """By how many walks the rules of a program lead from each entity to others, for questions (h, r, ?)."""
        total, (starts, codes, _) = np.zeros(self.graph.num_entities), self.features.edges
        owners = np.repeat(np.arange(len(total), dtype=np.int32), np.diff(starts))
        firsts = program.walks.firsts
        for relation in np.flatnonzero(np.diff(firsts[: len(self.graph.relations) + 1])).tolist():
            begin = np.unique(program.walks.bodies[firsts[relation] : firsts[relation + 1], 0])
            anchors = np.unique(owners[np.isin(codes, begin)])
            walks = self.features.walks(
                program, self.questions(anchors, np.full(len(anchors), relation), "tail")
            )
            of = np.repeat(anchors, np.diff(walks.starts))
            total += np.bincount(of, walks.counts, minlength=len(total))
        return total

    def types(self, row: int) -> NDArray[np.float64]:  # entity
        """What the table of types adds for every entity, over the directed relation of a row."""
        found = self._types.get(row)
        if found is None:
            weights = self.model.tables.types
            if weights[row].any():
                found = self._roles.values(row, self._log_shares, weights)
            else:
                found = np.zeros(self.graph.num_entities)
            self._types[row] = found  # two threads may both compute it, and find the same
        return found

    @cached_property
    def link_graph(self) -> tuple[Any, ...]:
        """What `links_of_questions` walks over: the program, the edges, the facts as they stand, how many relations."""
        return self.program.walks, self.features.edges, self.facts.edges, self.features.num_relations

    @cached_property
    def link_tables(self) -> tuple[Any, ...]:
        """What `links_of_questions` adds up: weights and tables, with room for what types add."""
        tables, shape = self.model.tables, (len(self.model.tables.types), self.graph.num_entities)
        # Zeros that nobody writes take no memory, and few entities are reached over each relation.
        values, mass = (np.zeros(shape if shape[0] * shape[1] <= _MOST_STORED else (0, 0)) for _ in range(2))
        return (
            *self.model.arrays,
            tables.distances,
            *self.about_types,
            values,
            mass,
            np.full(shape[0], np.nan),
        )

    @cached_property
    def link_reach(self) -> Reach:
        """What rules add to links at most, told without walks."""
        return Reach.of(self)

    @property
    def about_types(self) -> tuple[Any, ...]:
        """What kernels take for the values of types: weights, roles, shares, and which rows have weights."""
        tables = self.model.tables
        return tables.types, self._roles.arrays, self._log_shares, tables.types.any(axis=1)

    @cached_property
    def link_order(self) -> tuple[float, float, float, NDArray[np.float64], bool]:
        """What links are compared by: factors for the parts of rules and of tables and for the log of the share,
        constants, and whether the part of the rules is taken by its logarithm.
        """
        likely, names = self.likelihood, self.model.relations
        if likely is None:
            return self.plain_order
        constants = likely.of_rows([*names, *map(inverse_name, names)])
        return likely.by_rules, likely.by_tables, likely.by_share, constants, True

    @property
    def plain_order(self) -> tuple[float, float, float, NDArray[np.float64], bool]:
        """The same for comparing by plausibility."""
        return 1.0, 1.0, 1.0, np.zeros(len(self.model.tables.types)), False

    def probability(self, told: RuleSum, log_share: float) -> float | None:
        """How likely the answer of a sum is true, with the share that it has of its question."""
        if self.likelihood is None:
            return None
        by_rules, by_tables, by_share, constants, _ = self.link_order
        shift = 0 if told.side == "tail" else len(self.model.relations)
        row = self.model.relations.index(told.triple.relation) + shift
        tables = sum(part.value for part in told.parts if part.rule is None)
        rules = told.score - tables
        return probability(
            by_rules * float(np.log1p(rules))
            + by_tables * tables
            + by_share * log_share
            + float(constants[row])
        )

    def only_unknown(self, scores: NDArray[np.float64], asked: Questions) -> NDArray[np.float64]:
        """The scores, -inf for facts and for entities that cannot be their own answers."""
        unknown = scores.copy()
        self.hide_known(unknown, asked._replace(answers=np.full_like(asked.anchors, -1)))
        alone = np.array([not self.has_loops(code) for code in asked.relations.tolist()], dtype=np.bool_)
        unknown[np.flatnonzero(alone), asked.anchors[alone]] = -np.inf
        return unknown

    @property
    def tells_answers(self) -> bool:
        """Whether it says how likely the answers of a question are."""
        return self.likelihood is not None and self.likelihood.answers is not None

    def best_unknown(
        self, asked: Questions, scores: NDArray[np.float64], most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # question answer
        """The best answers of questions that are no facts, -1 where there are fewer, and how likely they are if a
        question has one; nan where that was not fitted.
        """
        best, parts = best_answers(self.only_unknown(scores, asked), most)
        likely = None if self.likelihood is None else self.likelihood.answers
        rows = [self.row_of(code) for code in asked.relations.tolist()]
        if likely is None:
            return best, np.full(best.shape, np.nan)
        names = [*self.model.relations, *map(inverse_name, self.model.relations)]
        found = [
            likely.probabilities(own, names[row]) if row >= 0 else np.full(len(own), np.nan)
            for own, row in zip(parts, rows, strict=True)
        ]
        return best, np.array(found).reshape(best.shape)

    def base_values(self, asked: Questions, rows: NDArray[np.int64]) -> NDArray[np.float64]:  # question
        """What the tables say of the hidden answer of each question."""
        bounds = np.arange(len(rows) + 1, dtype=np.int64)
        steps = self.features.steps_to(asked, bounds, asked.answers)
        types = [self.types(int(row))[answer] for row, answer in zip(rows, asked.answers, strict=True)]
        values: NDArray[np.float64] = self.model.tables.distances[rows, steps] + np.array(types)
        return values

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
        (told,) = self.sums_of([question], [answer])
        return self.with_walks(told, most=most)

    def sums_of(self, asked: Sequence[Question], answers: Sequence[int]) -> Iterator[RuleSum]:
        """The scores of answers, one for each question, written out without walks."""
        for piece in pieces_of(len(asked), BLOCK):
            yield from self._sums_of(asked[piece], answers[piece])

    def _sums_of(self, asked: Sequence[Question], answers: Sequence[int]) -> Iterator[RuleSum]:
        nobody = np.full(len(asked), -1, dtype=np.int32)
        anchors = np.array([question.anchor for question in asked], dtype=np.int32)
        directed = [int(self.directed(np.array([one.relation]), one.side)[0]) for one in asked]
        questions = Questions(anchors, np.array(directed, dtype=np.int32), nobody)
        _, firsts, lines = np.unique(anchors, return_index=True, return_inverse=True)
        steps = self.features.steps(questions.part(firsts))
        walks = self.features.walks(self.program, questions)
        for place, (question, answer) in enumerate(zip(asked, answers, strict=True)):
            row, number = self.row_of(directed[place]), int(steps[lines[place], answer])
            reasons = [*self._rule_parts(walks.part(place), answer)]
            reasons += self._constant_parts(questions.part(slice(place, place + 1)), answer)
            yield self._sum(question, answer, row, number, reasons)

    def _sum(self, question: Question, answer: int, row: int, steps: int, reasons: Sequence[Part]) -> RuleSum:
        distance = float(self.model.tables.distances[row, steps]) if row >= 0 else 0.0
        types = float(self.types(row)[answer]) if row >= 0 else 0.0
        parts = [
            Part("distance", distance, steps=steps if steps <= MOST_STEPS else None),
            Part("types", types),
            *reasons,
        ]
        score = distance + types
        for part in parts[2:]:
            score += part.value
        kept = [part for part in parts if part.value or part.rule is not None]
        head, tail = question.ends(answer)
        return RuleSum(
            question.triple(self.graph, answer),
            tuple(sorted(kept, key=lambda part: -part.value)),
            self.graph.has_ids(head, question.relation, tail),
            question.side,
            score,
        )

    def _rule_parts(self, walks: WalkRows, answer: int) -> Iterator[Part]:
        """In the order in which scores are added up."""
        for entry in np.flatnonzero(walks.ends == answer).tolist():
            one, count = self.model.rules[int(walks.rules[entry])], float(walks.counts[entry])
            yield Part("rule", one.part(count), one, round(count))

    def _constant_parts(self, asked: Questions, answer: int) -> Iterator[Part]:
        """The rules about particular entities that add to an answer, in the same order."""
        if self.constants is None:
            return
        for place, value in self.constants.of_answer(asked, answer):
            yield Part("rule", value, self.model.constant(place, value), 1)

    def with_walks(self, told: RuleSum, *, most: int, rules: int | None = None) -> RuleSum:
        """A sum with up to `most` walks for each rule, or for the first rules only: finding walks is slow."""
        head, tail = (self.graph.entities.id(name) for name in (told.triple.head, told.triple.tail))
        left, parts = (len(told.parts) if rules is None else rules) if most else 0, []
        for part in told.parts:
            if part.rule is not None and left > 0:
                found = walks_of(self.features, part.rule.rule, head, tail, most=most, facts=self.graph)
                parts.append(replace(part, proofs=tuple(found)))
                left -= 1
            else:
                parts.append(part)
        return replace(told, parts=tuple(parts))

    def predictions(self, links: Links, side: Side) -> Iterator[RulePrediction]:
        """Links by name, each with the sum that explains its score."""
        asked = [
            Question(head if side == "tail" else tail, relation, side)
            for relation, head, tail in links.ids.tolist()
        ]
        answers = links.ids[:, 2 if side == "tail" else 1].tolist()
        for told, value in zip(self.sums_of(asked, answers), links.values.tolist(), strict=True):
            if self.likelihood is None:
                yield RulePrediction(told.triple, told, False, plausibility=value, on_graph=self)
            else:
                yield RulePrediction(told.triple, told, False, probability=probability(value), on_graph=self)


class RuleAnswers(DerivedByOthers):
    """Answers questions about one graph by a rule model; has the surface of a trained model's answers.

    As a collection the answers are what is certain: the triples that are no facts and follow from the rules that had no
    exception, as `reshuffle infer` prints them. `predict` and `missing` rank all others.
    """

    name = "rule model"

    def __init__(self, model: RuleModel, graph: KnowledgeGraph, *, notes: Notes = UNHEARD) -> None:
        self.model = model
        self._lock = Turns()
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

    def first_answers(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        scores: NDArray[np.float32],
        *,
        side: Side,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # question
        """`SaysHowLikely.first_answers`."""
        asked = self._state.questions(anchors, relations, side)
        best, chances = self._state.best_unknown(asked, scores.astype(np.float64), 1)
        return best[:, 0], chances[:, 0]

    # --- answers ------------------------------------------------------------------------------------------------------

    def predict(
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int = 10,
        known: Known = "exclude",
        progress: Progress = SILENT,
    ) -> Predictions[RulePrediction]:
        """The best new tails of (head, relation, ?), or heads of (?, relation, tail); "mark" shows facts, too.

        Without a relation, all of them are asked about, as `missing` does. An entity is its own answer only where the
        relation may have loops.
        """
        check_known(known)
        if relation is None:
            check_about_one(head=head, tail=tail, known=known)
            return self.missing(head=head, tail=tail, top=top, progress=progress)
        check_top(top)
        state = self._state
        question = question_of(state.graph, self.relations, relation, head=head, tail=tail)
        (scores,) = state.scores(np.array([question.anchor]), np.array([question.relation]), question.side)
        facts = question.known(state.graph)
        order = np.argsort(-scores[0], kind="stable")  # equal ones by id
        if not state.has_loops(question.relation):
            order = order[(order != question.anchor) | facts[order]]
        best = (order if known == "mark" else order[~facts[order]])[:top]
        told = list(state.sums_of([question] * len(best), best.tolist()))
        likely = self._likely(question, scores, facts, told, best)
        return ranked_links(
            [
                RulePrediction(one.triple, one, one.known, probability=chance, on_graph=state)
                for one, chance in zip(told, likely, strict=True)
            ]
        )

    def _likely(
        self,
        question: Question,
        scores: NDArray[np.float64],
        facts: NDArray[np.bool_],
        told: Sequence[RuleSum],
        answers: NDArray[np.integer],
    ) -> list[float | None]:
        """How likely the answers are if the question has one that is no fact; a fact is sure.

        A list that does not say that says how likely they are as links of the whole graph.
        """
        state = self._state
        if not state.tells_answers:
            total = float(np.logaddexp.reduce(scores[0]))
            return [state.probability(one, one.score - total) for one in told]
        asked = state.questions(np.array([question.anchor]), np.array([question.relation]), question.side)
        unknown, chances = (column[0].tolist() for column in state.best_unknown(asked, scores, len(answers)))
        likely = dict(zip(unknown, chances, strict=True))
        return [1.0 if facts[answer] else likely[answer] for answer in answers.tolist()]

    def missing(  # noqa: PLR0913 - all are options by name
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int | None = 100,
        progress: Progress = SILENT,
        engine: str = IN_MEMORY,
        session: Any = None,
        master: str | None = None,
        partitions: int | None = None,
        folder: str | PathLike[str] | None = None,
        beside: str | PathLike[str] | None = None,
        notes: Notes = UNHEARD,
        heads: Iterable[str] | None = None,
        per_relation: int | None = None,
        min_probability: float | None = None,
        reasons_only: bool = False,
        head_types: Iterable[str] = (),
        tail_types: Iterable[str] = (),
        type_relation: str | None = None,
        seen_ends: bool = False,
        not_linked: bool = False,
        resume: bool = False,
        part: bool = False,
    ) -> Predictions[RulePrediction]:
        """The most likely links that are no facts and that rules lead to: of one relation or all, from a head, to a
        tail, or anywhere. They come in the order of their `probability`, or where the model has none, of their
        `plausibility`, score + log of its share in a softmax.

        `heads` asks about links from these alone. `per_relation` links of each relation at most are given, of at least
        `min_probability`; `top=None` gives all of these. `reasons_only` leaves out links to which distance and types
        add more than the rules. Heads are of one of `head_types`, and tails of one of `tail_types`: `type_relation`
        says so, or a relation that is called `rdf:type`, `instance_of`, P31 or the like. `seen_ends` asks for heads and
        tails alone that the relation has in the facts already, and `not_linked` for pairs that no fact joins.

        What is found lies beside the output `beside` meanwhile, and the same call goes on from there; with `resume` it
        is an error that there is nothing. With `part`, an interrupt ends the search, and what was found by then is
        given; `notes` hears how far it came.

        `engine="spark"` asks on the workers of Spark (docs/how-to/scale.md), with the same result; a `session` that is
        given is used, and not stopped. `folder` is one that all workers see. `beside` is an output, also where they see
        it: links that were found lie beside it meanwhile, and the same call goes on from them after a kill; `notes`
        hears of it.
        """
        wanted = self._wanted(top, per_relation, min_probability, reasons_only=reasons_only)
        options = {"master": master, "partitions": partitions, "folder": folder}
        on_spark = {} if engine == IN_MEMORY else {"beside": beside}
        spark = spark_of(engine, session=session, **options, **on_spark)
        limits = LinkLimits.of(
            self._state.graph,
            head_types=head_types,
            tail_types=tail_types,
            type_relation=type_relation,
            seen_ends=seen_ends,
            not_linked=not_linked,
        )
        search = self._search(wanted, limits, relation=relation, head=head, tail=tail, heads=heads)
        state, asked = search.state, search.asked
        complete = True
        if spark is None:
            try:
                links = search.run(beside=beside, resume=resume, progress=progress, notes=notes)
            except KeyboardInterrupt:
                if not part or not search.done:
                    raise
                notes(f"stopped after {search.so_far()}: these are the best links of that part")
                links, complete = search.kept, False
        else:
            links = links_on_spark(state, asked, spark, wanted, progress=progress, notes=notes)
        rows = tuple(state.predictions(links, asked.side))
        return ranked_links(rows, several=True, complete=complete)

    def link_search(self, *, top: int | None = None, per_relation: int | None = None) -> LinkSearch:
        """The search of `missing` over the whole graph: while it runs, `kept` has the best links so far."""
        return self._search(self._wanted(top, per_relation, None, reasons_only=False))

    def _search(
        self,
        wanted: Wanted,
        limits: LinkLimits = ALL_LINKS,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        heads: Iterable[str] | None = None,
    ) -> LinkSearch:
        state = self._state
        names = self.relations if relation is None else (relation,)
        numbers = tuple(learned_relation(state.graph, self.relations, name) for name in names)
        anchor, side = anchor_of(state.graph, head=head, tail=tail)
        anchors: tuple[int, ...] | None = None if anchor is None else (anchor,)
        if heads is not None and anchor is None:
            anchors = tuple(sorted(state.graph.entities.id(name) for name in set(heads)))
        return LinkSearch(state, LinkQuestions(numbers, anchors, side, limits), wanted)

    def led_from(self, rules: Rules, *, most: int) -> tuple[list[str], int]:
        """The entities from which rules lead to somebody, those with most walks first and up to `most`; how many there
        are in all.
        """
        state = self._state
        program = Program.of(as_rules(rules).rules, list(state.graph.relations), loops=self.model.loops)
        walked = state.walked_from(program)
        order = np.lexsort((np.arange(len(walked)), -walked))
        names = state.graph.entities
        found = int((walked > 0).sum())
        return [names[place] for place in order[: min(most, found)].tolist()], found

    def _wanted(
        self,
        top: int | None,
        per_relation: int | None,
        min_probability: float | None,
        *,
        reasons_only: bool,
    ) -> Wanted:
        check_wanted(top, per_relation, min_probability)
        if min_probability is None:
            return Wanted(top, per_relation, reasons_only=reasons_only)
        if self._state.likelihood is None:
            raise InputError(
                "this rule list does not say how likely its links are",
                hint="leave the least probability out, or fit the list again: "
                "reshuffle train FACTS -o MODEL --recipe rules --refit",
            )
        return Wanted(top, per_relation, log_odds(min_probability), reasons_only)

    def tails(self, head: str, relation: str, *, top: int = 10) -> list[str]:
        """The best new tails."""
        return [row.triple.tail for row in self.predict(relation=relation, head=head, top=top)]

    def heads(self, relation: str, tail: str, *, top: int = 10) -> list[str]:
        """The best new heads."""
        return [row.triple.head for row in self.predict(relation=relation, tail=tail, top=top)]

    def explain(self, head: str, relation: str, tail: str, *, most: int = 3, side: Side = "tail") -> RuleSum:
        """The score of a triple as an answer to (head, relation, ?), or with `side="head"` to (?, relation, tail).

        It is written out, with up to `most` walks for each rule. The rules' part is the same for both questions; the
        distance and the types are those of the end that is asked for, so that the two scores differ.
        """
        if most < 0:
            raise InputError(f"most = {most}", hint="give 0 or more")
        state = self._state
        triple = Triple(head, relation, tail)
        question, answer = question_about(state.graph, self.relations, triple, side)
        other = question_about(state.graph, self.relations, triple, other_side(side))
        found = state.sum_of(question, answer, most=most)
        return replace(found, other_score=state.sum_of(*other, most=0).score)

    def probability_of(self, head: str, relation: str, tail: str, *, side: Side = "tail") -> float | None:
        """How likely a link is, as an answer to (head, relation, ?) or (?, relation, tail); None where the model does
        not say how likely its answers are.
        """
        state = self._state
        question, answer = question_about(state.graph, self.relations, Triple(head, relation, tail), side)
        (scores,) = state.scores(np.array([question.anchor]), np.array([question.relation]), side)
        told = state.sum_of(question, answer, most=0)
        return state.probability(told, told.score - float(np.logaddexp.reduce(scores[0])))

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
        """Take facts back; an entity that came by `add` goes with its last fact, given ones stay.

        Triples that are no facts are skipped, and `notes` hears of them; a name that was never known is refused.
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
