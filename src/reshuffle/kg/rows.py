"""Compressed rows: entries grouped by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Column = NDArray[np.int32]

# From here on the compiled sort earns back what importing numba costs.
_LARGE = 2_000_000


@dataclass(frozen=True)
class Rows:
    """Compressed rows: row i holds `values[starts[i] : starts[i + 1]]`.

    >>> Rows.grouped(np.array([1, 0, 1]), np.array([7, 8, 9]), num_rows=3).row(1)
    array([7, 9])
    """

    starts: NDArray[np.int64]  # row + 1
    values: NDArray[Any]  # entry

    @classmethod
    def grouped(cls, rows: NDArray[np.integer[Any]], values: NDArray[Any], *, num_rows: int) -> Rows:
        """Each value in the row that `rows` names, in the order given within a row."""
        positions = cls.positions(rows, num_rows=num_rows)
        return cls(positions.starts, values[positions.values])

    @classmethod
    def positions(cls, rows: NDArray[np.integer[Any]], *, num_rows: int) -> Rows:
        """Where each row number occurs: `column[values]` groups any column by row."""
        return cls(starts_of(np.bincount(rows, minlength=num_rows)), np.argsort(rows, kind="stable"))

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Rows:
        """From a list of numbers per row."""
        values = np.array([value for row in rows for value in row], dtype=np.int32)
        return cls(starts_of([len(row) for row in rows]), values)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, number: int) -> NDArray[Any]:
        """The values of one row: a view, not a copy."""
        return self.values[self.starts[number] : self.starts[number + 1]]

    def entries(self, rows: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The values of several rows, one row after the other, and for each value which of `rows` it is from."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        owner = np.repeat(np.arange(len(rows)), sizes)
        shift = self.starts[rows] - starts_of(sizes)[:-1]
        return owner, self.values[np.arange(len(owner)) + shift[owner]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of values in each row."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Adjacency:
    """Compressed rows of edges: entity e has the edges `starts[e] : starts[e + 1]`, sorted by (relation, neighbour).

    One row pointer for all relations together, since a pointer per relation would cost entities x relations.
    """

    starts: NDArray[np.int64]  # entity + 1
    relations: NDArray[np.int32]  # edge
    neighbours: NDArray[np.int32]  # edge

    @classmethod
    def grouped(cls, rows: Column, relations: Column, neighbours: Column, *, num_rows: int) -> Adjacency:
        """Each edge in the row that `rows` names; the edges come sorted by (relation, neighbour) within each row."""
        if len(rows) < _LARGE:
            positions = Rows.positions(rows, num_rows=num_rows)
            return cls(positions.starts, relations[positions.values], neighbours[positions.values])
        from reshuffle.kg import row_kernels as kernels  # noqa: PLC0415 - numba is slow to import, and few need it

        starts = starts_of(np.bincount(rows, minlength=num_rows))
        row_relations, row_neighbours = np.empty_like(relations), np.empty_like(neighbours)
        kernels.group_by_row(rows, relations, neighbours, starts, row_relations, row_neighbours)
        return cls(starts, row_relations, row_neighbours)

    def of(self, entity: int, relation: int) -> NDArray[np.int32]:
        """The neighbours of `entity` over `relation`."""
        start, end = self.starts[entity], self.starts[entity + 1]
        row = self.relations[start:end]
        first, last = np.searchsorted(row, [relation, relation + 1])
        return self.neighbours[start + first : start + last]


def starts_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """Where rows of these sizes start, and behind them the end of the last one.

    >>> starts_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    counts = np.asarray(sizes, dtype=np.int64)
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def starts_in(ordered: NDArray[np.integer[Any]], *, num_rows: int) -> NDArray[np.int64]:
    """Where each row starts in a sorted column of row numbers, and the end of the last one.

    >>> starts_in(np.array([0, 0, 2]), num_rows=3).tolist()
    [0, 2, 2, 3]
    """
    return np.searchsorted(ordered, np.arange(num_rows + 1)).astype(np.int64, copy=False)
