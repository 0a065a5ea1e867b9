"""Closures of random graphs, as papers about Datalog engines measure them: all pairs are counted.

The graphs have the published sizes (an edge between two nodes with probability .001), and are drawn anew. Published
times are of other machines, with 32 threads; ours are processor seconds, so they do not shrink with cores.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.machine import describe
from benchmarks.pages import markdown_table, rewrite
from benchmarks.result_files import ROOT, read_document
from benchmarks.speed.measure import RESULTS, write_result

from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.kg import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

TRANSITIVE = "edge(X, Y) -> path(X, Y)\npath(X, Y) & edge(Y, Z) -> path(X, Z)"
SAME_GENERATION = "edge(P, X) & edge(P, Y) -> same(X, Y)\nedge(A, X) & same(A, B) & edge(B, Y) -> same(X, Y)"
WORK: dict[str, dict[str, Any]] = {
    "transitive closure, 10,000 nodes": {
        "rules": TRANSITIVE,
        "relation": "path",
        "nodes": 10_000,
        "engine": "geometry",
        "published": {"FlowLog, 32 threads": 8.9, "Soufflé": 24.0},
    },
    "same generation, 5,000 nodes": {
        "rules": SAME_GENERATION,
        "relation": "same",
        "nodes": 5_000,
        "engine": "chase",
        "published": {"FlowLog, 32 threads": 2.9},
    },
}
PROBABILITY, REPEATS = 0.001, 3
PAGE = ROOT / "docs" / "explanation" / "results.md"


def random_graph(nodes: int, *, seed: int = 0) -> KnowledgeGraph:
    """A directed graph with as many edges as the probability says on average."""
    chance, edges = np.random.default_rng(seed), round(PROBABILITY * nodes * nodes)
    heads, tails = (chance.integers(0, nodes, edges, dtype=np.int32) for _ in range(2))
    entities = Vocabulary([f"n{number}" for number in range(nodes)], kind="entity")
    relations = Vocabulary(["edge"], kind="relation")
    return KnowledgeGraph.from_ids(
        heads, np.zeros(edges, np.int32), tails, entities=entities, relations=relations
    )


def run() -> None:
    """Store and print the best of a few runs of each, with kernels compiled."""
    found = {name: measured(**work) for name, work in WORK.items()}
    for name, row in found.items():
        print(f"{name}: {row['pairs']:,} pairs, {row['cpu_seconds']} s; published: {row['published']}")
    write_result("closures", {**describe(["reshuffle"]), "work": found})
    rewrite(PAGE, made_tables())


def made_tables() -> dict[str, str]:
    """The stored times as a table of the page."""
    header = ["work", "edges", "pairs", "engine", "processor seconds", "published seconds"]
    rows = [
        [
            name,
            f"{row['edges']:,}",
            f"{row['pairs']:,}",
            row["engine"],
            f"{row['cpu_seconds']:.2f}",
            ", ".join(f"{other} {seconds}" for other, seconds in row["published"].items()),
        ]
        for name, row in read_document(RESULTS / "closures.json")["work"].items()
    ]
    return {"closures": markdown_table(header, rows, right=("edges", "pairs", "processor seconds"))}


def measured(
    *, rules: str, relation: str, nodes: int, engine: str, published: dict[str, float]
) -> dict[str, Any]:
    """Pairs and processor seconds of one closure, the graph in memory."""
    reasoner, graph = Reasoner(parse_rules(rules), engine=engine), random_graph(nodes)

    def pairs() -> int:
        return reasoner.on(graph).counts()[relation].total

    first, counted = _cpu_seconds(pairs)
    seconds = min(_cpu_seconds(pairs)[0] for _ in range(REPEATS))
    return {
        "engine": engine,
        "nodes": nodes,
        "edges": len(graph),
        "pairs": counted,
        "cpu_seconds": round(seconds, 3),
        "first_cpu_seconds": round(first, 3),
        "published": published,
    }


def _cpu_seconds(work: Callable[[], int]) -> tuple[float, int]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found
