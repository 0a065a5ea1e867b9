"""Rule models on the 12 inductive data sets: `python -m benchmarks.rule_models [--jobs N]`.

| form | what it is |
| --- | --- |
| mined | rules that are found in the training facts, with fitted weights: `learn_rules(facts)` |
| mined-100, mined-1000 | of these the first 100 or 1,000 as they are listed, fitted again |

Each cell is ranked on the test graph, full and against 50 negatives, and stored in
`benchmarks/results/rule_models.jsonl`; what is stored is not run again. Settings are those of `RuleSettings()`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from multiprocessing import get_context
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.charts import BLUES, GREY, Series, grouped_bars
from benchmarks.machine import describe
from benchmarks.pages import rewrite, spread, text_table
from benchmarks.paper import DATASETS
from benchmarks.result_files import RESULTS, ROOT, changed_results, read_results

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist import RuleModel

FILE = RESULTS / "rule_models.jsonl"
PAGE = ROOT / "docs" / "explanation" / "extraction.md"
PICTURE = PAGE.with_name("rule-list-size.svg")
FORMS = ("mined", "mined-100", "mined-1000")
_THREADS = 2  # of one cell


class Cell(NamedTuple):
    """One model, on one data set."""

    dataset: str
    form: str
    seed: int


def run(cell: Cell) -> dict[str, Any]:
    """Learn one model, and rank the test triples."""
    from reshuffle.data.load import load_benchmark
    from reshuffle.evaluation import evaluate
    from reshuffle.kg.splits import InductiveBenchmark

    bench = load_benchmark(cell.dataset)
    assert isinstance(bench, InductiveBenchmark)
    started, clock = time.perf_counter(), time.process_time()
    model = learned(cell, bench.train.facts)
    seconds, processor = time.perf_counter() - started, time.process_time() - clock
    answers, known = model.on(bench.test.facts), bench.test
    full, sampled = (
        evaluate(
            answers,
            bench.test.queries,
            protocol=protocol,
            known=known,
            seed=cell.seed,
            unknown="skip",
            baseline=False,
        )
        for protocol in ("full", "sampled-50")
    )
    return {
        **cell._asdict(),
        "rules": len(model),
        "mrr": full["mrr"],
        "hits@10": sampled["hits@10"],
        "tie rate": full.to_dict()["tie_rate"],
        "seconds": round(seconds, 1),
        "processor seconds": round(processor, 1),
    }


def learned(cell: Cell, facts: KnowledgeGraph) -> RuleModel:
    """The model of a cell."""
    from reshuffle.rulelist.learner import RuleSettings, learn_rules, refit

    settings = RuleSettings().changed(seed=cell.seed)
    model = learn_rules(facts, settings=settings)
    _, _, number = cell.form.partition("-")
    return refit(model.top(int(number)), facts, settings=settings) if number else model


def _task(cell: Cell) -> dict[str, Any]:
    import numba

    numba.set_num_threads(min(_THREADS, numba.get_num_threads()))
    return run(cell)


def stored() -> dict[Cell, dict[str, Any]]:
    """The rows that are there, by cell."""
    return {Cell(row["dataset"], row["form"], row["seed"]): row for row in read_results(FILE).rows}


def keep(row: dict[str, Any]) -> None:
    """Add a row; they lie in the order of the data sets, forms and seeds."""
    with changed_results(FILE) as results:
        results.rows.append(row)
        results.rows.sort(
            key=lambda one: (DATASETS.index(one["dataset"]), FORMS.index(one["form"]), one["seed"])
        )
        results.about = {
            "what": "rule models on the test graphs: full MRR, Hits@10 among 50 negatives",
            "command": "python -m benchmarks.rule_models",
            **describe(["numpy", "numba"]),
        }


# --- the page -----------------------------------------------------------------------------------------------------


def made_tables() -> dict[str, str]:
    """The tables of the page, by name."""
    return {
        "rule models mrr": metric_table("mrr"),
        "rule models hits": metric_table("hits@10"),
        "rule models cost": cost_table(),
    }


def metric_table(metric: str) -> str:
    """Mean over seeds of each form, beside the soft model and its extracted rules, and what the list keeps."""
    others = {row["dataset"]: row["forms"] for row in read_results(RESULTS / "fidelity.jsonl").rows}
    noisy = _noisy_or(metric)
    rows: list[list[object]] = []
    for dataset in DATASETS:
        own = {form: mean(_values(dataset, form, metric)) for form in FORMS if _values(dataset, form, metric)}
        if dataset not in others or "mined" not in own:
            continue
        soft, extracted = others[dataset]["soft"][metric], others[dataset]["rules"][metric]
        wide = spread(_values(dataset, "mined", metric))
        cells = [own.get(form, "") for form in ("mined-100", "mined-1000")]
        rows.append(
            [
                dataset,
                noisy[dataset],
                extracted,
                own["mined"],
                wide,
                soft,
                own["mined"] / soft,
                *cells,
            ]
        )
    header = [
        "data set",
        "noisy-or",
        "extracted",
        "mined list",
        "±",
        "soft",
        "kept",
        "100 rules",
        "1,000",
    ]
    return text_table(header, [*rows, _means(rows)])


def picture() -> str:
    """What cutting a list costs, as SVG: per data set four bars of MRR."""
    others = {
        row["dataset"]: row["forms"]["soft"]["mrr"] for row in read_results(RESULTS / "fidelity.jsonl").rows
    }
    forms = {"100 rules": "mined-100", "1,000 rules": "mined-1000", "all rules": "mined"}
    groups = {
        _short(dataset): [*(mean(_values(dataset, form, "mrr")) for form in forms.values()), others[dataset]]
        for dataset in DATASETS
    }
    series = [*map(Series, forms, BLUES), Series("soft model", GREY)]
    return grouped_bars(groups, series, "MRR of rule lists by size")


def _short(dataset: str) -> str:
    return dataset.replace("FB15k-237", "FB").replace("WN18RR", "WN").replace("NELL-995", "NELL")


def _noisy_or(metric: str) -> dict[str, float]:
    """The mined rules of the baselines, added up by their confidences."""
    protocol = {"mrr": "full", "hits@10": "sampled-50"}[metric]
    found: dict[str, list[float]] = {}
    for row in read_results(RESULTS / "baselines.jsonl").rows:
        if row["scorer"] == "rules" and row["protocol"] == protocol:
            found.setdefault(row["dataset"], []).append(row["metrics"][metric])
    return {dataset: mean(values) for dataset, values in found.items()}


def _values(dataset: str, form: str, metric: str) -> list[float]:
    return [row[metric] for cell, row in stored().items() if cell[:2] == (dataset, form)]


def cost_table() -> str:
    """Rules, seconds and tie rates."""
    rows: list[list[object]] = []
    for dataset in DATASETS:
        if _values(dataset, "mined", "rules"):
            found = [round(mean(_values(dataset, "mined", name))) for name in ("rules", "processor seconds")]
            rows.append([dataset, *found, mean(_values(dataset, "mined", "tie rate"))])
    return text_table(["data set", "rules", "s", "tie rate"], rows)


def _means(rows: list[list[object]]) -> list[object]:
    columns = list(zip(*rows, strict=True))[1:]
    return [
        "mean",
        *(mean(map(float, column)) if all(value != "" for value in column) else "" for column in columns),
    ]


def main() -> None:
    """Run the cells that are not stored, and rewrite the page."""
    parser = argparse.ArgumentParser(description="Rule models on the inductive data sets.")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="only rewrite the page")
    options = parser.parse_args()
    if not options.page:
        cells = [
            Cell(dataset, form, seed) for dataset in DATASETS for form in FORMS for seed in options.seeds
        ]
        cells = [
            cell
            for cell in cells
            if cell not in stored() and ("-" not in cell.form or cell.seed == options.seeds[0])
        ]
        os.environ.setdefault("NUMBA_NUM_THREADS", str(_THREADS))
        cells.sort(key=lambda cell: cell.dataset[-1], reverse=True)  # the large ones first
        with get_context("spawn").Pool(options.jobs, maxtasksperchild=8) as pool:
            for row in pool.imap_unordered(_task, cells):
                print(row, file=sys.stderr, flush=True)
                keep(row)
    rewrite(PAGE, made_tables())
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
