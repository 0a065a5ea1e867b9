"""Compares settings of the best recipe on training graphs alone: `python -m benchmarks.choosing [--jobs N]`.

A graph's own validation triples are about entities that the model was trained on, so they cannot show what a model has
learned about single entities, and that is worth nothing on another graph. Therefore training graphs are cut in two
parts without common entities: train on the facts within one, hold out facts of the other, and rank those. No test
graph is read. docs/decisions/0004-choosing.md has the graphs, the figure and the rule of decision.

A cell is one setting on one cut. Cells run several at a time and are stored as they end; what is stored is not run
again. `choosing.jsonl`, `choosing-three-cuts.jsonl` and `choosing-rule-lists.jsonl` have what the recipe was chosen by.
Their rows come from scripts of the same kind, on code that could also do what was not taken, such as training the rule
list with the model.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from os import cpu_count
from statistics import mean, variance
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from benchmarks.machine import describe
from benchmarks.result_files import RESULTS, read_results, write_results
from numba import set_num_threads

from reshuffle.cli.console import Console
from reshuffle.data.finding import DATA_VARIABLE, data_directories
from reshuffle.data.load import load_benchmark
from reshuffle.errors import ReshuffleError
from reshuffle.evaluation import Scorer, evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.splits import GraphSplit, InductiveBenchmark, TransductiveBenchmark
from reshuffle.learning.estimator import Reshuffle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

CHOSEN_BY = RESULTS / "choosing.jsonl"
THREE_CUTS = RESULTS / "choosing-three-cuts.jsonl"
RULE_LISTS = RESULTS / "choosing-rule-lists.jsonl"
COMPARED = RESULTS / "choosing-again.jsonl"
"""What this command writes."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "FB15k-237": ("FB15k-237", *(f"FB15k-237-v{n}" for n in range(1, 5))),
    "WN18RR": ("WN18RR", *(f"WN18RR-v{n}" for n in range(1, 5))),
    "NELL-995": tuple(f"NELL-995-v{n}" for n in range(2, 5)),
    "family": ("family",),
    "dense": ("umls", "kinship"),
}
FAMILY_OF = {dataset: family for family, datasets in FAMILIES.items() for dataset in datasets}
_SMALLER_HALF = ("FB15k-237", "WN18RR")  # large graphs: the smaller part is the one to train on
_EVIDENCE = ("unary", "proximity", "ways", "negative", "far")


def _without(kind: str) -> dict[str, Any]:
    return {"evidence": tuple(one for one in _EVIDENCE if one != kind)}


CHANGES: Mapping[str, dict[str, Any]] = {
    "the recipe": {},
    "no rule list": {"rules_weight": 0.0},
    "rule list, weight .43": {"rules_weight": 0.43},
    "rule list, weight 1": {"rules_weight": 1.0},
    **{f"no {kind}": _without(kind) for kind in _EVIDENCE},
    "paths as well": {"evidence": (*_EVIDENCE, "paths")},
    "6 hops": {"num_hops": 6},
    "lone facts, too": {"lone_facts": True},
    "no facts left out": {"drop_facts": 0.0},
    "learning rate .01": {"learning_rate": 0.01},
    "learning rate .04": {"learning_rate": 0.04},
    "6 layers": {"num_layers": 6},
    "32 slots, 6 layers": {"num_slots": 32, "num_layers": 6},
    "16 epochs": {"max_epochs": 16, "look_every": 16},
    "4 epochs": {"max_epochs": 4, "look_every": 4},
    "best-0.1": {"recipe": "best-0.1"},
}
"""Changes of the recipe, by name."""
_SHARE, _HELD_OUT, _MOST_NEIGHBOURS = 0.35, 0.1, 50
_MOST_QUERIES, _MOST_VALID = 400, 60


# --- cuts ---------------------------------------------------------------------------------------------------------


def cut_in_two(dataset: str, seed: int) -> InductiveBenchmark:
    """Entities within reach of a few random ones, about a third, and all others; facts between the two are left out."""
    split = _training_graph(dataset)
    facts, chance = split.facts, np.random.default_rng(seed)
    there = _grown(facts, chance)

    def within(graph: KnowledgeGraph, side: np.ndarray) -> list[tuple[str, str, str]]:
        inside = side[graph.heads] & side[graph.tails]
        return [triple for triple, kept in zip(graph, inside, strict=True) if kept]

    larger_there = len(within(facts, there)) > len(within(facts, ~there))
    if larger_there != (dataset in _SMALLER_HALF):
        there = ~there
    here, other = within(facts, ~there), within(facts, there)
    held_out = chance.random(len(other)) < _HELD_OUT
    queries = [t for t, gone in zip(other, held_out, strict=True) if gone]
    queries += [] if dataset in _SMALLER_HALF else within(split.valid, there)
    given = [t for t, gone in zip(other, held_out, strict=True) if not gone]
    return InductiveBenchmark.from_graphs(
        f"{dataset}, cut {seed}",
        train_facts=KnowledgeGraph(here),
        train_valid=_about(within(split.valid, ~there), here, here),
        test_facts=KnowledgeGraph(given),
        test_queries=_about(queries, given, here),
    )


def _training_graph(dataset: str) -> GraphSplit:
    if FAMILY_OF.get(dataset) == "dense":
        return _plain_files(dataset)
    bench = load_benchmark(dataset)
    return bench.train if isinstance(bench, InductiveBenchmark) else bench.graph


def _plain_files(dataset: str) -> GraphSplit:
    """Training and validation triples of a data set without a card."""
    for place in data_directories():
        if (place / dataset / "train.txt").is_file():
            return TransductiveBenchmark.from_directory(place / dataset).graph
    raise ReshuffleError(
        f"the files of '{dataset}' are nowhere", hint=f"name their folder in {DATA_VARIABLE}"
    )


def _grown(facts: KnowledgeGraph, chance: np.random.Generator) -> np.ndarray:
    """Some random entities and who is near them, until there are enough."""
    starts = np.concatenate([facts.heads, facts.tails])
    ends = np.concatenate([facts.tails, facts.heads])[np.argsort(starts, kind="stable")]
    first = np.searchsorted(np.sort(starts), np.arange(facts.num_entities + 1))
    inside, wanted = np.zeros(facts.num_entities, dtype=bool), _SHARE * facts.num_entities
    while inside.sum() < wanted:
        frontier, before = [int(chance.choice(np.flatnonzero(~inside)))], inside.sum()
        while frontier and inside.sum() < min(wanted, before + wanted / 4):
            inside[frontier] = True
            near = [ends[first[e] : first[e + 1]] for e in frontier]
            found = np.unique(np.concatenate([chance.permutation(n)[:_MOST_NEIGHBOURS] for n in near]))
            frontier = found[~inside[found]].tolist()
    return inside


def _about(
    triples: list[tuple[str, str, str]],
    known: list[tuple[str, str, str]],
    learned: list[tuple[str, str, str]],
) -> KnowledgeGraph:
    """Those whose entities have facts and whose relation was seen in training."""
    entities = {entity for head, _, tail in known for entity in (head, tail)}
    relations = {relation for _, relation, _ in learned}
    return KnowledgeGraph([t for t in triples if {t[0], t[2]} <= entities and t[1] in relations])


# --- cells --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One setting on one cut."""

    dataset: str
    cut: int
    name: str  # of the setting
    changes: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells it from others."""
        return self.dataset, self.cut, self.name

    @cached_property
    def bench(self) -> InductiveBenchmark:
        """The cut graph."""
        return cut_in_two(self.dataset, self.cut)

    def row(self) -> dict[str, Any]:
        """Train and rank."""
        started = time.perf_counter()
        model = Reshuffle(**self.changes, seed=1).fit(self.bench.train.facts, valid=self._valid())
        seconds = round(time.perf_counter() - started, 1)
        told = {"dataset": self.dataset, "cut": self.cut, "name": self.name, "seed": 1}
        return {**told, **self.ranked(model.on(self.bench.test.facts)), "seconds": seconds}

    def _valid(self) -> KnowledgeGraph:
        return _some(self.bench.train.valid, _MOST_VALID)

    def ranked(self, scorer: Scorer) -> dict[str, float]:
        """Under both protocols."""
        queries = _some(self.bench.test.queries, _MOST_QUERIES)
        sampled, full = (
            evaluate(scorer, queries, protocol=protocol, known=self.bench.test)
            for protocol in ("sampled-50", "full")
        )
        ties = full.to_dict()["tie_rate"]
        return {"hits@10": sampled["hits@10"], "mrr": full["mrr"], "hits@1": full["hits@1"], "ties": ties}


def _some(graph: KnowledgeGraph, most: int) -> KnowledgeGraph:
    """At most `most` triples, drawn alike in every cell."""
    triples = list(graph)
    if len(triples) <= most:
        return graph
    drawn = np.random.default_rng(7).choice(len(triples), most, replace=False)
    return KnowledgeGraph([triples[place] for place in sorted(drawn.tolist())])


def compare(
    target: Path = COMPARED,
    *,
    datasets: Sequence[str] = tuple(FAMILY_OF),
    names: Sequence[str] = tuple(CHANGES),
    cuts: Sequence[int] = (1,),
    jobs: int = 1,
    base: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Run the cells that are missing, and store each as it ends; `base`: changes for all, to try it out."""
    stored = read_results(target)
    done = {(row["dataset"], row["cut"], row["name"]) for row in stored.rows}
    cells = [
        Cell(dataset, cut, name, {**(base or {}), **CHANGES[name]})
        for name in names
        for dataset in datasets
        for cut in cuts
    ]
    missing = [cell for cell in cells if cell.key not in done]
    stored.about |= {
        "command": f"python -m benchmarks.choosing --jobs {jobs}",
        **describe(["reshuffle", "torch", "numpy"], gpu=True),
    }
    console = Console()
    with console.progress("comparing", total=len(missing), unit="cell") as report:
        for row in _rows(missing, jobs):
            stored.rows.append(row)
            write_results(target, stored)
            report(1)
    return stored.rows


def _rows(cells: Sequence[Cell], jobs: int) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from map(Cell.row, cells)
        return
    threads = max(1, (cpu_count() or 1) // jobs)
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_start, initargs=(threads,)
    ) as pool:
        for future in as_completed([pool.submit(Cell.row, cell) for cell in cells]):
            yield future.result()


def _start(threads: int) -> None:
    torch.set_num_threads(threads)
    set_num_threads(threads)


# --- differences --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """How much better a setting is than another: the mean of the families' means, and its standard error."""

    mean: float
    error: float
    by_family: Mapping[str, float]


def difference(rows: Sequence[Mapping[str, Any]], name: str, base: str, metric: str) -> Difference | None:
    """Over the cuts that have both; None where none has."""
    found = {
        (row["name"], row["dataset"], row["cut"]): row[metric] for row in rows if row["name"] in (name, base)
    }
    by_family: dict[str, list[float]] = defaultdict(list)
    for (told, dataset, cut), value in found.items():
        if told == name and (base, dataset, cut) in found:
            by_family[FAMILY_OF[dataset]].append(value - found[base, dataset, cut])
    if not by_family:
        return None
    errors = [variance(values) / len(values) for values in by_family.values() if len(values) > 1]
    means = {family: mean(by_family[family]) for family in FAMILIES if family in by_family}
    return Difference(mean(means.values()), sum(errors) ** 0.5 / len(by_family), means)


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="cells at a time (default 1)")
    parser.add_argument("--only", nargs="*", default=list(CHANGES), choices=list(CHANGES), metavar="NAME")
    parser.add_argument("--datasets", nargs="*", default=list(FAMILY_OF), choices=list(FAMILY_OF))
    parser.add_argument("--cuts", nargs="*", type=int, default=[1])
    given = parser.parse_args()
    rows = compare(datasets=given.datasets, names=given.only, cuts=given.cuts, jobs=max(1, given.jobs))
    for name in CHANGES:
        for metric in ("mrr", "hits@10"):
            if (found := difference(rows, name, "the recipe", metric)) is not None:
                print(f"{name:24} {metric:8} {found.mean:+.4f} ± {found.error:.4f}")


if __name__ == "__main__":
    main()
