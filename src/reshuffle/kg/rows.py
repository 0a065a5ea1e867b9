"""Triples by name, as sorted columns of ids, and in compressed rows; kernels rely on this order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import row_kernels as kernels
from reshuffle.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Column = NDArray[np.int32]

COLUMNS = ("head", "relation", "tail")

LITERAL = "a literal"
"""The tail of every fact in `TripleColumns.literals`: what the literal is does not matter to any rule."""

# From here on the compiled radix sort earns back what importing numba costs.
_LARGE = 2_000_000
_KEY_BITS = 63


class Triple(NamedTuple):
    """(e, r, f) of the paper, with names."""

    head: str
    relation: str
    tail: str


def is_triple(given: object) -> TypeGuard[tuple[str, str, str]]:
    """Is it a tuple of three texts?"""
    return isinstance(given, tuple) and len(given) == 3 and all(isinstance(name, str) for name in given)


def checked_triple(triple: Sequence[str]) -> Sequence[str]:
    """The triple, if it is one; raises `InputError` otherwise."""
    try:
        fits = len(triple) == 3 and not isinstance(triple, str)
    except TypeError:
        fits = False
    if not fits:
        raise InputError(
            f"found {triple!r}, expected a triple of names: (head, relation, tail)",
            hint="give an iterable of such triples; read_graph(path) reads a file",
        )
    return triple


@dataclass(frozen=True)
class TripleColumns:
    """Triples as three columns of ids, and the names that the ids stand for."""

    heads: Column
    relation_ids: Column
    tails: Column
    entities: Vocabulary
    relations: Vocabulary
    literals: TripleColumns | None = None
    """Facts whose tail is a literal, which are no triples of a graph: the subject and the property; see `LITERAL`."""

    def __len__(self) -> int:
        return len(self.heads)

    def first(self) -> Triple:
        """The first triple by name; raises `IndexError` where there is none."""
        return Triple(
            self.entities[self.heads[0]], self.relations[self.relation_ids[0]], self.entities[self.tails[0]]
        )

    def distinct(self) -> TripleColumns:
        """Each triple once, sorted by (relation, head, tail)."""
        columns = sorted_distinct(self.heads, self.relation_ids, self.tails)
        literals = None if self.literals is None else self.literals.distinct()
        return TripleColumns(*columns, self.entities, self.relations, literals)


def numbered(triples: Iterable[Sequence[str]]) -> TripleColumns:
    """Triples of names as columns, in the order given; names are numbered in the order in which they appear."""
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    numbers = (
        number
        for head, relation, tail in triples
        for number in (
            entities.setdefault(head, len(entities)),
            relations.setdefault(relation, len(relations)),
            entities.setdefault(tail, len(entities)),
        )
    )
    try:
        flat = np.fromiter(numbers, dtype=np.int32)
    except TypeError as error:  # such as a list in place of a name
        raise InputError(f"found a name that is no text: {error}", hint="give names as str") from error
    entity_names, entity_ids = _as_texts(entities)
    relation_names, relation_ids = _as_texts(relations)
    return TripleColumns(
        entity_ids[flat[0::3]],
        relation_ids[flat[1::3]],
        entity_ids[flat[2::3]],
        Vocabulary(entity_names, kind="entity"),
        Vocabulary(relation_names, kind="relation"),
    )


def name_of(given: Any) -> Any:
    """A name; whole numbers stand for their decimal text, as in columns of tables. What else is no text stays as it is.

    >>> name_of(7), name_of("7"), name_of(7.0), name_of(True)
    ('7', '7', 7.0, True)
    """
    is_number = isinstance(given, int | np.integer) and not isinstance(given, bool)
    return str(given) if is_number else given


def _as_texts(numbers: dict[Any, int]) -> tuple[dict[Any, int], NDArray[np.int32]]:
    """The names with whole numbers as text, and what takes old ids to those of the names; 7 and "7" are one name."""
    if all(type(name) is str for name in numbers):
        return numbers, np.arange(len(numbers), dtype=np.int32)
    names: dict[Any, int] = {}
    ids = [names.setdefault(name_of(name), len(names)) for name in numbers]
    return names, np.array(ids, dtype=np.int32)


def sorted_distinct(heads: Column, relations: Column, tails: Column) -> tuple[Column, Column, Column]:
    """The distinct triples, sorted by (relation, head, tail), as new (heads, relations, tails)."""
    if not len(heads):
        return heads.astype(np.int32), relations.astype(np.int32), tails.astype(np.int32)
    bits = max(int(heads.max()), int(tails.max()), 1).bit_length()
    key_bits = 2 * bits + int(relations.max()).bit_length()
    if key_bits > _KEY_BITS:
        return _by_columns(heads, relations, tails)
    if len(heads) >= _LARGE:
        return _by_radix(heads, relations, tails, bits=bits, key_bits=key_bits)
    return _by_key(heads, relations, tails, bits=bits)


def row_keys(heads: Column, relations: Column, tails: Column, *, bits: int) -> NDArray[np.int64]:
    """One number per triple, ordered as (relation, head, tail); `bits` hold an entity."""
    keys = relations.astype(np.int64)
    for column in (heads, tails):
        keys <<= bits
        keys |= column
    return keys


def fits_key(num_entities: int, num_relations: int) -> bool:
    """Can triples of this number of names be told apart by one 63-bit number?"""
    return 2 * num_entities.bit_length() + num_relations.bit_length() <= _KEY_BITS


def _by_key(heads: Column, relations: Column, tails: Column, *, bits: int) -> tuple[Column, Column, Column]:
    keys = row_keys(heads, relations, tails, bits=bits)
    if np.any(keys[1:] <= keys[:-1]):
        keys.sort()
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    mask = (1 << bits) - 1
    columns = ((keys >> bits) & mask, keys >> (2 * bits), keys & mask)
    return columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2].astype(np.int32)


def _by_radix(
    heads: Column, relations: Column, tails: Column, *, bits: int, key_bits: int
) -> tuple[Column, Column, Column]:
    keys = np.empty(len(heads), dtype=np.uint64)
    kernels.pack_keys(heads, relations, tails, bits, keys)
    keys = _sorted_in_halves(keys, key_bits)
    columns = [np.empty(len(keys), dtype=np.int32) for _ in range(3)]
    rows = kernels.unpack_distinct(keys, bits, *columns)
    return columns[0][:rows], columns[1][:rows], columns[2][:rows]


def _sorted_in_halves(keys: NDArray[np.uint64], key_bits: int) -> NDArray[np.uint64]:
    """Keys below and above a guess of the median, each half sorted by a thread of its own."""
    halves = np.empty_like(keys)
    middle = kernels.split_keys(keys, np.sort(keys[::1000])[len(keys) // 2000], halves)
    pieces = (slice(None, middle), slice(middle, None))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda piece: kernels.radix_sort(halves[piece], keys[piece], key_bits), pieces))
    # Every pass moves all keys to the other array, so the number of passes tells where they are.
    return keys if -(-key_bits // kernels.DIGIT) % 2 else halves


def _by_columns(heads: Column, relations: Column, tails: Column) -> tuple[Column, Column, Column]:
    order = np.lexsort((tails, heads, relations))
    rows = np.stack([heads[order], relations[order], tails[order]])
    new = np.concatenate([[True], np.any(rows[:, 1:] != rows[:, :-1], axis=0)])
    distinct = np.ascontiguousarray(rows[:, new], dtype=np.int32)
    return distinct[0], distinct[1], distinct[2]


def with_inverses(triples: NDArray[np.int64], num_relations: int) -> NDArray[np.int64]:
    """Triples of ids [triple, (head relation tail)], followed by their inverses in the same order.

    >>> with_inverses(np.array([[4, 1, 5]]), num_relations=2).tolist()
    [[4, 1, 5], [5, 3, 4]]
    """
    turned = triples[:, ::-1] + np.array([0, num_relations, 0])
    return np.concatenate([triples, turned])


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
