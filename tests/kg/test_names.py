"""Which values are names: text, and whole numbers as their decimal text; one rule, whatever triples come from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reshuffle import KnowledgeGraph, Reasoner, parse_rules, read_graph
from reshuffle.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = ("head", "relation", "tail")


def parquet(value: Any, folder: Path) -> KnowledgeGraph:
    pq.write_table(pa.table({"head": [value], "relation": ["r"], "tail": [value]}), folder / "f.parquet")
    return read_graph(folder / "f.parquet")


def json_lines(value: Any, folder: Path) -> KnowledgeGraph:
    plain = value.item() if isinstance(value, np.generic) else value
    (folder / "f.jsonl").write_text(json.dumps([plain, "r", plain]) + "\n")
    return read_graph(folder / "f.jsonl")


SOURCES: dict[str, Callable[[Any, Path], KnowledgeGraph]] = {
    "tuples": lambda value, _: KnowledgeGraph([(value, "r", value)]),
    "lists": lambda value, _: KnowledgeGraph([[value, "r", value]]),
    "dictionaries": lambda value, _: KnowledgeGraph([dict(zip(COLUMNS, (value, "r", value), strict=True))]),
    "numpy": lambda value, _: KnowledgeGraph(np.array([[value, "r", value]], dtype=object)),
    "arrow": lambda value, _: KnowledgeGraph(pa.table({"head": [value], "relation": ["r"], "tail": [value]})),
    "columns": lambda value, _: KnowledgeGraph({"head": [value], "relation": ["r"], "tail": [value]}),
    "parquet": parquet,
    "JSON lines": json_lines,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("value", [7, -3, np.int64(7)], ids=str)
def test_whole_numbers_are_names(source: str, value: Any, tmp_path: Path) -> None:
    assert set(SOURCES[source](value, tmp_path)) == {(str(value), "r", str(value))}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("value", [7.5, True, None], ids=str)
def test_other_values_are_not(source: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        SOURCES[source](value, tmp_path)


def test_a_number_and_its_text_are_one_name() -> None:
    assert set(KnowledgeGraph([(1, "r", 2), ("2", "r", "1"), ("1", "r", "2")])) == {
        ("1", "r", "2"),
        ("2", "r", "1"),
    }


def test_updates_take_numbers_too() -> None:
    answers = Reasoner(parse_rules("r(X, Y) -> s(X, Y)")).on([(1, "r", 2)])
    answers.add([(3, "r", 4)])
    assert answers.holds("3", "s", "4")


@pytest.mark.parametrize("blank", ["", " "])
def test_blanks_behind_commas_belong_to_no_name_where_the_header_has_them(tmp_path: Path, blank: str) -> None:
    rows = [("head", "relation", "tail"), ("a", "r", '"b,c"'), ("d", "r", "e")]
    (tmp_path / "f.csv").write_text("".join(f",{blank}".join(row) + "\n" for row in rows))
    assert set(read_graph(tmp_path / "f.csv")) == {("a", "r", "b,c"), ("d", "r", "e")}


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"head": "a", "relation": "r", "tail": "b", "head": "c"}\n')
    with pytest.raises(InputError, match=r"f\.jsonl:1: .*the key 'head' stands twice"):
        read_graph(tmp_path / "f.jsonl")
