"""The same answers from two worker processes of Spark on the loopback address.

A module of its own: a process has one Spark at a time, and tests of a module run in any order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyspark
import pytest

from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
from reshuffle.spark.spark_session import Spark, spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

RING = KnowledgeGraph([(f"e{number}", "next", f"e{(number + 1) % 1500}") for number in range(1500)])
ROUND = parse_rules("next(X, Y) & next(Y, Z) -> next(X, Z)")


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers with one core each, as processes on the loopback address."""
    folder = tmp_path_factory.mktemp("cluster")
    url, port = "spark://127.0.0.1:17077", "17077"
    processes: list[subprocess.Popen[bytes]] = []
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}

    def start(name: str, *options: str) -> None:
        with (folder / f"{len(processes)}.log").open("wb") as log:
            arguments = [*command, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *options]
            processes.append(subprocess.Popen(arguments, stdout=log, stderr=log, env=environment))

    try:
        start("master.Master", "--port", port, "--webui-port", "0")
        _wait_for(folder / "0.log", "I have been elected leader")
        for number in (1, 2):
            start(
                "worker.Worker",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                "--work-dir",
                str(folder / f"work{number}"),
                url,
            )
        for number in (1, 2):
            _wait_for(folder / f"{number}.log", "Successfully registered with master")
        yield url, processes
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(60)


def _wait_for(log: Path, text: str, seconds: int = 240) -> None:
    until = time.monotonic() + seconds
    while text not in log.read_text(errors="replace"):
        assert time.monotonic() < until, log.read_text(errors="replace")
        time.sleep(0.2)


def test_two_workers_of_a_cluster_share_the_work_and_one_may_die(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, processes = cluster
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    answers = Reasoner(ROUND).on(RING)
    expected = len(RING) ** 2 - len(RING)
    with spark_session(Spark(master=url)) as session:
        out = tmp_path / "out"
        assert answers.write(f"{out}/", engine="spark", session=session, partitions=16) == expected
        executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
        assert executors == 2  # one on each worker

        def process(batches: Any) -> Any:  # inside, so that it travels to workers as code
            import pyarrow as pa

            for batch in batches:
                time.sleep(0.05)
                yield pa.record_batch({"parent": [os.getppid()] * len(batch)})

        hosts = {row[0] for row in session.range(0, 64, 1, 64).mapInArrow(process, "parent long").collect()}
        assert len(hosts) == 2  # and both run tasks
        killer = threading.Thread(target=_kill_when_busy, args=(processes[2], tmp_path))
        killer.start()
        assert answers.write(f"{out}/", engine="spark", session=session, partitions=64) == expected
        killer.join()
        assert processes[2].wait(60) == -signal.SIGKILL
    assert len(ParquetFacts.at(out).graph()) == expected


def _kill_when_busy(worker: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill a worker and all that it started, as soon as the first files of the second output are there."""
    while not list(folder.glob(".out.*/**/relation=*/*.parquet")):
        time.sleep(0.01)
    for process in [*psutil.Process(worker.pid).children(recursive=True), psutil.Process(worker.pid)]:
        process.send_signal(signal.SIGKILL)
