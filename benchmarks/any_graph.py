"""All kinds of graphs in one suite: `python -m benchmarks.any_graph [--kind KIND] [--only NAME] [--method METHOD]`.

| kind | learn from | answer questions about | data sets |
| --- | --- | --- | --- |
| own | the training facts | the same graph | folders with train, valid and test |
| entities | the training facts | a graph of other entities | folders NAME and NAME_ind, as GraIL has them |
| relations | the facts of a new graph (msg) | that graph, with its own relations | folders with msg, as of InGram |

| method | what it is |
| --- | --- |
| list | `learn_rules`: rules with weights, those about particular entities among them |
| paths | the same with `--no-constants` |
| best | the soft recipe with a list beside it |

Data sets are found below `RESHUFFLE_DATA` by their layout, so that a folder of one's own takes part by its name. All
ranking is full and filtered by all known triples; entities without facts are ranked, too. Ties are read both ways:
realistic, and pessimistic as foundation models report. `--on valid` ranks validation triples, to choose by; of graphs
with other entities these are triples of the training graph. Rows are stored as they end, and what is stored is not run
again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.charts import COLOURS, Axis, Series, grouped_bars, lines
from benchmarks.machine import describe
from benchmarks.pages import rewrite, spread, text_table
from benchmarks.result_files import RESULTS, ROOT, changed_results, read_results

from reshuffle.data.finding import data_directories
from reshuffle.errors import InputError
from reshuffle.evaluation import evaluate
from reshuffle.evaluation.protocols import PROTOCOLS
from reshuffle.kg import KnowledgeGraph, read_graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.rulelist import RuleModel

FILE = RESULTS / "any_graph.jsonl"
PAGE = ROOT / "docs" / "explanation" / "any-graph.md"
KINDS = ("own", "entities", "relations")
METHODS = ("list", "paths", "best")
_FULL = PROTOCOLS["full"]
_PESSIMISTIC = replace(_FULL, ties="pessimistic")
_DEPTH = 3  # folders below the data directory


@dataclass(frozen=True)
class DataSet:
    """Where the graphs of a data set lie."""

    name: str
    kind: str
    learned: Path
    asked: Path

    def part(self, name: str, folder: Path | None = None) -> KnowledgeGraph:
        """One file of a folder; without a folder, a file of the graph that questions are about."""
        folder = folder or self.asked
        (file,) = [path for path in folder.iterdir() if path.name in (f"{name}.txt", f"{name}.txt.gz")]
        return read_graph(file)

    @property
    def facts_name(self) -> str:
        """The file of the facts."""
        return "msg" if self.kind == "relations" else "train"


def data_sets(directories: Sequence[Path]) -> Iterator[DataSet]:
    """Those that lie below some directories, by their layouts."""
    for directory in filter(Path.is_dir, directories):
        folders = {directory}
        for _ in range(_DEPTH):
            folders |= {one for folder in folders for one in folder.iterdir() if one.is_dir()}
        for folder in sorted(folders):
            there = {path.name.removesuffix(".gz") for path in folder.iterdir()}
            if not {"train.txt", "valid.txt", "test.txt"} <= there or folder.name.endswith("_ind"):
                continue
            other = folder.with_name(f"{folder.name}_ind")
            if "msg.txt" in there:
                yield DataSet(folder.name, "relations", folder, folder)
            elif other.is_dir():
                yield DataSet(folder.name, "entities", folder, other)
            else:
                yield DataSet(folder.name, "own", folder, folder)


@dataclass(frozen=True)
class Cell:
    """One method on one data set."""

    kind: str
    dataset: str
    method: str
    seed: int
    on: str


def run(cells: Sequence[Cell], data: DataSet) -> Iterator[dict[str, Any]]:
    """Learn once, and rank what each cell asks."""
    facts = data.part(data.facts_name, data.learned)
    started, clock = time.perf_counter(), time.process_time()
    valid = data.part("valid", data.learned) if data.kind == "own" else None
    model, size = learned(cells[0], facts, valid)
    seconds, processor = time.perf_counter() - started, time.process_time() - clock
    cost = {"seconds": round(seconds, 1), "processor seconds": round(processor, 1)}
    for cell in cells:
        yield {**vars(cell), "facts": len(facts), **size, **ranked(cell, model, data), **cost}


def ranked(cell: Cell, model: Any, data: DataSet) -> dict[str, Any]:
    """The measures of a model on one part of a data set, under both readings of ties."""
    on_own = (
        cell.on == "valid" and data.kind == "entities"
    )  # whose other graph is not looked at before the end
    asked = data.learned if on_own else data.asked
    queries, names = data.part(cell.on, asked), dict.fromkeys((data.facts_name, "valid", "test"))
    known = [data.part(name, asked) for name in names]
    scorer = model.on(data.part(data.facts_name, asked))
    options: dict[str, Any] = {"known": known, "seed": cell.seed, "unknown": "isolate", "baseline": False}
    on_valid = cell.on == "valid"  # to which probabilities are fitted
    full, pessimistic = (evaluate(scorer, queries, protocol=one, **options) for one in (_FULL, _PESSIMISTIC))
    return {
        "queries": len(queries),
        **{name: full[name] for name in ("mrr", "hits@1", "hits@10")},
        "pessimistic mrr": pessimistic["mrr"],
        "tie rate": full.to_dict()["tie_rate"],
        **({} if full.reliability is None or on_valid else {"calibration": full.reliability.to_dict()}),
    }


def learned(
    cell: Cell, facts: KnowledgeGraph, valid: KnowledgeGraph | None = None
) -> tuple[Any, dict[str, int]]:
    """A model of the facts, and how many rules it has. Validation triples only say how likely answers of a list are."""
    if cell.method == "best":
        from reshuffle.learning.estimator import Reshuffle

        model = Reshuffle(seed=cell.seed).fit(facts)
        return model, {} if model.listed is None else _size(model.listed)
    from reshuffle.rulelist.learner import RuleSettings, learn_rules

    settings = RuleSettings().changed(seed=cell.seed)
    settings = settings if cell.method == "list" else replace(settings, constants=None)
    found = learn_rules(facts, valid=valid, settings=settings)
    return found, _size(found)


def _size(found: RuleModel) -> dict[str, int]:
    return {"rules": len(found), "constants": len(found.constants)}


def stored(file: Path) -> dict[Cell, dict[str, Any]]:
    """The rows that are there, by cell."""
    names = Cell.__dataclass_fields__
    return {Cell(**{name: row[name] for name in names}): row for row in read_results(file).rows}


def keep(row: dict[str, Any], file: Path) -> None:
    """Add a row; they lie by kind, data set, method and seed."""
    with changed_results(file) as results:
        results.rows.append(row)
        results.rows.sort(
            key=lambda one: (KINDS.index(one["kind"]), one["dataset"], one["method"], one["on"], one["seed"])
        )
        results.about = {
            "what": "all kinds of graphs: full filtered ranking, ties realistic and pessimistic",
            "command": "python -m benchmarks.any_graph",
            **describe(["numpy", "numba", "torch"]),
        }


# --- the page -----------------------------------------------------------------------------------------------------


def table_of(kind: str, on: str, file: Path = FILE) -> str:
    """Mean and spread over seeds of each method on each data set."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell, row in stored(file).items():
        if (cell.kind, cell.on) == (kind, on):
            found.setdefault((cell.dataset, cell.method), []).append(row)
    rows: list[list[object]] = []
    for (dataset, method), cells in sorted(
        found.items(), key=lambda one: (one[0][0], METHODS.index(one[0][1]))
    ):
        values = {
            name: [row[name] for row in cells] for name in ("mrr", "hits@1", "hits@10", "pessimistic mrr")
        }
        means = [mean(values[name]) for name in ("mrr", "hits@1", "hits@10", "pessimistic mrr")]
        numbers = [*means, spread(values["mrr"]), mean(row["tie rate"] for row in cells)]
        cost = round(mean(row["processor seconds"] for row in cells))
        rows.append([dataset, method, len(cells), *numbers, cost])
    if not rows:
        return "Not measured."
    header = ["data set", "method", "seeds", "mrr", "hits@1", "hits@10", "pessimistic", "±", "tie rate", "s"]
    return text_table(header, rows)


def made_tables() -> dict[str, str]:
    """The tables of the page, by name."""
    ranked = {f"{kind} {on}": table_of(kind, on) for kind in KINDS for on in ("valid", "test")}
    return ranked | {"probabilities": probabilities()}


def probabilities(file: Path = FILE) -> str:
    """How likely the first answers to test questions are said to be, and how many are true."""
    rows: list[list[object]] = []
    for cell, row in stored(file).items():
        if (found := row.get("calibration")) is not None:
            numbers = [found[name] for name in ("questions", "stated", "true", "error")]
            rows.append([cell.dataset, cell.method, *numbers])
    if not rows:
        return "Not measured."
    return text_table(
        ["data set", "method", "questions", "stated", "true", "expected calibration error"], rows
    )


def mrr_picture(kind: str) -> str:
    """The MRR of test triples by each method, for the data sets of a kind."""
    found: dict[tuple[str, str], list[float]] = {}
    for cell, row in stored(FILE).items():
        if (cell.kind, cell.on) == (kind, "test"):
            found.setdefault((cell.dataset, cell.method), []).append(row["mrr"])
    names = sorted({dataset for dataset, _ in found})
    methods = [one for one in METHODS if all((name, one) in found for name in names)]
    groups = {name: [mean(found[name, method]) for method in methods] for name in names}
    series = [Series(method, colour) for method, colour in zip(methods, COLOURS, strict=False)]
    return grouped_bars(groups, series, "MRR of test triples")


def reliability_picture() -> str:
    """How likely first answers are said to be, and how many are true, in bins of equal count."""
    points = {
        cell.dataset: [(one["stated"], one["true"]) for one in row["calibration"]["bins"]]
        for cell, row in stored(FILE).items()
        if "calibration" in row and cell.method == "list"
    }
    exact = {"exact": [(0.0, 0.0), (1.0, 1.0)]}
    return lines(exact | points, Axis("probability that is stated", 0, 1), Axis("share that is true", 0, 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cells that are not stored, and rewrite the page."""
    parser = argparse.ArgumentParser(description="All kinds of graphs in one suite.")
    parser.add_argument("--kind", choices=KINDS, action="append", help="of graphs; repeatable")
    parser.add_argument("--only", metavar="NAME", action="append", help="this data set; repeatable")
    parser.add_argument(
        "--method", choices=METHODS, action="append", help="repeatable (default: list and paths)"
    )
    parser.add_argument(
        "--on",
        choices=("valid", "test"),
        nargs="+",
        default=["valid"],
        help="triples to rank (default valid)",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("-o", "--output", type=Path, default=FILE, help="where rows are stored")
    chosen = parser.parse_args(arguments)
    every = [one for one in data_sets(data_directories()) if one.kind in (chosen.kind or KINDS)]
    every.sort(key=lambda one: (KINDS.index(one.kind), one.name))
    if unknown := set(chosen.only or ()) - {one.name for one in every}:
        names = ", ".join(sorted({one.name for one in every})) or "none: set RESHUFFLE_DATA"
        raise InputError(f"there is no data set {sorted(unknown)[0]}", hint=f"those found are {names}")
    trainings = [
        (one, [Cell(one.kind, one.name, method, seed, on) for on in chosen.on])
        for one in every
        if chosen.only is None or one.name in chosen.only
        for method in chosen.method or ("list", "paths")
        for seed in chosen.seeds
    ]
    for place, (data, cells) in enumerate(trainings, start=1):
        there = stored(chosen.output)
        left = [cell for cell in cells if cell not in there]
        if not left:
            continue
        print(f"{place} of {len(trainings)}: {data.name}, {left[0].method}, seed {left[0].seed}", flush=True)
        for row in run(left, data):
            keep(row, chosen.output)
            told = f"MRR {row['mrr']:.3f}, tie rate {row['tie rate']:.2f}, {row['processor seconds']} s"
            print(f"  {row['on']}: {told}", flush=True)
    if chosen.output == FILE:
        rewrite(PAGE, made_tables())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
