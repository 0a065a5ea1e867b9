"""Derived triples in the order of their names, without holding them all.

Heads are taken in the order of their names, a block at a time; only the answers of one block are sorted. The
block shrinks and grows with the number of answers it gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.kg import Triple
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.progress import Progress
    from reshuffle.reasoning.geometry.all_pairs import Sweep
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.machine import Machine

_FIRST_BLOCK = 256  # heads
_FEW, _MANY = 200_000, 1_000_000  # answers that one block should give


def sorted_triples(
    live: LiveGraph, machine: Machine, sweep: Sweep, *, progress: Progress = SILENT
) -> Iterator[Triple]:
    """By head, relation and tail, each compared by code point."""
    in_order = _order_of_names(live)
    rank = np.empty_like(in_order)
    rank[in_order] = np.arange(len(in_order), dtype=np.int32)
    relations = sorted(machine.clauses_of)
    names = live.entities.names
    start, size = 0, _FIRST_BLOCK
    with progress("deriving", total=len(in_order), unit="entities") as report:
        while start < len(in_order):
            heads, relation, tails = _block(sweep, relations, in_order[start : start + size])
            order = np.lexsort((rank[tails], relation, rank[heads]))
            columns = names(heads[order]), relation[order].tolist(), names(tails[order])
            for head, number, tail in zip(*columns, strict=True):
                yield Triple(head, relations[number], tail)
            start += size
            report(size)
            size = _next_size(size, len(heads))


def _block(
    sweep: Sweep, relations: list[str], sources: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """All answers of these heads: heads, places in `relations`, tails."""
    none = np.empty(0, dtype=np.int32)
    found = [(none, none, none)]
    for number, relation in enumerate(relations):
        for heads, tails in sweep.derived_blocks(relation, among=sources):
            found.append((heads, np.full(len(heads), number, dtype=np.int32), tails))
    heads, numbers, tails = (np.concatenate(column) for column in zip(*found, strict=True))
    return heads, numbers, tails


def _next_size(size: int, answers: int) -> int:
    if answers > _MANY:
        return max(size // 2, 1)
    return size * 2 if answers < _FEW else size


def _order_of_names(live: LiveGraph) -> NDArray[np.int32]:
    """The ids of all entities by name; Arrow compares the UTF-8 bytes, which is the order of code points."""
    names: pa.Array = live.entities.vocabulary().to_arrow()
    order: NDArray[np.int32] = pc.array_sort_indices(names).to_numpy().astype(np.int32)
    return order
