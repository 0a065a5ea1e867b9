"""Past one process: W2 and W3 on DuckDB and Spark, a tree of two million facts in a 500 MB limit, and 51 million facts.

Every contender derives the same triples in a process of its own, and they take turns. Starting Spark and its Python
workers, reading and warming up are apart. Two executors with one core each run Spark's shares (`local-cluster`).
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.result_files import read_document
from benchmarks.speed import large_graph, measure
from benchmarks.speed.measure import run_fresh, write_result
from benchmarks.speed.workloads import SQL, our_rules
from benchmarks.speed.workloads import duckdb as duckdb_by_hand

REPEATS = {"W2": 2, "W3": 2, "tree": 2, "51 million facts": 1}
TREE_SIZE, TREE_SEED, LIMIT = 1_999_999, 1, "500MB"
CLUSTER = "local-cluster[2,1,1024]"
REQUIRED = {
    "W3 by Spark to Parquet, of DuckDB's recursive query to Parquet": 2.5,
    "tree by DuckDB, of our own engine": 1.5,
    "tree by DuckDB, megabytes": 600,
}
CALLS: dict[str, dict[str, tuple[str, ...]]] = {
    "W2": {
        "reshuffle in memory, counted": ("in_memory", "W2", "count"),
        "DuckDB, SQL by hand, counted": ("by_hand", "W2", "count"),
        "--engine duckdb, to Parquet": ("on_duckdb", "W2", "write"),
        "--engine duckdb, rules as tables, to Parquet": ("rules_on_duckdb", "W2", "write"),
        "--engine spark --plan split, to Parquet": ("on_spark", "W2", "write"),
    },
    "W3": {
        "reshuffle in memory, counted": ("in_memory", "W3", "count"),
        "DuckDB, recursive query by hand, counted": ("by_hand", "W3", "count"),
        "DuckDB, recursive query by hand, to Parquet": ("by_hand", "W3", "write"),
        "--engine duckdb, to Parquet": ("on_duckdb", "W3", "write"),
        "--engine spark --plan split, to Parquet": ("on_spark", "W3", "write"),
    },
    "tree": {
        "reshuffle in memory, counted": ("in_memory", "tree", "count"),
        "reshuffle in memory, 500 MB, counted": ("in_memory", "tree", "count", LIMIT),
        "--engine duckdb, 500 MB, counted": ("on_duckdb", "tree", "count", LIMIT),
        "reshuffle in memory, 500 MB, to Parquet": ("in_memory", "tree", "write", LIMIT),
        "--engine duckdb, 500 MB, to Parquet": ("on_duckdb", "tree", "write", LIMIT),
    },
    "51 million facts": {
        "infer big.rules facts/ -o out/ --engine duckdb --memory 8GB": ("large", "51000000", "8GB"),
    },
}


def run(*, only: str | None = None) -> None:
    """Measure, and write `results/speed/scale.json` after each run; one that was cut off goes on from there.

    `only` measures the rows whose `WORKLOAD: NAME` contains it, and keeps all others.
    """
    wanted = {(load, name): call for load, calls in CALLS.items() for name, call in calls.items()}
    stored = read_document(_target()) if _target().exists() else {}
    kept = stored.get("workloads", {}) if only or not stored.get("finished", True) else {}
    if only is not None:
        rows = "\n".join(map(": ".join, wanted))
        wanted = {row: call for row, call in wanted.items() if only in ": ".join(row)}
        if not wanted:
            raise SystemExit(f"no row has '{only}' in it; the rows are\n{rows}")
        kept = {
            load: {name: one for name, one in rows.items() if (load, name) not in wanted}
            for load, rows in kept.items()
        }
    result: dict[str, Any] = {
        "what": "seconds for deriving the triples of a workload, start-up and reading apart; the best of some runs",
        "command": "python -m benchmarks.speed scale",
        **describe(["reshuffle", "numpy", "numba", "duckdb", "pyspark"]),
        "repeats": REPEATS,
        "required": REQUIRED,
        "finished": False,
        "workloads": kept,
    }
    _measure(wanted, result)
    result["finished"] = all(
        result["workloads"].get(load, {}).get(name, {}).get("runs", 0) >= REPEATS.get(load, 2)
        for load, rows in CALLS.items()
        for name in rows
    )
    write_result("scale", result)
    print(result["ratios"])


def _target() -> Path:
    return measure.RESULTS / "scale.json"


def _measure(wanted: dict[tuple[str, str], tuple[str, ...]], result: dict[str, Any]) -> None:
    """Run the rows of each workload in turns, and store the best run of each as soon as it is there."""
    for load in dict.fromkeys(load for load, _ in wanted):
        for number in range(REPEATS.get(load, 2)):
            for row, (function, *arguments) in wanted.items():
                rows = result["workloads"].setdefault(load, {})
                before = rows.get(row[1], {})
                done = before.get("runs", 0)  # older files do not say how many there were
                if row[0] != load or done > number:
                    continue
                print(f"{': '.join(row)}, run {number + 1} ...", file=sys.stderr, flush=True)
                one = _one(function, *arguments)
                print(f"  {one}", file=sys.stderr, flush=True)
                better = not done or one["seconds"] < before["seconds"]
                rows[row[1]] = {**(one if better else before), "runs": number + 1}
                result["ratios"] = ratios(result["workloads"])
                write_result("scale", result)


def _one(function: str, *arguments: str) -> dict[str, Any]:
    found = run_fresh(f"benchmarks.speed.scale:{function}", *arguments)
    return {**found.value, "peak_megabytes": round(found.peak_megabytes)}


def ratios(workloads: dict[str, Any]) -> dict[str, float]:
    """Each contender's time beside the one that it is compared with, in wall time of the same run."""
    found = {}
    for workload, name, other in (
        ("W3", "--engine spark --plan split, to Parquet", "DuckDB, recursive query by hand, to Parquet"),
        ("W3", "--engine spark --plan split, to Parquet", "DuckDB, recursive query by hand, counted"),
        ("tree", "--engine duckdb, 500 MB, counted", "reshuffle in memory, 500 MB, counted"),
        ("tree", "--engine duckdb, 500 MB, to Parquet", "reshuffle in memory, 500 MB, to Parquet"),
    ):
        runs = workloads.get(workload, {})
        if name in runs and other in runs:
            ratio = runs[name]["seconds"] / runs[other]["seconds"]
            found[f"{workload}: {name} / {other}"] = round(ratio, 2)
    return found


def _graph(workload: str) -> Any:
    """WordNet's facts, or a tree in which the parent of each entity is one of those before it."""
    from benchmarks.speed.reasoning import wordnet_file

    from reshuffle.kg import KnowledgeGraph, Vocabulary, read_graph

    if workload != "tree":
        return read_graph(wordnet_file("train.txt"))
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    children = np.arange(1, TREE_SIZE + 1)
    parents = (np.random.default_rng(TREE_SEED).random(TREE_SIZE) * children).astype(np.int32)
    names = pc.binary_join_element_wise("Q", pa.array(np.arange(TREE_SIZE + 1)).cast(pa.string()), "")
    return KnowledgeGraph.from_ids(
        children.astype(np.int32),
        np.zeros(TREE_SIZE, np.int32),
        parents,
        entities=Vocabulary(names.cast(pa.large_string()), kind="entity"),
        relations=Vocabulary(["up"], kind="relation"),
    )


def _rules(workload: str) -> Any:
    from reshuffle import parse_rules

    return parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z)" if workload == "tree" else our_rules(workload))


def in_memory(workload: str, what: str, memory: str | None = None) -> dict[str, Any]:
    """Our own engine."""
    from reshuffle import Reasoner

    graph, rules = _graph(workload), _rules(workload)
    relations = list(graph.relations)
    warm = Reasoner(rules).on(
        [("a", name, "b") for name in relations] + [("b", name, "c") for name in relations]
    )
    warm.counts()
    list(warm.triples())
    with tempfile.TemporaryDirectory() as folder, _Clock() as clock:
        answers = Reasoner(rules, memory=memory).on(graph)
        derived = answers.count() if what == "count" else answers.write(f"{folder}/out/")
    return {"derived": derived, **clock.result}


def on_duckdb(workload: str, what: str, memory: str | None = None) -> dict[str, Any]:
    """Automata as tables."""
    return _on_duckdb(workload, what, memory, "auto")


def rules_on_duckdb(workload: str, what: str) -> dict[str, Any]:
    """Rules as tables."""
    return _on_duckdb(workload, what, None, "chase")


def _on_duckdb(workload: str, what: str, memory: str | None, engine: str) -> dict[str, Any]:
    """From Parquet, as the command line has it; the facts never come into Python."""
    from reshuffle import Reasoner
    from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
    from reshuffle.reasoning.scaling.engines import opened
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts

    reasoner = Reasoner(_rules(workload), engine=engine)
    deduction = Deduction(reasoner.constraints, reasoner.rules)
    with tempfile.TemporaryDirectory() as folder:
        run_fresh("benchmarks.speed.scale:store", workload, f"{folder}/facts.parquet")
        facts = ParquetFacts.at(f"{folder}/facts.parquet")
        options = Options("duckdb", memory=memory)
        with opened(deduction, facts, options, beside=f"{folder}/out") as answers, _Clock() as clock:
            if what == "count":
                derived = sum(derived for derived, _ in answers.counts().values())
            else:
                derived = answers.write(f"{folder}/out/")
        return {"derived": derived, **clock.result}


def store(workload: str, path: str) -> None:
    """Write the facts of a workload, in a process of its own, whose memory is not counted."""
    _graph(workload).write(path)


def on_spark(workload: str, what: str) -> dict[str, Any]:
    """Shares of the sources on two executors."""
    assert what == "write"
    from reshuffle import Reasoner
    from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
    from reshuffle.reasoning.scaling.engines import opened
    from reshuffle.spark.spark_session import Spark, spark_session

    graph, reasoner = _graph(workload), Reasoner(_rules(workload))
    deduction = Deduction(reasoner.constraints, reasoner.rules)
    with (
        tempfile.TemporaryDirectory() as folder,
        spark_session(Spark(master=CLUSTER)) as session,
    ):
        options = Options("spark", session=session, plan="split", partitions=8)
        with opened(deduction, graph, options, beside=f"{folder}/out") as answers:
            answers.counts()  # the workers start, and load what they run
        with _Clock() as clock, opened(deduction, graph, options, beside=f"{folder}/out") as answers:
            derived = answers.write(f"{folder}/out/")
        return {"derived": derived, "executors": len(answers.workers.seen), **clock.result}  # type: ignore[attr-defined]


def large(facts: str, memory: str) -> dict[str, Any]:
    """One command, start to end, over generated facts (`large_graph`) in Parquet files."""
    import pyarrow.parquet as pq

    from reshuffle.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        run_fresh("benchmarks.speed.large_graph:store", f"{folder}/facts", facts)
        Path(f"{folder}/big.rules").write_text(large_graph.RULES, encoding="utf-8")
        given = ["infer", f"{folder}/big.rules", f"{folder}/facts", "-o", f"{folder}/out/"]
        with _Clock() as clock, redirect_stdout(sys.stderr):
            assert main([*given, "--engine", "duckdb", "--memory", memory]) == 0
        written = Path(f"{folder}/out").rglob("*.parquet")
        derived = sum(pq.read_metadata(file).num_rows for file in written)
        return {"facts": int(facts), "derived": derived, **clock.result}


def by_hand(workload: str, what: str) -> dict[str, Any]:
    """DuckDB with the rules linearised by hand; to Parquet with names, as the others."""
    import duckdb
    from benchmarks.speed.reasoning import wordnet_file

    with tempfile.TemporaryDirectory() as folder:
        path = wordnet_file("train.txt")
        if what == "count":
            found = duckdb_by_hand(str(path), workload)
            return {"facts": found["facts"], "seconds": round(found["reason"], 2)}
        database = duckdb.connect()
        _load_by_hand(database, str(path))
        with _Clock() as clock:
            for statement in SQL[workload].split(";"):
                if statement.strip():
                    database.execute(statement).fetchall()
            database.execute(
                f"COPY (SELECT a.name AS head, b.name AS tail FROM drf JOIN entity a ON a.id = drf.h JOIN entity b "
                f"ON b.id = drf.t WHERE NOT EXISTS (SELECT 1 FROM drf0 WHERE drf0.h = drf.h AND drf0.t = drf.t)) "
                f"TO '{folder}/out.parquet' (FORMAT parquet)"
            ).fetchall()
        derived = database.execute(f"SELECT count(*) FROM '{folder}/out.parquet'").fetchall()[0][0]
        return {"derived": derived, **clock.result}


def _load_by_hand(database: Any, path: str) -> None:
    from benchmarks.speed.workloads import DRF

    database.execute(
        "CREATE TEMP TABLE triple AS SELECT * FROM read_csv(?, delim='\t', header=false, quote='', "
        "columns={'h': 'VARCHAR', 'r': 'VARCHAR', 't': 'VARCHAR'})",
        [path],
    ).fetchall()
    database.execute(
        "CREATE TEMP TABLE entity AS SELECT name, row_number() OVER () AS id FROM "
        "(SELECT h AS name FROM triple UNION SELECT t FROM triple)"
    ).fetchall()
    database.execute(
        "CREATE TEMP TABLE drf0 AS SELECT DISTINCT a.id::INTEGER AS h, b.id::INTEGER AS t FROM triple "
        "JOIN entity a ON a.name = triple.h JOIN entity b ON b.name = triple.t WHERE r = ?",
        [DRF],
    ).fetchall()


class _Clock:
    """Wall time, and the processor time of this process, which says more on a machine that others use."""

    def __enter__(self) -> _Clock:
        self._began, self._used = time.perf_counter(), _cpu()
        return self

    def __exit__(self, *_: object) -> None:
        self.result = {
            "seconds": round(time.perf_counter() - self._began, 2),
            "cpu_seconds": round(_cpu() - self._used, 2),
        }


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
