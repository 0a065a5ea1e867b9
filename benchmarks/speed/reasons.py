"""How long the reasons for one predicted triple take, on the 12 inductive sets; the promise is 50 ms on a CPU.

The model has the shape of the best recipe and matrices as they are before training: dense rows, so that every walk
carries something and nothing is cut short. Each time is one `answers.reasons(head, relation, tail, most=3)` for a test
query; the graph is prepared once before, and that time is told, too.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.answers.model_answers import ModelAnswers

PROMISE_SECONDS = 0.05
QUERIES = 100


def measure(name: str) -> dict[str, Any]:
    """Both graphs of one data set: the small one that is asked about, and the larger one of the training."""
    from reshuffle import InductiveBenchmark, load_benchmark

    bench = load_benchmark(name)
    assert isinstance(bench, InductiveBenchmark)
    graphs = {
        "test": (bench.test.facts, bench.test.queries),
        "train": (bench.train.facts, bench.train.valid),
    }
    _times(*graphs["test"], 1)  # compiles
    return {part: _times(graph, queries, QUERIES) for part, (graph, queries) in graphs.items()}


def _times(graph: KnowledgeGraph, queries: KnowledgeGraph, count: int) -> dict[str, Any]:
    known = [
        query
        for query in queries
        if query.head in graph.entities and query.tail in graph.entities and query.relation in graph.relations
    ]
    answers = _untrained(graph)
    started = time.perf_counter()
    answers.reasons(*known[0])
    prepared = time.perf_counter() - started
    seconds, found = [], 0
    for query in known[:: max(1, len(known) // count)][:count]:
        started = time.perf_counter()
        found += bool(answers.reasons(*query, most=3))
        seconds.append(time.perf_counter() - started)
    return {
        "entities": graph.num_entities,
        "triples": len(graph),
        "first_seconds": round(prepared, 4),
        "median_seconds": round(statistics.median(seconds), 4),
        "p95_seconds": round(sorted(seconds)[int(0.95 * (len(seconds) - 1))], 4),
        "queries": len(seconds),
        "with_reasons": found,
    }


def _untrained(graph: KnowledgeGraph) -> ModelAnswers:
    from reshuffle.learning.settings import Settings
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.model.reshuffle import ReshuffleModel

    model = ReshuffleModel(len(graph.relations), Settings.of("best").architecture, seed=1)
    return ModelAnswers(model.eval(), tuple(graph.relations), graph)


def run() -> None:
    """All sets, each in a fresh process."""
    from benchmarks.paper import DATASETS

    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    results = {}
    for name in DATASETS:
        results[name] = run_fresh("benchmarks.speed.reasons:measure", name, environment=one_thread).value
        told = ", ".join(
            f"{part} {times['median_seconds'] * 1000:.1f} ms" for part, times in results[name].items()
        )
        print(f"{name}: {told}", file=sys.stderr)
    parts = [part for result in results.values() for part in result.values()]
    result = {
        **describe(["torch", "numba", "numpy"]),
        "promise_seconds": PROMISE_SECONDS,
        "slowest_median_seconds": max(part["median_seconds"] for part in parts),
        "slowest_p95_seconds": max(part["p95_seconds"] for part in parts),
        "results": results,
    }
    print(write_result("reasons", result))
