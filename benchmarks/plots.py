"""Draws the pictures of docs/explanation from the result files: `python -m benchmarks.plots`."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

from benchmarks import accuracy, any_graph, learning_curves, rule_models
from benchmarks.charts import BLUES, GREY, Axis, lines, ranked_bars
from benchmarks.paper import DATASETS, published
from benchmarks.result_files import RESULTS, ROOT, read_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER = ROOT / "docs" / "explanation"
_NAMES = {"mrr": "MRR", "hits@10": "Hits@10 among 50 negatives"}


def standing(metric: str) -> str:
    """The mean over the data sets that count, ours and published ones, best first."""
    ours = {
        f"reshuffle, {accuracy.RECIPE}": {d: mean(accuracy.values(d, metric)) for d in DATASETS},
        "reshuffle, rule list": {
            d: mean(row[metric] for cell, row in rule_models.stored().items() if cell[:2] == (d, "mined"))
            for d in DATASETS
        },
    }
    rows = [(name, accuracy.counted_mean(numbers), BLUES[2]) for name, numbers in ours.items()]
    rows += [(name, accuracy.counted_mean(numbers), GREY) for name, numbers in published(metric).items()]
    label = f"{_NAMES[metric]}, mean of 11 inductive data sets"
    return ranked_bars(sorted(rows, key=lambda row: -row[1]), label)


def reasoning() -> str:
    """Seconds for loading and reasoning, by how many facts hold in the end; a tool that gave up has no dot."""
    found = read_document(RESULTS / "speed" / "reasoning.json")
    facts = found["expected_facts"]
    points: dict[str, list[tuple[float, float]]] = {}
    for workload, engines in found["workloads"].items():
        for name, timing in engines.items():
            if "both" in timing and name != "reshuffle, all stored":
                points.setdefault(name, []).append((facts[workload], timing["both"]))
    x_axis = Axis("facts that hold in the end", 100_000, 100_000_000, logarithmic=True)
    y_axis = Axis("seconds, loading and reasoning", 0.05, 100, logarithmic=True)
    return lines(points, x_axis, y_axis)


PICTURES: dict[Path, Callable[[], str]] = {
    FOLDER / "standing-mrr.svg": lambda: standing("mrr"),
    FOLDER / "standing-hits.svg": lambda: standing("hits@10"),
    FOLDER / "learning-epochs.svg": learning_curves.epochs_picture,
    FOLDER / "learning-facts.svg": learning_curves.facts_picture,
    FOLDER / "reasoning-scale.svg": reasoning,
    rule_models.PICTURE: rule_models.picture,
    FOLDER / "own-graphs-mrr.svg": lambda: any_graph.mrr_picture("own"),
    FOLDER / "new-relations-mrr.svg": lambda: any_graph.mrr_picture("relations"),
    FOLDER / "probabilities.svg": any_graph.reliability_picture,
}


def main() -> None:
    """Write all of them."""
    for path, picture in PICTURES.items():
        path.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
