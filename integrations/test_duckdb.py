"""The same answers from DuckDB: beside the oracle, in little memory, from Parquet to Parquet."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from random_cases import HOSTILE, Case, random_cases, together
from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.cli.main import main
from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import BudgetError, InputError
from reshuffle.kg.io.tables import batch_of
from reshuffle.reasoning.scaling import duckdb_database, duckdb_engine
from reshuffle.reasoning.scaling.data_sets import RelationFolders
from reshuffle.reasoning.scaling.engine_interface import Deduction, Options
from reshuffle.reasoning.scaling.engines import opened
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")
DUCKDB = Options("duckdb")
TREE = parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z)")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def reasoner_of(case: Case) -> Reasoner:
    return Reasoner(case.rules, bound=case.bound, engine="chase" if case.kind == "chase" else "auto")


def triples_of(batches: list[pa.RecordBatch]) -> list[tuple[str, str, str]]:
    return [row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)]


@pytest.mark.parametrize("kind", ["exact", "bounded", "chase"])
def test_random_rule_bases_give_what_the_oracle_does(kind: str, tmp_path: Path) -> None:
    """300 in all; some facts come from a graph, others from a data set with a folder per relation."""
    for number, cases in enumerate(batched(random_cases(kind, 100), 20)):
        case, derived = together(cases)
        reasoner = reasoner_of(case)
        deduction = Deduction(reasoner.constraints, reasoner.rules)
        facts: KnowledgeGraph | ParquetFacts = KnowledgeGraph(case.facts)
        if number % 2:
            folder = tmp_path / str(number)
            folder.mkdir()
            with RelationFolders(folder) as folders:
                folders.write(batch_of(case.facts))
            facts = ParquetFacts.at(folder)
        with opened(deduction, facts, DUCKDB) as answers:
            found = triples_of(list(answers.batches()))
            broken = {(str(pair), *both) for pair, *both in answers.forbidden_pairs(1000)}
        with opened(deduction, facts, DUCKDB) as answers:
            counts = answers.counts()
        assert len(found) == len(set(found))
        assert set(found) == derived
        in_memory = reasoner.on(case.facts)
        assert counts == {name: (count.derived, count.total) for name, count in in_memory.counts().items()}
        assert broken == {
            (str(one.constraint), one.first.triple, one.second.triple) for one in in_memory.violations()
        }


@pytest.mark.parametrize("engine", ["auto", "chase"])
@pytest.mark.parametrize(
    "facts", [[], [("a", "up", "a")], [("a", "up", "b"), ("b", "up", "a")], [("a", "other", "b")]]
)
def test_small_graphs(facts: list[tuple[str, str, str]], engine: str, tmp_path: Path) -> None:
    answers = Reasoner(TREE, engine=engine).on(KnowledgeGraph(facts))
    path = f"{tmp_path}/out.tsv"
    assert answers.write(path, engine="duckdb") == answers.count()
    lines = Path(path).read_text().splitlines()
    assert lines == ["\t".join(triple) for triple in answers.sorted_triples()]


def test_constraints_without_rules_may_accept_the_empty_word() -> None:
    """As those of a hardened model may: an identity that leads where a relation starts."""
    sources = np.array([[-1, 0, -1], [-1, 0, -1], [-1, 1, 0]], dtype=np.int32)
    constraints = OrderingConstraints(("r", "s", "eq"), sources, identities=frozenset({"eq"}))
    graph = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c"), ("c", "r", "c")])
    expected = Reasoner(constraints).on(graph)
    with opened(Deduction(constraints, None), graph, DUCKDB) as answers:
        assert set(triples_of(list(answers.batches()))) == set(expected.triples())


def tree(size: int) -> KnowledgeGraph:
    parents = (np.random.default_rng(1).random(size) * np.arange(1, size + 1)).astype(int)
    return KnowledgeGraph(
        [(f"e{child}", "up", f"e{parent}") for child, parent in enumerate(parents.tolist(), 1)]
    )


def test_out_of_memory_halves_the_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_database, "LEAST_MEMORY", 30_000_000)
    monkeypatch.setattr(duckdb_engine, "_BYTES_PER_ROW", 1)  # so that buckets are made too large
    graph = tree(100_000)
    reasoner = Reasoner(TREE)
    with opened(Deduction(reasoner.constraints, TREE), graph, Options("duckdb", memory="30MB")) as answers:
        assert answers.counts()["up"] == (reasoner.on(graph).count(), reasoner.on(graph).count() + len(graph))
        assert answers.buckets > 3


def test_a_source_that_does_not_fit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise duckdb.OutOfMemoryException("full")

    monkeypatch.setattr(duckdb_engine.DuckDBAnswers, "_derive_bucket", full)
    with pytest.raises(BudgetError, match="the answers of one entity do not fit into"):
        Reasoner(TREE).on(tree(10)).write("/dev/null", engine="duckdb", memory="300MB")


def test_proofs_come_from_the_facts_behind_a_triple() -> None:
    for kind in ("exact", "chase"):
        case, derived = together(random_cases(kind, 5))
        reasoner = reasoner_of(case)
        with opened(
            Deduction(reasoner.constraints, reasoner.rules), KnowledgeGraph(case.facts), DUCKDB
        ) as answers:
            for triple in sorted(derived)[:20]:
                behind = answers.behind(*triple)
                assert behind is not None
                assert set(behind) <= set(case.facts)
                assert reasoner.on(behind).holds(*triple)
            head, relation, _ = min(case.facts)
            stranger = next(
                tail for _, _, tail in case.facts if (head, relation, tail) not in {*derived, *case.facts}
            )
            assert answers.behind(head, relation, stranger) is None


def test_the_command_line_reads_and_writes_data_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, facts, out = tmp_path / "my.rules", tmp_path / "facts", tmp_path / "out"
    rules.write_text(str(TREE))
    facts.mkdir()
    rows = list(tree(200))
    for part, some in enumerate(batched(rows, 50)):
        pq.write_table(pa.Table.from_batches([batch_of(some)]), facts / f"part-{part}.parquet")
    assert (
        main(["infer", str(rules), str(facts), "-o", f"{out}/", "--engine", "duckdb", "--memory", "500MB"])
        == 0
    )
    answers = Reasoner(TREE).on(rows)
    assert capsys.readouterr().out == f"{out}/: {answers.count():,} derived triples\n"
    assert set(ParquetFacts.at(out).graph()) == set(answers.triples())
    assert {entry.name for entry in tmp_path.iterdir()} == {"my.rules", "facts", "out"}
    counts = []
    for engine in ("auto", "chase", "duckdb"):
        facts_file = tmp_path / "facts.tsv"
        KnowledgeGraph(rows).write(facts_file)
        assert main(["infer", str(rules), str(facts_file), "--count", "--json", "--engine", engine]) == 0
        counts.append(capsys.readouterr().out)
    assert len(set(counts)) == 1


def test_counts_of_rules_as_tables_come_with_what_breaks_a_constraint() -> None:
    rules = parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z) \n up(X, Y) & down(X, Y) -> false")
    facts = KnowledgeGraph([("a", "up", "b"), ("b", "up", "c"), ("a", "down", "c")])
    with opened(Deduction(None, rules), facts, DUCKDB) as answers:
        assert answers.counts() == {"up": (1, 3), "down": (0, 1)}
        assert [str(pair) for pair, *_ in answers.forbidden_pairs(10)] == [str(rules.disjointness[0])]


def test_facts_load_in_little_memory(tmp_path: Path) -> None:
    """DuckDB 2.0 failed in every third run, where a table of relations was joined below another join."""
    graph = tree(400_000)
    graph.write(tmp_path / "facts.parquet")
    for number in range(4):
        (tmp_path / str(number)).mkdir()
        with duckdb_database.database(tmp_path / str(number), 1) as connection:
            assert ParquetFacts.at(tmp_path / "facts.parquet").load(connection, lambda _: None) == ["up"]
            assert connection.execute("SELECT count(*), max(relation) FROM fact").fetchall() == [(400_000, 0)]


def test_explain_prints_the_proof_of_the_facts_behind_a_triple(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.rules").write_text(str(TREE))
    pq.write_table(pa.Table.from_batches([batch_of(list(tree(50)))]), tmp_path / "facts.parquet")
    triple = next(Reasoner(TREE).on(tree(50)).triples())
    told = []
    for engine in ("auto", "duckdb"):
        given = ["explain", str(tmp_path / "my.rules"), str(tmp_path / "facts.parquet"), *triple]
        assert main([*given, "--engine", engine]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    missing = [*given[:3], triple.tail, "up", triple.head, "--engine", "duckdb"]
    assert main(missing) == 1
    assert capsys.readouterr().out == f"up({triple.tail}, {triple.head}) does not follow (exact)\n"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"head": ["a"], "relation": ["r^-1"], "tail": ["b"]}, "found the relation 'r^-1'"),
        ({"head": ["a"], "relation": ["r"], "tail": [""]}, "found 1 row with an empty or missing name"),
        (
            {"head": ["a", None], "relation": ["r"] * 2, "tail": ["b"] * 2},
            "found 1 row with an empty or missing name",
        ),
        ({"head": [1], "relation": ["r"], "tail": ["b"]}, "expected head, relation, tail, all text"),
        ({"head": ["a"], "tail": ["b"]}, "found the columns head, tail; expected head, relation, tail"),
        ({"head": [], "relation": [], "tail": []}, "found"),
    ],
)
def test_facts_that_are_wrong_are_refused(
    columns: dict[str, list[str]], message: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "facts.parquet")
    reasoner = Reasoner(TREE)
    with (
        pytest.raises(InputError) as error,
        opened(Deduction(reasoner.constraints, TREE), ParquetFacts.at(tmp_path / "facts.parquet"), DUCKDB),
    ):
        pass
    assert message in str(error.value)
    assert "facts.parquet" in str(error.value)


@pytest.mark.parametrize("layout", ["folder per relation", "files"])
@pytest.mark.parametrize("above", ["head=5", "relation=x", "tail=7/relation=y"])
def test_no_columns_are_read_out_of_the_path(above: str, layout: str, tmp_path: Path) -> None:
    """A folder above the facts may have any name; their own folders say what the relation is."""
    triples = [("a", relation, "b") for relation in HOSTILE[1:]]
    folder = tmp_path / above / "facts"
    folder.mkdir(parents=True)
    if layout == "files":
        (folder / "head=6").mkdir()
        KnowledgeGraph(triples[:3]).write(folder / "head=6" / "one.parquet")
        KnowledgeGraph(triples[3:]).write(folder / "two.parquet")
    else:
        with RelationFolders(folder) as folders:
            folders.write(batch_of(triples))
    facts = ParquetFacts.at(folder)
    assert set(facts.graph()) == set(triples)
    with opened(Deduction(None, parse_rules("up(X, Y) -> over(X, Y)")), facts, DUCKDB) as answers:
        assert set(triples_of(list(answers.batches(with_facts=True)))) == set(triples)


def test_the_folder_of_a_single_file_does_not_say_the_relation(tmp_path: Path) -> None:
    (tmp_path / "relation=parent").mkdir()
    pq.write_table(pa.table({"head": ["a"], "tail": ["b"]}), tmp_path / "relation=parent" / "part.parquet")
    with pytest.raises(InputError, match="found the columns head, tail; expected head, relation, tail"):
        ParquetFacts.at(tmp_path / "relation=parent" / "part.parquet")


def test_a_pattern_stands_for_parquet_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my.rules").write_text("parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)\n")
    for number, triple in enumerate([("a", "parent", "b"), ("b", "parent", "c")]):
        KnowledgeGraph([triple]).write(tmp_path / f"{number}.parquet")
    given = ["-q", "infer", str(tmp_path / "my.rules"), str(tmp_path / "*.parquet"), "--engine", "duckdb"]
    assert main(given) == 0
    assert capsys.readouterr().out == "a\tgrandparent\tc\n"


def test_a_link_at_the_place_of_the_work_is_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("mine")
    (tmp_path / ".out.unfinished").symlink_to(tmp_path / "precious")
    (tmp_path / "my.rules").write_text(str(TREE))
    tree(20).write(tmp_path / "facts.tsv")
    given = ["infer", str(tmp_path / "my.rules"), str(tmp_path / "facts.tsv")]
    assert main([*given, "-o", f"{tmp_path}/out/", "--engine", "duckdb"]) == 2
    assert (
        ".out.unfinished: found a link, expected a work folder of an unfinished run"
        in capsys.readouterr().err
    )
    assert (tmp_path / "precious" / "thesis.tex").read_text() == "mine"
