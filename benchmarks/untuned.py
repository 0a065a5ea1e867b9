"""The best recipe on data that it was not chosen on: `python -m benchmarks.untuned`.

The family data set is cut in two parts without common entities (`benchmarks.choosing.cut_in_two`), written to a
directory as a user's own data would be, and read with `InductiveBenchmark.from_directory`. What is in
`benchmarks/results/untuned.jsonl` already is not run again; `python -m benchmarks.accuracy` makes the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.choosing import cut_in_two
from benchmarks.machine import describe
from benchmarks.result_files import RESULTS, changed_results, read_results

from reshuffle.evaluation import RuleBaseline, TypeBaseline, evaluate
from reshuffle.kg import write_graph
from reshuffle.kg.splits import InductiveBenchmark
from reshuffle.learning.estimator import Reshuffle

if TYPE_CHECKING:
    from collections.abc import Callable

    from reshuffle.evaluation import Scorer

UNTUNED = RESULTS / "untuned.jsonl"
DATASET, CUT, SEED = "family", 1, 1
_WITH_WAYS = ("unary", "proximity", "paths", "ways", "negative")


def read_back(bench: InductiveBenchmark, folder: Path) -> InductiveBenchmark:
    """The same through files, in GraIL's layout."""
    for name, split in (("train", bench.train), ("test", bench.test)):
        here = folder / "data" if name == "train" else folder / "data" / "inference"
        here.mkdir(parents=True)
        write_graph(split.facts, here / "train.txt")
        for held_out, graph in (("valid", split.valid), ("test", split.queries)):
            (here / f"{held_out}.txt").touch()
            if len(graph):
                write_graph(graph, here / f"{held_out}.txt")
    return InductiveBenchmark.from_directory(folder / "data")


def _trained(**changes: Any) -> Callable[[InductiveBenchmark], Scorer]:
    return lambda bench: (
        Reshuffle(recipe="best-0.1", seed=SEED, **changes).fit(bench.train).on(bench.test.facts)
    )


SCORERS: dict[str, Callable[[InductiveBenchmark], Scorer]] = {
    "type baseline": lambda bench: TypeBaseline.fit(bench.train.facts).on(bench.test.facts),
    "mined rules": lambda bench: RuleBaseline.fit(bench.train.facts, max_length=3).on(bench.test.facts),
    "reshuffle, best-0.1": _trained(),
    "reshuffle, with ways": _trained(evidence=_WITH_WAYS),
}


def measured(name: str) -> dict[str, Any]:
    """One scorer under both protocols."""
    with tempfile.TemporaryDirectory() as folder:
        bench = read_back(cut_in_two(DATASET, CUT), Path(folder))
    started = time.perf_counter()
    scorer = SCORERS[name](bench)
    seconds = round(time.perf_counter() - started, 1)
    row: dict[str, Any] = {"scorer": name, "seconds": seconds}
    for protocol in ("sampled-50", "full"):
        report = evaluate(scorer, bench.test.queries, protocol=protocol, known=bench.test, seed=SEED)
        told = report.to_dict()
        row[protocol] = {**told["metrics"], "tie_rate": told["tie_rate"]}
    return row


def main() -> None:
    """Run what is missing, or what is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scorers", nargs="*", choices=[*SCORERS, []], help="all by default")
    chosen = parser.parse_args().scorers or list(SCORERS)
    for name in chosen:
        if any(row["scorer"] == name for row in read_results(UNTUNED).rows):
            continue
        row = measured(name)
        print(row, file=sys.stderr)
        with changed_results(UNTUNED) as found:
            found.rows.append(row)
            found.about |= {
                "command": "python -m benchmarks.untuned",
                "dataset": DATASET,
                "cut": CUT,
                "seed": SEED,
                **describe(["reshuffle", "torch"]),
            }


if __name__ == "__main__":
    main()
