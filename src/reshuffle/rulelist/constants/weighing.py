"""The weights of rules about particular entities, fitted on top of a rule list whose own weights stay.

A rule says two numbers: -log(1 - confidence), and by how much its head is more frequent among those who have the body,
as a logarithm. What it adds to a score is a weight times each. There is one pair of weights for all rules with the same
relations that answer questions the same way, held at a pair that is common to all relations:

    loss = sum over questions of -log softmax(scores)[answer]  +  prior / 2 * sum over shapes of (w - common)^2

Questions are facts, each asked with that fact hidden, and counted without it. The candidates of a question are its
answer and those who score most before the fit; all others stay as they are, with the sum of their exponentials.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.kg.rows import starts_of
from reshuffle.progress import SILENT
from reshuffle.rulelist.constants.constant_rules import ConstantRules
from reshuffle.rulelist.constants.constants_on_graph import ConstantsOnGraph
from reshuffle.rulelist.constants.counting import Counted, Counting, counted_rules
from reshuffle.rulelist.features import Questions, in_order, pieces_of
from reshuffle.rulelist.kernels.constant_walks import OF_ANY, OF_MEMBERS, PER_CODE, constants_loss
from reshuffle.rulelist.training_rows import questions_of
from reshuffle.rules.rule import PSEUDOCOUNT

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.progress import Progress
    from reshuffle.rulelist.constants.constants_on_graph import Fired
    from reshuffle.rulelist.constants.properties import Properties
    from reshuffle.rulelist.rule_answers import RulesOnGraph

    Array = NDArray[np.float64]

_AT_ONCE = 64
_SCORES_AT_ONCE = 1 << 22
"""Of the questions that are looked at together."""
_SCORES = 500_000_000
"""Of all questions: on a graph with many entities fewer are asked."""
_DIGITS = 4
_COMMON = 4
"""Pairs that are common to all relations: for rules with and without an entity in the body, by the question."""
_MEAN, _SQUARES, _TINY = 0.9, 0.999, 1e-8  # Adam's


@dataclass(frozen=True)
class Weighing:
    """How rules about particular entities are found and weighed."""

    counting: Counting = field(default_factory=Counting)
    rules: int = 200_000
    """At most; of more, those with the least support are left out."""
    questions: int = 20_000
    candidates: int = 100
    steps: int = 200
    batch: int = 2_048
    rate: float = 0.05
    prior: float = 10.0
    start: float = 0.3
    """Both weights before the fit."""


@dataclass(frozen=True)
class _Rows:
    """Questions with their candidates and entries, as the kernel takes them."""

    starts: NDArray[np.int64]
    fixed: NDArray[np.float32]
    rest: Array
    entry_starts: NDArray[np.int64]
    shapes: NDArray[np.int64]
    numbers: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.rest)

    @classmethod
    def joined(cls, parts: list[_Rows]) -> _Rows:
        """One after the other."""
        numbers = [np.zeros((0, 2), np.float32), *(part.numbers for part in parts)]
        return cls(
            _shifted([part.starts for part in parts]),
            np.concatenate([np.zeros(0, np.float32), *(part.fixed for part in parts)]),
            np.concatenate([np.zeros(0), *(part.rest for part in parts)]),
            _shifted([part.entry_starts for part in parts]),
            np.concatenate([np.zeros(0, np.int64), *(part.shapes for part in parts)]),
            np.concatenate(numbers),
        )


def _shifted(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return starts_of(np.concatenate([np.zeros(0, np.int64), *(np.diff(part) for part in parts)]))


@dataclass(frozen=True)
class _Measured:
    """The counted rules of a graph, with what they say."""

    counted: Counted
    sizes: NDArray[np.int64]  # rule: how many have the head
    having: NDArray[np.int64]  # rule: how many have some edge of its code

    @classmethod
    def of(cls, counted: Counted, properties: Properties) -> _Measured:
        return cls(
            counted,
            properties.sizes[counted.heads],
            properties.having()[properties.codes[counted.heads]],
        )

    def numbers(
        self, rules: NDArray[np.integer[Any]] | slice = slice(None), less: NDArray[np.bool_] | int = 0
    ) -> Array:  # rule (confidence, lift)
        """What rules say, with so many facts of the support left out."""
        support, joined = self.counted.supports[rules] - less, self.counted.predictions[rules]
        base = np.maximum(self.sizes[rules] - less, 0.5) / np.maximum(self.having[rules], 1)
        sure = support / (joined + PSEUDOCOUNT)
        lift = (support + PSEUDOCOUNT * base) / ((joined + PSEUDOCOUNT) * base)
        return np.column_stack([-np.log1p(-sure), np.maximum(np.log(lift), 0)])


def weighed_rules(
    state: RulesOnGraph,
    settings: Weighing,
    *,
    about: frozenset[str] | None = None,
    only: ConstantRules | None = None,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = SILENT,
) -> ConstantRules:
    """The rules about entities of a graph, weighed on top of a list that has none of them.

    `about` are the relations to conclude, and `only` the rules that may take part, None for all.
    """
    bare = _rules_of(state, Counted.joined([]))
    finding = ConstantsOnGraph(bare, state.facts, state.program.walks.loops)
    part = deadline.part(0.3)
    counted = counted_rules(
        state.facts, finding.properties, settings.counting, deadline=part, progress=progress
    )
    if about is not None:
        wanted = np.array([name in about for name in state.graph.relations])
        counted = counted.part(wanted[finding.properties.codes[counted.heads] % len(wanted)])
    if only is not None:
        counted = counted.part(_among(_rules_of(state, counted, finding.properties), only))
    counted = counted.part(_often_enough(counted, settings.rules))
    measured = _Measured.of(counted, finding.properties)
    finding = replace(finding, rules=_rules_of(state, counted, finding.properties))
    if not len(counted):
        return bare
    asked = questions_of(state.graph, about)
    most = min(settings.questions, _SCORES // max(1, state.graph.num_entities))
    chosen = np.random.default_rng(seed).permutation(len(asked.anchors))[:most]
    asked = asked.part(np.sort(chosen))
    rows = _rows(state, finding, measured, asked, settings, deadline.part(0.5), progress)
    weights = _Fit(rows, state.facts.num_relations * 2, settings, seed).run(progress)
    return _with_weights(finding.rules, measured, weights)


def _among(rules: ConstantRules, only: ConstantRules) -> NDArray[np.bool_]:
    """Which of some rules are among others, which may have other names."""
    wanted = {only.claim(place) for place in range(len(only))}
    return np.fromiter((rules.claim(place) in wanted for place in range(len(rules))), np.bool_, len(rules))


def _often_enough(counted: Counted, most: int) -> NDArray[np.bool_]:
    """The rules with the largest support, up to so many, those of one support all or none."""
    if len(counted) <= most:
        return np.ones(len(counted), dtype=np.bool_)
    least = np.partition(counted.supports, len(counted) - most - 1)[len(counted) - most - 1]
    enough: NDArray[np.bool_] = counted.supports > least
    return enough


def _rules_of(state: RulesOnGraph, counted: Counted, properties: Properties | None = None) -> ConstantRules:
    """Counted rules under the names of a graph, without weights."""
    bare = ConstantRules.none(state.graph.relations)
    if properties is None:
        return bare
    both = counted.bodies, counted.heads
    columns = [np.column_stack([properties.codes[one], properties.entities[one]]) for one in both]
    counts = np.column_stack([counted.predictions, counted.supports]).astype(np.int64)
    return replace(
        bare,
        entities=tuple(state.graph.entities),
        bodies=columns[0],
        heads=columns[1],
        weights=np.zeros((len(counted), 2)),
        counts=counts,
    )


def _rows(
    state: RulesOnGraph,
    finding: ConstantsOnGraph,
    measured: _Measured,
    asked: Questions,
    settings: Weighing,
    deadline: Deadline,
    progress: Progress,
) -> _Rows:
    """The candidates of questions, or with a deadline of as many questions as it allows."""
    at_once = _SCORES_AT_ONCE // max(1, state.graph.num_entities)
    pieces = pieces_of(len(asked.anchors), min(_AT_ONCE, max(1, at_once)))
    chance = np.random.default_rng(len(pieces))
    pieces = [pieces[place] for place in chance.permutation(len(pieces)).tolist()]

    def of_piece(piece: slice) -> _Rows:
        return _rows_of(state, finding, measured, asked.part(piece), settings)

    found = []
    with progress("features of constants", total=len(asked.anchors), unit="questions") as report:
        for place, rows in enumerate(in_order(of_piece, pieces, cores=state.features.cores)):
            found.append(rows)
            report(pieces[place].stop - pieces[place].start)
            if deadline.is_over:
                break
    return _Rows.joined(found)


def _rows_of(
    state: RulesOnGraph, finding: ConstantsOnGraph, measured: _Measured, asked: Questions, settings: Weighing
) -> _Rows:
    scores, _ = state.scored(asked)
    state.hide_known(scores, asked)
    total = scores.copy()
    entries = []
    for rows, fired in finding.fired(asked):
        numbers = _numbers(measured, fired)
        worth = numbers.sum(axis=1)
        counting = np.flatnonzero(fired.strongest(worth, scores.shape[1]))
        of = fired.questions[counting] + rows.start
        answers, shapes = fired.answers[counting], fired.shapes[counting].astype(np.int64)
        np.add.at(total, (of, answers), settings.start * worth[counting])
        shapes += asked.relations[of].astype(np.int64) * (PER_CODE * 2 * state.facts.num_relations)
        entries.append((of, answers, shapes, numbers[counting].astype(np.float32)))
    of, answers, shapes, numbers = (np.concatenate(column) for column in zip(*entries, strict=True))
    return _chosen((scores, total), asked.answers, (of, answers, shapes, numbers), settings.candidates)


def _numbers(measured: _Measured, fired: Fired) -> Array:
    """What the rules of entries say, counted without the hidden fact."""
    return measured.numbers(fired.rules, fired.less.astype(np.int64))


def _chosen(
    before_and_with: tuple[Array, Array], hidden: NDArray[np.int32], entries: tuple[Any, ...], most: int
) -> _Rows:
    """The answer of each question and the candidates that score most, with their entries."""
    (scores, total), (of, answers, shapes, numbers) = before_and_with, entries
    everyone = np.arange(len(hidden))
    width = min(most, scores.shape[1] - 1)
    beside = total.copy()
    beside[everyone, hidden] = -np.inf
    best = (
        np.argpartition(-beside, width - 1, axis=1)[:, :width]
        if width
        else np.zeros((len(hidden), 0), np.int64)
    )
    candidates = np.column_stack([hidden, best])
    beside[everyone[:, None], best] = -np.inf
    highest = np.maximum(beside.max(axis=1), -1e300)
    rest = highest + np.log(np.maximum(np.exp(beside - highest[:, None]).sum(axis=1), 1e-300))
    places = np.full(scores.shape, -1, dtype=np.int32)
    places[everyone[:, None], candidates] = np.arange(candidates.shape[1])
    here = places[of, answers]
    kept = np.flatnonzero(here >= 0)
    at = of[kept] * candidates.shape[1] + here[kept]
    order = np.argsort(at, kind="stable")
    sizes = np.bincount(at, minlength=candidates.size)
    fixed = scores[everyone[:, None], candidates].ravel()
    return _Rows(
        np.arange(len(hidden) + 1, dtype=np.int64) * candidates.shape[1],
        np.maximum(fixed, -1e30).astype(np.float32),
        rest,
        starts_of(sizes),
        shapes[kept][order],
        numbers[kept][order],
    )


class _Fit:
    """Adam on the weights of shapes; first those that are common to all relations, then each its own."""

    def __init__(self, rows: _Rows, codes: int, settings: Weighing, seed: int) -> None:
        self.shapes, numbered = np.unique(rows.shapes, return_inverse=True)
        self.rows = replace(rows, shapes=numbered.astype(np.int64))
        self.codes, self.settings, self.seed = codes, settings, seed
        self.groups = self.shapes % _COMMON

    def run(self, progress: Progress) -> dict[int, Array]:
        """The weights of each shape; the common ones under -1 - group."""
        steps = self.settings.steps
        with progress("fitting constants", total=2 * steps, unit="steps") as report:
            common = np.full((_COMMON, 2), self.settings.start)
            common = self._descent(common, self.groups, None, report)
            own = self._descent(common[self.groups].copy(), np.arange(len(self.shapes)), common, report)
        found = {int(shape): pair for shape, pair in zip(self.shapes.tolist(), own, strict=True)}
        return found | {-1 - group: common[group] for group in range(_COMMON)}

    def _descent(self, weights: Array, group: NDArray[np.int64], common: Array | None, report: Any) -> Array:
        mean, squares = np.zeros_like(weights), np.zeros_like(weights)
        for step, batch in enumerate(self._batches(), start=1):
            gradient = np.zeros((len(self.shapes), 2))
            arrays = tuple(getattr(self.rows, name) for name in _Rows.__annotations__)
            constants_loss(batch, arrays, weights[group], gradient)
            gathered = np.zeros_like(weights)
            np.add.at(gathered, group, gradient)
            gathered /= max(1, len(batch))
            if common is not None:
                gathered += self.settings.prior / len(self.rows) * (weights - common[self.groups])
            mean = _MEAN * mean + (1 - _MEAN) * gathered
            squares = _SQUARES * squares + (1 - _SQUARES) * gathered**2
            pace = self.settings.rate * (1 - (step - 1) / self.settings.steps)
            move = mean / (1 - _MEAN**step) / (np.sqrt(squares / (1 - _SQUARES**step)) + _TINY)
            weights = np.maximum(weights - pace * move, 0)
            report(1)
        return weights

    def _batches(self) -> list[NDArray[np.int64]]:
        chance, size = np.random.default_rng(self.seed), min(self.settings.batch, len(self.rows))
        return [chance.integers(len(self.rows), size=size) for _ in range(self.settings.steps)]


def _with_weights(rules: ConstantRules, measured: _Measured, found: dict[int, Array]) -> ConstantRules:
    """The rules with what they add for each of the two questions, those that add something."""
    number = 2 * len(rules.relations)
    weights, less = np.zeros((len(rules), 2)), np.zeros((len(rules), 2))
    numbers, fewer = measured.numbers(), measured.numbers(less=1)
    is_any = np.where(rules.bodies[:, 1] < 0, OF_ANY, 0)
    shapes = np.array(sorted(shape for shape in found if shape >= 0), dtype=np.int64)
    pairs = np.array([found[shape] for shape in shapes.tolist()]).reshape(-1, 2)
    for way, bit in enumerate((0, OF_MEMBERS)):
        asked = rules.heads[:, 0] if not way else (rules.heads[:, 0] + number // 2) % number
        own = rules.bodies[:, 0].astype(np.int64) * PER_CODE + is_any + bit
        own += asked.astype(np.int64) * (PER_CODE * number)
        factors = np.array([found[-1 - group] for group in range(_COMMON)])[own % _COMMON]
        place = np.minimum(np.searchsorted(shapes, own), max(0, len(shapes) - 1))
        known = shapes[place] == own if len(shapes) else np.zeros(len(own), dtype=np.bool_)
        factors[known] = pairs[place[known]]
        if way:
            factors[is_any > 0] = 0
        weights[:, way] = (factors * numbers).sum(axis=1).round(_DIGITS)
        less[:, way] = (factors * fewer).sum(axis=1).round(_DIGITS)
    order = np.lexsort((np.arange(len(rules)), -weights.max(axis=1), rules.head_relations()))
    return replace(rules, weights=weights, less=np.maximum(less, 0)).part(order[weights[order].any(axis=1)])
