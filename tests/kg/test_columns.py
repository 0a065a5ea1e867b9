"""Columns go by their names, whatever their order; what is not clear is refused, and nothing is ever swapped."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from reshuffle import KnowledgeGraph, read_graph
from reshuffle.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

FACTS = [("ada", "bornIn", "london"), ("london", "cityIn", "uk")]
EXPECTED = KnowledgeGraph(FACTS)
HEADERS = [
    ("head", "relation", "tail"),
    ("tail", "relation", "head"),
    ("object", "subject", "predicate"),
    ("source", "type", "target"),
    ("target", "source", "type"),
    ("s", "p", "o"),
    ("Subject", "Predicate", "Object"),
    ("tail", "weight", "relation", "head", "timestamp"),
]
ROLE = {"head": 0, "relation": 1, "tail": 2, "subject": 0, "predicate": 1, "object": 2}
ROLE |= {"source": 0, "type": 1, "target": 2, "s": 0, "p": 1, "o": 2}


def table(header: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        {name: fact[ROLE[name.lower()]] if name.lower() in ROLE else "0.5" for name in header}
        for fact in FACTS
    ]


def written(folder: Path, header: tuple[str, ...], kind: str) -> Path:
    rows, path = table(header), folder / f"facts.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    else:
        between = "," if kind == "csv" else "\t"
        lines = [between.join(header), *(between.join(row.values()) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("header", HEADERS, ids=",".join)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_common_names_are_recognised_in_any_order(tmp_path, header, kind):
    notes: list[str] = []
    path = written(tmp_path, header, kind)
    assert read_graph(path, notes=notes.append) == EXPECTED
    more = len(header) > 3
    assert notes == ([f"{path}: 2 columns skipped: weight, timestamp"] if more else [])


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_columns_are_named(tmp_path, kind):
    path = tmp_path / f"f.{kind}"
    rows = [{"b": t, "rel": r, "a": h, "n": "1"} for h, r, t in FACTS]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        between = "," if kind == "csv" else "\t"
        path.write_text("\n".join([between.join(rows[0]), *(between.join(row.values()) for row in rows)]))
    for columns in (("a", "rel", "b"), "a,rel,b", "a, rel, b"):
        assert KnowledgeGraph.read(path, columns=columns) == EXPECTED
    with pytest.raises(InputError, match="found the columns b, rel, a, n; expected a, rel, c"):
        read_graph(path, columns=("a", "rel", "c"))
    with pytest.raises(InputError, match="expected a, rel, c\n"):
        read_graph(path, columns="a,rel,c")


@pytest.mark.parametrize("columns", [("a", "b"), ("a", "a", "b"), "a,b", ("a", "", "b"), 3, ("a", 1, "b")])
def test_columns_are_three_names(tmp_path, columns):
    with pytest.raises(InputError, match="expected the names of three columns"):
        read_graph(written(tmp_path, HEADERS[0], "csv"), columns=columns)


def test_two_columns_for_one_role_are_not_guessed(tmp_path):
    with pytest.raises(InputError, match="the columns source and subject could both hold the head"):
        read_graph(written(tmp_path, ("source", "subject", "type", "target"), "csv"))


def test_a_header_in_another_order_never_swaps_tab_separated_facts(tmp_path):
    """Without columns TSV has no header: one that says so in order is noted, one in another order is refused."""
    path = written(tmp_path, ("tail", "relation", "head"), "tsv")
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert str(caught.value) == (
        f"{path}:1: the first line names the columns tail, relation, head, expected them in the order head, relation, "
        "tail\n"
        "  hint: --columns head,relation,tail (columns=) reads them by name; if it is a triple, put another first"
    )
    assert read_graph(path, columns="head,relation,tail") == EXPECTED


def test_a_csv_header_of_unknown_names_leads_to_columns(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("t,rel,h\nlondon,bornIn,ada\n")
    with pytest.raises(InputError, match="--columns HEAD,RELATION,TAIL"):
        read_graph(path)
    assert ("ada", "bornIn", "london") in read_graph(path, columns="h,rel,t")


def test_a_row_of_another_length_is_named(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("head,relation,tail,weight\na,r,b,1\na,r,b\n")
    with pytest.raises(InputError, match=r"facts.csv:3: found 3 columns, expected 4, as in the header"):
        read_graph(path)


def test_the_fast_path_reads_other_headers_alike(tmp_path, monkeypatch):
    monkeypatch.setattr("reshuffle.kg.io.reading._LARGE", 1)
    for header in HEADERS:
        assert read_graph(written(tmp_path, header, "csv")) == EXPECTED
        assert (
            read_graph(
                written(tmp_path, header, "tsv"),
                columns=[n for r in range(3) for n in header if ROLE.get(n.lower()) == r],
            )
            == EXPECTED
        )


# --- tables of any library ---------------------------------------------------------------------------------------

ARROW = pa.Table.from_pylist(table(HEADERS[2]))


class Cursor:
    """What a cursor of ADBC has, whose packages are in no extra."""

    def fetch_arrow_table(self) -> pa.Table:
        return ARROW


TABLES = {
    "Arrow": lambda: ARROW,
    "record batch": lambda: ARROW.to_batches()[0],
    "reader": ARROW.to_reader,
    "data set": lambda: ds.dataset(ARROW),
    "pandas": lambda: pd.DataFrame(table(HEADERS[2])),
    "polars": lambda: pl.DataFrame(table(HEADERS[2])),
    "lazy": lambda: pl.LazyFrame(table(HEADERS[2])).filter(pl.col("object") != "nobody"),
    "categories": lambda: pl.DataFrame(table(HEADERS[2])).with_columns(
        pl.col("predicate").cast(pl.Categorical), pl.col("object").cast(pl.Enum(["london", "uk"]))
    ),
    "pandas categories": lambda: pd.DataFrame(table(HEADERS[2])).astype("category"),
    "cursor": Cursor,
    "columns": ARROW.to_pydict,
    "graph": lambda: EXPECTED,
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_converter_takes_every_table(kind):
    for convert in (
        KnowledgeGraph.from_table,
        KnowledgeGraph.from_arrow,
        KnowledgeGraph.from_pandas,
        KnowledgeGraph.from_polars,
    ):
        assert convert(TABLES[kind]()) == EXPECTED


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_a_graph_where_triples_are_taken(kind):
    assert KnowledgeGraph(TABLES[kind]()) == EXPECTED


def test_pandas_columns_that_arrow_cannot_hold_are_passed_over_and_named():
    notes: list[str] = []
    frame = pd.DataFrame(
        [(*fact, [datetime.date.today(), object()]) for fact in FACTS], columns=[*"spo", "x"]
    )
    assert KnowledgeGraph.from_table(frame, notes=notes.append) == EXPECTED
    assert notes == ["1 column skipped: x"]


@pytest.mark.parametrize("given", [3, "facts.tsv", object()])
def test_what_is_no_table_is_refused(given):
    with pytest.raises(InputError, match="expected a table"):
        KnowledgeGraph.from_table(given)


def test_columns_without_names_go_by_their_numbers():
    assert KnowledgeGraph.from_table(pd.DataFrame(FACTS), columns=(0, 1, 2)) == EXPECTED


@pytest.mark.parametrize(
    "given",
    [None, 3, "facts.tsv", b"abc", pd.Series(["a"]), {"head": ["a"], "relation": ["r", "s"], "tail": ["b"]}],
)
def test_what_holds_no_triples_is_refused(given):
    with pytest.raises(InputError, match=r"expected a graph or triples|expected a table|do not form a table"):
        KnowledgeGraph(given)


# --- records -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", HEADERS, ids=",".join)
def test_dictionaries_go_by_their_keys(header):
    assert KnowledgeGraph(table(header)) == EXPECTED


def test_records_with_other_keys_get_columns():
    records = [{"from": head, "kind": relation, "who": tail} for head, relation, tail in FACTS]
    assert KnowledgeGraph(records, columns=("from", "kind", "who")) == EXPECTED


def test_arrays_of_names_are_triples():
    for kind in (str, object):
        assert KnowledgeGraph(np.array(FACTS, dtype=kind)) == EXPECTED


def test_dictionaries_are_added_to_answers_by_their_keys():
    from reshuffle import Reasoner, parse_rules

    answers = Reasoner(parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")).on(
        table(HEADERS[1])[:1]
    )
    answers.add(table(HEADERS[1])[1:])
    assert ("ada", "citizenOf", "uk") in answers
    answers.remove(pd.DataFrame(table(HEADERS[1])))
    assert len(answers.facts) == 0


@pytest.mark.parametrize("given", [[{"a", "r", "b"}], [frozenset("arb")], [{"x": 1, "y": 2, "z": 3}]])
def test_what_does_not_say_its_order_is_refused(given):
    with pytest.raises(InputError, match=r"unordered|found the columns x, y, z"):
        KnowledgeGraph(given)
