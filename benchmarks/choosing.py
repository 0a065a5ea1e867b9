"""Compares settings of the best recipe on training graphs alone: `python -m benchmarks.choosing`.

A graph's own validation triples are about entities that the model was trained on, so they cannot show what a model has
learned about single entities, and that is worth nothing on another graph. Therefore the training graph is cut in two
parts without common entities: train on the facts within one, hold out facts of the other, and rank those. The test
graph is never read. Results go to `benchmarks/results/choosing.json`; what is there already is not run again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.reproduction import ROOT
from benchmarks.speed.measure import describe

from reshuffle.evaluation import evaluate
from reshuffle.kg import KnowledgeGraph, written_whole
from reshuffle.kg.benchmarks import InductiveBenchmark
from reshuffle.learning.estimator import Reshuffle
from reshuffle.rules.benchmarks import load_benchmark

RESULTS = ROOT / "benchmarks" / "results" / "choosing.json"
DATASETS = ("FB15k-237-v1", "WN18RR-v1", "NELL-995-v2")
CUTS = (1, 2)  # seeds
SMALL = {"num_slots": 16, "num_layers": 4, "max_epochs": 4, "look_every": 4}  # what a CPU can do in a minute
_ALL = {"evidence": ["unary", "proximity", "paths", "negative"], "direct_facts": "both"}
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
)
_SHARE, _HELD_OUT, _MOST_NEIGHBOURS = 0.35, 0.1, 50


def cut_in_two(dataset: str, seed: int) -> InductiveBenchmark:
    """Entities within reach of a few random ones, about a third, and all others; facts between the two are left out."""
    split = load_benchmark(dataset).train
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


def measured(dataset: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Means over the cuts."""
    rows = []
    for seed in CUTS:
        bench = cut_in_two(dataset, seed)
        answers = Reshuffle(**{**SMALL, **changes}).fit(bench.train).on(bench.test.facts)
        rows.append(
            [
                evaluate(answers, bench.test.queries, protocol=protocol, known=bench.test)
                for protocol in ("sampled-50", "full")
            ]
        )
    return {
        "dataset": dataset,
        "changes": changes,
        "hits@10": mean(row[0]["hits@10"] for row in rows),
        "mrr": mean(row[1]["mrr"] for row in rows),
        "type baseline hits@10": mean(
            row[0].to_dict()["type_baseline"]["metrics"]["hits@10"] for row in rows
        ),
    }


def main() -> None:
    """Run what is missing."""
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"rows": []}
    done = [(row["dataset"], row["changes"]) for row in stored["rows"]]
    for dataset in DATASETS:
        for changes in COMPARED:
            if (dataset, changes) in done:
                continue
            row = measured(dataset, changes)
            print(row, file=sys.stderr)
            stored["rows"].append(row)
            stored |= {
                "command": "python -m benchmarks.choosing",
                "base": SMALL,
                "seeds": list(CUTS),
                **describe(["reshuffle", "torch"]),
            }
            _write(stored)


def _write(stored: dict[str, Any]) -> None:
    with written_whole(Path(RESULTS)) as aside:
        aside.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
