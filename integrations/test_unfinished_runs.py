"""Runs of DuckDB and Spark that are cut off, by a kill or an interrupt, and taken up by the same command."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from reshuffle import KnowledgeGraph, Reasoner, Reshuffle, parse_rules
from reshuffle.cli.main import main
from reshuffle.errors import InputError
from reshuffle.kg.io.files import made_directory
from reshuffle.reasoning.scaling import duckdb_engine
from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
from reshuffle.reasoning.scaling.engines import opened
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
from reshuffle.spark.spark_session import Spark, spark_session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

TREE = parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z)")
KILLED = -signal.SIGKILL
# Kills itself when so many reports of progress have come.
SCRIPT = """
import os, signal, sys
from contextlib import contextmanager
from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
from reshuffle.reasoning.scaling.engines import opened

by, engine, out, last = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
heard = 0

def hear():
    global heard
    heard += 1
    if heard == last:
        os.kill(os.getpid(), signal.SIGKILL)

@contextmanager
def progress(description, **_):
    yield lambda *_: hear() if description == "deriving" else None

def notes(text):
    print(text, file=sys.stderr, flush=True)

rules = parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z)")
reasoner = Reasoner(rules, engine=by)
options = Options(engine, master="local[2]", plan="tables", partitions=1) if engine == "spark" else Options(engine)
deduction = Deduction(reasoner.constraints, rules)
facts = KnowledgeGraph.read("facts.tsv")
with opened(deduction, facts, options, beside=out, progress=progress, notes=notes) as answers:
    answers.write(out)
"""


def tree(size: int) -> KnowledgeGraph:
    parents = (np.random.default_rng(1).random(size) * np.arange(1, size + 1)).astype(int)
    return KnowledgeGraph(
        [(f"e{child}", "up", f"e{parent}") for child, parent in enumerate(parents.tolist(), 1)]
    )


def chain(size: int) -> KnowledgeGraph:
    return KnowledgeGraph([(f"e{number}", "up", f"e{number + 1}") for number in range(size)])


def ran(folder: Path, *arguments: str, script: str = SCRIPT) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("out", ["out.parquet", "out/", "out.tsv"])
def test_buckets_that_are_done_are_not_derived_again(out: str, tmp_path: Path) -> None:
    graph = tree(1000)
    graph.write(tmp_path / "facts.tsv")
    assert ran(tmp_path, "auto", "duckdb", out, "2")[0] == KILLED  # at the start, and after a bucket
    assert not (tmp_path / out).exists()
    status, said = ran(tmp_path, "auto", "duckdb", out, "0")
    assert (status, said) == (0, ["going on after 256 of 1,001 entities"])
    assert {entry.name for entry in tmp_path.iterdir()} == {"facts.tsv", out.strip("/")}
    assert derived_in(tmp_path / out) == set(Reasoner(TREE).on(graph).triples())


def derived_in(path: Path) -> set[tuple[str, str, str]]:
    graph = KnowledgeGraph.read(path) if path.suffix == ".tsv" else ParquetFacts.at(path).graph()
    return set(graph)


def test_rounds_that_are_done_are_not_run_again(tmp_path: Path) -> None:
    graph = chain(60)
    graph.write(tmp_path / "facts.tsv")
    assert ran(tmp_path, "chase", "duckdb", "out.parquet", "3")[0] == KILLED
    status, said = ran(tmp_path, "chase", "duckdb", "out.parquet", "2")  # and once more
    assert (status, said) == (KILLED, ["going on after round 3"])
    status, said = ran(tmp_path, "chase", "duckdb", "out.parquet", "0")
    assert (status, said) == (0, ["going on after round 5"])
    assert derived_in(tmp_path / "out.parquet") == set(Reasoner(TREE).on(graph).triples())


def test_rounds_of_spark_are_not_run_again(tmp_path: Path) -> None:
    graph = chain(10)
    graph.write(tmp_path / "facts.tsv")
    assert ran(tmp_path, "chase", "spark", "out/", "2")[0] == KILLED
    status, said = ran(tmp_path, "chase", "spark", "out/", "0")
    told = [line for line in said if "round" in line]
    assert status == 0, said
    assert told[0] == "going on after round 2"
    assert told[1].startswith("spark: round 3, ")
    assert {entry.name for entry in tmp_path.iterdir()} == {"facts.tsv", "out"}
    assert derived_in(tmp_path / "out") == set(Reasoner(TREE).on(graph).triples())


def test_shares_of_spark_that_are_done_are_not_searched_again(tmp_path: Path) -> None:
    """The shares that one run has written, less one that it has not."""
    graph, deduction = tree(300), Deduction(Reasoner(TREE).constraints, TREE)
    out, told = tmp_path / "out", list[str]()
    with spark_session(Spark(master="local[2]")) as session:
        options = Options("spark", session=session, partitions=4, plan="split")
        with (
            pytest.raises(KeyboardInterrupt),
            opened(deduction, graph, options, beside=out, notes=told.append) as answers,
        ):
            answers.derive_into(made_directory(tmp_path / ".out.unfinished" / "written"))  # type: ignore[attr-defined]
            (tmp_path / ".out.unfinished" / "written-2-of-4.json").unlink()
            left = {file.name for file in tmp_path.rglob("part-*.parquet")}
            raise KeyboardInterrupt
        with opened(deduction, graph, options, beside=out, notes=told.append) as answers:
            assert answers.write(f"{out}/") == Reasoner(TREE).on(graph).count()
    assert "going on after 3 of 4 shares" in told
    assert {file.name for file in out.rglob("*.parquet")} & left == {
        name for name in left if not name.startswith("part-00002")
    }
    assert derived_in(out) == set(Reasoner(TREE).on(graph).triples())
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


# Kills itself when it hears of the first share of the links; the second time it goes on.
PREDICTING = """
import os, signal, sys
from contextlib import contextmanager
from reshuffle import KnowledgeGraph, Reshuffle, parse_rules
from reshuffle.rulelist import RuleModel

kind, last = sys.argv[1], sys.argv[2] == "last"

@contextmanager
def progress(description, **_):
    yield lambda *_: None if last or description != "missing links" else os.kill(os.getpid(), signal.SIGKILL)

def notes(text):
    print(text, file=sys.stderr, flush=True)

graph = KnowledgeGraph.read("facts.tsv")
rules = parse_rules("parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)")
model = Reshuffle.load("soft", device="cpu") if kind == "soft" else RuleModel.from_rules(rules)
spark = {"engine": "spark", "master": "local[1]", "partitions": 3, "beside": "out.csv"}
found = model.on(graph).missing(top=30, progress=progress, notes=notes, **spark)
found.write("out.csv")
assert found == model.on(graph).missing(top=30)
"""


@pytest.mark.parametrize("kind", ["soft", "rules"])
def test_links_of_models_that_were_found_are_not_asked_for_again(kind: str, tmp_path: Path) -> None:
    people = [f"p{number}" for number in range(40)]
    facts = [(one, "parent", people[7 * number % 40]) for number, one in enumerate(people, 1)]
    graph = KnowledgeGraph([*facts, *((one, "grandparent", people[0]) for one in people[:20])])
    graph.write(tmp_path / "facts.tsv")
    if kind == "soft":
        sizes = {"num_slots": 4, "num_layers": 2, "epoch_steps": 3, "max_epochs": 1, "batch_size": 15}
        Reshuffle(device="cpu", **sizes).fit(graph).save(tmp_path / "soft")
    assert ran(tmp_path, kind, "first", script=PREDICTING)[0] == KILLED
    assert not (tmp_path / "out.csv").exists()
    status, said = ran(tmp_path, kind, "last", script=PREDICTING)
    told = [line for line in said if "going on" in line]
    assert status == 0, said
    assert len(told) == 1 and re.fullmatch("going on after [123] of 3 shares", told[0])
    assert {entry.name for entry in tmp_path.iterdir()} - {"soft"} == {"facts.tsv", "out.csv"}


def test_work_over_other_facts_is_not_taken_up(tmp_path: Path) -> None:
    tree(1000).write(tmp_path / "facts.tsv")
    assert ran(tmp_path, "auto", "duckdb", "out.parquet", "2")[0] == KILLED
    graph = KnowledgeGraph([*tree(1000), ("e0", "up", "f")])
    graph.write(tmp_path / "facts.tsv")
    status, said = ran(tmp_path, "auto", "duckdb", "out.parquet", "0")
    told = ".out.parquet.unfinished belongs to a run with other rules, facts or options"
    assert (status, said) == (0, [f"starting anew: {told}"])
    assert derived_in(tmp_path / "out.parquet") == set(Reasoner(TREE).on(graph).triples())


def test_tables_that_were_damaged_are_made_anew(tmp_path: Path) -> None:
    tree(1000).write(tmp_path / "facts.tsv")
    assert ran(tmp_path, "auto", "duckdb", "out.parquet", "2")[0] == KILLED
    for file in (tmp_path / ".out.parquet.unfinished").glob("tables.duckdb*"):
        file.write_bytes(b"nonsense" * 1000)
    status, said = ran(tmp_path, "auto", "duckdb", "out.parquet", "0")
    assert (status, said) == (
        0,
        ["starting from the beginning: DuckDB cannot read the tables of the interrupted run"],
    )
    assert derived_in(tmp_path / "out.parquet") == set(Reasoner(TREE).on(tree(1000)).triples())


LIMITED = """
import resource, sys
from reshuffle.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("output", ["out/", "out.tsv"])
def test_a_full_disk_is_told_and_the_next_run_goes_on(output: str, tmp_path: Path) -> None:
    """The disk is full as soon as a file has 800 kB."""
    graph = KnowledgeGraph([(f"e{number}", "up", f"e{number + 1}") for number in range(700)])
    graph.write(tmp_path / "facts.parquet")
    (tmp_path / "tree.rules").write_text(str(TREE))
    command = ["infer", "tree.rules", "facts.parquet", "-o", output, "--engine", "duckdb"]
    full = subprocess.run(
        [sys.executable, "-c", LIMITED, "800000", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert full.returncode == 2, full.stderr
    assert "Traceback" not in full.stderr
    assert "DuckDB cannot write its tables: the disk is full\n  hint: free" in full.stderr
    assert not (tmp_path / output).exists()
    again = subprocess.run([sys.executable, "-m", "reshuffle", *command], cwd=tmp_path, check=False)
    assert again.returncode == 0
    read = ParquetFacts.at(tmp_path / output).graph if output == "out/" else None
    found = KnowledgeGraph.read(tmp_path / output) if read is None else read()
    assert set(found) == set(Reasoner(TREE).on(graph).triples())


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    """A small file system of its own, where this process may make one."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mounted)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the rights to mount a file system")
    try:
        KnowledgeGraph([(f"e{n}", "up", f"e{n + 1}") for n in range(700)]).write(tmp_path / "facts.tsv")
        (tmp_path / "tree.rules").write_text(str(TREE))
        command = ["infer", "tree.rules", "facts.tsv", "-o", "small/out.parquet", "--engine", "duckdb"]
        full = subprocess.run(
            [sys.executable, "-m", "reshuffle", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert full.returncode == 2, full.stderr
        assert "the disk is full" in full.stderr
        assert not (mounted / "out.parquet").exists()
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def cut_off(folder: Path, number: signal.Signals | None, wait: float) -> tuple[int, str]:
    """Run the command, and send it a signal so long after there is something to keep."""
    command = ["infer", "tree.rules", "facts.parquet", "-o", "out.parquet", "--engine", "duckdb"]
    running = subprocess.Popen(
        [sys.executable, "-m", "reshuffle", *command, "--memory", "200MB"],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    kept = folder / ".out.parquet.unfinished" / "inputs.sha256"
    while not kept.exists() and running.poll() is None:
        time.sleep(0.01)
    time.sleep(wait)
    if number is not None:
        running.send_signal(number)
    _, said = running.communicate(timeout=120)
    return running.returncode, said


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_command_goes_on_after_it_was_cut_off(number: signal.Signals, tmp_path: Path) -> None:
    graph = tree(200_000)
    graph.write(tmp_path / "facts.parquet")
    (tmp_path / "tree.rules").write_text(str(TREE))
    status, said = cut_off(tmp_path, number, 0.1)
    assert not (tmp_path / "out.parquet").exists()
    if number == signal.SIGINT:
        assert status == 130, said
        assert said.splitlines()[-2:] == [
            "the same command continues from here; finished work is stored in .out.parquet.unfinished",
            "interrupted",
        ]
    else:
        assert status == KILLED
        cut_off(tmp_path, number, 1.5)  # while it starts, or later
    assert cut_off(tmp_path, None, 0)[0] == 0
    assert {entry.name for entry in tmp_path.iterdir()} == {"facts.parquet", "tree.rules", "out.parquet"}
    assert len(KnowledgeGraph.read(tmp_path / "out.parquet")) == Reasoner(TREE).on(graph).count()


def test_two_runs_do_not_write_one_output(tmp_path: Path) -> None:
    deduction, out = Deduction(Reasoner(TREE).constraints, TREE), tmp_path / "out.parquet"
    with (
        opened(deduction, chain(3), Options("duckdb"), beside=out),
        pytest.raises(InputError, match="another run writes to this output"),
        opened(deduction, chain(3), Options("duckdb"), beside=out),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_a_run_that_fails_before_anything_is_done_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tree.rules").write_text(str(TREE))
    KnowledgeGraph([("a", "up", "b")]).write(tmp_path / "facts.parquet")
    content = (tmp_path / "facts.parquet").read_bytes()
    (tmp_path / "facts.parquet").write_bytes(content[:40] + bytes(40) + content[80:])
    given = ["infer", f"{tmp_path}/tree.rules", f"{tmp_path}/facts.parquet", "-o", f"{tmp_path}/out.parquet"]
    assert main([*given, "--engine", "duckdb"]) == 2
    assert "facts.parquet" in capsys.readouterr().err
    assert {entry.name for entry in tmp_path.iterdir()} == {"facts.parquet", "tree.rules"}


def test_more_memory_goes_on_where_there_was_too_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, reasoner = tree(1000), Reasoner(TREE)
    deduction, told = Deduction(reasoner.constraints, TREE), []
    out = tmp_path / "out.parquet"
    derive = duckdb_engine.DuckDBAnswers._derive_bucket

    def once(self: duckdb_engine.DuckDBAnswers, *bucket: object) -> int:
        if self.buckets:
            raise InputError("full", hint="make room")
        return derive(self, *bucket)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(duckdb_engine.DuckDBAnswers, "_derive_bucket", once)
        with (
            pytest.raises(InputError, match="full"),
            opened(deduction, graph, Options("duckdb"), beside=out, notes=told.append) as answers,
        ):
            answers.write(out)
    with opened(deduction, graph, Options("duckdb", memory="1GB"), beside=out, notes=told.append) as answers:
        assert answers.write(out) == reasoner.on(graph).count()
    assert told == [
        "the same command continues from here; finished work is stored in .out.parquet.unfinished",
        "going on after 256 of 1,001 entities",
    ]


def test_parts_of_a_data_set_stay_where_another_memory_would_cut_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, reasoner = tree(1000), Reasoner(TREE)
    deduction, told = Deduction(reasoner.constraints, TREE), list[str]()
    out = tmp_path / "out"
    flush, flushed = duckdb_engine.flush_to_disk, list[str]()

    def full(file: Path) -> None:
        if len(flushed) == 4:  # two parts, each a file in a folder
            raise InputError("full", hint="make room")
        flushed.append(file.name)
        flush(file)

    monkeypatch.setattr(duckdb_engine, "_BYTES_PER_NAMED", 1 << 40)
    with monkeypatch.context() as patch:
        patch.setattr(duckdb_engine, "_LEAST_NAMED", 1000)
        patch.setattr(duckdb_engine, "flush_to_disk", full)
        with (
            pytest.raises(InputError, match="full"),
            opened(deduction, graph, Options("duckdb"), beside=out, notes=told.append) as answers,
        ):
            answers.write(f"{out}/")
    with opened(deduction, graph, Options("duckdb", memory="1GB"), beside=out, notes=told.append) as answers:
        assert answers.write(f"{out}/") == reasoner.on(graph).count()
    assert told[-1] == "going on after 2 parts of the output"
    assert len(ParquetFacts.at(out).graph()) == reasoner.on(graph).count()
    assert derived_in(out) == set(reasoner.on(graph).triples())
