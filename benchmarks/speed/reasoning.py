"""Reasoning over WordNet: this library beside nemo-python, clingo, DuckDB and scipy.sparse, in one run.

Every contender runs in a process of its own, they take turns, and the best of several runs counts. Times are
loading plus reasoning, imports and (for ours) the loading of compiled kernels apart; the whole process, with both,
stands beside them. Then: what adding one triple to the stored answers of W2 takes, against computing them anew.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result
from benchmarks.speed.workloads import CONTENDERS, EXPECTED, our_rules

if TYPE_CHECKING:
    from pathlib import Path

REPEATS = 3
TIMEOUT = 300  # seconds: nemo needs about two minutes for W3 on an idle machine, clingo far longer
SKIPPED = {("clingo", "W3"), ("reshuffle, all stored", "W3")}
REQUIRED = {
    "W2": {"nemo-python": 10.0, "clingo": 10.0, "DuckDB, SQL by hand": 1.0},
    "W3": {"DuckDB, SQL by hand": 1.0},
    "W3 megabytes": 500,
    "adding one triple": 500.0,
}


def run() -> None:
    """Measure all of it and write `results/speed/reasoning.json`."""
    train = str(wordnet_file("train.txt"))
    workloads = {workload: _in_turns(train, workload) for workload in EXPECTED}
    updates = run_fresh("benchmarks.speed.reasoning:updates", train, str(wordnet_file("valid.txt"))).value
    result = {
        "what": "load WN18RR's training triples and count all that follows; seconds, best of several runs in turns",
        "command": "python -m benchmarks.speed reasoning",
        **describe(["reshuffle", "numpy", "numba", "nemo-python", "clingo", "duckdb", "scipy"]),
        "expected_facts": EXPECTED,
        "required": REQUIRED,
        "workloads": workloads,
        "times_faster": {workload: _ratios(found) for workload, found in workloads.items()},
        "adding_one_triple": updates,
    }
    print(f"written to {write_result('reasoning', result).name}", file=sys.stderr)
    for workload, ratios in result["times_faster"].items():
        print(workload, "  ".join(f"{name}: {ratio}x" for name, ratio in ratios.items()))
    print(f"adding one triple: {updates['times_faster']}x faster than storing everything anew")


def wordnet_file(name: str) -> Path:
    """A file of WN18RR."""
    from reshuffle.data import card_of, file_cards, find_files

    found = find_files(card_of("WN18RR", file_cards()))
    if found is None:
        raise SystemExit(
            "the files of WN18RR are not here; set RESHUFFLE_DATA to the directory that holds them"
        )
    return found.directory / name


def _in_turns(path: str, workload: str) -> dict[str, Any]:
    """The best run of each contender; who exceeds the time limit once is not asked again."""
    best: dict[str, Any] = {}
    for number in range(REPEATS):
        for name, function in CONTENDERS.items():
            if (name, workload) in SKIPPED or best.get(name, {}).get("timeout"):
                continue
            if workload == "W3" and number and best[name]["both"] > 60:
                continue  # minutes long and far off: once is enough
            found = _limited(f"benchmarks.speed.workloads:{function}", path, workload)
            print(f"  {workload} {number + 1}/{REPEATS} {name}: {found}", file=sys.stderr)
            if found.get("facts") not in (None, EXPECTED[workload]):
                raise SystemExit(
                    f"{name} found {found['facts']:,} facts for {workload}, not {EXPECTED[workload]:,}"
                )
            if name not in best or found.get("both", TIMEOUT) < best[name].get("both", TIMEOUT):
                best[name] = found
    return best


def _limited(function: str, *arguments: str) -> dict[str, Any]:
    try:
        found = run_fresh(function, *arguments, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return {"timeout": TIMEOUT}
    times = {key: round(value, 3) for key, value in found.value.items() if key != "facts"}
    return {"facts": found.value["facts"], **times, **found.process_cost()}


def _ratios(found: dict[str, Any]) -> dict[str, Any]:
    ours = found["reshuffle"]["both"]
    return {
        name: f"> {TIMEOUT / ours:.0f}" if "timeout" in other else round(other["both"] / ours, 1)
        for name, other in found.items()
        if not name.startswith("reshuffle")
    }


def updates(train: str, valid: str) -> dict[str, Any]:
    """Add WN18RR's validation triples to W2's stored answers one by one, then take them out again."""
    from reshuffle import Reasoner, parse_rules
    from reshuffle.kg import read_graph

    graph, new = read_graph(train), list(read_graph(valid))
    reasoner = Reasoner(parse_rules(our_rules("W2")))
    warm: Any = reasoner.on(graph)
    warm.materialise()
    warm.add(new[:1])
    warm.remove(new[:1])
    anew = min(_seconds(reasoner.on(graph).materialise) for _ in range(5))  # type: ignore[attr-defined]
    answers: Any = reasoner.on(graph)
    answers.materialise()
    added = [_seconds(lambda triple=triple: answers.add([triple])) for triple in new]
    if answers.counts() != reasoner.on(answers.facts).counts():
        raise SystemExit("the updated answers differ from those computed anew")
    removed = [_seconds(lambda triple=triple: answers.remove([triple])) for triple in new]
    if answers.counts() != reasoner.on(graph).counts():
        raise SystemExit("the answers after removal differ from those before")
    return {
        "triples": len(new),
        "storing_anew_seconds": round(anew, 4),
        "add_microseconds": _spread(added),
        "remove_microseconds": _spread(removed),
        "times_faster": round(anew / statistics.median(added)),
    }


def _seconds(function: Any) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def _spread(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "median": round(1e6 * statistics.median(ordered), 1),
        "mean": round(1e6 * statistics.mean(ordered), 1),
        "p99": round(1e6 * ordered[int(0.99 * len(ordered))], 1),
        "max": round(1e6 * ordered[-1], 1),
    }
