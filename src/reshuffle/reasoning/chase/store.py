"""The memory of the chase: it grows with the triples, and a relation that fills up turns into bits.

A sparse triple costs about 40 bytes, a dense relation |E|^2 / 4 bytes (both directions). A join of two sparse
rows costs a probe of the hash set per pair, some 50 ns; one over bits costs as much for a thousand pairs, new or
not. So bits are taken from the start where they are small for all relations, early where they are small for the
relation, and else from the size at which they save memory. Pages of bits that are never set are never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from reshuffle.errors import BudgetError, InternalError
from reshuffle.progress import SILENT
from reshuffle.reasoning import keysets
from reshuffle.reasoning.chase.kernels import dense_joins as rows
from reshuffle.reasoning.chase.kernels import joins, retraction
from reshuffle.reasoning.chase.kernels.pairs import (
    FILLED,
    POOLED,
    QUEUED,
    ROWS,
    SPARSE,
    WANTED,
    Pairs,
    fill_bits,
    listed,
    row_ends,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.progress import Progress
    from reshuffle.reasoning.chase.program import Program

Layout: TypeAlias = Literal["auto", "sparse", "dense"]

_NEVER = np.iinfo(np.int64).max
_SMALL_STORE = 256 << 20  # bytes: bits for all relations that are taken from the start
_SMALL_BITS = 64 << 20  # bytes: bits for one relation that are taken for speed alone
_FIRST = 1 << 10  # places of every array that grows
_BLOCK = 1 << 20  # triples between two reports of progress


class Store:
    """The pairs of every relation. Entities and relations are numbers here; `answers` knows the names."""

    def __init__(
        self,
        program: Program,
        num_entities: int,
        *,
        entity_bits: int,
        layout: Layout = "auto",
        memory: int | None = None,
    ) -> None:
        """`layout` forces one representation for all relations, for tests and comparisons."""
        self.program, self.layout, self.memory = program, layout, memory
        self.num_entities = num_entities
        self._waiting: rows.Waiting | None = None
        self.pairs = self._empty(program.num_relations, entity_bits)
        self._tables(program.num_relations)

    def _empty(self, num_relations: int, entity_bits: int) -> Pairs:
        words = -(-max(self.num_entities, 1) // 64)
        dense = num_relations if self._all_dense(num_relations, words) else 0
        counters = np.zeros(6, dtype=np.int64)
        counters[WANTED] = -1
        return Pairs(
            entity_bits=entity_bits,
            known=np.full(_FIRST, keysets.EMPTY, dtype=np.int64),
            row_keys=np.full(_FIRST, keysets.EMPTY, dtype=np.int64),
            row_of=np.empty(_FIRST, dtype=np.int32),
            row_start=np.empty(_FIRST, dtype=np.int64),
            row_size=np.empty(_FIRST, dtype=np.int32),
            row_room=np.empty(_FIRST, dtype=np.int32),
            pool=np.empty(_FIRST, dtype=np.int32),
            slot_of=np.arange(num_relations, dtype=np.int32)
            if dense
            else np.full(num_relations, SPARSE, np.int32),
            bits=np.zeros((2, dense, 64 * words, words), dtype=np.uint64),
            queue=np.empty(_FIRST, dtype=np.int64),
            totals=np.zeros(num_relations, dtype=np.int64),
            dense_at=np.full(num_relations, _NEVER if dense else self._dense_at(words), dtype=np.int64),
            counters=counters,
        )

    def _tables(self, num_relations: int) -> None:
        self.triggers = self.program.triggers(num_relations)
        self.sources = self.program.sources(num_relations)

    # --- reading ------------------------------------------------------------------------------------

    def contains(self, code: int, start: int, end: int) -> bool:
        """Does `code(start, end)` hold?"""
        pairs = self.pairs
        slot = pairs.slot_of[code >> 1]
        if slot == SPARSE:
            return bool(keysets.has_key(pairs.known, self.key(code, start, end)))
        return bool(int(pairs.bits[code & 1, slot, start, end >> 6]) >> (end & 63) & 1)

    def key(self, code: int, start: int, end: int) -> int:
        """The key of the triple that an atom speaks of."""
        head, tail = (end, start) if code & 1 else (start, end)
        bits = self.pairs.entity_bits
        return ((code >> 1) << bits | head) << bits | tail

    def ends(self, code: int, start: int) -> NDArray[np.int32]:
        """All g for which `code(start, g)` holds."""
        self._check(code >> 1, start)
        found: NDArray[np.int32] = row_ends(self.pairs, code, start)
        return found

    def is_dense(self, relation: int) -> bool:
        """Is the relation kept as bits?"""
        return bool(self.pairs.slot_of[relation] != SPARSE)

    def blocks(self, relation: int) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The heads and tails of a relation, in blocks."""
        if not self.is_dense(relation):
            yield listed(self.pairs, relation)
            return
        words = self.pairs.bits[0, self.pairs.slot_of[relation]]
        step = max(1, _BLOCK // max(1, words.shape[0]))
        for first in range(0, self.num_entities, step):
            octets = words[first : first + step].astype("<u8", copy=False).view(np.uint8)
            heads, tails = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
            yield (heads + first).astype(np.int32), tails.astype(np.int32)

    @property
    def num_triples(self) -> int:
        """The number of triples that hold, those of fresh relations included."""
        return int(self.pairs.totals.sum())

    @property
    def num_bytes(self) -> int:
        """The bytes that the arrays occupy."""
        waiting = () if self._waiting is None else self._waiting
        return sum(array.nbytes for array in (*self.pairs, *waiting) if isinstance(array, np.ndarray))

    # --- deriving -----------------------------------------------------------------------------------

    def add(self, keys: NDArray[np.int64], *, progress: Progress = SILENT) -> None:
        """Make triples hold, and all that follows from them."""
        self._check_keys(keys)
        done = 0
        while (done := int(joins.load(self.pairs, keys, done))) < len(keys):
            self.make_room()
        self._derive(progress)

    def _derive(self, progress: Progress) -> None:
        with progress("chasing", unit="triples") as report:
            seen = self.num_triples - int(self.pairs.counters[QUEUED])
            status = joins.PAUSED
            while status != joins.DONE:
                status = self._derive_some()
                if status == joins.NO_ROOM:
                    self.make_room()
                elif status == joins.WANTS_DENSE:
                    self._turn_dense(int(self.pairs.counters[WANTED]))
                drawn = self.num_triples - int(self.pairs.counters[QUEUED])
                report(drawn - seen)
                seen = drawn

    def _derive_some(self) -> int:
        if not self._all_are_dense():
            return int(joins.fixpoint(self.pairs, self.triggers, _BLOCK))
        shape = self.pairs.bits.shape
        if self._waiting is None or self._waiting.bits.shape != shape:
            self._waiting = _nothing_waiting(shape)
            self._check_memory()
        return int(rows.fixpoint_by_rows(self.pairs, self.triggers, self._waiting, _BLOCK // 64))

    def _all_are_dense(self) -> bool:
        slots = self.pairs.slot_of
        return bool(np.array_equal(slots, np.arange(len(slots))))

    def remove(self, keys: NDArray[np.int64], facts: NDArray[np.int64]) -> bool:
        """Take facts back, given the set of those that stay; False when starting afresh is cheaper.

        Then the store is spoilt. In a dense fixpoint nearly every triple is suspect, and re-deriving each
        costs more than deriving all.
        """
        self._check_keys(keys)
        suspects = self._suspects(facts, len(keys))
        codes, bits = keys >> (2 * self.pairs.entity_bits), self.pairs.entity_bits
        mask = (1 << bits) - 1
        for code, key in zip(codes.tolist(), keys.tolist(), strict=True):
            retraction.suspect(self.pairs, suspects, 2 * code, key >> bits & mask, key & mask)
        most = max(1024, self.num_triples // 2)
        while (status := retraction.overdelete(self.pairs, self.triggers, suspects, most)) == joins.NO_ROOM:
            suspects = suspects._replace(
                keys=doubled(suspects.keys),
                sparse=keysets.rehashed(suspects.sparse, 2 * len(suspects.sparse)),
            )
        if status == retraction.TOO_MANY:
            return False
        deleted = suspects.keys[: suspects.counters[retraction.SUSPECTED]]
        done = 0
        while (done := int(retraction.rederive(self.pairs, self.sources, deleted, done))) < len(deleted):
            self.make_room()
        self._derive(SILENT)
        return True

    def _suspects(self, facts: NDArray[np.int64], least: int) -> retraction.Suspects:
        size = max(_FIRST, 1 << (2 * least).bit_length())
        return retraction.Suspects(
            keys=np.empty(size, dtype=np.int64),
            sparse=np.full(size, keysets.EMPTY, dtype=np.int64),
            # Not zeros_like, which would touch every page of what is nearly all zero.
            bits=np.zeros(self.pairs.bits.shape, dtype=np.uint64),
            facts=facts,
            counters=np.zeros(2, dtype=np.int64),
        )

    def _check_keys(self, keys: NDArray[np.int64]) -> None:
        """Refuse triples of more relations or entities than the arrays have room for."""
        bits = self.pairs.entity_bits
        relation = int(keys.max(initial=-1)) >> 2 * bits
        mask = (1 << bits) - 1
        ends = np.maximum(keys >> bits & mask, keys & mask)
        self._check(relation, int(ends.max(initial=-1)))

    def _check(self, relation: int, entity: int) -> None:
        # Kernels do not look.
        if relation >= len(self.pairs.slot_of) or entity >= self.num_entities:
            raise InternalError(
                f"the chase has room for {len(self.pairs.slot_of):,} relations and {self.num_entities:,} entities, "
                f"not for relation {relation:,} and entity {entity:,}"
            )

    # --- growing ------------------------------------------------------------------------------------

    def make_room(self) -> None:
        """Enlarge every array that is nearly full; one of them is where a kernel found no room."""
        pairs, counters = self.pairs, self.pairs.counters
        if 2 * counters[FILLED] > len(pairs.known):
            size = max(_FIRST, 1 << int(3 * counters[FILLED]).bit_length())
            self._check_memory(8 * size)
            self._replace(known=keysets.rehashed(pairs.known, size))
        if 2 * counters[ROWS] > len(pairs.row_keys):
            self._check_memory(24 * len(pairs.row_keys))
            row_keys, row_of = keysets.rehashed_map(pairs.row_keys, pairs.row_of, 2 * len(pairs.row_keys))
            self._replace(row_keys=row_keys, row_of=row_of)
        if 2 * counters[ROWS] > len(pairs.row_start):
            columns = ("row_start", "row_size", "row_room")
            self._check_memory(sum(2 * getattr(pairs, name).nbytes for name in columns))
            self._replace(**{name: doubled(getattr(pairs, name)) for name in columns})
        if 3 * counters[POOLED] > len(pairs.pool):  # a row that moves takes up to twice what is in use
            self._check_memory(2 * pairs.pool.nbytes)
            self._replace(pool=doubled(pairs.pool))
        if 2 * counters[QUEUED] > len(pairs.queue):
            self._check_memory(2 * pairs.queue.nbytes)
            self._replace(queue=doubled(pairs.queue))

    def _replace(self, **arrays: NDArray[Any]) -> None:
        self.pairs = Pairs(**{**self.pairs._asdict(), **arrays})
        self._check_memory()

    def _check_memory(self, more: int = 0) -> None:
        """Refuse before `more` bytes are taken: while an array is enlarged, the old and the new one are there."""
        needed = self.num_bytes + more
        if self.memory is not None and needed > self.memory:
            raise BudgetError(
                f"the fixpoint needs more than memory={self.memory:,} bytes: at {self.num_triples:,} triples, "
                f"and not yet done, it needs {needed:,}",
                hint=f"give it at least {2 * needed:,}; all pairs of all relations as bits take "
                f"{len(self.pairs.slot_of) * self.num_entities**2 // 4:,}",
            )

    def _dense_at(self, words: int) -> int:
        """The size from which a relation is kept as bits."""
        if self.layout == "sparse":
            return _NEVER
        if self.layout == "dense":
            return 0
        places = (64 * words) ** 2
        return places // 16_384 if places // 4 <= _SMALL_BITS else places // 128

    def _all_dense(self, num_relations: int, words: int) -> bool:
        if self.layout != "auto":
            return self.layout == "dense"
        size = num_relations * 1024 * words**2
        return size <= _SMALL_STORE and (self.memory is None or 4 * size <= self.memory)

    def _turn_dense(self, relation: int) -> None:
        """Keep a relation as bits from now on, unless the limit does not allow it."""
        pairs = self.pairs
        pairs.counters[WANTED] = -1
        pairs.dense_at[relation] = _NEVER
        slots, height, words = pairs.bits.shape[1:]
        slot = int(pairs.slot_of.max()) + 1
        if slot >= slots:
            # Pages that are never touched cost nothing, but a limit counts them.
            wanted = slots + 1 if self.memory is not None else min(max(1, 2 * slots), len(pairs.slot_of))
            if not self._affordable(16 * (wanted - slots) * height * words):
                return
            bits = np.zeros((2, wanted, height, words), dtype=np.uint64)
            bits[:, :slots] = pairs.bits
            self._replace(bits=bits)
        fill_bits(self.pairs, relation, slot)

    def _affordable(self, more: int) -> bool:
        return self.memory is None or self.layout == "dense" or self.num_bytes + more <= self.memory

    def enlarge(self, num_entities: int, num_relations: int) -> None:
        """Make room for new entities and relations; the triples that hold stay."""
        self.num_entities = max(self.num_entities, num_entities)
        self._enlarge_bits()
        more = num_relations - len(self.pairs.slot_of)
        if more <= 0:
            return
        dense, (slots, _, words) = self._all_are_dense(), self.pairs.bits.shape[1:]
        if dense:  # stays so: a few relations more change nothing about the price
            bits = np.zeros((2, num_relations, *self.pairs.bits.shape[2:]), dtype=np.uint64)
            bits[:, :slots] = self.pairs.bits
            self._replace(bits=bits)
        new_slots = np.arange(slots, num_relations) if dense else np.full(more, SPARSE)
        self._replace(
            slot_of=np.append(self.pairs.slot_of, new_slots.astype(np.int32)),
            totals=np.append(self.pairs.totals, np.zeros(more, dtype=np.int64)),
            dense_at=np.append(self.pairs.dense_at, np.full(more, self._dense_at(words), dtype=np.int64)),
        )
        self._tables(num_relations)

    def _enlarge_bits(self) -> None:
        slots, height, words = self.pairs.bits.shape[1:]
        if self.num_entities <= height:
            return
        wider = -(-3 * self.num_entities // 128)  # half as many again, since more may follow
        bits = np.zeros((2, slots, 64 * wider, wider), dtype=np.uint64)
        bits[:, :, :height, :words] = self.pairs.bits
        self._replace(bits=bits)


def _nothing_waiting(shape: tuple[int, ...]) -> rows.Waiting:
    num_rows = shape[0] * shape[1] * shape[2]
    return rows.Waiting(
        bits=np.zeros(shape, dtype=np.uint64),
        ring=np.empty(max(1, num_rows), dtype=np.int64),
        in_ring=np.zeros(num_rows, dtype=np.bool_),
        counters=np.zeros(2, dtype=np.int64),
    )


def doubled(array: NDArray[Any]) -> NDArray[Any]:
    """A copy of twice the length; the second half is not set."""
    larger = np.empty((2 * len(array), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
