"""What engines past one process share, without any of them: tables, statements, data sets, options."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from random_cases import HOSTILE, Case, random_cases, together
from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.cli.main import main
from reshuffle.errors import InputError, MissingPackageError
from reshuffle.kg.io.tables import batch_of
from reshuffle.reasoning.scaling.data_sets import (
    RelationFolders,
    check_folders,
    files_of,
    folder_of,
    relation_of,
    written_folder,
)
from reshuffle.reasoning.scaling.deduction import on_relations
from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts

RULES = parse_rules("parent(X, Y) -> ancestor(X, Y) \n ancestor(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)")
FACTS = [("ann", "parent", "bob"), ("bob", "parent", "cleo")]


def fixpoint_in_sqlite(case: Case) -> set[tuple[str, str, str]]:
    """What the statement of a round derives, run by another database than those that it is for."""
    reasoner = Reasoner(case.rules, bound=case.bound, engine="chase" if case.bound is None else "auto")
    graph = KnowledgeGraph(case.facts)
    deducing = on_relations(Deduction(reasoner.constraints, reasoner.rules), list(graph.relations))
    database, tables = sqlite3.connect(":memory:"), deducing.rule_tables()
    for name, rows in tables.by_name.items():
        database.execute(f"CREATE TABLE {name}({', '.join(rows.column_names)})")
        holes = ", ".join("?" * rows.num_columns)
        database.executemany(
            f"INSERT INTO {name} VALUES ({holes})", zip(*rows.to_pydict().values(), strict=True)
        )
    for name in ("held", "delta", "fact"):
        database.execute(f"CREATE TABLE {name}(relation, head, tail)")
    facts = zip(graph.relation_ids.tolist(), graph.heads.tolist(), graph.tails.tolist(), strict=True)
    database.executemany("INSERT INTO fact VALUES (?, ?, ?)", facts)
    database.execute("CREATE TABLE entity(id)")
    database.executemany("INSERT INTO entity VALUES (?)", [(number,) for number in range(graph.num_entities)])
    new = database.execute(tables.start_query()).fetchall()
    query = tables.round_query()
    assert query is not None
    while new:
        database.executemany("INSERT INTO held VALUES (?, ?, ?)", new)
        database.execute("DELETE FROM delta")
        database.executemany("INSERT INTO delta VALUES (?, ?, ?)", new)
        new = database.execute(query).fetchall()
    names, entities = deducing.names, graph.entities
    rows = database.execute("SELECT head, relation, tail FROM held").fetchall()
    database.close()
    return {(entities[h], names[r], entities[t]) for h, r, t in rows if r < len(names)} - set(case.facts)


@pytest.mark.parametrize("kind", ["bounded", "chase", "exact"])
def test_the_statement_of_a_round_derives_what_the_oracle_does(kind: str) -> None:
    for first in (0, 5000):
        case, derived = together(random_cases(kind, 10, first=first))
        assert derived
        assert fixpoint_in_sqlite(case) == derived


@pytest.mark.parametrize(
    ("rules", "walked_later"),
    [
        ("up(X, Y) & up(Y, Z) -> up(X, Z)", {1}),  # it goes to the second state, and stays there
        ("one(X, Y) & two(Y, Z) -> three(X, Z)", {1}),
    ],
)
def test_steps_leave_only_states_that_a_search_comes_to(rules: str, walked_later: set[int]) -> None:
    reasoner = Reasoner(parse_rules(rules))
    deducing = on_relations(Deduction(reasoner.constraints, reasoner.rules), ["up", "one", "two"])
    (tables,) = deducing.machine_tables()
    targets = {*tables.first_arcs["target"].to_pylist(), *tables.arcs["target"].to_pylist()}
    assert set(tables.first_arcs["source"].to_pylist()) == set(tables.first["state"].to_pylist()) == {0}
    assert set(tables.arcs["source"].to_pylist()) == walked_later <= targets


def test_a_data_set_has_a_folder_per_relation_and_keeps_every_name(tmp_path: Path) -> None:
    relations = [f"r{part}s" for part in HOSTILE]
    rows = [(f"{part}e", relation, "f") for part in HOSTILE for relation in relations]
    with written_folder(tmp_path / "out") as aside, RelationFolders(aside) as folders:
        for start in range(0, len(rows), 7):
            folders.write(batch_of(rows[start : start + 7]))
    found = {
        (head, relation_of(file.parent.name), tail)
        for file in files_of(tmp_path / "out")
        for head, tail in zip(*pq.ParquetFile(file).read().to_pydict().values(), strict=True)
    }
    assert found == set(rows)
    read = pq.read_table(tmp_path / "out", partitioning="hive")
    assert {str(name) for name in read["relation"].to_pylist()} == set(relations)


@pytest.mark.parametrize("relation", HOSTILE[1:])
def test_the_folder_of_a_relation_says_its_name(relation: str) -> None:
    assert relation_of(folder_of(relation)) == relation
    assert "/" not in folder_of(relation)


def test_many_relations_take_turns_at_being_open(tmp_path: Path) -> None:
    rows = [(f"e{number}", f"r{number % 150}", "f") for number in range(450)]
    with RelationFolders(tmp_path) as folders:
        for start in range(0, len(rows), 150):
            folders.write(batch_of(rows[start : start + 150]))
    assert sum(pq.ParquetFile(file).metadata.num_rows for file in files_of(tmp_path)) == len(rows)
    assert len(files_of(tmp_path)) > 150  # some were closed and went on in a second file


def test_a_relation_too_long_for_a_folder_is_refused() -> None:
    with pytest.raises(InputError, match="is too long for the name of a folder"):
        check_folders(["r", "r" * 300], "out/")


def test_a_data_set_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    with written_folder(tmp_path / "out") as aside:
        (aside / "part-0.parquet").write_text("old")
    with pytest.raises(ZeroDivisionError), written_folder(tmp_path / "out") as aside:
        (aside / "part-1.parquet").write_text("new")
        _ = 1 / 0
    assert [file.name for file in tmp_path.rglob("*")] == ["out", "part-0.parquet"]
    with written_folder(tmp_path / "out") as aside:
        (aside / "part-1.parquet").write_text("new")
    assert [file.name for file in tmp_path.rglob("*")] == ["out", "part-1.parquet"]


def test_a_folder_with_other_things_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="the folder contains more than a Parquet data set"):
        Reasoner(RULES).on(FACTS).write(tmp_path / "out")
    assert (tmp_path / "out" / "thesis.tex").exists()


@pytest.mark.parametrize("name", ["out/", "out.parquet", "out.tsv"])
def test_answers_are_written_from_memory(tmp_path: Path, name: str) -> None:
    answers = Reasoner(RULES).on(FACTS)
    path = f"{tmp_path}/{name}"
    assert answers.write(path) == 3
    if name.endswith("/"):
        assert folder_of("ancestor") in {file.name for file in Path(path).iterdir()}
        facts = ParquetFacts.at(path).graph()
    else:
        facts = KnowledgeGraph.read(path)
    assert set(facts) == set(answers.triples())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "duckbd"}, "unknown engine 'duckbd'; did you mean 'duckdb'?"),
        ({"engine": "duckdb", "master": "local"}, "master is for Spark"),
        ({"engine": "spark", "plan": "splt"}, "unknown plan 'splt'; did you mean 'split'?"),
        ({"engine": "spark", "partitions": 0}, "0 partitions"),
        ({"engine": "duckdb", "memory": "much"}, "not a size: 'much'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as error:
        _ = Options(**options).bytes  # type: ignore[arg-type]
    assert message in str(error.value)


@pytest.mark.parametrize(("engine", "package"), [("duckdb", "duckdb"), ("spark", "pyspark")])
def test_a_missing_package_is_named_with_its_extra(
    engine: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError) as error:
        Reasoner(RULES).on(FACTS).write(tmp_path / "out.parquet", engine=engine)
    assert str(error.value).startswith(f"this needs {package}, which is not installed")
    assert "[scale]" in str(error.value)
    assert not list(tmp_path.iterdir())


def test_facts_that_do_not_fit_name_the_command_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.rules").write_text(str(RULES))
    with (tmp_path / "facts.tsv").open("wb") as file:
        file.truncate(4_000_000_000_000)  # a hole: it takes no room
    assert main(["infer", str(tmp_path / "my.rules"), str(tmp_path / "facts.tsv")]) == 2
    said = capsys.readouterr().err
    assert "loading these facts takes about 12.0 TB, and" in said
    assert (
        f"reshuffle infer {tmp_path}/my.rules {tmp_path}/facts.tsv -o out/ --engine duckdb --memory" in said
    )


def test_options_of_spark_need_its_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", "my.rules", "facts.tsv", "--master", "local[2]"]) == 2
    assert "--master is for Spark\n  hint: add --engine spark, or leave it out" in capsys.readouterr().err


def test_a_data_set_that_was_written_is_read_in_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.rules").write_text(str(RULES))
    KnowledgeGraph(FACTS).write(tmp_path / "facts.tsv")
    out = f"{tmp_path}/head=5/out/"
    (tmp_path / "head=5").mkdir()
    given = ["infer", str(tmp_path / "my.rules")]
    assert main([*given, str(tmp_path / "facts.tsv"), "--with-facts", "-o", out]) == 0
    capsys.readouterr()
    assert main([*given, out, "--with-facts"]) == 0
    assert capsys.readouterr().out.splitlines() == sorted(
        "\t".join(triple) for triple in {*FACTS, *Reasoner(RULES).on(FACTS).triples()}
    )
    assert main(["explain", str(tmp_path / "my.rules"), out, "ann", "ancestor", "cleo"]) == 0
