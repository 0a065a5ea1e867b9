"""The rule baseline: mined closed paths, combined by noisy-or.

A rule with confidence c that leads from the query's entity to a candidate says "true" with probability c. If
rules were independent, the candidate would be true with probability 1 - prod(1 - c). Scores here are

    - sum over the rules that reach the candidate of log(1 - c)

which orders candidates in the same way and does not run into 1 where many rules agree. A path that comes back to
the query's own entity is no evidence: bodies such as r ; r^-1 always do, and few relations are reflexive.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.baselines.kernels import add_evidence
from reshuffle.kg import CompletedGraph, inverse_name
from reshuffle.kg.rows import starts_in
from reshuffle.progress import SILENT
from reshuffle.rules.mining import mine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rules import PathRule, RuleBase

_ALMOST_CERTAIN = 1 - 1e-6
_ENTRIES_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class RuleBaseline:
    """Path rules with confidences, to be put on any graph. The rules may also come from a file.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> from reshuffle.rules import PathRule, Quality, RuleBase
    >>> rules = RuleBase((PathRule(("bornIn", "cityIn"), "citizenOf", Quality(10, 5, 0.5)),))
    >>> facts = KnowledgeGraph(
    ...     [("ada", "bornIn", "london"), ("london", "cityIn", "uk"), ("bob", "citizenOf", "uk")]
    ... )
    >>> scorer = RuleBaseline(rules).on(facts)
    >>> ada, citizen_of = facts.entities.ids(["ada"]), facts.relations.ids(["citizenOf"])
    >>> scores = scorer.scores(ada, citizen_of, side="tail", candidates=None)
    >>> [(name, round(float(score), 3)) for name, score in zip(facts.entities, scores[0])]
    [('ada', 0.0), ('london', 0.0), ('uk', 0.693), ('bob', 0.0)]
    """

    rules: RuleBase
    self_loops: bool = False
    """May the query's own entity be an answer?"""

    @classmethod
    def fit(
        cls,
        graph: KnowledgeGraph,
        *,
        max_length: int = 2,
        min_support: int = 2,
        min_confidence: float = 0.0,
        progress: Progress = SILENT,
    ) -> RuleBaseline:
        """The rules mined from training facts."""
        mined = mine(
            graph,
            max_length=max_length,
            min_support=min_support,
            min_confidence=min_confidence,
            progress=progress,
        )
        return cls(mined.rules)

    def on(self, graph: KnowledgeGraph) -> RuleScorer:
        """The rules as a scorer on a graph. Relations are matched by name."""
        return RuleScorer(self, graph)


@dataclass(frozen=True)
class _Program:
    """The rules that answer each directed relation, sorted by body; walking backwards uses r + R for r."""

    firsts: NDArray[np.int64]  # directed relation + 1
    bodies: NDArray[np.int32]  # rule step
    lengths: NDArray[np.int64]  # rule
    shared: NDArray[np.int64]  # rule: how many first steps are those of the rule before
    weights: NDArray[np.float32]  # rule

    @classmethod
    def of(cls, rules: RuleBase, graph: KnowledgeGraph) -> _Program:
        weights = _weights(rules, _codes(graph))
        walks = sorted(weights)
        bodies = np.full((len(walks), max((len(body) for _, body in walks), default=1)), -1, dtype=np.int32)
        for place, (_, body) in enumerate(walks):
            bodies[place, : len(body)] = body
        targets = np.array([target for target, _ in walks], dtype=np.int64)
        return cls(
            starts_in(targets, num_rows=2 * len(graph.relations)),
            bodies,
            (bodies >= 0).sum(axis=1),
            _shared_steps(bodies),
            np.array([weights[walk] for walk in walks], dtype=np.float32),
        )


def _codes(graph: KnowledgeGraph) -> dict[str, int]:
    names = list(graph.relations)
    return {name: code for code, name in enumerate([*names, *map(inverse_name, names)])}


def _weights(rules: RuleBase, codes: dict[str, int]) -> dict[tuple[int, tuple[int, ...]], float]:
    """The weight of each head and body; rules about relations that the graph does not have are left out.

    A rule and its reversal may both be given: they say the same, and count once.
    """
    weights: dict[tuple[int, tuple[int, ...]], float] = {}
    for rule in rules.path_rules:
        weight = _weight(rule)
        for one in (rule, rule.reversed()):
            if all(name in codes for name in (one.head, *one.body)):
                walk = codes[one.head], tuple(codes[name] for name in one.body)
                weights[walk] = max(weight, weights.get(walk, 0.0))
    return weights


def _weight(rule: PathRule) -> float:
    confidence = rule.quality.confidence if rule.quality else None
    if confidence is None:
        raise InputError(
            f"found a rule without a confidence: {rule}",
            hint="mine the rules, or write 'predictions support confidence' before each rule",
        )
    return float(-np.log1p(-min(confidence, _ALMOST_CERTAIN)))


def _shared_steps(bodies: NDArray[np.int32]) -> NDArray[np.int64]:
    steps = np.cumprod(bodies[1:] == bodies[:-1], axis=1).sum(axis=1)
    return np.concatenate([np.zeros(min(1, len(bodies)), dtype=np.int64), steps])


@dataclass(frozen=True)
class RuleScorer:
    """Scores candidates by rules on one graph."""

    name = "rules"

    baseline: RuleBaseline
    graph: KnowledgeGraph

    def on(self, graph: KnowledgeGraph) -> RuleScorer:
        """The same rules as a scorer on another graph."""
        return RuleScorer(self.baseline, graph)

    @cached_property
    def _program(self) -> _Program:
        return _Program.of(self.baseline.rules, self.graph)

    @cached_property
    def _completed(self) -> CompletedGraph:
        return CompletedGraph(self.graph, num_identities=0)

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """The summed evidence of the rules (`Scorer.scores`). Heads are found from the tail, by reversed rules."""
        directed = relations.astype(np.int64) + (0 if side == "tail" else len(self.graph.relations))
        if candidates is None:
            return self._evidence(anchors, directed)
        step = max(1, _ENTRIES_AT_ONCE // max(1, self.graph.num_entities))
        blocks = [slice(start, start + step) for start in range(0, len(anchors), step)]
        parts = [
            np.take_along_axis(self._evidence(anchors[rows], directed[rows]), candidates[rows], axis=1)
            for rows in blocks
        ]
        return np.concatenate(parts)

    def _evidence(
        self, anchors: NDArray[np.int32], directed: NDArray[np.int64]
    ) -> NDArray[np.float32]:  # query entity
        keys = directed * self.graph.num_entities + anchors
        distinct, rows = np.unique(keys, return_inverse=True)
        relations, starts = np.divmod(distinct, self.graph.num_entities)
        program, edges = self._program, self._completed.by_head
        evidence = np.zeros((len(distinct), self.graph.num_entities), dtype=np.float32)
        add_evidence(
            starts,
            program.firsts[relations],
            program.firsts[relations + 1],
            program.bodies,
            program.lengths,
            program.shared,
            program.weights,
            edges.starts,
            edges.relations,
            edges.neighbours,
            evidence,
        )
        if not self.baseline.self_loops:
            evidence[np.arange(len(starts)), starts] = 0
        return evidence[rows]
