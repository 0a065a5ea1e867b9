"""The weights of rules about particular entities, fitted on top of a rule list whose own weights stay.

Rules with the same head share out weights (`joint_weights`). What they add to a score is a factor times their sum:
there is one factor for each of the two questions of each directed relation. A third number is the share with which
the scores without them count; the factors are divided by it in the end. All are held at numbers that are common to all:

    loss = sum over questions of -log softmax(share * score + factors * sums)[answer]
           + prior / 2 * sum over numbers of (number - common)^2

Questions are facts that are held out: the rules of such a trial are counted and weighed on the other facts alone, as
rules will be that answer about facts nobody has seen. To hide one fact after the other is not the same: a rule of few
facts is there because of the fact that it then seems to find. The candidates of a question are its answer and those who
score most before the fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.constants.constant_edits import keeping
from reshuffle.rulelist.constants.constant_rules import ConstantRules
from reshuffle.rulelist.constants.constants_on_graph import ConstantsOnGraph
from reshuffle.rulelist.constants.counting import Counted, Counting, counted_rules
from reshuffle.rulelist.constants.joint_weights import joint_weights, telling
from reshuffle.rulelist.constants.properties import Properties
from reshuffle.rulelist.features import in_order, pieces_of
from reshuffle.rulelist.rule_answers import RulesOnGraph
from reshuffle.rulelist.training_rows import from_both_ends

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.features import FeatureGraph, Questions
    from reshuffle.rulelist.rule_model import RuleModel

    Array = NDArray[np.float64]

_AT_ONCE = 64
_SCORES_AT_ONCE = 1 << 22
"""Of the questions that are looked at together."""
_SCORES = 500_000_000
"""Of all questions: on a graph with many entities fewer are asked."""
_DIGITS = 4
_UNIT = 10.0
"""What a factor of 1 stands for."""
_TRIALS = 10
"""Facts are cut into this number of parts, held out one after the other until there are enough questions."""
_LEAST_SHARE = 0.05
_LOWEST = -50.0
"""Scores below it count as it: nobody with one is among the best."""
_MEAN, _SQUARES, _TINY = 0.9, 0.999, 1e-8  # Adam's


@dataclass(frozen=True)
class Weighing:
    """How rules about particular entities are found and weighed."""

    counting: Counting = field(default_factory=Counting)
    rules: int = 500_000
    """At most; of more, those are left out that tell least: by weight and number of members of the body."""
    penalty: float = 0.5
    """Holds the weights of rules at 0."""
    questions: int = 20_000
    candidates: int = 100
    steps: int = 200
    batch: int = 2_048
    rate: float = 0.05
    prior: float = 30.0
    range: tuple[float, float] = (0.5, 3.0)
    """Of factors. The fit says 0 where most answers that seem wrong are facts that nobody knows yet."""


@dataclass(frozen=True)
class Trial:
    """Facts that are held out, asked with the rules of all other facts."""

    graph: KnowledgeGraph
    rules: ConstantRules
    asked: Questions

    @classmethod
    def of(cls, graph: KnowledgeGraph, *, most: int, seed: int = 0) -> Trial:
        """A tenth of the facts or `most` of them, asked without any rules about entities."""
        rows = np.random.default_rng(seed).permutation(len(graph))
        return next(_held_out(graph, rows, max(1, min(len(graph) // _TRIALS, most))))


@dataclass(frozen=True)
class _Rows:
    """Questions with their candidates, the answer first."""

    relations: NDArray[np.int32]  # question
    fixed: NDArray[np.float32]  # question candidate: the score without rules about entities
    sums: NDArray[np.float32]  # question candidate (for its entity, for its members): of weights

    def __len__(self) -> int:
        return len(self.relations)

    def part(self, rows: NDArray[np.int64]) -> _Rows:
        """Some of the questions."""
        return _Rows(*(getattr(self, one.name)[rows] for one in fields(self)))

    @classmethod
    def joined(cls, parts: list[_Rows]) -> _Rows:
        """One after the other."""
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))


class ConstantLearning:
    """Finds and weighs the rules about entities of a graph, on top of a list that has none of them."""

    def __init__(  # noqa: PLR0913 - each has a default, and all but three are keywords
        self,
        model: RuleModel,
        graph: KnowledgeGraph,
        settings: Weighing,
        *,
        about: frozenset[str] | None = None,
        only: ConstantRules | None = None,
        seed: int = 0,
        deadline: Deadline = NO_DEADLINE,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> None:
        """`about` are the relations to conclude.

        With `only`, these rules stay, all of them, and no others are looked for: those that the facts do not bear out
        keep their weights.
        """
        self.model, self.settings, self.whole = model, settings, RulesOnGraph(model, graph)
        self.graph = self.whole.graph
        self.about, self.only, self.seed = about, only, seed
        self.deadline, self.progress, self.notes = deadline, progress, notes

    def rules(self) -> tuple[ConstantRules, Trial | None]:
        """The rules, and a trial with their like; None where there is none."""
        found = self._found(self.whole.facts, self.deadline.part(0.3), self.notes)
        first, rows = None, []
        for trial, own in self._trials() if len(found) else ():
            first = first or trial
            rows.append(own)
        if first is None:  # nothing says how much they count
            return (ConstantRules.none() if self.only is None else self.only), None
        factors = _UNIT * _factors(_Rows.joined(rows), len(found.relations) * 2, self)
        first = replace(first, rules=_ordered(first.rules, factors))
        found = _ordered(found, factors)
        return (found if self.only is None else keeping(found, self.only)), first

    def _found(self, facts: FeatureGraph, deadline: Deadline, notes: Notes = UNHEARD) -> ConstantRules:
        """The rules of some facts with the weights that they share out, by heads."""
        properties, counting = Properties.of(facts), self.settings.counting
        heard: dict[str, Any] = {"deadline": deadline, "progress": self.progress, "notes": notes}
        counted = counted_rules(facts, properties, counting, **heard)
        if self.about is not None:
            wanted = np.array([name in self.about for name in self.graph.relations])
            counted = counted.part(wanted[properties.codes[counted.heads] % len(wanted)])
        if self.only is not None:
            bodies, heads = ConstantsOnGraph(self.only, facts, self.whole.program.walks.loops).numbers()
            number, there = len(properties.codes), (bodies >= 0) & (heads >= 0)
            found = counted.bodies.astype(np.int64) * number + counted.heads
            among = np.isin(found, (bodies * number + heads)[there])
            counted = counted.part(among)
        counted = telling(counted, properties, counting.most_members)

        def weights_of(counted: Counted) -> Array:
            penalty = self.settings.penalty
            return joint_weights(counted, properties, penalty, cores=facts.cores, progress=self.progress)

        weights = weights_of(counted)
        if self.only is None:
            values = weights * np.sqrt(properties.sizes[counted.bodies])
            counted = counted.part(kept := _telling_most(values, self.settings.rules))
            again = (values[~kept] > 0).any() and not self.deadline.is_set
            weights = weights_of(counted) if again else weights[kept]
        return replace(self._named(counted, properties), weights=np.column_stack([weights, weights]))

    def _named(self, counted: Counted, properties: Properties) -> ConstantRules:
        """Counted rules under the names of the graph, without weights."""
        both = counted.bodies, counted.heads
        columns = [np.column_stack([properties.codes[one], properties.entities[one]]) for one in both]
        counts = np.column_stack([counted.predictions, counted.supports]).astype(np.int64)
        return ConstantRules(
            tuple(self.graph.relations),
            tuple(self.graph.entities),
            bodies=columns[0],
            heads=columns[1],
            weights=np.zeros((len(counted), 2)),
            counts=counts,
        )

    def _trials(self) -> Iterator[tuple[Trial, _Rows]]:
        """Parts of the facts, held out one after the other until there are questions enough."""
        graph = self.graph
        most = min(self.settings.questions, _SCORES // max(1, graph.num_entities))
        order = np.random.default_rng(self.seed).permutation(len(graph))
        done, size = 0, max(1, min(len(graph) // _TRIALS, most // 2))
        for trial in _held_out(graph, order, size, self.about):
            if len(trial.asked.anchors):
                state = RulesOnGraph(self.model, trial.graph)
                rules = self._found(state.facts, self.deadline.part(0.3))
                yield replace(trial, rules=rules), self._rows(state, rules, trial.asked)
            done += len(trial.asked.anchors)
            if done >= most or self.deadline.is_over:
                return

    def _rows(self, state: RulesOnGraph, rules: ConstantRules, asked: Questions) -> _Rows:
        """The candidates of a trial's questions, or with a deadline of as many questions as it allows."""
        deadline = self.deadline.part(0.5)
        finding = ConstantsOnGraph(rules, state.facts, state.program.walks.loops)
        at_once = _SCORES_AT_ONCE // max(1, state.graph.num_entities)
        pieces = pieces_of(len(asked.anchors), min(_AT_ONCE, max(1, at_once)))
        chance = np.random.default_rng(len(pieces))
        pieces = [pieces[place] for place in chance.permutation(len(pieces)).tolist()]

        def of_piece(piece: slice) -> _Rows:
            return self._rows_of(state, finding, asked.part(piece))

        found = []
        with self.progress("features of constants", total=len(asked.anchors), unit="questions") as report:
            for place, rows in enumerate(in_order(of_piece, pieces, cores=state.features.cores)):
                found.append(rows)
                report(pieces[place].stop - pieces[place].start)
                if deadline.is_over:
                    break
        return _Rows.joined(found)

    def _rows_of(self, state: RulesOnGraph, finding: ConstantsOnGraph, asked: Questions) -> _Rows:
        """The answer of each question and the candidates that score most."""
        scores, _ = state.scored(asked)
        self.whole.hide_known(scores, asked)
        sums = np.zeros((*scores.shape, 2))
        for rows, fired, values in finding.added(asked):
            entries = fired.questions + rows.start, fired.answers, fired.of_members.astype(np.int64)
            np.add.at(sums, entries, values)
        beside = scores + _UNIT * sums.sum(axis=2)
        everyone = np.arange(len(asked.answers))
        beside[everyone, asked.answers] = -np.inf
        width = min(self.settings.candidates, scores.shape[1] - 1)
        best = np.argpartition(-beside, max(0, width - 1), axis=1)[:, :width]
        of = everyone[:, None], np.column_stack([asked.answers, best])
        fixed = np.maximum(scores[of], _LOWEST).astype(np.float32)
        return _Rows(asked.relations, fixed, sums[of].astype(np.float32))


def _held_out(
    graph: KnowledgeGraph,
    order: NDArray[np.int64],
    size: int,
    about: frozenset[str] | None = None,
) -> Iterator[Trial]:
    """Parts of the facts in some order, each asked of all others, without rules about entities."""
    for start in range(0, min(len(graph), size * _TRIALS), size):
        gone = np.zeros(len(graph), dtype=np.bool_)
        gone[order[start : start + size]] = True
        left = graph.part(~gone)
        yield Trial(left, ConstantRules.none(), _asked(graph.part(gone), left, about))


def _asked(held: KnowledgeGraph, left: KnowledgeGraph, about: frozenset[str] | None) -> Questions:
    """Questions about facts that are held out, about entities that have others."""
    both, number = from_both_ends(held), max(1, len(held.relations))
    known = np.zeros(left.num_entities, dtype=np.bool_)
    known[left.heads] = known[left.tails] = True
    wanted = np.array([about is None or name in about for name in held.relations], dtype=np.bool_)
    asked = known[both.anchors] & known[both.answers] & wanted[both.relations % number]
    return both.part(np.flatnonzero(asked))


def _telling_most(values: Array, most: int) -> NDArray[np.bool_]:
    """At most this number of rules, those with the largest values. Rules with equal values all stay, or all go."""
    least = 0.0 if len(values) <= most else float(np.partition(values, len(values) - most - 1)[-most - 1])
    return np.asarray(values > least)


def _ordered(rules: ConstantRules, factors: Array) -> ConstantRules:
    """The rules with what they add for each of the two questions, those that add most first."""
    heads, number = rules.heads[:, 0], len(factors)
    weights = rules.weights * np.column_stack([factors[heads, 0], factors[(heads + number // 2) % number, 1]])
    weights[rules.bodies[:, 1] < 0, 1] = 0
    order = np.lexsort((np.arange(len(rules)), -weights.max(axis=1, initial=0), rules.head_relations()))
    return replace(rules, weights=weights.round(_DIGITS)).part(order)


def _factors(
    rows: _Rows, number: int, learning: ConstantLearning
) -> Array:  # directed relation (for its entity, for its members)
    """First those that are common to all relations, then each its own."""
    settings, seed = learning.settings, learning.seed
    with learning.progress("fitting constants", total=2 * settings.steps, unit="steps") as report:
        common = _descent(rows, np.ones((1, 3)), None, settings, seed, report)
        found = _descent(rows, np.repeat(common, number, axis=0), common, settings, seed, report)
    return np.clip(found[:, :2] / found[:, 2:], *settings.range)


def _descent(
    rows: _Rows, numbers: Array, common: Array | None, settings: Weighing, seed: int, report: Any
) -> Array:  # relation (for its entity, for its members, for all)
    """Adam on the numbers of all relations, or of each one."""
    mean, squares = np.zeros_like(numbers), np.zeros_like(numbers)
    chance, size = np.random.default_rng(seed), min(settings.batch, len(rows))
    for step in range(1, settings.steps + 1):
        batch = rows.part(chance.integers(len(rows), size=size))
        group = batch.relations if common is not None else np.zeros(size, np.int64)
        gradient = np.zeros_like(numbers)
        np.add.at(gradient, group, _slopes(batch, numbers[group]) / size)
        if common is not None:
            gradient += settings.prior / len(rows) * (numbers - common)
        mean = _MEAN * mean + (1 - _MEAN) * gradient
        squares = _SQUARES * squares + (1 - _SQUARES) * gradient**2
        pace = settings.rate * (1 - (step - 1) / settings.steps)
        move = mean / (1 - _MEAN**step) / (np.sqrt(squares / (1 - _SQUARES**step)) + _TINY)
        numbers = np.maximum(numbers - pace * move, (0, 0, _LEAST_SHARE))
        report(1)
    return numbers


def _slopes(rows: _Rows, numbers: Array) -> Array:  # question (for its entity, for its members, for all)
    """How the loss of each question changes with its numbers."""
    parts = np.concatenate([_UNIT * rows.sums, rows.fixed[:, :, None]], axis=2)
    scores = (parts * numbers[:, None, :]).sum(axis=2)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[:, 0] -= 1
    return np.asarray((parts * shares[:, :, None]).sum(axis=1))
