"""Types that class axioms entail, derived by DuckDB and Spark: the same as in memory, and no helpers."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.reasoning import naive_ontology

import reshuffle as rs
from reshuffle.cli.main import main
from reshuffle.kg import read_graph
from reshuffle.reasoning import Count
from reshuffle.reasoning.scaling.engine_interface import Options
from reshuffle.reasoning.scaling.engines import opened
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
from reshuffle.rules import read_rules
from reshuffle.spark.spark_session import Spark, spark_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ONTOLOGY = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:teaches rdfs:domain ex:Teacher ; rdfs:range ex:Course ; rdfs:subPropertyOf ex:knows .
ex:Teacher rdfs:subClassOf ex:Person .
ex:Star owl:oneOf ( ex:ada ) .
ex:teaches owl:propertyDisjointWith ex:hates .
ex:age rdfs:domain ex:Person .
ex:Teacher owl:disjointWith ex:Course .
ex:Star owl:disjointWith ex:Person .
ex:Star owl:disjointWith ex:Planet .
ex:Robot owl:disjointWith ex:Person .
"""
FACTS = """@prefix ex: <http://example.org/> .
ex:ada ex:teaches ex:logic ; ex:hates ex:logic .
ex:bob a ex:Teacher , ex:Course .
ex:eve ex:age 42 ; a ex:Robot .
"""

SEVERAL_STARS = ONTOLOGY.replace("( ex:ada )", "( ex:ada ex:zoe )")
"""So that nobody is a star by another name."""

AXIOMS_ALONE_NAME = "rdf:type rdfs:subPropertyOf e:isA . e:isA rdfs:domain e:Typed . e:p rdfs:domain e:A ."


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY)
    (tmp_path / "facts.ttl").write_text(FACTS)
    return str(tmp_path / "ontology.ttl"), str(tmp_path / "facts.ttl")


def test_the_command_line_prints_the_same(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for engine in ("auto", "duckdb"):
        assert main(["infer", *files, "--engine", engine]) == 1
        triples = capsys.readouterr()
        assert "hates(ex:ada, ex:logic)" in triples.err  # with its proof
        assert main(["infer", *files, "--engine", engine, "--count", "--json"]) == 1
        printed.append((triples.out, json.loads(capsys.readouterr().out)))
    assert printed[0] == printed[1]
    assert "~" not in str(printed)
    assert len(printed[0][0].splitlines()) == 7


def test_the_same_violations_are_told(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for engine in ("auto", "duckdb"):
        assert main(["infer", *files, "--engine", engine, "-v"]) == 1
        told.append(capsys.readouterr().err.partition("warning: ")[2])
    assert told[0] == told[1]
    # Ada teaches and hates logic, and is a star; bob is a course, and eve a robot with an age.
    assert told[0].count("-> false") == 4
    assert '(X, "ex:Star") & rdf:type(X, "ex:Person") -> false' in told[0]


def test_the_facts_are_written_among_the_derived_triples(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = []
    for engine in ("auto", "duckdb"):
        for out in ("out.nt", "out.parquet", "out/"):
            path = f"{tmp_path}/{engine}-{out}"
            assert main(["--json", "infer", *files, "--engine", engine, "--with-facts", "-o", path]) == 1
            told = json.loads(capsys.readouterr().out)
            assert (told["derived"], told["facts"]) == (7, 5)
            graph = ParquetFacts.at(path).graph() if out.endswith("/") else read_graph(path)
            written.append(set(graph))
        assert main(["infer", *files, "--engine", engine, "--with-facts"]) == 1
        assert len(capsys.readouterr().out.splitlines()) == 12
    assert all(triples == written[0] for triples in written)
    assert len(written[0]) == 12
    assert not any("~" in str(triple) for triple in written[0])


@pytest.fixture
def stored(files: tuple[str, str], tmp_path: Path) -> list[str]:
    """The facts in a Parquet file, in a folder of two, and in a folder per relation; the literal is left out."""
    triples = list(read_graph(files[1]))
    rs.KnowledgeGraph(triples).write(tmp_path / "facts.parquet")
    (tmp_path / "some").mkdir()
    rs.KnowledgeGraph(triples[:2]).write(tmp_path / "some" / "a.parquet")
    rs.KnowledgeGraph(triples[1:]).write(tmp_path / "some" / "b.parquet")
    rs.Reasoner(rs.parse_rules("a(X, Y) -> b(X, Y)")).on(triples).write(
        f"{tmp_path}/by-relation/", facts=True
    )
    return [f"{tmp_path}/{name}" for name in ("facts.parquet", "some", "by-relation")]


def test_facts_may_lie_in_parquet_files(
    files: tuple[str, str], stored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for engine, facts in (("auto", stored[0]), *(("duckdb", each) for each in stored)):
        assert main(["infer", files[0], facts, "--engine", engine, "--with-facts", "-v"]) == 1
        triples = capsys.readouterr()
        assert main(["infer", files[0], facts, "--engine", engine, "--count", "--json"]) == 1
        counts = json.loads(capsys.readouterr().out)
        assert main(["explain", files[0], facts, "ex:ada", "rdf:type", "ex:Person", "--engine", engine]) == 0
        proof = capsys.readouterr().out
        told.append((triples.out, triples.err.partition("warning: ")[2], counts, proof))
    assert all(one == told[0] for one in told)
    assert len(told[0][0].splitlines()) == 11
    assert "~" not in str(told[0])


BY_FACTS = {  # an ontology, and facts with relations that it does not name, or with axioms of their own
    "equality": (
        "ex:mother a owl:FunctionalProperty .",
        "ex:ada ex:mother ex:m1 , ex:m2 . ex:m1 ex:likes ex:tea .",
        3,
    ),
    "equality with a geometry": (
        "ex:ada owl:sameAs ex:eve . ex:teaches rdfs:domain ex:Teacher .",
        "ex:ada ex:teaches ex:logic . ex:bob owl:sameAs ex:rob , ex:bob . ex:eve ex:likes ex:tea .",
        7,
    ),
    "axioms": (
        "ex:p rdfs:subPropertyOf ex:q .",
        "ex:C rdfs:subClassOf ex:D . ex:D rdfs:subClassOf ex:E . ex:ada a ex:C ; ex:p ex:bob .",
        4,
    ),
}


@pytest.mark.parametrize("name", BY_FACTS)
def test_facts_bring_the_same_to_an_engine(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (rules, facts), many = both_files(tmp_path, *BY_FACTS[name][:2]), BY_FACTS[name][2]
    read_graph(facts).write(tmp_path / "facts.parquet")
    answers = rs.Reasoner(read_rules(rules)).on(read_graph(facts))
    assert answers.write(tmp_path / "out.nt", engine="duckdb") == answers.count() == many
    assert read_graph(tmp_path / "out.nt") == set(answers.triples())
    told = []
    for engine, given in (("auto", facts), ("duckdb", facts), ("duckdb", f"{tmp_path}/facts.parquet")):
        assert main(["infer", rules, given, "--engine", engine]) == 0
        triples = capsys.readouterr().out
        assert main(["--json", "infer", rules, given, "--engine", engine, "--count"]) == 0
        counts = json.loads(capsys.readouterr().out)
        told.append((triples, {name: count for name, count in counts.items() if count["total"]}))
    assert all(one == told[0] for one in told)
    assert len(told[0][0].splitlines()) == many
    *_, last = answers.sorted_triples()
    proofs = []
    for engine in ("auto", "duckdb"):
        assert main(["explain", rules, facts, *last, "--engine", engine]) == 0
        proofs.append(capsys.readouterr().out)
    assert proofs[0] == proofs[1]


def test_an_engine_tells_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axioms = "ex:Person owl:hasKey ( ex:id ) . ex:kind rdfs:subPropertyOf rdfs:subClassOf ."
    rules, facts = both_files(tmp_path, axioms, "ex:a a ex:Person ; ex:id ex:n .")
    out = f"{tmp_path}/out.nt"
    assert main(["--json", "infer", rules, facts, "--engine", "duckdb", "-o", out]) == 0
    told = capsys.readouterr()
    assert (
        "warning: rules with conditions on a path between two variables not read: 1; the first: "
        'rdf:type(X, "ex:Person")' in told.err
    )
    assert "warning: rules that conclude axioms not read: 1; the first: ex:kind(X, Y)" in told.err
    assert "hint: leave out --engine duckdb" in told.err
    assert json.loads(told.out)["exactness"].endswith("; 2 rules were not read")


def both_files(folder: Path, axioms: str, facts: str) -> tuple[str, str]:
    """The files of an ontology and of facts."""
    head = ONTOLOGY.partition("ex:teaches")[0]
    (folder / "axioms.ttl").write_text(head + axioms)
    (folder / "given.ttl").write_text(head + facts)
    return f"{folder}/axioms.ttl", f"{folder}/given.ttl"


def test_a_relation_that_is_kept_for_axioms_is_refused_in_files(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rs.KnowledgeGraph([("a", "~anything", "b")]).write(tmp_path / "odd.parquet")
    for engine in ("auto", "duckdb"):
        assert main(["infer", files[0], f"{tmp_path}/odd.parquet", "--engine", engine]) == 2
        assert "'~anything', whose name is kept for rules with constants" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_takes_class_axioms_over_parquet_files(
    files: tuple[str, str], stored: list[str], tmp_path: Path
) -> None:
    """Shares of the sources need a geometry, which there is none of where classes say who has another name."""
    (tmp_path / "same.ttl").write_text(f"{SEVERAL_STARS} ex:ada owl:sameAs ex:eve .")
    given = read_graph(stored[0])
    with spark_session(Spark(master="local[2]")) as session:
        for plan, axioms, path, many in (
            ("tables", files[0], stored[1], 6),
            ("split", f"{tmp_path}/same.ttl", stored[2], 16),
        ):
            reasoner = rs.Reasoner(read_rules(axioms))
            assert reasoner.encoding is not None
            expected = reasoner.on(given)
            options = Options("spark", session=session, plan=plan, partitions=2)
            facts, out = ParquetFacts.at(path).with_helpers_of(reasoner.encoding), f"{tmp_path}/{plan}/"
            with opened(reasoner.deduction, facts, options) as answers:
                assert answers.write(out) == expected.count() == many
                assert answers.num_facts == 5
                counts = answers.counts()
            assert set(ParquetFacts.at(out).graph()) == set(expected.triples())
            assert {name: Count(*counts[name]) for name in expected.counts()} == expected.counts()


def test_answers_are_written_by_an_engine(files: tuple[str, str], tmp_path: Path) -> None:
    answers = rs.Reasoner(read_rules(files[0])).on(read_graph(files[1]))
    assert answers.write(tmp_path / "out.nt", engine="duckdb") == answers.count()
    assert read_graph(tmp_path / "out.nt") == set(answers.triples())


def test_a_proof_from_duckdb_shows_axioms_and_takes_short_names(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ex:ada", "ex:eve", "http://example.org/eve"):
        told = []
        for engine in ("auto", "duckdb"):
            assert main(["explain", *files, name, "rdf:type", "ex:Person", "--engine", engine]) == 0
            told.append(capsys.readouterr().out)
        assert told[0] == told[1]
    assert "ex:age(ex:eve, a literal)    fact" in told[0]


def test_python_hears_progress_and_violations(files: tuple[str, str], tmp_path: Path) -> None:
    answers = rs.Reasoner(read_rules(files[0])).on(read_graph(files[1]))
    heard: list[list[str]] = []
    for engine in ("memory", "duckdb"):
        told: list[str] = []
        works: list[str] = []

        @contextmanager
        def progress(
            description: str, *, works: list[str] = works, **_: object
        ) -> Iterator[Callable[..., None]]:
            works.append(description)
            yield lambda *_: None

        path = tmp_path / f"{engine}.parquet"
        derived = answers.write(path, engine=engine, facts=True, progress=progress, notes=told.append)
        assert (derived, len(read_graph(path))) == (7, 12)
        assert set(works) == {"memory": {"writing"}, "duckdb": {"loading", "deriving"}}[engine]
        heard.append(told)
    assert heard[0] == heard[1]
    assert heard[0][0] == (
        "warning: what follows breaks a constraint; the first 3, answers.violations() has all:"
    )
    assert len(heard[0]) == 4


def derived_by(
    engine: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> set[tuple[str, ...]]:
    assert main(["infer", *files, "--engine", engine]) == 0
    return {tuple(line.split("\t")) for line in capsys.readouterr().out.splitlines()}


def test_duckdb_gives_types_to_what_axioms_alone_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the tables of RDFS and OWL 2 RL, with facts that are read and facts that stay in a Parquet file."""
    rules, facts, stored = (tmp_path / name for name in ("ontology.ttl", "facts.ttl", "facts.parquet"))
    for seed in range(12):
        chance = random.Random(seed)
        ontology, said = naive_ontology.random_ontology(chance), naive_ontology.random_facts(chance)
        rules.write_text(f"{ontology}{AXIOMS_ALONE_NAME}")
        facts.write_text(said)
        read_graph(facts).write(stored)
        expected = naive_ontology.derived(rules.read_text(), said)
        assert (f"{naive_ontology.EX}a", naive_ontology.TYPE, f"{naive_ontology.EX}Typed") in expected
        for given in (facts, stored):
            assert derived_by("duckdb", (str(rules), str(given)), capsys) == expected


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_gives_types_to_what_axioms_alone_name(tmp_path: Path) -> None:
    ontology, said = f"{naive_ontology.HEADER}{AXIOMS_ALONE_NAME}", f"{naive_ontology.HEADER}e:a e:p e:b ."
    (tmp_path / "ontology.ttl").write_text(ontology)
    (tmp_path / "facts.ttl").write_text(said)
    read_graph(tmp_path / "facts.ttl").write(tmp_path / "facts.parquet")
    rules = read_rules(tmp_path / "ontology.ttl")
    reasoner = rs.Reasoner(rules)
    assert reasoner.encoding is not None
    facts = ParquetFacts.at(tmp_path / "facts.parquet").with_helpers_of(reasoner.encoding)
    with spark_session(Spark(master="local[2]")) as session:
        for plan in ("tables", "split"):
            options, out = Options("spark", session=session, plan=plan, partitions=2), f"{tmp_path}/{plan}/"
            with opened(reasoner.deduction, facts, options) as answers:
                answers.write(out)
            assert set(ParquetFacts.at(out).graph()) == naive_ontology.derived(ontology, said)
