"""The baselines on the twelve inductive benchmarks: `python -m benchmarks.baselines`.

Cells that the result file already holds are kept, so a run may be cut short and taken up again; `--again` starts
over. The tables in docs/explanation/evaluation.md are written from the result file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from benchmarks.paper import DATASETS
from benchmarks.speed.measure import describe

from reshuffle.data import load_from_files
from reshuffle.evaluation import RuleBaseline, TieBroken, TypeBaseline, evaluate
from reshuffle.kg import written_whole
from reshuffle.kg.splits import InductiveBenchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reshuffle.evaluation import Scorer

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "baselines.json"
DOCUMENT = ROOT / "docs" / "explanation" / "evaluation.md"
BEGIN, END = "<!-- written by benchmarks.baselines -->", "<!-- end -->"

SEEDS = (1, 2, 3)

# Hits@10 of sampled-50 and MRR of full: Meilicke, Stuckenschmidt, Ott 2024 (arXiv 2409.20130).
PUBLISHED = {
    "FB15k-237-v1": (0.887, 0.123),
    "FB15k-237-v2": (0.963, 0.130),
    "FB15k-237-v3": (0.954, 0.098),
    "FB15k-237-v4": (0.949, 0.091),
    "WN18RR-v1": (0.087, 0.006),
    "WN18RR-v2": (0.145, 0.003),
    "WN18RR-v3": (0.590, 0.012),
    "WN18RR-v4": (0.138, 0.001),
    "NELL-995-v1": (0.761, 0.594),
    "NELL-995-v2": (0.912, 0.050),
    "NELL-995-v3": (0.945, 0.060),
    "NELL-995-v4": (0.914, 0.029),
}


def _types(bench: InductiveBenchmark) -> Scorer:
    return TypeBaseline.fit(bench.train.facts).on(bench.test.facts)


def _types_of_test_graph(bench: InductiveBenchmark) -> Scorer:
    return TypeBaseline.fit(bench.test.facts).on(bench.test.facts)


def _rules(bench: InductiveBenchmark) -> Scorer:
    length = 3 if bench.name.startswith("WN18RR") else 2
    return RuleBaseline.fit(bench.train.facts, max_length=length).on(bench.test.facts)


def _rules_and_types(bench: InductiveBenchmark) -> Scorer:
    return TieBroken(_rules(bench), _types(bench))


SCORERS: dict[str, Callable[[InductiveBenchmark], Scorer]] = {
    "types": _types,
    "types of the test graph": _types_of_test_graph,
    "rules": _rules,
    "rules, then types": _rules_and_types,
}


@dataclass(frozen=True)
class Cell:
    """One number of the table, before it is measured. Full rankings draw nothing, so they have no seed."""

    dataset: str
    scorer: str
    protocol: str
    seed: int | None

    def __str__(self) -> str:
        return f"{self.dataset}/{self.scorer}/{self.protocol}" + (
            "" if self.seed is None else f"/{self.seed}"
        )


def cells(datasets: Sequence[str], seeds: tuple[int, ...] = SEEDS) -> list[Cell]:
    """All cells, those of one scorer on one data set together."""
    runs: list[tuple[str, int | None]] = [("full", None), *(("sampled-50", seed) for seed in seeds)]
    return [Cell(name, scorer, *run) for name in datasets for scorer in SCORERS for run in runs]


def measured(todo: list[Cell]) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Measure cell by cell; a scorer is fitted once for the cells that follow one another."""
    fitted: tuple[str, str] | None = None
    for cell in todo:
        if fitted != (cell.dataset, cell.scorer):
            bench = load_from_files(cell.dataset)
            assert isinstance(bench, InductiveBenchmark)
            started = time.perf_counter()
            scorer = SCORERS[cell.scorer](bench)
            fit_seconds = time.perf_counter() - started
            fitted = (cell.dataset, cell.scorer)
        report = evaluate(
            scorer,
            bench.test.queries,
            protocol=cell.protocol,
            known=bench.test,
            seed=cell.seed or 0,
            baseline=False,
        )
        data = report.to_dict()
        kept = {name: data[name] for name in ("queries", "metrics", "tie_rate", "sides")}
        seconds = {"fit_seconds": round(fit_seconds, 3), "seconds": round(report.seconds, 3)}
        yield cell, _rounded(kept) | seconds


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def run(datasets: Sequence[str], *, again: bool = False) -> None:
    """Measure what is missing, and store it after every cell."""
    stored = {} if again or not RESULTS.exists() else json.loads(RESULTS.read_text())["cells"]
    todo = [cell for cell in cells(datasets) if str(cell) not in stored]
    for number, (cell, result) in enumerate(measured(todo), start=1):
        stored[str(cell)] = result
        _store(stored)
        print(f"{number}/{len(todo)} {cell}: {result['metrics']['hits@10']:.3f}", file=sys.stderr)


def _store(stored: dict[str, Any]) -> None:
    order = [str(cell) for cell in cells(DATASETS)]
    data = {
        "command": "python -m benchmarks.baselines",
        **describe(["reshuffle", "numpy", "numba", "pyarrow"]),
        "seeds": list(SEEDS),
        "cells": {name: stored[name] for name in order if name in stored},
    }
    with written_whole(RESULTS) as aside:
        aside.write_text(json.dumps(data, indent=1) + "\n")


# --- tables -----------------------------------------------------------------------------------------


def tables(results: dict[str, Any]) -> str:
    """The result file as Markdown."""
    found = results["cells"]
    hits, mrr = ({name: _decimal(values[place]) for name, values in PUBLISHED.items()} for place in range(2))
    return "\n".join(
        [
            *_table(
                f"Hits@10 of `sampled-50`, mean ± standard deviation over {len(SEEDS)} seeds of candidates",
                lambda name, scorer: _spread(found, name, scorer, "hits@10"),
                published=hits,
            ),
            *_table(
                "MRR of `full`",
                lambda name, scorer: _decimal(_full(found, name, scorer)["metrics"]["mrr"]),
                published=mrr,
            ),
            *_table(
                "Hits@10 of `full`",
                lambda name, scorer: _decimal(_full(found, name, scorer)["metrics"]["hits@10"]),
            ),
            *_table(
                "Tie rate of `sampled-50`: the share of queries whose true answer ties with a wrong one",
                lambda name, scorer: _decimal(
                    mean(one["tie_rate"] for one in _of(found, name, scorer, "sampled-50"))
                ),
            ),
            *_table(
                "Tie rate of `full`: the share of queries whose true answer ties with a wrong one",
                lambda name, scorer: _decimal(_full(found, name, scorer)["tie_rate"]),
            ),
        ]
    )


def _table(
    title: str, cell: Callable[[str, str], str], *, published: dict[str, str] | None = None
) -> list[str]:
    beside = {name: [] if published is None else [published[name]] for name in DATASETS}
    header = ["data set", *([] if published is None else ["types, published"]), *SCORERS]
    rows = [[name, *beside[name], *(cell(name, scorer) for scorer in SCORERS)] for name in DATASETS]
    lines = [" | ".join(row) for row in (header, ["---"] * len(header), *rows)]
    return [f"{title}:", "", *(f"| {line} |" for line in lines), ""]


def _of(found: dict[str, Any], name: str, scorer: str, protocol: str) -> list[dict[str, Any]]:
    """The cells of one scorer, by seed where the protocol draws."""
    return [found[str(cell)] for cell in cells([name]) if (cell.scorer, cell.protocol) == (scorer, protocol)]


def _full(found: dict[str, Any], name: str, scorer: str) -> dict[str, Any]:
    return _of(found, name, scorer, "full")[0]


def _spread(found: dict[str, Any], name: str, scorer: str, metric: str) -> str:
    values = [one["metrics"][metric] for one in _of(found, name, scorer, "sampled-50")]
    return f"{_decimal(mean(values))} ± {_decimal(stdev(values))}"


def stored_mean(dataset: str, scorer: str, protocol: str, metric: str) -> float:
    """A metric of the result file, over its seeds; for other tables to stand beside theirs."""
    return mean(one["metrics"][metric] for one in _of(_stored_cells(), dataset, scorer, protocol))


@cache
def _stored_cells() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text(encoding="utf-8"))["cells"])


def _decimal(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def document(text: str, results: dict[str, Any]) -> str:
    """The document with its tables replaced by those of the results."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__)
    parser.add_argument("--dataset", action="append", choices=DATASETS, help="only this one; may be repeated")
    parser.add_argument("--again", action="store_true", help="measure all anew")
    options = parser.parse_args()
    run(options.dataset or DATASETS, again=options.again)
    results = json.loads(RESULTS.read_text())
    if len(results["cells"]) == len(cells(DATASETS)):
        DOCUMENT.write_text(document(DOCUMENT.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
