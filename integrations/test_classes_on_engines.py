"""Types that class axioms entail, derived by DuckDB: the same triples and counts as in memory, and no helpers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import reshuffle as rs
from reshuffle.cli.main import main
from reshuffle.kg import read_graph
from reshuffle.rules import read_rules

if TYPE_CHECKING:
    from pathlib import Path

ONTOLOGY = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:teaches rdfs:domain ex:Teacher ; rdfs:range ex:Course ; rdfs:subPropertyOf ex:knows .
ex:Teacher rdfs:subClassOf ex:Person .
ex:Star owl:oneOf ( ex:ada ) .
ex:teaches owl:propertyDisjointWith ex:hates .
ex:age rdfs:domain ex:Person .
"""
FACTS = """@prefix ex: <http://example.org/> .
ex:ada ex:teaches ex:logic ; ex:hates ex:logic .
ex:bob a ex:Teacher .
ex:eve ex:age 42 .
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY)
    (tmp_path / "facts.ttl").write_text(FACTS)
    return str(tmp_path / "ontology.ttl"), str(tmp_path / "facts.ttl")


def test_the_command_line_prints_the_same(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for engine in ("auto", "duckdb"):
        assert main(["infer", *files, "--engine", engine]) == 0
        triples = capsys.readouterr()
        assert "hates(ex:ada, ex:logic)" in triples.err  # with its proof
        assert main(["infer", *files, "--engine", engine, "--count", "--json"]) == 0
        printed.append((triples.out, json.loads(capsys.readouterr().out)))
    assert printed[0] == printed[1]
    assert "~" not in str(printed)
    assert len(printed[0][0].splitlines()) == 7


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
