"""The same answers from Spark: in this process (`local[2]`), and on two worker processes on the loopback address."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pyspark
import pytest

from random_cases import Case, random_cases, together
from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError
from reshuffle.kg.io.writing import batch_of
from reshuffle.reasoning.scaling.data_sets import RelationFolders
from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
from reshuffle.reasoning.scaling.engines import opened
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
from reshuffle.reasoning.scaling.spark.spark_session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

PER_KIND = int(os.environ.get("RESHUFFLE_SPARK_CASES", "30")) // 3
TREE = parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z)")
FACTS = [("a", "up", "b"), ("b", "up", "c"), ("c", "up", "c")]
RING = KnowledgeGraph([(f"e{number}", "next", f"e{(number + 1) % 1500}") for number in range(1500)])
ROUND = parse_rules("next(X, Y) & next(Y, Z) -> next(X, Z)")


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session(Options("spark", master="local[2]")) as made:
        yield made


def reasoner_of(case: Case) -> Reasoner:
    return Reasoner(case.rules, bound=case.bound, engine="chase" if case.kind == "chase" else "auto")


@pytest.mark.parametrize(
    ("kind", "plan"),
    [
        ("exact", "split"),
        ("exact", "tables"),
        ("bounded", "split"),
        ("bounded", "tables"),
        ("chase", "tables"),
    ],
)
def test_random_rule_bases_give_what_the_oracle_does(
    kind: str, plan: str, session: Any, tmp_path: Path
) -> None:
    """30 in all, each by every plan that it has; the facts of tables come from a data set."""
    case, derived = together(random_cases(kind, PER_KIND, first=70_000))
    reasoner = reasoner_of(case)
    facts: KnowledgeGraph | ParquetFacts = KnowledgeGraph(case.facts)
    if plan == "tables":
        (tmp_path / "facts").mkdir()
        with RelationFolders(tmp_path / "facts") as folders:
            folders.write(batch_of(case.facts))
        facts = ParquetFacts.at(tmp_path / "facts")
    deduction = Deduction(reasoner.constraints, reasoner.rules)
    in_memory = reasoner.on(case.facts)
    with opened(deduction, facts, Options("spark", session=session, plan=plan)) as answers:
        assert answers.write(tmp_path / "out.parquet") == len(derived)
        assert set(KnowledgeGraph.read(tmp_path / "out.parquet")) == derived
        counts = {name: (count.derived, count.total) for name, count in in_memory.counts().items()}
        assert answers.counts() == counts
        broken = {(str(pair), *both) for pair, *both in answers.forbidden_pairs(1000)}
        assert broken == {
            (str(one.constraint), one.first.triple, one.second.triple) for one in in_memory.violations()
        }


@pytest.mark.parametrize("plan", ["split", "tables"])
def test_a_session_that_is_given_is_used_and_not_stopped(plan: str, session: Any, tmp_path: Path) -> None:
    answers = Reasoner(TREE).on(FACTS)
    views = [table.name for table in session.catalog.listTables()]
    assert answers.write(f"{tmp_path}/out/", engine="spark", session=session, plan=plan) == answers.count()
    assert set(ParquetFacts.at(tmp_path / "out").graph()) == set(answers.triples())
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert session.range(3).count() == 3
    assert [table.name for table in session.catalog.listTables()] == views


@pytest.mark.parametrize("facts", [[], [("a", "up", "a")], [("a", "other", "b")]])
@pytest.mark.parametrize("plan", ["split", "tables"])
def test_small_graphs(facts: list[tuple[str, str, str]], plan: str, session: Any, tmp_path: Path) -> None:
    answers = Reasoner(TREE).on(KnowledgeGraph(facts))
    path = f"{tmp_path}/out.tsv"
    assert answers.write(path, engine="spark", session=session, plan=plan, partitions=2) == answers.count()
    assert Path(path).read_text().splitlines() == ["\t".join(triple) for triple in answers.sorted_triples()]


def test_constraints_without_rules_may_accept_the_empty_word(session: Any) -> None:
    """As those of a hardened model may: an identity that leads where a relation starts."""
    sources = np.array([[-1, 0, -1], [-1, 0, -1], [-1, 1, 0]], dtype=np.int32)
    constraints = OrderingConstraints(("r", "s", "eq"), sources, identities=frozenset({"eq"}))
    graph = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c"), ("c", "r", "c")])
    expected = set(Reasoner(constraints).on(graph).triples())
    for plan in ("split", "tables"):
        options = Options("spark", session=session, plan=plan, partitions=2)
        with opened(Deduction(constraints, None), graph, options) as answers:
            found = {
                row for batch in answers.batches() for row in zip(*batch.to_pydict().values(), strict=True)
            }
        assert found == expected


def test_shares_need_geometry(session: Any, tmp_path: Path) -> None:
    answers = Reasoner(TREE, engine="chase").on(FACTS)
    with pytest.raises(InputError, match="shares of the sources need geometry, and these rules have none"):
        answers.write(tmp_path / "out.parquet", engine="spark", session=session, plan="split")
    assert not list(tmp_path.iterdir())


def test_a_missing_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="Spark needs Java 17 or newer, and there is none"):
        Reasoner(TREE).on(FACTS).write(tmp_path / "out.parquet", engine="spark")


# --- a cluster ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(
    session: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers with one core each, as processes on the loopback address."""
    session.stop()  # a process has one Spark at a time
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
    with spark_session(Options("spark", master=url)) as session:
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
    while not list(folder.glob(".out.*/relation=*/*.parquet")):
        time.sleep(0.01)
    for process in [*psutil.Process(worker.pid).children(recursive=True), psutil.Process(worker.pid)]:
        process.send_signal(signal.SIGKILL)
