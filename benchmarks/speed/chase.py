"""Workload W4: rules as a miner writes them, chained to a fixpoint on the test graph of an inductive benchmark.

Rules are mined from a GraIL training graph (closed paths, inverse atoms, exact counts) and those of a support of
two and a confidence of support / (predictions + 5) above the stated one are taken. None of these bases has an exact
geometry. Every engine gets the same rules and the facts of the `_ind` graph, in a process of its own, in turns;
times are loading plus reasoning to a count of all facts. Where an engine finishes, its count must be ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result

REPEATS = 3
TIMEOUT = 60  # seconds
# Data set: longest body and least confidence. Longer bodies for those that have few relations.
WORKLOADS = {"fb237_v1": (2, 0.2), "fb237_v1 dense": (2, 0.1), "nell_v1": (3, 0.25), "WN18RR_v1": (3, 0.2)}
CONTENDERS = {
    "reshuffle, chase": "ours",
    "nemo-python": "nemo",
    "clingo": "clingo",
    "NumPy, dense products by hand": "dense",
}


def run() -> None:
    """Measure all of it and write `results/speed/chase.json`."""
    with tempfile.TemporaryDirectory() as folder:
        workloads = {name: _workload(Path(folder), name) for name in WORKLOADS}
    result = {
        "what": "mined rules chained to a fixpoint; seconds for loading and reasoning, best of several runs in turns",
        "command": "python -m benchmarks.speed chase",
        **describe(["reshuffle", "numpy", "numba", "nemo-python", "clingo"]),
        "timeout_seconds": TIMEOUT,
        "workloads": workloads,
    }
    print(f"written to {write_result('chase', result).name}", file=sys.stderr)
    for name, found in workloads.items():
        times = "  ".join(f"{engine}: {one['seconds']} s" for engine, one in found["engines"].items())
        print(f"{name}: {found['rules']} rules, {found['facts_that_hold']:,} facts hold   {times}")


def _workload(folder: Path, name: str) -> dict[str, Any]:
    from reshuffle.kg import read_graph
    from reshuffle.rules import RuleBase
    from reshuffle.rules.mining import mine

    data, (max_length, min_confidence) = name.split(maxsplit=1)[0], WORKLOADS[name]
    began = time.perf_counter()
    mined = mine(read_graph(_data(data)), max_length=max_length, min_support=2, min_confidence=min_confidence)
    seconds = time.perf_counter() - began
    rules = RuleBase(mined.rules.rules)
    graph = read_graph(_data(f"{data}_ind"))
    task = folder / f"{name}.json"
    task.write_text(json.dumps(_as_numbers(rules, graph)), encoding="utf-8")
    engines = _in_turns(name, str(task))
    holding = engines["reshuffle, chase"]["facts"]
    for engine, found in engines.items():
        if found["facts"] not in (None, holding):
            raise SystemExit(f"{name}: {engine} found {found['facts']:,} facts, not {holding:,}")
    return {
        "longest_body": max_length,
        "least_confidence": min_confidence,
        "least_support": 2,
        "rules": len(rules),
        "bodies_skipped_in_mining": mined.skipped_bodies,
        "mining_seconds": round(seconds, 2),
        "entities": graph.num_entities,
        "facts": len(graph),
        "facts_that_hold": holding,
        "share_of_all_triples": round(holding / (len(graph.relations) * graph.num_entities**2), 3),
        "engines": engines,
    }


def _data(name: str) -> Path:
    """The training file of a GraIL data set, under RESHUFFLE_DATA or beside the project."""
    roots = [Path(root) for root in (os.environ.get("RESHUFFLE_DATA"), "../shared/datasets") if root]
    for root in roots:
        for file in (root / "grail" / name / "train.txt", root / name / "train.txt"):
            if file.exists():
                return file
    raise SystemExit(f"no {name}/train.txt; set RESHUFFLE_DATA to the directory that holds it")


def _as_numbers(rules: Any, graph: Any) -> dict[str, Any]:
    """Relations and entities by number, so that no engine has to quote names: atoms are [relation, backwards]."""
    from reshuffle.kg.inverses import base_relation

    names = dict.fromkeys([*graph.relations, *(base_relation(name) for name in rules.relations)])
    number = {name: place for place, name in enumerate(names)}

    def atom(relation: str) -> list[int]:
        return [number[base_relation(relation)], int(relation != base_relation(relation))]

    triples = zip(graph.heads.tolist(), graph.relation_ids.tolist(), graph.tails.tolist(), strict=True)
    return {
        "relations": len(number),
        "rules": [[[atom(relation) for relation in rule.body], atom(rule.head)] for rule in rules],
        "facts": [list(triple) for triple in triples],
    }


def _in_turns(name: str, task: str) -> dict[str, Any]:
    """The best run of each engine; who exceeds the time limit once is not asked again."""
    best: dict[str, Any] = {}
    for turn in range(REPEATS):
        for engine, function in CONTENDERS.items():
            if engine in best and best[engine]["facts"] is None:
                continue
            found = _limited(f"benchmarks.speed.chase:{function}", task)
            print(f"  {name} {turn + 1}/{REPEATS} {engine}: {found}", file=sys.stderr)
            if engine not in best or (
                found["facts"] is not None and found["seconds"] < best[engine]["seconds"]
            ):
                best[engine] = found
    return best


def _limited(function: str, task: str) -> dict[str, Any]:
    try:
        found = run_fresh(function, task, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return {"facts": None, "seconds": f"> {TIMEOUT}"}
    return {
        "facts": found.value["facts"],
        "seconds": round(found.value["seconds"], 3),
        **found.process_cost(),
    }


# --- the engines; each returns how many facts hold, and in what time --------------------------------


def _task(path: str) -> dict[str, Any]:
    task: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return task


def ours(path: str) -> dict[str, Any]:
    """The chase. Compiled kernels are loaded before the clock starts, as other engines' code is at import."""
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning.chase import ChaseAnswers
    from reshuffle.rules import PathRule, RuleBase

    task = _task(path)

    def rule(body: list[list[int]], head: list[int]) -> PathRule:
        words = [f"r{relation}{'^-1' if backwards else ''}" for relation, backwards in [*body, head]]
        return PathRule(tuple(words[:-1]), words[-1])

    base = RuleBase((PathRule(("r0", "r0"), "r0"),))
    ChaseAnswers(base, KnowledgeGraph([("a", "r0", "b"), ("b", "r0", "c")])).counts()
    began = time.perf_counter()
    graph = KnowledgeGraph((f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in task["facts"])
    answers = ChaseAnswers(RuleBase(tuple(rule(*one) for one in task["rules"])), graph)
    total = sum(count.total for count in answers.counts().values())
    return {"facts": total, "seconds": time.perf_counter() - began}


def _datalog(body: list[list[int]], head: list[int], variable: str) -> str:
    """A rule in the Datalog that nemo and clingo share, up to how they mark variables."""
    atoms = []
    for place, (relation, backwards) in enumerate(body):
        ends = [f"{variable}{place}", f"{variable}{place + 1}"]
        atoms.append(f"r{relation}({','.join(ends[::-1] if backwards else ends)})")
    ends = [f"{variable}0", f"{variable}{len(body)}"]
    conclusion = f"r{head[0]}({','.join(ends[::-1] if head[1] else ends)})"
    return f"{conclusion} :- {', '.join(atoms)} ."


def nemo(path: str) -> dict[str, Any]:
    """nemo-python, with the facts written inline: 0.10.1 may lose one of two rules over an imported relation."""
    import nmo_python

    task = _task(path)
    began = time.perf_counter()
    lines = [f"r{relation}({head},{tail}) ." for head, relation, tail in task["facts"]]
    lines += [_datalog(body, head, "?X") for body, head in task["rules"]]
    engine = nmo_python.NemoEngine(nmo_python.load_string("\n".join(lines)))
    engine.reason()
    seconds = time.perf_counter() - began  # handing the facts to Python is nobody's reasoning
    used = {fact[1] for fact in task["facts"]} | {rule[1][0] for rule in task["rules"]}
    return {"facts": sum(1 for relation in used for _ in engine.result(f"r{relation}")), "seconds": seconds}


def clingo(path: str) -> dict[str, Any]:
    """clingo: grounding alone computes the consequences of rules without negation."""
    import clingo as engine

    task = _task(path)
    began = time.perf_counter()
    control = engine.Control(["--warn=none"])  # a relation without facts is no mistake here
    control.add("base", [], "".join(f"r{r}({h},{t})." for h, r, t in task["facts"]))
    control.add("base", [], "\n".join(_datalog(body, head, "X") for body, head in task["rules"]))
    control.ground([("base", [])])
    total = sum(
        sum(1 for _ in control.symbolic_atoms.by_signature(f"r{relation}", 2))
        for relation in range(task["relations"])
    )
    return {"facts": total, "seconds": time.perf_counter() - began}


def dense(path: str) -> dict[str, Any]:
    """Matrix products until nothing changes; a round keeps the products of prefixes for all bodies that share them."""
    import numpy as np

    task = _task(path)
    began = time.perf_counter()
    size = 1 + max(max(head, tail) for head, _, tail in task["facts"])
    matrices = np.zeros((task["relations"], size, size), dtype=np.float32)
    heads, relations, tails = np.array(task["facts"]).T
    matrices[relations, heads, tails] = 1
    before, total = -1, int(np.count_nonzero(matrices))
    while total > before:
        products: dict[tuple[tuple[int, int], ...], Any] = {}
        for body, (relation, backwards) in task["rules"]:
            word = tuple((atom, turned) for atom, turned in body)
            for length in range(1, len(word) + 1):
                if word[:length] not in products:
                    atom, turned = word[length - 1]
                    step = matrices[atom].T if turned else matrices[atom]
                    product = products[word[: length - 1]] @ step if length > 1 else step.copy()
                    products[word[:length]] = np.minimum(product, 1)
            target = matrices[relation].T if backwards else matrices[relation]
            np.maximum(target, products[word], out=target)
        before, total = total, int(np.count_nonzero(matrices))
    return {"facts": total, "seconds": time.perf_counter() - began}
