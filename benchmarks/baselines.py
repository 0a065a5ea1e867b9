"""The baselines on the twelve inductive benchmarks: `python -m benchmarks.baselines`.

Cells that the result file already holds are kept, so a run may be cut short and taken up again; `--again` starts
over. The tables in docs/explanation/evaluation.md are written from the result file.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, dataclass, fields
from functools import cache
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.pages import markdown_table, rewrite
from benchmarks.paper import DATASETS, published
from benchmarks.result_files import RESULTS, ROOT, Results, read_results, write_results

from reshuffle.data import load_from_files
from reshuffle.evaluation import RuleBaseline, TieBroken, TypeBaseline, evaluate
from reshuffle.kg.splits import InductiveBenchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reshuffle.evaluation import Scorer

BASELINES = RESULTS / "baselines.jsonl"
PAGE = ROOT / "docs" / "explanation" / "evaluation.md"

SEEDS = (1, 2, 3)

# Hits@10 of sampled-50 and MRR of full: Meilicke, Stuckenschmidt, Ott 2024 (arXiv 2409.20130).
_HITS, _MRR = (published(metric)["type baseline"] for metric in ("hits@10", "mrr"))
PUBLISHED = {name: (_HITS[name], _MRR[name]) for name in DATASETS}


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
            found = load_from_files(cell.dataset)
            assert isinstance(found, InductiveBenchmark)
            bench = found
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
    stored = {} if again else stored_cells()
    todo = [cell for cell in cells(datasets) if str(cell) not in stored]
    for number, (cell, result) in enumerate(measured(todo), start=1):
        stored[str(cell)] = result
        _store(stored)
        print(f"{number}/{len(todo)} {cell}: {result['metrics']['hits@10']:.3f}", file=sys.stderr)


def _store(stored: dict[str, Any]) -> None:
    about = {
        "command": "python -m benchmarks.baselines",
        **describe(["reshuffle", "numpy", "numba", "pyarrow"]),
        "seeds": list(SEEDS),
    }
    rows = [{**asdict(cell), **stored[str(cell)]} for cell in cells(DATASETS) if str(cell) in stored]
    write_results(BASELINES, Results(about, rows))


def stored_cells() -> dict[str, Any]:
    """What has been measured, by the names of the cells."""
    names = [field.name for field in fields(Cell)]
    return {
        str(Cell(*(row[name] for name in names))): {k: v for k, v in row.items() if k not in names}
        for row in read_results(BASELINES).rows
    }


# --- tables -----------------------------------------------------------------------------------------


def tables(found: dict[str, Any]) -> str:
    """The measured cells as Markdown."""
    hits, mrr = ({name: _decimal(values[place]) for name, values in PUBLISHED.items()} for place in range(2))
    return "\n".join(
        [
            *_table(
                f"Hits@10 of `sampled-50`, mean ± standard deviation over {len(SEEDS)} seeds of candidates",
                lambda name, scorer: _spread(found, name, scorer, "hits@10"),
                beside=hits,
            ),
            *_table(
                "MRR of `full`",
                lambda name, scorer: _decimal(_full(found, name, scorer)["metrics"]["mrr"]),
                beside=mrr,
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


def _table(title: str, cell: Callable[[str, str], str], *, beside: dict[str, str] | None = None) -> list[str]:
    more = {name: [] if beside is None else [beside[name]] for name in DATASETS}
    header = ["data set", *([] if beside is None else ["types, published"]), *SCORERS]
    rows = [[name, *more[name], *(cell(name, scorer) for scorer in SCORERS)] for name in DATASETS]
    return [f"{title}:", "", markdown_table(header, rows), ""]


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
    return mean(float(one["metrics"][metric]) for one in _of(_cached_cells(), dataset, scorer, protocol))


@cache
def _cached_cells() -> dict[str, Any]:
    return stored_cells()


def _decimal(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def made_tables() -> dict[str, str]:
    """All tables of the page, by name."""
    return {"baselines": f"\n{tables(stored_cells())}"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__)
    parser.add_argument("--dataset", action="append", choices=DATASETS, help="only this one; may be repeated")
    parser.add_argument("--again", action="store_true", help="measure all anew")
    options = parser.parse_args()
    run(options.dataset or DATASETS, again=options.again)
    if len(stored_cells()) == len(cells(DATASETS)):
        rewrite(PAGE, made_tables())


if __name__ == "__main__":
    main()
