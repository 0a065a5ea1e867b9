"""Learning curves: how accuracy grows with epochs, and with facts. `python -m benchmarks.learning_curves`.

Epochs: the built-in families, with the settings of `reshuffle demo`; MRR of the validation triples after each epoch.
Facts: rule models learned from a part of the training facts, drawn by chance; full MRR on the test graph.
"""

from __future__ import annotations

import sys
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.charts import Axis, lines
from benchmarks.machine import describe
from benchmarks.result_files import RESULTS, changed_results, read_results

if TYPE_CHECKING:
    from reshuffle import InductiveBenchmark

FILE = RESULTS / "learning_curves.jsonl"
EPOCHS = 8
DATASETS = ("FB15k-237-v1", "WN18RR-v1", "NELL-995-v2")
SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
SEEDS = (0, 1)


def run_epochs() -> list[dict[str, Any]]:
    """One training, with its validation after each epoch."""
    import reshuffle as rs
    from reshuffle.cli.verbs.demo import SETTINGS

    settings = {**SETTINGS, "max_epochs": EPOCHS, "look_every": 1}
    model = rs.Reshuffle(**settings).fit(_loaded("families").train)
    assert model.history is not None
    return [
        {
            "curve": "epochs",
            "dataset": "families",
            "epoch": epoch.number,
            "loss": epoch.loss,
            "mrr": epoch.mrr,
        }
        for epoch in model.history.epochs
    ]


def run_facts(dataset: str, share: float, seed: int) -> dict[str, Any]:
    """A rule model of a part of the facts."""
    import numpy as np

    import reshuffle as rs

    bench = _loaded(dataset)
    facts = list(bench.train.facts)
    kept = np.random.default_rng(seed).permutation(len(facts))[: round(share * len(facts))]
    part = rs.KnowledgeGraph([facts[place] for place in sorted(kept)])
    model = rs.learn_rules(part.naming(list(bench.train.facts.relations)))
    report = rs.evaluate(
        model.on(bench.test.facts), bench.test.queries, protocol="full", known=bench.test, baseline=False
    )
    about = {"curve": "facts", "dataset": dataset, "share": share, "seed": seed}
    return about | {"facts": len(kept), "rules": len(model), "mrr": report["mrr"]}


def _loaded(dataset: str) -> InductiveBenchmark:
    import reshuffle as rs

    bench = rs.load_benchmark(dataset)
    assert isinstance(bench, rs.InductiveBenchmark)
    return bench


def run() -> None:
    """Run what is not stored."""
    if not _rows("epochs"):
        _keep(run_epochs())
    done = {(row["dataset"], row["share"], row["seed"]) for row in _rows("facts")}
    for dataset in DATASETS:
        for share in SHARES:
            for seed in SEEDS[: 1 if share == 1.0 else None]:
                if (dataset, share, seed) not in done:
                    row = run_facts(dataset, share, seed)
                    print(row, file=sys.stderr, flush=True)
                    _keep([row])


def _keep(rows: list[dict[str, Any]]) -> None:
    with changed_results(FILE) as results:
        results.rows += rows
        results.about = {
            "what": "validation MRR by epoch, and full MRR on test graphs by number of training facts",
            "command": "python -m benchmarks.learning_curves",
            **describe(["reshuffle", "torch", "numpy", "numba"]),
        }


def _rows(curve: str) -> list[dict[str, Any]]:
    return [row for row in read_results(FILE).rows if row["curve"] == curve]


def epochs_picture() -> str:
    """MRR after each epoch."""
    points = [(float(row["epoch"]), row["mrr"]) for row in _rows("epochs")]
    return lines({"families": points}, Axis("epoch", 0, EPOCHS), Axis("MRR, validation", 0, 1))


def facts_picture() -> str:
    """MRR by the number of facts, one line per data set."""
    points = {
        dataset: [(mean(row["facts"] for row in found), mean(row["mrr"] for row in found)) for found in rows]
        for dataset in DATASETS
        for rows in [
            [[r for r in _rows("facts") if (r["dataset"], r["share"]) == (dataset, s)] for s in SHARES]
        ]
    }
    most = max(x for line in points.values() for x, _ in line)
    return lines(points, Axis("training facts", 0, most), Axis("MRR, test graph", 0, 0.8))


if __name__ == "__main__":
    run()
