"""Compressed rows: the one way in which entries are grouped by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.kg.rows import Adjacency, Rows, starts_in, starts_of

if TYPE_CHECKING:
    import pytest

ENTRIES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=20)


@given(ENTRIES)
def test_a_row_holds_its_values_in_the_order_given(entries: list[tuple[int, int]]) -> None:
    numbers, values = np.array(entries, dtype=np.int64).reshape(-1, 2).T
    rows = Rows.grouped(numbers, values, num_rows=6)
    expected = [[value for number, value in entries if number == row] for row in range(6)]
    assert [rows.row(row).tolist() for row in range(len(rows))] == expected
    assert np.diff(rows.starts).tolist() == [len(row) for row in expected]
    assert [Rows.of(expected).row(row).tolist() for row in range(6)] == expected


@given(ENTRIES, st.lists(st.integers(0, 5), max_size=8))
def test_entries_of_several_rows(entries: list[tuple[int, int]], wanted: list[int]) -> None:
    numbers, values = np.array(entries, dtype=np.int64).reshape(-1, 2).T
    rows = Rows.grouped(numbers, values, num_rows=6)
    owners, found = rows.entries(np.array(wanted, dtype=np.int64))
    expected = [(place, value) for place, row in enumerate(wanted) for value in rows.row(row).tolist()]
    assert list(zip(owners.tolist(), found.tolist(), strict=True)) == expected


def test_where_rows_start() -> None:
    numbers = np.array([0, 0, 2, 5])
    assert starts_in(numbers, num_rows=4).tolist() == [0, 2, 2, 3, 3]  # 5 lies beyond
    assert starts_of([2, 0, 1, 0]).tolist() == [0, 2, 2, 3, 3]
    assert starts_of([]).tolist() == [0]


def test_large_adjacencies_are_grouped_as_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    columns = [generator.integers(0, 7, 200).astype(np.int32) for _ in range(3)]
    small = Adjacency.grouped(*columns, num_rows=7)
    monkeypatch.setattr("reshuffle.kg.rows._LARGE", 1)
    large = Adjacency.grouped(*columns, num_rows=7)
    for name in ("starts", "relations", "neighbours"):
        assert np.array_equal(getattr(small, name), getattr(large, name))
