"""Writes the tables of docs/explanation/accuracy.md from the result files: `python -m benchmarks.accuracy`."""

from __future__ import annotations

import sys
from functools import cache
from statistics import mean
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks import baselines, choosing, untuned
from benchmarks.cells import Bench
from benchmarks.pages import rewrite, spread, text_table
from benchmarks.paper import DATASETS, FOLDER, VARIANTS, published
from benchmarks.result_files import RESULTS, ROOT, read_results

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

PAGE = ROOT / "docs" / "explanation" / "accuracy.md"
RECIPE = "best-0.1"
"""The recipe that the page is about."""
CPU_RESULTS = RESULTS / "cpu.jsonl"
COLUMNS = tuple(f"{family}{n}" for family in ("FB", "WN", "NE") for n in range(1, 5))
UNCOUNTED = "NELL-995-v1"  # 225 entities, 100 test triples: reported, and no conclusion drawn
RULE_BASED = ("AnyBURL", "RuleN", "DRUM", "Neural-LP", "GraIL", "CoMPILE")
PROTOCOL_OF = {"hits@10": "sampled-50", "mrr": "full"}


@cache
def cells() -> tuple[dict[str, Any], ...]:
    """The stored cells of the recipe."""
    return tuple(cell for cell in Bench(FOLDER, RESULTS).stored() if cell["recipe"] == RECIPE)


def cells_of(dataset: str, variant: str = "default") -> list[dict[str, Any]]:
    """The stored cells of a data set and a variant of the recipe, one per seed."""
    return [cell for cell in cells() if (cell["dataset"], cell["variant"]) == (dataset, variant)]


def values(dataset: str, metric: str, *, baseline: bool = False) -> list[float]:
    """A metric over the seeds that have been run, of the model or of the type baseline beside it."""
    found = [_result(cell, metric) for cell in cells_of(dataset)]
    return [(result["type_baseline"] if baseline else result)["metrics"][metric] for result in found]


def _result(cell: dict[str, Any], metric: str, kind: str = "results") -> dict[str, Any]:
    return next(result for result in cell[kind] if result["protocol"] == PROTOCOL_OF[metric])


def main_table(metric: str) -> str:
    """Our results on all data sets, with the published ones below."""
    ours = {dataset: mean(values(dataset, metric)) for dataset in DATASETS}
    types = {dataset: mean(values(dataset, metric, baseline=True)) for dataset in DATASETS}
    ties = [mean(_result(cell, metric)["tie_rate"] for cell in cells_of(dataset)) for dataset in DATASETS]
    rules = {d: baselines.stored_mean(d, "rules", PROTOCOL_OF[metric], metric) for d in DATASETS}
    rows: list[list[object]] = [
        [f"reshuffle, {RECIPE}", *ours.values(), counted_mean(ours)],
        ["  spread over seeds", *(spread(values(dataset, metric)) for dataset in DATASETS), ""],
        ["  seeds", *(len(values(dataset, metric)) for dataset in DATASETS), ""],
        ["  tie rate", *ties, ""],
        ["type baseline, ours", *types.values(), counted_mean(types)],
        ["mined rules, ours", *rules.values(), counted_mean(rules)],
    ]
    for name, numbers in published(metric).items():
        rows.append([name, *(numbers[dataset] for dataset in DATASETS), counted_mean(numbers)])
    return text_table(["system", *COLUMNS, "mean of 11"], rows)


def counted_mean(numbers: dict[str, float]) -> float:
    """The mean over all data sets but the one that does not count."""
    return mean(value for dataset, value in numbers.items() if dataset != UNCOUNTED)


def standing_table() -> str:
    """In how many of the counted columns we are above others, and where not."""
    short = dict(zip(DATASETS, COLUMNS, strict=True))
    rows: list[list[object]] = []
    for name in dict.fromkeys(name for metric in PROTOCOL_OF for name in published(metric)):
        row: list[object] = [name]
        for metric in PROTOCOL_OF:
            known = name in published(metric)
            below = not_above(name, metric) if known else []
            row += [f"{11 - len(below)} of 11" if known else "", " ".join(short[d] for d in below)]
        rows.append(row)
    return text_table(["system", "hits@10 above", "not in", "mrr above", "not in"], rows)


def not_above(name: str, metric: str) -> list[str]:
    """The counted data sets where our mean over seeds is not above a published number."""
    numbers = published(metric)[name]
    return [d for d in DATASETS if d != UNCOUNTED and mean(values(d, metric)) <= numbers[d]]


def ablation_table() -> str:
    """Every variant on the data sets that ablations were run on; empty where one was not."""
    variants = [v for v in VARIANTS[RECIPE] if any(cells_of(d, v) for d in DATASETS)]
    chosen = [d for d in DATASETS if any(cells_of(d, v) for v in variants if v != "default")]
    kinds: dict[str, Callable[[dict[str, Any]], float]] = {
        "hits": lambda cell: _result(cell, "hits@10")["metrics"]["hits@10"],
        "mrr": lambda cell: _result(cell, "mrr")["metrics"]["mrr"],
        "valid": lambda cell: cell["training"]["validation"]["mrr"],
        "ties": lambda cell: _result(cell, "hits@10")["tie_rate"],
    }

    def row(
        name: str, variant: str, seeds: Container[int], taken: Callable[[list[float]], object] = mean
    ) -> list[object]:
        own = {d: [cell for cell in cells_of(d, variant) if cell["seed"] in seeds] for d in chosen}
        found = [[number(cell) for cell in own[dataset]] for number in kinds.values() for dataset in chosen]
        return [name, *(taken(numbers) if numbers else "" for numbers in found)]

    every = range(1, 4)
    rows = [row("default, three seeds", "default", every), row("  spread", "default", every, spread)]
    rows += [row(variant, variant, [1]) for variant in variants]
    types = [mean(values(d, metric, baseline=True)) for metric in PROTOCOL_OF for d in chosen]
    rules = [
        baselines.stored_mean(d, "rules", protocol, metric)
        for metric, protocol in PROTOCOL_OF.items()
        for d in chosen
    ]
    rows.append(["(type baseline)", *types, *("" for _ in types)])
    rows.append(["(mined rules)", *rules, *("" for _ in rules)])
    short = dict(zip(DATASETS, COLUMNS, strict=True))
    return text_table(
        ["variant", *(f"{short[dataset]} {kind}" for kind in kinds for dataset in chosen)], rows
    )


def hardened_table() -> str:
    """What is left when every row of the matrices takes its one largest slot."""
    rows: list[list[object]] = []
    for dataset in DATASETS:
        row: list[object] = [dataset]
        for metric in PROTOCOL_OF:
            hard = [_result(cell, metric, "hardened")["metrics"][metric] for cell in cells_of(dataset)]
            soft = mean(values(dataset, metric))
            row += [soft, mean(hard), spread(hard), mean(hard) / soft]
        tied = [_result(cell, "hits@10", "hardened")["tie_rate"] for cell in cells_of(dataset)]
        rows.append([*row, mean(tied), mean(values(dataset, "hits@10", baseline=True))])
    each = ["hardened", "spread", "kept"]
    return text_table(["data set", "hits@10", *each, "mrr", *each, "tie rate", "type hits@10"], rows)


def cost_table() -> str:
    """Training time and memory of the cells."""
    rows: list[list[object]] = []
    for dataset in DATASETS:
        own = cells_of(dataset)
        seconds = [cell["training"]["seconds"] for cell in own]
        memory = max(cell["training"]["peak_gigabytes"] or 0.0 for cell in own)
        rows.append([dataset, round(mean(seconds)), round(max(seconds)), memory, own[0]["hardware"]])
    return text_table(
        ["data set", "seconds of training", "at most", "GB of GPU memory, at most", "hardware"], rows
    )


def cpu_table() -> str:
    """Cells that were trained on a CPU, beside the same ones from the GPU."""
    rows: list[list[object]] = []
    for ours in Bench(FOLDER, CPU_RESULTS).stored():
        same = cells_of(ours["dataset"], ours["variant"])
        theirs = next(cell for cell in same if cell["seed"] == ours["seed"])
        found = [
            _result(cell, metric)["metrics"][metric] for metric in PROTOCOL_OF for cell in (ours, theirs)
        ]
        rows.append([ours["dataset"], ours["hardware"], round(ours["training"]["seconds"]), *found])
    return text_table(
        ["data set", "hardware", "seconds of training", "hits@10", "on the GPU", "mrr", "on the GPU"], rows
    )


def choosing_table() -> str:
    """Settings compared on cut training graphs, with small models; empty where one was not run."""
    stored = read_results(choosing.SMALL_RESULTS).rows
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in stored:
        groups.setdefault(_changes(row["changes"], choosing.BASE["evidence"]), []).append(row)
    return _compared("changed", [(name, rows, mean) for name, rows in groups.items()], stored)


def choosing_full_table() -> str:
    """The same with models of the recipe's size: means over the cuts, and over seeds where there are several.

    Only of what the command measured: figures from elsewhere are no results of it.
    """
    found = read_results(choosing.FULL_RESULTS)
    if not (found.rows and choosing.own_rows(found)):
        return "(not run)"
    told: list[Compared] = []
    for changes, seeds in choosing.COMPARED_FULL:
        rows = [row for row in found.rows if row["changes"] == changes]
        scorings = dict.fromkeys(row["scoring"] for row in rows)  # in their order
        name = _changes(changes, found.about["base"]["evidence"])
        for scoring in scorings:
            scored = [row for row in rows if row["scoring"] == scoring]
            if scoring != "alone":
                told.append((f"{name}, {scoring}", scored, mean))
            elif len(seeds) == 1:
                told.append((name, scored, mean))
            else:
                told.append((f"{name}, all seeds", scored, mean))
                told.append(("  spread over seeds", scored, spread))
                told.append((f"{name}, seed 1", [row for row in scored if row["seeds"] == [1]], mean))
    return _compared("changed", told, found.rows, "tie_rate")


def script_table() -> str:
    """What the recipe's epochs were chosen by: each cut on its own, since not all was run on both."""
    stored = read_results(choosing.SCRIPT_RESULTS).rows
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(stored, key=lambda row: (row["cut"], len(row["changes"]), row["scoring"])):
        if row["scoring"] == "mean of seeds" or row["seeds"] == [1]:
            more = "" if row["scoring"] == "alone" else f", {row['scoring']}"
            groups.setdefault(f"cut {row['cut']}: {_changes(row['changes'], ())}{more}", []).append(row)
    return _compared("changed", [(name, rows, mean) for name, rows in groups.items()], stored)


def untuned_table() -> str:
    """The recipe on data that it was not chosen on, beside what needs no training."""
    rows: list[list[object]] = []
    for row in read_results(untuned.UNTUNED).rows:
        sampled, full = row["sampled-50"], row["full"]
        rows.append(
            [
                row["scorer"],
                sampled["hits@10"],
                sampled["tie_rate"],
                full["mrr"],
                full["tie_rate"],
                round(row["seconds"]),
            ]
        )
    return text_table(["scorer", "hits@10", "tie rate", "mrr", "tie rate", "seconds of fitting"], rows)


Compared: TypeAlias = "tuple[str, list[dict[str, Any]], Callable[[list[float]], object]]"
"""The name of a row, what was measured, and what is taken of it."""


def _compared(first: str, told: list[Compared], stored: list[dict[str, Any]], *more: str) -> str:
    """What is taken over seeds of the means over cuts, and the type baseline of the same parts below."""
    datasets = [d for d in DATASETS if any(row["dataset"] == d for row in stored)]

    def over(
        rows: list[dict[str, Any]], metric: str, dataset: str, taken: Callable[[list[float]], object]
    ) -> object:
        by_seed: dict[tuple[int, ...], list[float]] = {}
        for row in rows:
            if row["dataset"] == dataset:
                by_seed.setdefault(tuple(row.get("seeds", ())), []).append(row[metric])
        return taken([mean(found) for found in by_seed.values()]) if by_seed else ""

    metrics = (*PROTOCOL_OF, *more)
    rows: list[list[object]] = [
        [name, *(over(rows, metric, dataset, taken) for metric in metrics for dataset in datasets)]
        for name, rows, taken in told
    ]
    types = [over(stored, "type baseline hits@10", dataset, mean) for dataset in datasets]
    rows.append(["(type baseline)", *types, *("" for _ in metrics[1:] for _ in datasets)])
    short = dict(zip(DATASETS, COLUMNS, strict=True))
    header = [f"{short[dataset]} {metric}" for metric in metrics for dataset in datasets]
    return text_table([first, *(name.replace("_rate", "s") for name in header)], rows)


def _changes(changes: dict[str, Any], evidence: Sequence[str]) -> str:
    """In words; of the evidence, what is more than that of the settings that are changed."""
    told = [
        " ".join(f"+ {kind}" for kind in value if kind not in evidence)
        if name == "evidence"
        else f"{name} = {value}"
        for name, value in changes.items()
    ]
    return ", ".join(told) or "(nothing)"


def made_tables() -> dict[str, str]:
    """All tables of the page, by name."""
    return {
        "hits": main_table("hits@10"),
        "mrr": main_table("mrr"),
        "standing": standing_table(),
        "ablation": ablation_table(),
        "hardened": hardened_table(),
        "untuned": untuned_table(),
        "choosing": choosing_table(),
        "choosing-full": choosing_full_table(),
        "script": script_table(),
        "cost": cost_table(),
        "cpu": cpu_table(),
    }


def main() -> None:
    """Rewrite the page."""
    rewrite(PAGE, made_tables())
    print(f"{PAGE.relative_to(ROOT)}: {len(cells())} cells", file=sys.stderr)


if __name__ == "__main__":
    main()
