"""The same answers from Spark, on two threads of this process (`local[2]`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from random_cases import HOSTILE, Case, random_cases, together
from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError
from reshuffle.kg.io.tables import batch_of
from reshuffle.reasoning.scaling.data_sets import RelationFolders
from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
from reshuffle.reasoning.scaling.engines import opened
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
from reshuffle.rules import read_rules
from reshuffle.spark.spark_session import Spark, spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

PER_KIND = int(os.environ.get("RESHUFFLE_SPARK_CASES", "30")) // 3
TREE = parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z)")
ONTOLOGY = """@prefix e: <http://e.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
e:teaches rdfs:domain e:Teacher ; rdfs:range e:Course ; owl:propertyDisjointWith e:hates .
e:Teacher owl:disjointWith e:Course .
"""
FACTS = [("a", "up", "b"), ("b", "up", "c"), ("c", "up", "c")]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session(Spark(master="local[2]")) as made:
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


@pytest.mark.parametrize(("plan", "in_folders"), [("split", True), ("tables", True), ("tables", False)])
def test_no_columns_are_read_out_of_the_path(
    plan: str, in_folders: bool, session: Any, tmp_path: Path
) -> None:
    triples = [("a", relation, "b") for relation in ("up", "a+b c%2F", *HOSTILE[1:])]
    folder = tmp_path / "tail=7" / "relation=x" / "facts"
    folder.mkdir(parents=True)
    if in_folders:
        with RelationFolders(folder) as folders:
            folders.write(batch_of(triples))
    else:
        (folder / "head=6").mkdir()
        KnowledgeGraph(triples[:3]).write(folder / "head=6" / "one.parquet")
        KnowledgeGraph(triples[3:]).write(folder / "two.parquet")
    reasoner, options = Reasoner(TREE), Options("spark", session=session, plan=plan, partitions=2)
    with opened(Deduction(reasoner.constraints, TREE), ParquetFacts.at(folder), options) as answers:
        rows = [zip(*batch.to_pydict().values(), strict=True) for batch in answers.batches(with_facts=True)]
    assert {row for some in rows for row in some} == set(triples)


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


@pytest.mark.parametrize(("plan", "out"), [("split", "out/"), ("tables", "out/"), ("tables", "out.tsv")])
def test_facts_and_what_breaks_a_constraint_are_told_as_in_memory(
    plan: str, out: str, session: Any, tmp_path: Path
) -> None:
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY)
    facts = [("ada", "http://e.org/teaches", "ada"), ("ada", "http://e.org/hates", "ada")]
    answers = Reasoner(read_rules(tmp_path / "ontology.ttl")).on(facts)
    expected = {*answers.triples(), *facts}
    told: list[str] = []
    path = f"{tmp_path}/{out}"
    derived = answers.write(
        path, engine="spark", session=session, plan=plan, partitions=2, facts=True, notes=told.append
    )
    assert derived == answers.count() == 2
    found = ParquetFacts.at(path).graph() if out.endswith("/") else KnowledgeGraph.read(path)
    assert (set(found), len(found)) == (expected, 4)
    warned = told[told.index("warning: what follows breaks a constraint:") + 1 :]
    assert warned == [str(violation) for violation in answers.violations()]
    assert len(warned) == 2


def test_shares_need_geometry(session: Any, tmp_path: Path) -> None:
    answers = Reasoner(TREE, engine="chase").on(FACTS)
    with pytest.raises(InputError, match="shares of the sources need geometry, and these rules have none"):
        answers.write(tmp_path / "out.parquet", engine="spark", session=session, plan="split")
    assert not list(tmp_path.iterdir())


def test_a_missing_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="Spark needs Java 17 or newer, but found none"):
        Reasoner(TREE).on(FACTS).write(tmp_path / "out.parquet", engine="spark")


def test_workers_take_the_python_of_the_program_and_not_the_first_of_the_path(tmp_path: Path) -> None:
    """The program may be called by its full name, without its environment on the path."""
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 3\n")
    other.chmod(0o755)
    (tmp_path / "tree.rules").write_text("up(X, Y) & up(Y, Z) -> up(X, Z)\n")
    (tmp_path / "facts.tsv").write_text("a\tup\tb\nb\tup\tc\n")
    environment = {**os.environ, "PATH": f"{other.parent}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYSPARK_PYTHON", None)
    options = ["tree.rules", "facts.tsv", "-o", "out.tsv", "--engine", "spark", "--plan", "split"]
    call = [sys.executable, "-m", "reshuffle", "infer", *options, "--master", "local[2]"]
    done = subprocess.run(
        call, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.tsv").read_text() == "a\tup\tc\n"
