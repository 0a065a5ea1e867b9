"""Reasoning at scale: 20 million generated triples over 5 million entities, degrees by a power law.

One question at a time on the loaded graph, and one layer of a packed sketch (20 slots, 64 channels) from 1 to 20
million triples, with the curve as a plot. The graph is made in memory; loading has a benchmark of its own.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from benchmarks.machine import describe
from benchmarks.speed.measure import RESULTS, peak_megabytes, run_fresh, write_result

TRIPLES, PER_ENTITY, RELATIONS, SEED = 20_000_000, 4, 100, 1
SLOTS, CHANNELS, REPEATS = 20, 64, 3
SIZES = (1_000_000, 2_000_000, 5_000_000, 10_000_000, 15_000_000, 20_000_000)
QUESTIONS = 2000
# The rules of the WordNet workload W2, over relations of middling frequency.
RULES = """
P40(X, Y) & P40(Y, Z) -> P40(X, Z)
P41(X, Y) & P40(Y, Z) -> P41(X, Z)
P42(X, Y) & P42(Y, Z) -> P42(X, Z)
P40(X, Y) & P42(Y, Z) -> P42(X, Z)
P40(X, Y) & P43(Y, Z) -> P43(X, Z)
P44(X, Y) -> P44(Y, X)
P45(X, Y) -> P45(Y, X)
P40(X, Y) -> isa(X, Y)
P41(X, Y) -> isa(X, Y)
P44(X, Y) & P40(X, Y) -> both(X, Y)
P44(X, Y) & P40(Y, Z) -> related(X, Z)
P45(X, Y) & P44(Y, Z) -> related(X, Z)
"""
ASKED = {"P40": "P40", "P42": "P42", "P44": "P44", "isa": "P41", "related": "P44"}  # and a fact of each head
REQUIRED = {"tails_milliseconds": "single", "layer_seconds": 180, "layer_gigabytes": 8}


def run() -> None:
    """Measure, plot, and write `results/speed/reasoning_scale.json`."""
    questions = run_fresh("benchmarks.speed.reasoning_scale:questions", str(TRIPLES)).value
    print(f"  {questions}", file=sys.stderr)
    curve = []
    for size in SIZES:
        curve.append(run_fresh("benchmarks.speed.reasoning_scale:sketch_layer", str(size)).value)
        print(f"  {curve[-1]}", file=sys.stderr)
    result = {
        "what": "questions on a generated graph, and one layer of a packed sketch over it",
        "command": "python -m benchmarks.speed reasoning_scale",
        **describe(["reshuffle", "numpy", "numba"]),
        "data": {"triples": TRIPLES, "triples_per_entity": PER_ENTITY, "relations": RELATIONS, "seed": SEED},
        "required": REQUIRED,
        "questions": questions,
        "sketch_layer": {"slots": SLOTS, "channels": CHANNELS, "repeats": REPEATS, "curve": curve},
    }
    _plot(curve)
    print(f"written to {write_result('reasoning_scale', result).name}", file=sys.stderr)
    print(f"tails: {questions['tails_milliseconds']}; one layer: {curve[-1]}")


def generated(triples: int) -> Any:
    """A graph whose degrees follow a power law: half of the ends by rank^-1, half by rank^-1/2."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from reshuffle.kg import KnowledgeGraph, Vocabulary

    random = np.random.default_rng(SEED)
    size = triples // PER_ENTITY

    def power_law() -> Any:
        steep = np.minimum(np.exp(random.random(triples) * np.log(size)), size - 1)
        flat = size * random.random(triples) ** 2
        return random.permutation(size)[np.where(random.random(triples) < 0.5, steep, flat).astype(np.int64)]

    heads, tails = power_law().astype(np.int32), power_law().astype(np.int32)
    relation_ids = (RELATIONS * random.random(triples) ** 3).astype(np.int32)

    def names(letter: str, count: int) -> Vocabulary:
        numbers = pa.array(np.arange(count)).cast(pa.string())
        joined = pc.binary_join_element_wise(letter, numbers, "")
        return Vocabulary(joined.cast(pa.large_string()), kind="entity" if letter == "Q" else "relation")

    return KnowledgeGraph.from_ids(
        heads, relation_ids, tails, entities=names("Q", size), relations=names("P", RELATIONS)
    )


def questions(triples: str) -> dict[str, Any]:
    """Single questions about random heads that have a fact, once loaded; the first one apart."""
    import numpy as np

    from reshuffle import Reasoner, parse_rules

    graph = generated(int(triples))
    began = time.perf_counter()
    answers = Reasoner(parse_rules(RULES)).on(graph)
    ready = time.perf_counter() - began
    random = np.random.default_rng(SEED)
    asked = []
    for relation, fact in ASKED.items():
        heads = random.choice(graph.edges(graph.relations.id(fact))[0], size=QUESTIONS // len(ASKED))
        asked += [(head, relation) for head in graph.entities[heads]]
    began = time.perf_counter()
    list(answers.tails(*asked[0]))
    first = time.perf_counter() - began
    began = time.perf_counter()
    for head, relation in asked[
        :20
    ]:  # the vocabulary looks the first few names up by scanning, then indexes them
        list(answers.tails(head, relation))
    next_twenty = time.perf_counter() - began
    times, sizes = [], []
    for head, relation in asked:
        began = time.perf_counter()
        found = list(answers.tails(head, relation))
        times.append(1000 * (time.perf_counter() - began))
        sizes.append(len(found))
    ordered = sorted(times)
    return {
        "triples": len(graph),
        "entities": graph.num_entities,
        "questions": QUESTIONS,
        "index_seconds": round(ready, 2),
        "first_question_seconds": round(first, 3),
        "next_twenty_with_name_index_seconds": round(next_twenty, 3),
        "tails_milliseconds": {
            "median": round(statistics.median(ordered), 3),
            "p99": round(ordered[int(0.99 * len(ordered))], 3),
            "max": round(ordered[-1], 3),
        },
        "answers": {"median": statistics.median(sizes), "mean": statistics.mean(sizes), "max": max(sizes)},
        "peak_megabytes": round(peak_megabytes()),
    }


def sketch_layer(triples: str) -> dict[str, Any]:
    """One layer, every relation constraining every slot: twenty moves per triple."""
    import numpy as np

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.sketch.propagation import moves_of, propagate, random_states

    graph = generated(int(triples))
    live = LiveGraph(graph)
    random = np.random.default_rng(SEED)
    sources = random.integers(SLOTS, size=(RELATIONS, SLOTS), dtype=np.int32)
    constraints = OrderingConstraints(tuple(graph.relations), sources)
    moves = moves_of(constraints, live.relations)
    everything = np.arange(SLOTS, dtype=np.int32)
    small = LiveGraph(generated(400))
    tiny = random_states(100, SLOTS, everything, channels=CHANNELS, density=0.05, seed=SEED)
    propagate(small, moves, tiny, layers=1)  # compiles
    draws, layers, busy = [], [], []
    for _ in range(REPEATS):
        began = time.perf_counter()
        states = random_states(
            graph.num_entities, SLOTS, everything, channels=CHANNELS, density=0.05, seed=SEED
        )
        drawn, used = time.perf_counter(), time.process_time()
        propagate(live, moves, states, layers=1)
        layers.append(time.perf_counter() - drawn)
        busy.append(time.process_time() - used)
        draws.append(drawn - began)
    millions = len(graph) / 1e6
    return {
        "triples": len(graph),
        "entities": graph.num_entities,
        "draw_seconds": round(min(draws), 2),
        "layer_seconds": round(min(layers), 2),
        "layer_cpu_seconds": round(min(busy), 2),
        "cpu_seconds_per_million": round(min(busy) / millions, 3),
        "state_megabytes": round(states.nbytes / 1e6),
        "peak_megabytes": round(peak_megabytes()),
    }


def _plot(curve: list[dict[str, Any]]) -> None:
    """Seconds over triples, with the line through the origin that the largest graph gives."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    sizes = [point["triples"] / 1e6 for point in curve]
    figure, axes = pyplot.subplots(figsize=(6, 4))
    largest = curve[-1]["layer_cpu_seconds"]
    axes.plot(
        [0, sizes[-1]], [0, largest], color="0.7", label=f"{largest / sizes[-1]:.2f} s of CPU per million"
    )
    axes.plot(sizes, [point["layer_cpu_seconds"] for point in curve], "o-", label="CPU, both threads")
    axes.plot(sizes, [point["layer_seconds"] for point in curve], "s--", label="wall clock")
    axes.set(
        xlabel="million triples", ylabel="seconds", title="One sketch layer: 20 slots, 64 channels, packed"
    )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    RESULTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(RESULTS / "reasoning_scale.svg", metadata={"Date": None})
    pyplot.close(figure)
