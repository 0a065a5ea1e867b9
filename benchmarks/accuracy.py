"""Writes the tables of docs/explanation/accuracy.md from the result files: `python -m benchmarks.accuracy`."""

from __future__ import annotations

import json
import sys
from functools import cache
from statistics import mean, pstdev

from benchmarks.reproduction import RESULTS, ROOT

from reshuffle.cli.console import table
from reshuffle.kg import written_whole
from reshuffle.learning.experiments import VARIANTS
from reshuffle.learning.settings import read_toml

PAGE = ROOT / "docs" / "explanation" / "accuracy.md"
CHOOSING = ROOT / "benchmarks" / "results" / "choosing.json"
PUBLISHED = ROOT / "benchmarks" / "published.toml"
DATASETS = tuple(f"{family}-v{n}" for family in ("FB15k-237", "WN18RR", "NELL-995") for n in range(1, 5))
COLUMNS = tuple(f"{family}{n}" for family in ("FB", "WN", "NE") for n in range(1, 5))
UNCOUNTED = "NELL-995-v1"  # 225 entities, 100 test triples: reported, and no conclusion drawn
RULE_BASED = ("AnyBURL", "RuleN", "DRUM", "Neural-LP", "GraIL", "CoMPILE")
PROTOCOL_OF = {"hits@10": "sampled-50", "mrr": "full"}


@cache
def cells() -> tuple[dict, ...]:
    """The stored cells of the best recipe."""
    stored = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.best.*.json")))
    return tuple(stored)


def values(dataset: str, metric: str, *, variant: str = "default", baseline: bool = False) -> list[float]:
    """A metric over the seeds that have been run, of the model or of the type baseline beside it."""
    found = []
    for cell in cells():
        if (cell["dataset"], cell["variant"]) == (dataset, variant):
            result = next(r for r in cell["results"] if r["protocol"] == PROTOCOL_OF[metric])
            found.append((result["type_baseline"] if baseline else result)["metrics"][metric])
    return found


def published(metric: str) -> dict[str, dict[str, float]]:
    """By system and data set."""
    return {
        name: dict(zip(DATASETS, numbers, strict=True))
        for name, numbers in read_toml(PUBLISHED)[metric].items()
    }


def main_table(metric: str) -> str:
    """Ours above what is published."""
    ours = [mean(values(dataset, metric)) for dataset in DATASETS]
    spreads = [pstdev(values(dataset, metric)) for dataset in DATASETS]
    types = [mean(values(dataset, metric, baseline=True)) for dataset in DATASETS]
    seeds = [len(values(dataset, metric)) for dataset in DATASETS]
    rows: list[list[object]] = [
        ["reshuffle, best recipe", *ours, counted_mean(dict(zip(DATASETS, ours, strict=True)))],
        ["  spread over seeds", *spreads, ""],
        ["  seeds", *seeds, ""],
        ["type baseline, ours", *types, counted_mean(dict(zip(DATASETS, types, strict=True)))],
    ]
    for name, numbers in published(metric).items():
        rows.append([name, *(numbers[dataset] for dataset in DATASETS), counted_mean(numbers)])
    return _text(["system", *COLUMNS, "mean of 11"], rows)


def counted_mean(numbers: dict[str, float]) -> float:
    """Over the columns that count."""
    return mean(value for dataset, value in numbers.items() if dataset != UNCOUNTED)


def ablation_table() -> str:
    """Every variant on the data sets that ablations were run on; empty where one was not."""
    variants = [v for v in VARIANTS["best"] if any(values(d, "mrr", variant=v) for d in DATASETS)]
    chosen = [d for d in DATASETS if any(values(d, "mrr", variant=v) for v in variants if v != "default")]
    short = dict(zip(DATASETS, COLUMNS, strict=True))
    rows: list[list[object]] = [
        [
            variant,
            *(
                _mean(values(dataset, metric, variant=variant))
                for metric in PROTOCOL_OF
                for dataset in chosen
            ),
            *(_mean(_validation(dataset, variant)) for dataset in chosen),
        ]
        for variant in variants
    ]
    header = [f"{short[dataset]} {metric}" for metric in (*PROTOCOL_OF, "valid mrr") for dataset in chosen]
    return _text(["variant", *header], rows)


def _validation(dataset: str, variant: str) -> list[float]:
    return [
        cell["training"]["validation"]["mrr"]
        for cell in cells()
        if (cell["dataset"], cell["variant"]) == (dataset, variant)
    ]


def _mean(numbers: list[float]) -> float | str:
    return mean(numbers) if numbers else ""


def hardened_table() -> str:
    """What is left when every row of the matrices takes its one largest slot."""
    rows: list[list[object]] = []
    for dataset in DATASETS:
        own = [cell for cell in cells() if (cell["dataset"], cell["variant"]) == (dataset, "default")]
        soft, hard = (
            {
                metric: mean(
                    next(r for r in cell[key] if r["protocol"] == protocol)["metrics"][metric] for cell in own
                )
                for metric, protocol in PROTOCOL_OF.items()
            }
            for key in ("results", "hardened")
        )
        kept = [hard[metric] / soft[metric] for metric in PROTOCOL_OF]
        rows.append([dataset, soft["hits@10"], hard["hits@10"], kept[0], soft["mrr"], hard["mrr"], kept[1]])
    header = ["data set", "hits@10", "hardened", "kept", "mrr", "hardened", "kept"]
    return _text(header, rows)


def cost_table() -> str:
    """What the cells cost."""
    rows: list[list[object]] = []
    for dataset in DATASETS:
        own = [cell for cell in cells() if (cell["dataset"], cell["variant"]) == (dataset, "default")]
        ties = [next(r for r in c["results"] if r["protocol"] == "sampled-50")["tie_rate"] for c in own]
        rows.append(
            [
                dataset,
                round(mean(cell["training"]["seconds"] for cell in own)),
                mean(cell["training"]["peak_gigabytes"] or 0.0 for cell in own),
                mean(ties),
                own[0]["hardware"],
            ]
        )
    return _text(["data set", "seconds of training", "GB of GPU memory", "tie rate", "hardware"], rows)


def choosing_table() -> str:
    """Settings compared on cut training graphs; empty where one was not run."""
    stored = json.loads(CHOOSING.read_text(encoding="utf-8"))["rows"]
    datasets = list(dict.fromkeys(row["dataset"] for row in stored))
    found = {(row["dataset"], _changes(row)): row for row in stored}
    rows: list[list[object]] = [
        [
            changes,
            *(
                found[dataset, changes][metric] if (dataset, changes) in found else ""
                for metric in PROTOCOL_OF
                for dataset in datasets
            ),
        ]
        for changes in dict.fromkeys(_changes(row) for row in stored)
    ]
    types = {row["dataset"]: row["type baseline hits@10"] for row in stored}
    rows.append(["(type baseline)", *(types[dataset] for dataset in datasets), *("" for _ in datasets)])
    short = dict(zip(DATASETS, COLUMNS, strict=True))
    header = [f"{short[dataset]} {metric}" for metric in PROTOCOL_OF for dataset in datasets]
    return _text(["changed", *header], rows)


def _changes(row: dict) -> str:
    told = (
        f"{name} = {'all' if name == 'evidence' and len(value) == 4 else value}"
        for name, value in row["changes"].items()
    )
    return ", ".join(told) or "(nothing)"


def _text(header: list[str], rows: list[list[object]]) -> str:
    return "```text\n" + table(header, rows) + "\n```"


def made_tables() -> dict[str, str]:
    """By the name that stands in the page."""
    return {
        "hits": main_table("hits@10"),
        "mrr": main_table("mrr"),
        "ablation": ablation_table(),
        "hardened": hardened_table(),
        "choosing": choosing_table(),
        "cost": cost_table(),
    }


def page_with(content: str, made: dict[str, str]) -> str:
    """The page with its tables replaced."""
    for name, text in made.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, rest = content.split(begin)
        content = f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"
    return content


def main() -> None:
    """Rewrite the page."""
    with written_whole(PAGE) as aside:
        aside.write_text(page_with(PAGE.read_text(encoding="utf-8"), made_tables()), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(cells())} cells", file=sys.stderr)


if __name__ == "__main__":
    main()
