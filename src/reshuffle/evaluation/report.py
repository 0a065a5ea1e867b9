"""The result of an evaluation: ranks and metrics of a scorer and of baselines."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.evaluation.metrics import bootstrap_interval, per_query
from reshuffle.evaluation.ranks import Ranks
from reshuffle.evaluation.report_pictures import by_relation, charts, scenes
from reshuffle.evaluation.scorer import SIDES
from reshuffle.kg.frames import RowFrames
from reshuffle.pictures.figures import bar_figure
from reshuffle.pictures.markup import paragraph, table_html
from reshuffle.pictures.notebook import drawn
from reshuffle.text import counted, table

if TYPE_CHECKING:
    from reshuffle.evaluation.metrics import Metrics
    from reshuffle.evaluation.negatives import Negatives
    from reshuffle.evaluation.protocols import RankingProtocol
    from reshuffle.evaluation.reliability import Reliability
    from reshuffle.evaluation.scorer import Side


@dataclass(frozen=True)
class Ranked:
    """One scorer's ranks, by side, under one protocol."""

    name: str
    protocol: RankingProtocol
    ranks: dict[Side, Ranks] = field(repr=False)

    @cached_property
    def both(self) -> Ranks:
        """The ranks of the head queries, then those of the tail queries."""
        return Ranks.joined([self.ranks[side] for side in SIDES])

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics over head and tail queries together."""
        return self.protocol.summary(self.both)

    @cached_property
    def sides(self) -> dict[Side, Metrics]:
        """The metrics of head queries and of tail queries."""
        return {side: self.protocol.summary(self.ranks[side]) for side in SIDES}

    def interval(self, metric: str, *, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
        """A bootstrap interval of the metric's mean: what other queries of the same kind might have given.

        A triple's two queries are drawn together, since they are about the same fact.
        """
        values = per_query(self.both, self.protocol.ties, draws=self.protocol.draws)[metric]
        paired = values.reshape(len(SIDES), -1).mean(axis=0)
        return bootstrap_interval(np.asarray(paired), seed=seed, level=level)

    def rows(self) -> list[dict[str, Any]]:
        """One row for both sides together, one per side."""
        named = [("both", self.metrics), *self.sides.items()]
        return [{"scorer": self.name, "side": side, **metrics.to_dict()} for side, metrics in named]


@dataclass(frozen=True)
class Report(RowFrames):
    """The result of `evaluate`; prints as a table.

    `baseline` is the type baseline on the same candidates, and `rules` mined rules where they were given. `skipped`
    counts triples that could not be asked, by reason, and `queries_among_facts` those that are facts of the graph.
    Per-query ranks are in `result.ranks`, sampled candidates in `negatives`. `seed` is None where the candidates come
    from a file that does not say how they were drawn.
    """

    result: Ranked
    baseline: Ranked | None
    seed: int | None
    seconds: float
    negatives: Negatives | None = field(default=None, repr=False)
    skipped: dict[str, int] = field(default_factory=dict)
    queries_among_facts: int = 0
    rules: Ranked | None = None
    relations: tuple[str, ...] = field(default=(), repr=False)
    """Of the triples that were asked for, in the order of the ranks."""
    queries_not_known: int = 0
    """Queries that the caller left out of the known triples: as answers of other queries they count as wrong."""
    reliability: Reliability | None = None
    """How likely first answers are said to be, and how many are true; None where the scorer does not say, or
    candidates are sampled."""

    @property
    def protocol(self) -> RankingProtocol:
        """The protocol, which says how candidates were chosen."""
        return self.result.protocol

    @property
    def metrics(self) -> Metrics:
        """The metrics over head and tail queries together."""
        return self.result.metrics

    def __getitem__(self, metric: str) -> float:
        return self.metrics[metric]

    @property
    def queries(self) -> int:
        """How many triples were asked for; each is ranked on both sides."""
        return len(self.result.ranks["tail"])

    def remarks(self) -> tuple[str, ...]:
        """What to keep in mind with these numbers."""
        found = []
        if (count := self.queries_among_facts) == 1:
            found.append(f"{self._of_all(count)} is a fact of the graph: it is ranked with itself in it")
        elif count:
            found.append(
                f"{self._of_all(count)} are facts of the graph: they are ranked with themselves in it"
            )
        if (count := self.queries_not_known) and self.queries > 1:
            found.append(
                f"{self._of_all(count)} {'is' if count == 1 else 'are'} not among the known triples: give them in "
                "`known`, too, or they count as wrong answers of other queries"
            )
        return tuple(found)

    def _of_all(self, count: int) -> str:
        return f"{count:,} of {counted(self.queries, 'query', 'queries')}"

    def rows(self) -> list[dict[str, Any]]:
        """The table's rows, the baselines' after the scorer's."""
        return [{"protocol": self.protocol.name, **row} for ranked in self.ranked for row in ranked.rows()]

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        """The scorer and the baselines beside it."""
        return tuple(one for one in (self.result, self.baseline, self.rules) if one is not None)

    def to_dict(self) -> dict[str, Any]:
        """The whole report as plain data, without the ranks of single queries."""
        return {
            "protocol": self.protocol.name,
            "seed": self.seed,
            "queries": self.queries,
            "queries_among_facts": self.queries_among_facts,
            "skipped": dict(self.skipped),
            "seconds": self.seconds,
            "ties": self.protocol.ties,
            "scorer": self.result.name,
            **_numbers(self.result),
            "type_baseline": None if self.baseline is None else _numbers(self.baseline),
            "mined_rules": None if self.rules is None else _numbers(self.rules),
            "reliability": None if self.reliability is None else self.reliability.to_dict(),
        }

    def by_relation(self) -> list[dict[str, Any]]:
        """A row for each relation that was asked for, the most frequent first, with the baselines beside it."""
        return by_relation(self)

    def plot(self) -> Any:
        """A matplotlib figure: metrics, directions, relations, and how the ranks are spread."""
        return bar_figure(charts(self), [one.name for one in self.ranked])

    def _repr_html_(self) -> str:
        rows = [{name: value for name, value in row.items() if name != "protocol"} for row in self.rows()]
        table = table_html(list(rows[0]), [list(row.values()) for row in rows])
        remarks = "".join(paragraph(remark, faint=True) for remark in self.remarks())
        heading = f"{self.protocol.name}: {counted(self.queries, 'query', 'queries')}, both sides"
        return drawn(heading, *scenes(self)[:1], below=table + remarks)

    def __str__(self) -> str:
        chosen = "candidates from a file" if self.seed is None else f"seed {self.seed}"
        lines = [
            f"{self.protocol.name}: {self.protocol.description}",
            f"{counted(self.queries, 'triple')}, both sides, {self.protocol.ties} ranks, {chosen}, "
            f"{self.seconds:.1f} s",
            "",
            _table(self.rows()),
        ]
        lines += [
            f"left out: {counted(count, 'triple')} ({reason})" for reason, count in self.skipped.items()
        ]
        lines += [] if self.reliability is None else [str(self.reliability)]
        return "\n".join([*lines, *self.remarks()])


def _numbers(ranked: Ranked) -> dict[str, Any]:
    return {
        "metrics": dict(ranked.metrics.values),
        "tie_rate": ranked.metrics.tie_rate,
        "sides": {side: metrics.to_dict() for side, metrics in ranked.sides.items()},
    }


def _table(rows: list[dict[str, Any]]) -> str:
    """The rows as text: scorer and side to the left, the metrics to the right."""
    columns = [column for column in rows[0] if column not in {"protocol", "queries"}]
    cells = [
        [f"{row[column]:.1f}" if column == "mean_rank" else row[column] for column in columns] for row in rows
    ]
    return table(columns, cells, align="ll" + "r" * (len(columns) - 2))
