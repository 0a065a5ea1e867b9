"""How long it takes to learn a rule model on two cores, beside the seconds that it may take.

Each graph is learned in a process of its own that may use two cores, after a small graph has been learned there, so
that kernels are compiled. What counts is the wall time of `learn_rules`; where a machine does other work at the same
time, the processor seconds tell more.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph

CORES = 2
GRAPHS = {"WN18RR-v1": (None, 60), "FB15k-237": (100_000, 300)}
"""The training facts of which benchmarks, how many of them at most, and the seconds that are allowed."""


def run() -> None:
    """Measure and store both; says which took longer than allowed."""
    runs = [measured(dataset, most) | {"allowed_seconds": bar} for dataset, (most, bar) in GRAPHS.items()]
    write_result(
        "rule_models",
        {
            "what": "time to learn a rule model on two cores: rules found, features computed, weights fitted; "
            "kernels compiled before",
            "command": "python -m benchmarks.speed rule_models; facts of FB15k-237 are drawn by seed 0",
            **describe(["reshuffle", "numpy", "numba"]),
            "cores_used": CORES,
            "runs": runs,
        },
    )
    for one in runs:
        late = "" if one["seconds"] <= one["allowed_seconds"] else ": TOO SLOW"
        print(
            f"{one['dataset']}: {one['seconds']} s of {one['allowed_seconds']} s for {one['facts']:,} facts{late}"
        )


def measured(dataset: str, most: int | None) -> dict[str, Any]:
    """One graph in a fresh process."""
    found = run_fresh("benchmarks.speed.rule_models:learned", dataset, str(most or 0))
    print(f"  {dataset}: {found.value}", file=sys.stderr)
    return {"dataset": dataset, **found.value, "peak_gigabytes": round(found.peak_megabytes / 1000, 2)}


def learned(dataset: str, most: str) -> dict[str, Any]:
    """Contender: learn the facts of a benchmark, so many of them at most (0 for all)."""
    from reshuffle.data.families import families
    from reshuffle.rulelist import RuleSettings, learn_rules

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    facts = drawn(dataset, int(most))
    learn_rules(families(size=20).benchmark.train.facts, settings=RuleSettings().changed(steps=2))
    started, clock = time.perf_counter(), time.process_time()
    model = learn_rules(facts)
    return {
        "facts": len(facts),
        "rules": len(model),
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(time.process_time() - clock, 1),
    }


def drawn(dataset: str, most: int) -> KnowledgeGraph:
    """The training facts of a benchmark, or as many of them, drawn by seed 0."""
    import numpy as np

    from reshuffle.data.load import load_benchmark
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.splits import InductiveBenchmark

    bench = load_benchmark(dataset)
    facts = bench.train.facts if isinstance(bench, InductiveBenchmark) else bench.facts
    if not most or most >= len(facts):
        return facts
    rows = np.sort(np.random.default_rng(0).permutation(len(facts))[:most])
    triples = zip(facts.heads[rows], facts.relation_ids[rows], facts.tails[rows], strict=True)
    entities, relations = facts.entities, facts.relations
    return KnowledgeGraph([(entities[int(h)], relations[int(r)], entities[int(t)]) for h, r, t in triples])
