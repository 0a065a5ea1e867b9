"""Tables and explanations in every format."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from reshuffle import KnowledgeGraph, Reasoner, parse_rules, read_graph
from reshuffle.errors import InputError
from reshuffle.results import Column, Table, explanation_formats, table_formats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = [
    {"head": "ada", "relation": "speaks", "tail": "a|b", "score": 1.5, "rules": 2, "known": False, "why": ["x", "y"]},
    {"head": "bob", "relation": "speaks", "tail": "<i>", "score": None, "rules": 0, "known": True, "why": []},
]  # fmt: skip
TABLE = Table.of(ROWS, heading="2 links")


def read_back(path: Path) -> list[dict[str, object]]:
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    if path.suffix == ".arrow":
        return pa.ipc.open_file(pa.OSFile(str(path))).read_all().to_pylist()
    if path.suffix == ".json":
        return json.loads(path.read_text())
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    raise AssertionError(path)


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".json", ".jsonl"])
def test_formats_for_programs_give_the_rows_back(ending: str, tmp_path: Path) -> None:
    TABLE.write(str(tmp_path / f"t{ending}"))
    assert read_back(tmp_path / f"t{ending}") == ROWS


@pytest.mark.parametrize(("ending", "between"), [(".csv", ","), (".tsv", "\t")])
def test_lines_have_a_header_and_join_lists(ending: str, between: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    TABLE.write(str(path))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter=between))
    assert [row["tail"] for row in rows] == ["a|b", "<i>"]
    assert [row["why"] for row in rows] == ["x | y", ""]
    assert [row["score"] for row in rows] == ["1.5", ""]


def test_names_are_no_markup(tmp_path: Path) -> None:
    for ending in (".md", ".html"):
        TABLE.write(str(tmp_path / f"t{ending}"))
    assert "a\\|b" in (tmp_path / "t.md").read_text()
    assert "<i>" not in (tmp_path / "t.html").read_text()


@pytest.mark.parametrize("ending", table_formats.TRIPLE_ENDINGS)
def test_links_go_out_as_rdf(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    TABLE.write(str(path))
    assert set(read_graph(path)) == {("ada", "speaks", "a|b"), ("bob", "speaks", "<i>")}


def test_what_are_no_triples_is_not_written_as_rdf(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds triples, and these rows are none"):
        Table.of([{"rule": "a -> b"}]).write(str(tmp_path / "t.nt"))
    with pytest.raises(InputError, match=r"found the ending '\.xyz'"):
        TABLE.write(str(tmp_path / "t.xyz"))
    assert not list(tmp_path.iterdir())


def test_whole_numbers_look_like_their_neighbours() -> None:
    """A sum of nothing is the whole number 0."""
    table = Table.of([{"score": 1.5}, {"score": 0}, {"score": None}])
    assert str(table).split() == ["score", "1.500", "0.000", "-"]
    assert table.to_pandas()["score"].tolist()[:2] == [1.5, 0]


def test_rows_are_made_when_they_are_asked_for(tmp_path: Path) -> None:
    """A long table passes through: no more than a block of rows is there at a time."""
    made = 0

    def rows() -> Iterator[dict[str, int]]:
        nonlocal made
        for number in range(100_000):
            made += 1
            yield {"n": number}

    table = Table((Column("n", "count"),), rows)
    assert made == 0
    next(table.batches())
    assert 0 < made < 50_000
    table.write(str(tmp_path / "t.parquet"))
    assert parquet.read_metadata(tmp_path / "t.parquet").num_rows == 100_000


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    table = Table((Column("head", "name"), Column("score", "number")), list, empty="no links")
    assert str(table) == "no links"
    assert table.to_arrow().column_names == ["head", "score"]
    table.write(str(tmp_path / "t.csv"))
    assert (tmp_path / "t.csv").read_text() == "head,score\n"


FACTS = KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")])
ANSWERS = Reasoner(parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")).on(FACTS)


@pytest.mark.parametrize("ending", explanation_formats.FORMATS)
@pytest.mark.parametrize("triple", [("ada", "citizenOf", "uk"), ("uk", "citizenOf", "ada")])
def test_explanations_in_every_format(ending: str, triple: tuple[str, str, str], tmp_path: Path) -> None:
    path = tmp_path / f"why{ending}"
    ANSWERS.explain(*triple).write(str(path))
    text = path.read_text(encoding="utf-8")
    assert "citizenOf" in text
    if ending == ".json":
        assert json.loads(text)
