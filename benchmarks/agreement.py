"""Compare the rankings of several forms of a model: soft, hardened, and rule list.

Each scorer is ranked by one protocol on the same candidates, and each pair is compared by its answers. A query's
answers are all entities but those known to be true otherwise. The k highest are a scorer's top k; where several tie
for the last places, each is in the top k with the share of places that are left. Two scorers agree on

    sum over entities of min(share in the one's top k, share in the other's) / k

of the top k: 1 for equal rankings, and for a scorer that ties everything no more than chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.protocols import protocol_of
from reshuffle.evaluation.queries import answerable, known_answers, same_ids
from reshuffle.evaluation.ranking import evaluate
from reshuffle.evaluation.scorer import SIDES
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.frames import RowFrames
from reshuffle.progress import SILENT
from reshuffle.text import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from reshuffle.evaluation import RankingProtocol, Report, Scorer, Side
    from reshuffle.evaluation.queries import Known, KnownAnswers, Queries, UnknownPolicy
    from reshuffle.progress import Progress

TOPS = (1, 10)
_SCORES_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Agreement:
    """The shares of the top 1 and of the top 10 that two scorers have in common."""

    first: str
    second: str
    top1: float
    top10: float


@dataclass(frozen=True)
class Fidelity(RowFrames):
    """Each scorer's report, and how far each pair agrees. Prints as two tables."""

    reports: dict[str, Report]
    agreements: tuple[Agreement, ...]
    skipped: int = 0
    """Queries that not all of the scorers can answer."""

    def kept(self, metric: str, first: str, second: str) -> float:
        """The second scorer's metric as a share of the first one's, such as a hardened model's of the soft one's."""
        return self.reports[second][metric] / self.reports[first][metric]

    def rows(self) -> list[dict[str, Any]]:
        """One row per pair, with the metrics of both."""
        return [
            {
                "first": pair.first,
                "second": pair.second,
                "top1_agreement": pair.top1,
                "top10_agreement": pair.top10,
                **{
                    f"{place}_{metric}": self.reports[name][metric]
                    for place, name in (("first", pair.first), ("second", pair.second))
                    for metric in ("hits@10", "mrr")
                },
            }
            for pair in self.agreements
        ]

    def to_dict(self) -> dict[str, Any]:
        """The reports and agreements as plain data."""
        return {
            "scorers": {name: report.to_dict() for name, report in self.reports.items()},
            "agreements": self.rows(),
            "skipped": self.skipped,
        }

    def __str__(self) -> str:
        scorers = [[name, report["hits@10"], report["mrr"]] for name, report in self.reports.items()]
        pairs = [[f"{pair.first} and {pair.second}", pair.top1, pair.top10] for pair in self.agreements]
        lines = [
            table(["scorer", "hits@10", "mrr"], scorers),
            "",
            table(["agreement", "top 1", "top 10"], pairs),
        ]
        lines += [f"left out: {self.skipped:,} triples that not all can answer"] if self.skipped else []
        return "\n".join(lines)


def fidelity(
    scorers: Mapping[str, Scorer],
    queries: KnowledgeGraph | Iterable[tuple[str, str, str]],
    *,
    protocol: str | RankingProtocol = "sampled-50",
    known: Known = None,
    seed: int = 0,
    unknown: UnknownPolicy = "refuse",
    progress: Progress = SILENT,
) -> Fidelity:
    """Compare scorers on the same graph; options as in `evaluate`."""
    asked = queries if isinstance(queries, KnowledgeGraph) else KnowledgeGraph(queries)
    _check(scorers)
    common, able = _common(scorers, asked, unknown)
    options: dict[str, Any] = {"protocol": protocol, "known": known, "seed": seed, "progress": progress}
    reports = {name: evaluate(scorer, common, baseline=False, **options) for name, scorer in able.items()}
    first = next(iter(able.values()))
    rows = answerable(first, common, "refuse").queries
    truths = known_answers(known, protocol_of(protocol).filters, first.graph, rows)
    agreements = _agreements(able, rows, truths, progress)
    return Fidelity(reports, agreements, len(asked) - len(common))


def _check(scorers: Mapping[str, Scorer]) -> None:
    if len(scorers) < 2:
        raise InputError(f"found {len(scorers)} scorers to compare", hint="give two or more, by name")
    first, *others = (scorer.graph for scorer in scorers.values())
    if not all(same_ids(first, other, relations=_named_in_both(first, other)) for other in others):
        raise InputError(
            "scorers on different graphs cannot be compared", hint="put all of them .on the same graph"
        )


def _named_in_both(one: KnowledgeGraph, other: KnowledgeGraph) -> NDArray[np.int64]:
    return np.flatnonzero(other.relations.positions_of(one.relations) >= 0)


def _common(
    scorers: Mapping[str, Scorer], queries: KnowledgeGraph, unknown: UnknownPolicy
) -> tuple[KnowledgeGraph, dict[str, Scorer]]:
    """The queries that all scorers can answer, and the scorers that do so."""
    able: dict[str, Scorer] = {}
    for name, scorer in scorers.items():
        one = answerable(scorer, queries, unknown)
        able[name] = one.scorer
        queries = one.queries.as_graph(one.scorer.graph)
    return queries, able


def _agreements(
    scorers: Mapping[str, Scorer], queries: Queries, known: KnownAnswers, progress: Progress
) -> tuple[Agreement, ...]:
    names = list(combinations(scorers, 2))
    sums = {(pair, top): 0.0 for pair in names for top in TOPS}
    width = next(iter(scorers.values())).graph.num_entities
    with progress("comparing answers", total=2 * len(queries), unit="queries") as report:
        for side, batch in _batches(queries, width):
            excluded = _other_answers(batch, known, side, width)
            scores = {name: _scores(scorer, batch, side, excluded) for name, scorer in scorers.items()}
            for top in TOPS:
                shares = {name: shares_in_top(values, top) for name, values in scores.items()}
                for pair in names:
                    both = np.minimum(shares[pair[0]], shares[pair[1]]).sum(axis=1)
                    sums[pair, top] += float((both / shares[pair[0]].sum(axis=1)).sum())
            report(len(batch))
    asked = max(1, 2 * len(queries))
    return tuple(Agreement(*pair, *(sums[pair, top] / asked for top in TOPS)) for pair in names)


def _batches(queries: Queries, width: int) -> Iterator[tuple[Side, Queries]]:
    step = max(1, _SCORES_AT_ONCE // max(1, width))
    for side in SIDES:
        for start in range(0, len(queries), step):
            yield side, queries[slice(start, start + step)]


def _other_answers(queries: Queries, known: KnownAnswers, side: Side, width: int) -> NDArray[np.bool_]:
    """For each query the known answers other than the one that is asked for."""
    excluded = np.zeros((len(queries), width), dtype=np.bool_)
    triples = zip(queries.anchors(side), queries.relations, queries.answers(side), strict=True)
    for row, (anchor, relation, answer) in enumerate(triples):
        excluded[row, known.of(int(anchor), int(relation), int(answer), side)] = True
        excluded[row, answer] = False
    return excluded


def _scores(scorer: Scorer, queries: Queries, side: Side, excluded: NDArray[np.bool_]) -> NDArray[np.float32]:
    scores = scorer.scores(queries.anchors(side), queries.relations, side=side, candidates=None)
    return np.where(excluded, -np.inf, scores).astype(np.float32)


def shares_in_top(scores: NDArray[np.float32], top: int) -> NDArray[np.float64]:  # query entity
    """How far each entity is among the `top` highest of its row; those at -infinity are no candidates.

    >>> shares_in_top(np.array([[3.0, 1.0, 1.0, 0.0], [2.0, 2.0, 2.0, -np.inf]], dtype=np.float32), 2).tolist()
    [[1.0, 0.5, 0.5, 0.0], [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 0.0]]
    """
    candidates = (scores > -np.inf).sum(axis=1)
    places = np.minimum(top, candidates)
    ordered = -np.sort(-scores, axis=1)
    last = ordered[np.arange(len(scores)), places - 1][:, None]
    above, tied = scores > last, scores == last
    left = places - above.sum(axis=1)
    shares: NDArray[np.float64] = above + tied * (left / np.maximum(tied.sum(axis=1), 1))[:, None]
    return shares
