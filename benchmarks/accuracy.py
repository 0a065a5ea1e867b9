"""Writes the tables on accuracy from the result files: `python -m benchmarks.accuracy`.

The results are in docs/explanation/accuracy.md, the choice of settings in docs/decisions/0004-choosing.md.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks import baselines, choosing
from benchmarks.cells import Bench
from benchmarks.pages import rewrite, spread, text_table
from benchmarks.paper import DATASETS, FOLDER, published
from benchmarks.result_files import RESULTS, ROOT, read_results

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "explanation" / "accuracy.md"
CHOOSING_PAGE = ROOT / "docs" / "decisions" / "0004-choosing.md"
RECIPE = "best"
"""The recipe that the page is about."""
GPU_RESULTS = RESULTS / "gpu.jsonl"
COST_RESULTS = RESULTS / "speed" / "training_cost.json"
SIZE_RESULTS = RESULTS / "speed" / "training_size.json"
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


def single_pass_table() -> str:
    """Random channels, one pass for all queries of a graph, beside a channel per query."""
    rows: list[list[object]] = []
    for dataset in DATASETS:
        row: list[object] = [dataset]
        for metric in PROTOCOL_OF:
            found = [
                _result(cell, metric)["metrics"][metric] for cell in cells_of(dataset, "random-channels")
            ]
            ours = mean(values(dataset, metric))
            row += [ours, mean(found), mean(found) / ours]
        rows.append([*row, len(found)])
    each = ["single pass", "kept"]
    return text_table(["data set", "hits@10", *each, "mrr", *each, "seeds"], rows)


def facts_only_table() -> str:
    """Full ranks where only the facts of the graph are filtered, and ties lose."""
    rows: list[list[object]] = []
    for metric in ("mrr", "hits@10"):
        found = {
            dataset: mean(
                next(r for r in cell["results"] if r["protocol"] == "full-facts")["metrics"][metric]
                for cell in cells_of(dataset)
            )
            for dataset in DATASETS
        }
        rows.append([metric, *found.values(), counted_mean(found)])
    return text_table(["full-facts", *COLUMNS, "mean of 11"], rows)


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
    """Training time of the cells on one core, and time and memory of the same trainings on a GPU."""
    rows: list[list[object]] = []
    on_gpu = Bench(FOLDER, GPU_RESULTS).stored()
    for dataset in DATASETS:
        theirs = [cell["training"] for cell in on_gpu if cell["dataset"] == dataset]
        seconds = [cell["training"]["seconds"] for cell in cells_of(dataset)]
        memory = max(cell["peak_gigabytes"] for cell in theirs)
        quick = mean(cell["seconds"] for cell in theirs)
        rows.append([dataset, round(mean(seconds)), round(max(seconds)), round(quick), memory])
    return text_table(["data set", "seconds on one core", "at most", "on an H200", "GB of its memory"], rows)


def training_cost_table() -> str:
    """The time of whole trainings on two cores, beside what the steps of release 0.1 take."""
    rows: list[list[object]] = []
    for one in json.loads(COST_RESULTS.read_text())["runs"]:
        before = one["best-0.1"]["seconds_of_all_steps"]
        minutes = [f"{seconds / 60:.1f}" for seconds in (one["seconds"], before)]
        rows.append([one["dataset"], one["facts"], one["entities"], *minutes, one["peak_gigabytes"]])
    return text_table(["facts of", "facts", "entities", "minutes", "steps of 0.1, minutes", "GB"], rows)


def training_size_table() -> str:
    """What steps on a million facts take, by device."""
    rows: list[list[object]] = []
    for one in json.loads(SIZE_RESULTS.read_text())["runs"]:
        name = one["hardware"].get("gpu") or f"{one['hardware']['cpu']}, two cores"
        memory = one["gpu_gigabytes"] or one["peak_gigabytes"]
        rows.append([name, one["facts"], one["entities"], f"{one['seconds_per_step']:.2f}", f"{memory:.1f}"])
    return text_table(["device", "facts", "entities", "seconds per step", "GB of its memory"], rows)


Groups = tuple[tuple[str, tuple[str, ...]], ...]
"""What each group of settings is compared with, and the settings."""

_LATER = ("no paths", "9 hops", "6 layers", "32 slots, 6 layers", "4 epochs", "16 epochs")
ONE_CUT: Groups = (
    (
        "best-0.1, 8 epochs",
        (
            "rule list alone",
            "best-0.1, 8 epochs + list 0.43",
            "best-0.1 + ways, 8 epochs",
            "best-0.1 + ways, 8 epochs + list 0.43",
            "list trained with the model",
            "list fixed, its gain trained",
            "all kinds + list 0.43",
            "9 hops, no paths + list 0.70",
        ),
    ),
    (
        "all kinds + list 0.43",
        tuple(f"{name} + list 0.43" for name in (*_LATER, "starting values per relation")),
    ),
    (
        "no paths, no lone facts + list 0.70",
        tuple(
            f"{name} + list 0.70"
            for name in (
                "paths again",
                "lone facts, too",
                "far weights shared",
                "9 hops, no paths",
                "no paths, no lone facts, 16 epochs",
            )
        ),
    ),
)
_WEIGHTS = tuple(f"rate .01, rule list, weight {weight}" for weight in (".35", ".5", "1", "1.4", "2"))
THREE_CUTS: Groups = (
    (
        "rate .01",
        (
            "rate .02",
            "rate .04",
            "rate .01, facts left out",
            "rate .02, facts left out",
            "rate .04, facts left out",
            "twelve epochs",
            "penalty 20",
            "walks of six steps",
            "three kinds of walks",
            *_WEIGHTS,
            *(f"rate .01, weight by {figure} of validation triples" for figure in ("MRR", "likelihood")),
        ),
    ),
    ("rate .02", ("rate .04", "rate .02, facts left out", "rate .04, facts left out")),
)
_KINDS = ("no unary", "no proximity, no far", "no ways", "no negative", "no far")
ABLATION: Groups = (
    ("rate .02", tuple(f"rate .02, {less}" for less in ("no rule list", *_KINDS, "rule list alone"))),
)


_OF_LISTS = ("short bodies first", "both ways in walks", "short first, both ways")
_FOUR_ATOMS = ("short first, both ways, four atoms", "bodies of four atoms")
RULE_LISTS: Groups = (
    (
        "the recipe before",
        ("list reads both ways, roles too", "list and model read both ways", "trained both ways, too"),
    ),
    ("list as before", (*_OF_LISTS, *_FOUR_ATOMS)),
    ("list alone, as before", tuple(f"list alone, {name}" for name in (*_OF_LISTS, *_FOUR_ATOMS))),
)


def choosing_table(file: Path, groups: Groups) -> str:
    """Settings on cut training graphs: differences with their standard errors, and by family in MRR."""
    stored = read_results(file).rows
    rows: list[list[object]] = []
    for base, names in groups:
        rows.append([f"{base}:", *("" for _ in range(2 + len(choosing.FAMILIES)))])
        for name in names:
            mrr, hits = (choosing.difference(stored, name, base, metric) for metric in ("mrr", "hits@10"))
            assert mrr is not None and hits is not None, name
            told = [f"{found.mean:+.4f} ± {found.error:.4f}" for found in (mrr, hits)]
            families = (mrr.by_family.get(family) for family in choosing.FAMILIES)
            rows.append([f"  {name}", *told, *("" if one is None else f"{one:+.3f}" for one in families)])
    return text_table(["setting", "mrr", "hits@10", *choosing.FAMILIES], rows)


def made_tables() -> dict[str, str]:
    """All tables of the page on accuracy, by name."""
    return {
        "hits": main_table("hits@10"),
        "mrr": main_table("mrr"),
        "standing": standing_table(),
        "full-facts": facts_only_table(),
        "hardened": hardened_table(),
        "single pass": single_pass_table(),
        "cost": cost_table(),
        "training cost": training_cost_table(),
        "training size": training_size_table(),
    }


def choosing_tables() -> dict[str, str]:
    """All tables of the decision record, by name."""
    return {
        "choosing": choosing_table(choosing.CHOSEN_BY, ONE_CUT),
        "three cuts": choosing_table(choosing.THREE_CUTS, THREE_CUTS),
        "ablation": choosing_table(choosing.THREE_CUTS, ABLATION),
        "rule lists": choosing_table(choosing.RULE_LISTS, RULE_LISTS),
    }


def main() -> None:
    """Rewrite both pages."""
    rewrite(PAGE, made_tables())
    rewrite(CHOOSING_PAGE, choosing_tables())
    print(f"{PAGE.relative_to(ROOT)}: {len(cells())} cells", file=sys.stderr)


if __name__ == "__main__":
    main()
