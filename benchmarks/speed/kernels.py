"""Which kernel for all answers at once: the comparison behind docs/decisions/0003-kernel.md.

One task in three shapes, the pairs of a closure: shallow and directed (W1's hypernyms), directed and dense (the
parts of W2), undirected with one giant component (W3). Every kernel gets the same edges as arrays and counts the
pairs; time to build its own structures is in, reading and compiling are not. CPU seconds count, since a machine that
others use stretches the clock but hardly those.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result
from benchmarks.speed.reasoning import wordnet_file
from benchmarks.speed.workloads import DRF, EXPECTED, HYP, PART
from numba import njit

REPEATS = 3
KERNELS = (
    "product_search",
    "graph_search",
    "words_of_64",
    "packed_rows",
    "scipy_products",
    "graphblas_products",
)
EXPECTED_PAIRS = {"W1": EXPECTED["W1"], "W2 parts": 949_475, "W3": EXPECTED["W3"]}


def run() -> None:
    """Measure all kernels on all tasks and write `results/speed/kernels.json`."""
    path = str(wordnet_file("train.txt"))
    found: dict[str, Any] = {}
    for task, expected in EXPECTED_PAIRS.items():
        found[task] = {}
        for kernel in KERNELS:
            measured = run_fresh("benchmarks.speed.kernels:measured", path, task, kernel)
            pairs = measured.value.pop("pairs")
            if pairs != expected:
                raise SystemExit(f"{kernel} counted {pairs:,} pairs for {task}, not {expected:,}")
            found[task][kernel] = {**measured.value, "peak_megabytes": round(measured.peak_megabytes)}
            print(f"  {task} {kernel}: {found[task][kernel]}", file=sys.stderr)
    result = {
        "what": "count the pairs of a closure; CPU seconds of one process with one thread, best of three",
        "command": "python -m benchmarks.speed kernels",
        **describe(["reshuffle", "numpy", "numba", "scipy", "python-graphblas"]),
        "tasks": found,
    }
    print(f"written to {write_result('kernels', result).name}", file=sys.stderr)


def measured(path: str, task: str, kernel: str) -> dict[str, Any]:
    """One kernel on one task: the best of three, after a run that compiles."""
    from reshuffle.kg import read_graph

    graph = read_graph(path)
    function = globals()[kernel]
    seconds = []
    pairs = 0
    for number in range(REPEATS + 1):
        began = time.process_time()
        pairs = function(graph, task)
        if number or time.process_time() - began > 20:
            seconds.append(time.process_time() - began)
        if sum(seconds) > 20:
            break
    return {"pairs": pairs, "cpu_seconds": round(min(seconds), 4)}


def _steps(graph: Any, task: str) -> tuple[Any, Any, int]:
    """The edges whose closure is counted; W2's parts step by a part, or by a hypernym's part (two states)."""
    size = graph.num_entities
    if task == "W2 parts":
        hyp, part = (graph.edges(graph.relations.id(name)) for name in (HYP, PART))
        # State 0 of entity e is node e, state 1 is node size + e: hypernyms lead to 0, parts to 1.
        heads = np.concatenate([hyp[0], hyp[0] + size, part[0], part[0] + size])
        tails = np.concatenate([hyp[1], hyp[1], part[1] + size, part[1] + size])
        return heads, tails, 2 * size
    heads, tails = graph.edges(graph.relations.id(HYP if task == "W1" else DRF))
    if task == "W3":
        heads, tails = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    return heads, tails, size


# --- ours -------------------------------------------------------------------------------------------


def _answers(graph: Any, task: str) -> Any:
    from benchmarks.speed.workloads import our_rules

    from reshuffle import Reasoner, parse_rules

    answers: Any = Reasoner(parse_rules(our_rules(task[:2]))).on(graph)
    return answers, {"W1": HYP, "W2 parts": PART, "W3": DRF}[task]


def product_search(graph: Any, task: str) -> int:
    """The product without dead ends, written out, and a search from every entity."""
    from reshuffle.reasoning.geometry.all_pairs import ProductWalker

    answers, relation = _answers(graph, task)
    machine = answers._machine
    automata = [machine.automata[place] for place in machine.clauses_of[relation]]
    walker = ProductWalker(graph, automata, answers.live.labels)
    return walker.count(walker.marks(), walker.sources)


def graph_search(graph: Any, task: str) -> int:
    """A search from every entity through the graph's own rows."""
    from reshuffle.reasoning.geometry.all_pairs import GraphWalker

    answers, relation = _answers(graph, task)
    walker = GraphWalker(answers.live, answers._machine, relation)
    return walker.count(walker.marks(), walker.sources)


# --- the alternatives -------------------------------------------------------------------------------


def words_of_64(graph: Any, task: str) -> int:
    """64 sources at once, one bit each, until nothing changes."""
    from reshuffle.reasoning.geometry.kernels.product import grouped

    heads, tails, size = _steps(graph, task)
    starts, targets = grouped(heads.astype(np.int32), tails.astype(np.int32), size)
    answers = size // 2 if task == "W2 parts" else 0
    return int(_words(starts, targets, size, answers, graph.num_entities))


@njit(cache=True)
def _words(  # noqa: C901 - one loop, kept in one piece
    starts: Any, targets: Any, size: int, first_answer: int, num_sources: int
) -> int:
    seen = np.zeros(size, dtype=np.uint64)
    queued = np.zeros(size, dtype=np.bool_)
    queue = np.empty(size, dtype=np.int32)
    total = 0
    for block in range(0, num_sources, 64):
        seen[:] = 0
        filled, done = 0, 0
        for source in range(block, min(block + 64, num_sources)):
            bit = np.uint64(1) << np.uint64(source - block)
            for edge in range(starts[source], starts[source + 1]):
                target = targets[edge]
                seen[target] |= bit
                if not queued[target]:
                    queued[target] = True
                    queue[filled % size] = target
                    filled += 1
        while done < filled:
            node = queue[done % size]
            done += 1
            queued[node] = False
            for edge in range(starts[node], starts[node + 1]):
                target = targets[edge]
                new = seen[target] | seen[node]
                if new != seen[target]:
                    seen[target] = new
                    if not queued[target]:
                        queued[target] = True
                        queue[filled % size] = target
                        filled += 1
        for node in range(first_answer, size):
            word = seen[node]
            while word:
                word &= word - np.uint64(1)
                total += 1
    return total


def packed_rows(graph: Any, task: str) -> int:
    """NumPy: a row of packed bits per node that has successors, or-ed until nothing changes."""
    from reshuffle.reasoning.geometry.kernels.product import grouped

    heads, tails, size = _steps(graph, task)
    used, ends = np.unique(np.concatenate([heads, tails]), return_inverse=True)
    heads, tails = ends[: len(heads)].astype(np.int32), ends[len(heads) :].astype(np.int32)
    starts, targets = grouped(heads, tails, len(used))
    rows = np.zeros((len(used), (len(used) + 63) // 64), dtype=np.uint64)
    np.bitwise_or.at(rows, (heads, tails // 64), np.uint64(1) << (tails % 64).astype(np.uint64))
    nodes = [node for node in range(len(used)) if starts[node] < starts[node + 1]]
    successors = {node: targets[starts[node] : starts[node + 1]] for node in nodes}
    changed = True
    while changed:
        changed = False
        for node in nodes:
            grown = np.bitwise_or.reduce(rows[successors[node]], axis=0) | rows[node]
            if not np.array_equal(grown, rows[node]):
                rows[node] = grown
                changed = True
    if task != "W2 parts":
        return int(np.bitwise_count(rows).sum())
    answers = np.packbits(
        np.append(used >= size // 2, np.zeros(-len(used) % 64, dtype=bool)), bitorder="little"
    )
    from_start = rows[used < size // 2]
    return int(np.bitwise_count(from_start & answers.view(np.uint64)).sum())


def scipy_products(graph: Any, task: str) -> int:
    """scipy.sparse: Boolean squaring; for W3, whose closure is dense, products of what is new."""
    from scipy import sparse

    heads, tails, size = _steps(graph, task)
    step = sparse.csr_array((np.ones(len(heads), dtype=np.bool_), (heads, tails)), shape=(size, size))
    whole = new = step
    while new.nnz:
        before = whole
        reached = new @ step if task == "W3" else whole @ whole
        new = reached > whole
        whole = before + new
    return int(whole[: size // 2, size // 2 :].nnz if task == "W2 parts" else whole.nnz)


def graphblas_products(graph: Any, task: str) -> int:
    """SuiteSparse GraphBLAS: the same over the semiring any_pair, with a mask and one thread."""
    import graphblas as gb

    gb.ss.config["nthreads"] = 1
    heads, tails, size = _steps(graph, task)
    step = gb.Matrix.from_coo(heads, tails, True, nrows=size, ncols=size)
    whole, new = step.dup(), step
    while new.nvals:
        product = new @ step if task == "W3" else whole @ whole
        found = gb.Matrix(bool, size, size)
        found(~whole.S) << gb.semiring.any_pair(product)
        whole(gb.binary.any) << found
        new = found
    return int(whole[: size // 2, size // 2 :].new().nvals if task == "W2 parts" else whole.nvals)
