"""Writes the table of docs/explanation/reproduction.md from the result files: `python -m benchmarks.reproduction`."""

from __future__ import annotations

import sys
from statistics import mean
from typing import Any

from benchmarks import baselines
from benchmarks.cells import Bench
from benchmarks.pages import rewrite, spread, text_table
from benchmarks.paper import FOLDER, reported
from benchmarks.result_files import RESULTS, ROOT, read_document

PAGE = ROOT / "docs" / "explanation" / "reproduction.md"
ALTERNATIVES = RESULTS / "speed" / "alternatives.json"
SPEED = RESULTS / "speed" / "training.json"
HEADER = (
    "data set", "variant", "seeds", "hits@10", "spread", "paper", "difference", "full MRR", "tie rate", "type baseline",
    "mined rules", "seconds", "hardware",
)  # fmt: skip


def rows() -> list[dict[str, object]]:
    """One row per data set and variant, over the seeds that have been run."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in Bench(FOLDER, RESULTS).stored():
        if cell["recipe"] == "paper":
            groups.setdefault((cell["dataset"], cell["variant"]), []).append(cell)
    return [_row(*key, cells) for key, cells in groups.items()]


def _row(dataset: str, variant: str, cells: list[dict[str, Any]]) -> dict[str, object]:
    sampled = [_protocol(cell, "sampled-50") for cell in cells]
    hits = [result["metrics"]["hits@10"] for result in sampled]
    paper = reported(dataset, variant)["hits@10"]
    return {
        "data set": dataset,
        "variant": variant,
        "seeds": len(cells),
        "hits@10": mean(hits),
        "spread": spread(hits),
        "paper": float(paper),
        "difference": mean(hits) - paper,
        "full MRR": mean(_protocol(cell, "full")["metrics"]["mrr"] for cell in cells),
        "tie rate": mean(result["tie_rate"] for result in sampled),
        "type baseline": mean(result["type_baseline"]["metrics"]["hits@10"] for result in sampled),
        "mined rules": baselines.stored_mean(dataset, "rules", "sampled-50", "hits@10"),
        "seconds": round(mean(cell["training"]["seconds"] for cell in cells)),
        "hardware": cells[0]["hardware"],
    }


def _protocol(cell: dict[str, Any], name: str) -> dict[str, Any]:
    return next(result for result in cell["results"] if result["protocol"] == name)


def speed_table() -> str:
    """Our step against a plain transcription of the official way of computing, from one run per device."""
    found = [
        [dataset, told["hardware"].get("gpu") or "CPU", mode, *_speeds(measured)]
        for told in read_document(SPEED)["devices"].values()
        for dataset, modes in told["datasets"].items()
        for mode, measured in modes.items()
    ]
    return text_table(
        ["data set", "hardware", "mode", "seconds per epoch", "official way", "times faster", "memory kept"],
        found,
    )


def alternatives_table() -> str:
    """What shorter numbers and a compiler bring to the plain way, on both threads of a CPU, and our step beside it."""
    found = read_document(ALTERNATIVES)["devices"]["cpu"]["datasets"]
    names = ("reshuffle", "official way", "compiled", "bfloat16")
    rows = [[dataset, *(one["runs"][name]["seconds"] for name in names)] for dataset, one in found.items()]
    return text_table(["data set", *names], rows)


def _speeds(measured: dict[str, Any]) -> list[object]:
    seconds = [f"{measured['runs'][name]['seconds_per_epoch']:.3f}" for name in ("reshuffle", "official way")]
    ratios = [measured["times_faster"].get(name) for name in ("official way", "official way, memory kept")]
    return [*seconds, *("" if ratio is None else f"{ratio:.1f}" for ratio in ratios)]


def made_tables() -> dict[str, str]:
    """All tables of the page, by name."""
    return {
        "table": text_table(HEADER, [[row[column] for column in HEADER] for row in rows()]),
        "speed": speed_table(),
        "alternatives": alternatives_table(),
    }


def main() -> None:
    """Rewrite the page."""
    rewrite(PAGE, made_tables())
    print(f"{PAGE.relative_to(ROOT)}: {len(rows())} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
