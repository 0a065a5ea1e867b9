"""Plots and tables of an evaluation: metrics of scorer and baselines, by direction, relation and rank."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reshuffle.evaluation.ranks import Ranks
from reshuffle.evaluation.scorer import SIDES
from reshuffle.pictures.charts import bars
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from reshuffle.evaluation.reliability import Reliability
    from reshuffle.evaluation.report import Ranked, Report
    from reshuffle.pictures.scene import Scene

Chart: TypeAlias = "tuple[str, list[tuple[str, list[float | None]]]]"
"""A title, and for each row its name and the values of the scorer and of the baselines."""

_EDGES = (1, 2, 4, 11, 31, 101, 301, 1_001, 10_001, 10**12)
_RELATIONS = 30  # in a plot
_SAID = ("stated", "true")


def charts(report: Report, shown: Callable[[str], str] = str) -> list[Chart]:
    """What there is to plot; `shown` says how the names of relations are written."""
    metrics = [name for name in report.metrics.values if name != "mean_rank"]
    whole: Chart = ("metrics", [(name, [one.metrics[name] for one in report.ranked]) for name in metrics])
    sides: Chart = (
        "by direction",
        [
            (f"{metric} of {side}s", [one.sides[side][metric] for one in report.ranked])
            for metric in ("hits@10", "mrr")
            for side in SIDES
        ],
    )
    found = by_relation(report)[:_RELATIONS]
    title = "mrr by relation" + (f", the {_RELATIONS} most asked for" if len(found) == _RELATIONS else "")
    names = [_column("mrr", one, report) for one in report.ranked]
    relations: Chart = (title, [(shown(row["relation"]), [row[name] for name in names]) for row in found])
    return [whole, sides, *([relations] if found else []), ("ranks of the true answers", _spread(report))]


def scenes(report: Report, shown: Callable[[str], str] = str) -> list[Scene]:
    """The plots as pictures."""
    names = [one.name for one in report.ranked]
    *shares, spread = charts(report, shown)
    found = [*(bars(*chart, names) for chart in shares), bars(*spread, names, whole=None)]
    if report.reliability is not None:
        found.append(bars("first answers: how likely they are said to be", _said(report.reliability), _SAID))
    return found


def _said(reliability: Reliability) -> list[tuple[str, list[float | None]]]:
    return [(counted(one.answers, "answer"), [one.stated, one.true]) for one in reliability.bins()]


def by_relation(report: Report) -> list[dict[str, Any]]:
    """A row per relation that was asked for, the most frequent first, with both directions together."""
    names, places, counts = np.unique(
        np.array(report.relations, dtype=object), return_inverse=True, return_counts=True
    )
    rows = []
    for place in np.argsort(-counts, kind="stable"):
        chosen = np.flatnonzero(places == place)
        row: dict[str, Any] = {"relation": names[place], "triples": int(counts[place])}
        for one in report.ranked:
            metrics = one.protocol.summary(_part(one, chosen))
            row |= {_column(metric, one, report): metrics[metric] for metric in ("hits@10", "mrr")}
        rows.append(row)
    return rows


def _column(metric: str, one: Ranked, report: Report) -> str:
    return metric if one is report.result else f"{metric}, {one.name}"


def _part(one: Ranked, chosen: NDArray[np.int64]) -> Ranks:
    """The ranks of some triples, on both sides."""
    parts = (one.ranks[side] for side in SIDES)
    return Ranks.joined(
        [Ranks(part.optimistic[chosen], part.pessimistic[chosen], part.negatives[chosen]) for part in parts]
    )


def _spread(report: Report) -> list[tuple[str, list[float | None]]]:
    """For ranges of ranks, how many queries of the scorer and of each baseline are ranked there."""
    ranks = [np.sort(one.both.by(one.protocol.ties)) for one in report.ranked]
    counts = [np.diff(np.searchsorted(found, _EDGES)).tolist() for found in ranks]
    rows = [
        (_range(low, high), [found[place] for found in counts])
        for place, (low, high) in enumerate(pairwise(_EDGES))
    ]
    last = max((place for place, (_, found) in enumerate(rows) if any(found)), default=0)
    return rows[: last + 1]


def _range(low: int, high: int) -> str:
    if high == low + 1:
        return f"rank {low}"
    return f"{low:,} to {high - 1:,}" if high < _EDGES[-1] else f"{low:,} or worse"
