"""Compares settings of the best recipe on training graphs alone: `python -m benchmarks.choosing [--full --jobs N]`.

A graph's own validation triples are about entities that the model was trained on, so they cannot show what a model has
learned about single entities, and that is worth nothing on another graph. Therefore the training graph is cut in two
parts without common entities: train on the facts within one, hold out facts of the other, and rank those. The test
graph is never read.

Small models, for a CPU, are compared with what the recipe was before (`BASE`), and go to
`benchmarks/results/choosing.jsonl`. With `--full` models of the recipe's own size are compared with the recipe as it
is, best on a GPU and several at a time; they go to `benchmarks/results/choosing-full.jsonl`. What is there already is
not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from os import cpu_count
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from benchmarks.combining import Averaged, BothDirections
from benchmarks.machine import describe
from benchmarks.result_files import RESULTS, Results, read_results, write_results
from numba import set_num_threads

from reshuffle.cli.console import Console
from reshuffle.data.load import load_benchmark
from reshuffle.evaluation import Scorer, TypeBaseline, evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.splits import InductiveBenchmark
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from reshuffle.model.answers.model_answers import ModelAnswers

SMALL_RESULTS = RESULTS / "choosing.jsonl"
FULL_RESULTS = RESULTS / "choosing-full.jsonl"
SCRIPT_RESULTS = RESULTS / "chosen-by-script.jsonl"
"""What the recipe's epochs were chosen by before `--full` was there; no command writes it."""
DATASETS = ("FB15k-237-v1", "WN18RR-v1", "NELL-995-v2")
CUTS = (1, 2)  # seeds
BASE: dict[str, Any] = {
    "recipe": "paper",  # what is not named here is as the paper has it
    "initial": "head",
    "num_slots": 16,  # this, layers and epochs: what a CPU can do in a minute
    "num_layers": 4,
    "identity": False,
    "slot_weights": True,
    "evidence": ["unary", "proximity", "negative"],
    "direct_facts": "against",
    "hide_targets": True,
    "loss": "softmax",
    "batch_size": 64,
    "learning_rate": 0.01,
    "schedule": "linear",
    "max_gradient": 1.0,
    "evidence_decay": 2.0,
    "evidence_prior": "equal",
    "epoch_steps": 100,
    "max_epochs": 4,
    "look_every": 4,
    "select_by": "mrr",
    "relative_delta": 0.01,
}
"""The best recipe as it was when the small models were compared, smaller. Its successor came out of the comparison."""
_ALL = {"evidence": ["unary", "proximity", "paths", "negative"], "direct_facts": "both"}
_WITH_WAYS = ["unary", "proximity", "paths", "ways", "negative"]
COMPARED: tuple[dict[str, Any], ...] = (
    {},
    {**_ALL, "evidence_prior": "examples", "evidence_decay": 50.0},
    {"direct_facts": "both", "evidence_prior": "examples", "evidence_decay": 50.0},
    {"evidence_decay": 0.001},
    {"evidence_decay": 0.1},
    {"evidence_decay": 20.0},
    {"learning_rate": 0.02},
    {"drop_facts": 0.5},
    {"evidence_prior": "examples", "evidence_decay": 50.0},
    {"evidence_prior": "examples", "evidence_decay": 50.0, "learning_rate": 0.02},
    {"evidence_prior": "examples", "evidence_decay": 10.0, "learning_rate": 0.02},
    {**_ALL, "evidence": _WITH_WAYS, "evidence_prior": "examples", "evidence_decay": 50.0},
)
"""Changes against `BASE`."""
COMPARED_FULL: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
    ({}, (1, 2, 3)),
    ({"evidence": _WITH_WAYS}, (1, 2, 3)),
    ({"evidence": _WITH_WAYS, "max_epochs": 8, "look_every": 2}, (1,)),
    ({"evidence": _WITH_WAYS, "look_every": 2}, (1,)),
    ({"evidence": _WITH_WAYS, "num_slots": 64}, (1,)),
    ({"evidence": _WITH_WAYS, "max_epochs": 4}, (1,)),
)
"""Changes against the recipe as it is, and the seeds to train with. The recipe keeps its last epoch; with `look_every`
of 2 it is the one that is best on the validation triples."""
_MEASURED = frozenset(("hits@10", "mrr", "hits@1", "tie_rate", "type baseline hits@10"))
_SHARE, _HELD_OUT, _MOST_NEIGHBOURS = 0.35, 0.1, 50


def cut_in_two(dataset: str, seed: int) -> InductiveBenchmark:
    """Entities within reach of a few random ones, about a third, and all others; facts between the two are left out."""
    bench = load_benchmark(dataset)
    split = bench.train if isinstance(bench, InductiveBenchmark) else bench.graph
    facts, chance = split.facts, np.random.default_rng(seed)
    there = _grown(facts, chance)

    def within(graph: KnowledgeGraph, side: np.ndarray) -> list[tuple[str, str, str]]:
        inside = side[graph.heads] & side[graph.tails]
        return [triple for triple, kept in zip(graph, inside, strict=True) if kept]

    if len(within(facts, there)) > len(within(facts, ~there)):
        there = ~there  # the larger part is the one to train on
    here, other = within(facts, ~there), within(facts, there)
    held_out = chance.random(len(other)) < _HELD_OUT
    queries = [t for t, gone in zip(other, held_out, strict=True) if gone] + within(split.valid, there)
    given = [t for t, gone in zip(other, held_out, strict=True) if not gone]
    return InductiveBenchmark.from_graphs(
        f"{dataset}, cut {seed}",
        train_facts=KnowledgeGraph(here),
        train_valid=_about(within(split.valid, ~there), here, here),
        test_facts=KnowledgeGraph(given),
        test_queries=_about(queries, given, here),
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


# --- small models -----------------------------------------------------------------------------------------------------


def measured(dataset: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The metrics of one setting on one data set, means over the cuts."""
    rows = []
    for seed in CUTS:
        bench = cut_in_two(dataset, seed)
        answers = Reshuffle(**{**BASE, **changes}, device="cpu").fit(bench.train).on(bench.test.facts)
        rows.append(_ranked(answers, bench, answers.type_baseline))
    means = {name: mean(row[name] for row in rows) for name in ("hits@10", "mrr", "type baseline hits@10")}
    return {"dataset": dataset, "changes": changes, **means}


def _ranked(scorer: Scorer, bench: InductiveBenchmark, types: TypeBaseline) -> dict[str, float]:
    """Under both protocols, with the type baseline of the training part beside it."""
    sampled, full = (
        evaluate(scorer, bench.test.queries, protocol=protocol, known=bench.test, baseline=types)
        for protocol in ("sampled-50", "full")
    )
    report = sampled.to_dict()
    return {
        "hits@10": sampled["hits@10"],
        "mrr": full["mrr"],
        "hits@1": full["hits@1"],
        "tie_rate": report["tie_rate"],
        "type baseline hits@10": report["type_baseline"]["metrics"]["hits@10"],
    }


def compare_small() -> None:
    """Run what is missing."""
    stored = _stored(SMALL_RESULTS, BASE)
    done = [(row["dataset"], row["changes"]) for row in stored.rows]
    for dataset in DATASETS:
        for changes in COMPARED:
            if (dataset, changes) in done:
                continue
            row = measured(dataset, changes)
            print(row, file=sys.stderr)
            stored.rows.append(row)
            stored.about |= {
                "command": "python -m benchmarks.choosing",
                "base": BASE,
                "seeds": list(CUTS),
                **describe(["reshuffle", "torch"]),
            }
            write_results(SMALL_RESULTS, stored)


# --- models of the recipe's size --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One setting on one cut. Of several seeds also the mean is ranked, and both directions of the first one's."""

    dataset: str
    cut: int
    changes: dict[str, Any]  # against `base`
    seeds: tuple[int, ...]
    base: dict[str, Any]

    @property
    def key(self) -> tuple[str, int, dict[str, Any]]:
        """Data set, cut and changes, which all its rows share."""
        return self.dataset, self.cut, self.changes

    def rows(self) -> list[dict[str, Any]]:
        """The measured rows, one per way to score."""
        bench = cut_in_two(self.dataset, self.cut)
        answers: list[ModelAnswers] = []
        rows: list[dict[str, Any]] = []

        def add(scoring: str, seeds: Sequence[int], scorer: Scorer, **more: Any) -> None:
            told = {"dataset": self.dataset, "cut": self.cut, "changes": self.changes, "scoring": scoring}
            found = _ranked(scorer, bench, answers[0].type_baseline)
            rows.append({**told, "seeds": list(seeds), **found, **more})

        for seed in self.seeds:
            started = time.perf_counter()
            model = Reshuffle(recipe="best-0.1", **{**self.base, **self.changes}, seed=seed).fit(bench.train)
            seconds = round(time.perf_counter() - started, 1)
            answers.append(model.on(bench.test.facts))
            add("alone", [seed], answers[-1], kept_epoch=model.summary()["best_epoch"], seconds=seconds)
        if len(answers) > 1:
            first = self.seeds[:1]
            add("mean of seeds", self.seeds, Averaged(answers))
            add("both directions", first, BothDirections(answers[0], shares=False))
            add("both directions, as shares", first, BothDirections(answers[0], shares=True))
        return rows


def own_rows(stored: Results) -> bool:
    """Is every row one that `compare_full` makes, and measured as it does?"""
    settings = [changes for changes, _ in COMPARED_FULL]
    return all(row["changes"] in settings and set(row) >= _MEASURED for row in stored.rows)


def compare_full(
    target: Path = FULL_RESULTS,
    *,
    datasets: Sequence[str] = DATASETS,
    jobs: int = 1,
    base: dict[str, Any] | None = None,
) -> Results:
    """Run what is missing, several at a time; `base`: changes of the recipe for all, for those who only try it out."""
    base = base or {}
    stored = _stored(target, _plain(Settings.of("best-0.1", **base).to_dict()))
    if not own_rows(stored):
        raise SystemExit(
            f"{target.name} has rows that this command did not make\n  hint: move it away, and all is run again"
        )
    done = [(row["dataset"], row["cut"], row["changes"]) for row in stored.rows]
    # The longest first, so that nobody waits for one at the end.
    trials = [
        Trial(dataset, cut, changes, seeds, base)
        for changes, seeds in sorted(COMPARED_FULL, key=lambda one: -len(one[1]))
        for dataset in datasets
        for cut in CUTS
    ]
    missing = [trial for trial in trials if trial.key not in done]
    stored.about |= {
        "command": f"python -m benchmarks.choosing --full --jobs {jobs}",
        "base": _plain(Settings.of("best-0.1", **base).to_dict()),
        "cuts": list(CUTS),
        **describe(["reshuffle", "torch", "numpy"], gpu=True),
    }
    console = Console()
    with console.progress("comparing", total=len(missing), unit="setting") as report:
        for rows in _run(missing, jobs):
            stored.rows += rows
            write_results(target, stored)
            report(1)
            console.message(f"{len(stored.rows)} rows, the last: {rows[-1]}")
    return stored


def _run(trials: Sequence[Trial], jobs: int) -> Iterator[list[dict[str, Any]]]:
    if jobs == 1:
        yield from map(Trial.rows, trials)
        return
    threads = max(1, (cpu_count() or 1) // jobs)
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_start, initargs=(threads,)
    ) as pool:
        for future in as_completed([pool.submit(Trial.rows, trial) for trial in trials]):
            yield future.result()


def _start(threads: int) -> None:
    torch.set_num_threads(threads)
    set_num_threads(threads)


# --- result files -----------------------------------------------------------------------------------------------------


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from a file: lists for tuples."""
    return dict(json.loads(json.dumps(settings)))


def _stored(path: Path, base: dict[str, Any]) -> Results:
    """What is there already, if it was compared with the same."""
    found = read_results(path)
    if found.about.get("base", base) != base:
        raise SystemExit(
            f"{path.name} compares with other settings than this would\n  hint: remove it, and all is run again"
        )
    return found


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="models of the recipe's own size")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="with --full: at a time (default 1)")
    arguments = parser.parse_args()
    if arguments.full:
        compare_full(jobs=max(1, arguments.jobs))
    else:
        compare_small()


if __name__ == "__main__":
    main()
