"""The fast reader, the careful reader and ten obvious lines agree."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.io.delimited import read_csv, read_tsv
from reshuffle.kg.io.fast_delimited import read_fast
from reshuffle.kg.io.files import Format, Source

if TYPE_CHECKING:
    from reshuffle.kg.rows import TripleColumns

pieces = st.sampled_from(
    ["a", "b", "ü", "\t", "\t", "\t", "\n", "\n", " ", "\r", "\r\n", "#", '"', ",", "\ufeff"]
)
names = st.text("abü #'", min_size=1, max_size=20).filter(lambda name: name == name.strip())
rows = st.lists(st.tuples(names, names, names), min_size=1)


def obvious(text: str, separator: str = "\t") -> list[tuple[str, ...]] | None:
    """The rows of a file, or None where it is not well-formed."""
    found = []
    for line in text.removeprefix("\ufeff").split("\n"):
        if kept := line.rstrip(" \t\r"):
            row = tuple(kept.split(separator))
            if len(row) != 3 or not all(row):
                return None
            found.append(row)
    return found or None


def graph_and_rows(found: TripleColumns) -> tuple[KnowledgeGraph, int]:
    return KnowledgeGraph.from_columns(found.distinct()), len(found)


def fast(text: bytes, *, block: int, separator: bytes = b"\t") -> tuple[KnowledgeGraph, int] | None:
    found = read_fast(io.BytesIO(text), separator=separator, size=len(text), block=block)
    return None if found is None else graph_and_rows(found)


def careful(text: bytes, form: Format = Format.TSV) -> tuple[KnowledgeGraph, int] | None:
    try:
        read = read_csv if form is Format.CSV else read_tsv
        return graph_and_rows(read(Source("test", len(text), content=text), lambda _bytes: None))
    except InputError:
        return None


def assert_same(found: tuple[KnowledgeGraph, int], rows: list[tuple[str, ...]]) -> None:
    graph, count = found
    assert count == len(rows)
    assert set(graph) == set(rows)
    assert list(graph.entities) == list(dict.fromkeys(end for row in rows for end in (row[0], row[2])))
    assert list(graph.relations) == list(dict.fromkeys(row[1] for row in rows))


@given(st.lists(pieces).map("".join), st.integers(1, 40))
@example(" \t \t \n", 8)
@example("a\tb\ta\tbb\tb\ta\n", 50)
@example("a\tb\ta\t \t\r\n\na\tb\ta \n\t\t\n", 5)
@example("\ufeffa\tb\ta", 100)
@settings(max_examples=300, deadline=None)
def test_any_text(text, block):
    expected = obvious(text)
    read = careful(text.encode())
    assert (read is None) == (expected is None)
    for found in (read, fast(text.encode(), block=block)):
        if found is not None:
            assert expected is not None
            assert_same(found, expected)


@given(rows, st.integers(1, 200), st.sampled_from(["\n", "\r\n", " \n", "\t\n", "\n\n"]), st.booleans())
@settings(deadline=None)
def test_well_formed_text_stays_on_the_fast_path(rows, block, ending, complete):
    text = "".join("\t".join(row) + ending for row in rows)
    found = fast((text if complete else text.rstrip()).encode(), block=block)
    assert found is not None
    assert_same(found, rows)


@given(rows, st.integers(1, 200))
@settings(deadline=None)
def test_plain_csv_stays_on_the_fast_path(rows, block):
    text = "head,relation,tail\r\n" + "".join(",".join(row) + "\r\n" for row in rows)
    found = fast(text.encode(), block=max(block, 20), separator=b",")
    assert found is not None
    assert_same(found, rows)
    assert careful(text.encode(), Format.CSV) == found


@given(
    st.lists(st.sampled_from(["a", '"', '""', ",", ",", "\n", "\r", " "])).map("".join), st.integers(20, 60)
)
@example('"a",a,a\n', 60)
@example("a,a,a\ra\n", 60)
@settings(max_examples=300, deadline=None)
def test_fast_csv_never_differs(text, block):
    encoded = f"head,relation,tail\n{text}".encode()
    found = fast(encoded, block=block, separator=b",")
    if found is not None:
        assert found == careful(encoded, Format.CSV)


def test_bytes_that_are_not_utf8_are_left_to_the_careful_reader():
    assert fast(b"a\tr\t\xff\n", block=100) is None


@pytest.mark.parametrize("name", ["e{}", "alike at its {:08} both ends"])
def test_many_names_grow_the_tables(name):
    rows = [(name.format(number), f"r{number % 7}", name.format(number // 2)) for number in range(30_000)]
    found = fast("".join("\t".join(row) + "\n" for row in rows).encode(), block=4096)
    assert found is not None
    assert_same(found, rows)
