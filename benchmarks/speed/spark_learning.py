"""Learning from ten million facts on two workers of Spark: how long, in how much memory, and what is found.

A typed graph with hubs and planted rules (`benchmarks.typed_graphs`) lies in a folder of Parquet files. The command
line learns a rule list from it (`train --recipe rules --engine spark`) and asks for the most likely links of all
relations (`predict --all --engine spark`). Spark runs two executors with one core each, each a process. Memory is
the most that a process has held. Files of the graph that it has mapped are among it, and so count for each process.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result

if TYPE_CHECKING:
    from collections.abc import Iterable

FACTS, SEED, MINUTES, TOP = 10_400_000, 1, 8.0, 1_000
"""Facts asked for, of which a few are there twice; minutes for learning; links."""
CLUSTER = "local-cluster[2,1,1024]"
_FILE = 1_000_000  # facts of a Parquet file
_BETWEEN = 0.2  # seconds between two looks at the memory
_KINDS = {
    "CoarseGrainedExecutorBackend": "executor, Java",
    "pyspark.daemon": "executor, Python",
    "pyspark.worker": "executor, Python",
    "SparkSubmit": "asking process, Java",
}


def run() -> None:
    """Measure, and write `results/speed/spark_learning.json`."""
    with tempfile.TemporaryDirectory() as folder:
        run_fresh("benchmarks.speed.spark_learning:store", folder, str(FACTS))
        found = learned_on_spark(Path(folder), "--minutes", f"{MINUTES:g}")
    document = {
        "what": "a rule list of a generated graph on two workers of Spark, and the links of all relations",
        "command": "python -m benchmarks.speed spark_learning",
        "graph": f"benchmarks.typed_graphs, seed {SEED}, in Parquet files of {_FILE:,} facts",
        "master": CLUSTER,
        **describe(["reshuffle", "numpy", "numba", "pyspark"]),
        "load": [round(load, 1) for load in os.getloadavg()],
        **found,
    }
    print(write_result("spark_learning", document))


def store(folder: str, facts: str, relations: str = "60") -> None:
    """Write the facts as a folder of Parquet files, and the rules that are planted in them."""
    import pyarrow.parquet as pq
    from benchmarks.typed_graphs import Shape, typed_graph

    made = typed_graph(Shape(int(facts), relations=int(relations), seed=SEED))
    made.write(folder)
    whole, parts = Path(folder, "facts.parquet"), Path(folder, "facts")
    parts.mkdir()
    for number, batch in enumerate(pq.ParquetFile(whole).iter_batches(_FILE)):
        with pq.ParquetWriter(parts / f"part-{number}.parquet", batch.schema) as writer:
            writer.write_batch(batch)
    whole.unlink()


def learned_on_spark(folder: Path, *options: str) -> dict[str, Any]:
    """Learn with these options and ask, by the command line; what was found, and what it took."""
    import pyarrow.parquet as pq

    sizes = [pq.read_metadata(file).num_rows for file in sorted(Path(folder, "facts").iterdir())]
    spark = ["--engine", "spark", "--master", CLUSTER, "--json"]
    recipe = ["--recipe", "rules", "--no-constants", *options]
    learning = _measured(folder, "train", "facts", "-o", "model", *recipe, *spark) | planted_rules_found(
        folder
    )
    print(learning, file=sys.stderr, flush=True)
    search = ["--all", "--top", str(TOP), "-o", "missing.csv"]
    asking = _measured(folder, "predict", "model", "facts", *search, *spark)
    return {
        "facts": sum(sizes),
        "files": len(sizes),
        "learning": learning,
        "links": {**asking, **_links_of(folder)},
    }


def planted_rules_found(folder: Path) -> dict[str, Any]:
    """How many rules the list has, and of the well supported planted ones how many of each length are among them."""
    from benchmarks.typed_graphs import WELL_SUPPORTED

    from reshuffle import read_rules
    from reshuffle.rulelist import load_rule_model

    listed = {(one.rule.body, one.rule.head) for one in load_rule_model(folder / "model").rules}
    found: dict[str, Any] = {"rules": len(listed)}
    planted = [
        rule
        for rule in read_rules(folder / "planted.rules").rules
        if rule.quality is not None and (rule.quality.support or 0) >= WELL_SUPPORTED
    ]
    for atoms in (1, 2, 3):
        some = [(rule.body, rule.head) in listed for rule in planted if len(rule.body) == atoms]
        found[f"planted_{atoms}"] = f"{sum(some)} of {len(some)}"
    return found


def _links_of(folder: Path) -> dict[str, Any]:
    """How many links there are, whether the most likely come first, and how many are facts."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with (folder / "missing.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    links = {(row["head"], row["relation"], row["tail"]) for row in rows}
    chances = [float(row["probability"]) for row in rows]
    known = 0
    for part in Path(folder, "facts").iterdir():
        table = pq.read_table(part)
        heads = pc.SetLookupOptions(
            value_set=_array(table.column("head").type, {head for head, _, _ in links})
        )
        some = table.filter(pc.is_in(table.column("head"), options=heads))
        known += len(
            links & set(zip(*(some.column(name).to_pylist() for name in some.column_names), strict=True))
        )
    in_order = all(one >= other for one, other in pairwise(chances))
    return {
        "links": len(links),
        "in_order": in_order,
        "known": known,
        "probabilities": [round(chances[0], 3), round(chances[-1], 3)],
    }


def _array(kind: Any, values: Iterable[str]) -> Any:
    import pyarrow as pa

    return pa.array(sorted(values)).cast(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _measured(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a command; its seconds, the peak of each kind of process in megabytes, and what it said about its work."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(folder)}
    began, peaks = time.perf_counter(), dict[int, tuple[str, float]]()
    with (folder / "told.txt").open("w+", encoding="utf-8") as told:
        command = [sys.executable, "-m", "reshuffle", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=told, stderr=told, env=environment)
        while process.poll() is None:
            _look(process.pid, peaks)
            time.sleep(_BETWEEN)
        seconds = time.perf_counter() - began
        told.seek(0)
        lines = told.read().splitlines()
    if process.returncode:
        raise RuntimeError("\n".join(lines))
    told_of = ("rules of", "weights", "there was")
    return {
        "command": f"reshuffle {' '.join(arguments)}",
        "seconds": round(seconds, 1),
        "peak_megabytes": _by_kind(peaks.values()),
        "processes": len({pid for pid, (kind, _) in peaks.items() if kind == "executor, Java"}),
        "parts": [line for line in lines if ", done in " in line],
        "notes": [line for line in lines if line.startswith(told_of)],
    }


def _look(process: int, peaks: dict[int, tuple[str, float]]) -> None:
    """Note what kinds of processes a process has started, and the most that each has held."""
    import psutil

    try:
        tree = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for one in tree:
        try:
            status = Path(f"/proc/{one.pid}/status").read_text(encoding="utf-8")
            words = " ".join(one.cmdline())
        except (OSError, psutil.Error):
            continue
        kind = next((kind for name, kind in _KINDS.items() if name in words), None)
        if kind is None and one.pid == process:
            kind = "asking process, Python"
        held = re.search(r"VmHWM:\s*(\d+) kB", status)
        if kind is not None and held is not None:
            peaks[one.pid] = kind, int(held[1]) / 2**10


def _by_kind(peaks: Iterable[tuple[str, float]]) -> dict[str, int]:
    """The largest of each kind."""
    found: dict[str, int] = {}
    for kind, held in peaks:
        found[kind] = max(found.get(kind, 0), round(held))
    return dict(sorted(found.items()))
