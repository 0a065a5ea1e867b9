"""Triples, by name and as sorted columns of ids: the order that every kernel relies on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Column = NDArray[np.int32]

COLUMNS = ("head", "relation", "tail")

# From here on the compiled radix sort earns back what importing numba costs.
_LARGE = 2_000_000
_KEY_BITS = 63


class Triple(NamedTuple):
    """(e, r, f) of the paper, with names."""

    head: str
    relation: str
    tail: str


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

    def __len__(self) -> int:
        return len(self.heads)

    def first(self) -> Triple:
        """The first triple by name; raises `IndexError` where there is none."""
        return Triple(
            self.entities[self.heads[0]], self.relations[self.relation_ids[0]], self.entities[self.tails[0]]
        )

    def distinct(self) -> TripleColumns:
        """Each triple once, sorted by (relation, head, tail)."""
        heads, relation_ids, tails = sorted_distinct(
            self.heads, self.relation_ids, self.tails, len(self.entities)
        )
        return TripleColumns(heads, relation_ids, tails, self.entities, self.relations)


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
    return TripleColumns(
        flat[0::3],
        flat[1::3],
        flat[2::3],
        Vocabulary(entities, kind="entity"),
        Vocabulary(relations, kind="relation"),
    )


def sorted_distinct(
    heads: Column, relations: Column, tails: Column, num_entities: int
) -> tuple[Column, Column, Column]:
    """The distinct triples, sorted by (relation, head, tail), as new (heads, relations, tails)."""
    if not len(heads):
        return heads.astype(np.int32), relations.astype(np.int32), tails.astype(np.int32)
    bits = max(num_entities - 1, 1).bit_length()
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
    """Can triples of so many names be told apart by one 63-bit number?"""
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
    from reshuffle.kg import row_kernels as kernels  # noqa: PLC0415 - numba is slow to import, and few need it

    keys = np.empty(len(heads), dtype=np.uint64)
    kernels.pack_keys(heads, relations, tails, bits, keys)
    keys = _sorted_in_halves(keys, key_bits)
    columns = [np.empty(len(keys), dtype=np.int32) for _ in range(3)]
    rows = kernels.unpack_distinct(keys, bits, *columns)
    return columns[0][:rows], columns[1][:rows], columns[2][:rows]


def _sorted_in_halves(keys: NDArray[np.uint64], key_bits: int) -> NDArray[np.uint64]:
    """Keys below and above a guess of the median, each half sorted by a thread of its own."""
    from reshuffle.kg import row_kernels as kernels  # noqa: PLC0415 - numba is slow to import, and few need it

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
