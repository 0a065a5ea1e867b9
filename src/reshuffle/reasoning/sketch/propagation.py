"""The states of a sketch: random channels that flow through the graph until nothing changes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InternalError
from reshuffle.kg import inverse_name
from reshuffle.kg.rows import starts_of
from reshuffle.progress import SILENT
from reshuffle.reasoning.sharing import usable_cores
from reshuffle.reasoning.sketch import kernels as kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg.vocabulary import GrowingVocabulary
    from reshuffle.progress import Progress
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph

_CHUNK = 1 << 16  # rows that a thread takes at a time


def start_slots(constraints: OrderingConstraints, relations: Iterable[str]) -> NDArray[np.int32]:
    """The slots whose initial values decide something; the others may start at zero and add no noise."""
    starts = {start for relation in relations for start, _ in constraints.decisive_slots(relation)}
    return np.array(sorted(starts), dtype=np.int32)


def moves_of(constraints: OrderingConstraints, relations: GrowingVocabulary) -> kernel.Moves:
    """The constraints as moves along the labels of the graph's rows."""
    free = [pair for identity in sorted(constraints.identities) for pair in _pairs(constraints, identity)]
    per_label: list[tuple[tuple[int, int], ...]] = []
    for relation in relations:
        # In the row of f, label 2r is an edge (f, r, e): e sends as r^-1 does; 2r + 1 is an edge (e, r, f).
        per_label += [_pairs(constraints, inverse_name(relation)), _pairs(constraints, relation)]
    starts = starts_of([len(pairs) for pairs in per_label]).astype(np.int32)
    flat = np.array([pair for pairs in per_label for pair in pairs], dtype=np.int32).reshape(-1, 2)
    loose = np.array(free, dtype=np.int32).reshape(-1, 2)
    columns = (flat[:, 0], flat[:, 1], loose[:, 0], loose[:, 1])
    return kernel.Moves(starts, *(np.ascontiguousarray(column) for column in columns))


def _pairs(constraints: OrderingConstraints, relation: str) -> tuple[tuple[int, int], ...]:
    """The (source, slot) of every constrained slot; nothing for relations that facts cannot have."""
    if relation in constraints.hidden or relation not in constraints.relation_ids:
        return ()
    return constraints.constrained_slots(relation)


def random_states(
    num_entities: int,
    num_slots: int,
    slots: NDArray[np.int32],
    *,
    channels: int,
    density: float | None,
    seed: int,
) -> NDArray[Any]:
    """Initial states: bits with P(1) = density, or continuous values where density is None.

    entity slot word
    """
    if density is None:
        values = np.zeros((num_entities, num_slots, channels), dtype=np.float32)
        # In (0, 1]: a zero would be below every other value.
        drawn = 1 - np.random.default_rng(seed).random((num_entities, len(slots), channels), dtype=np.float32)
        values[:, slots] = drawn
        return values
    bits = np.zeros((num_entities, num_slots, (channels + 63) // 64), dtype=np.uint64)
    digits = max(1, round(density * 2**16))
    with ThreadPoolExecutor(usable_cores()) as pool:
        list(
            pool.map(
                lambda bound: kernel.fill_with_bits(bits, slots, digits, channels, seed, *bound),
                _bounds(num_entities),
            )
        )
    return bits


def _bounds(size: int) -> list[tuple[int, int]]:
    """The first and last row of each chunk that a thread takes."""
    return [(first, min(first + _CHUNK, size)) for first in range(0, size, _CHUNK)]


def propagate(
    live: LiveGraph,
    moves: kernel.Moves,
    states: NDArray[Any],
    *,
    changed: NDArray[np.bool_] | None = None,
    layers: int | None = None,
    progress: Progress = SILENT,
) -> int:
    """Run layers, at most `layers`, until nothing changes; returns how many it took.

    `changed` says which entities have news at the start; all have, unless told otherwise.
    """
    if len(states) != len(live.entities) or len(moves.starts) != 2 * len(live.relations) + 1:
        raise InternalError(
            f"a sketch of {len(states):,} entities and {len(moves.starts) // 2} relations on a graph of "
            f"{len(live.entities):,} and {len(live.relations)}"
        )
    kernel.settle_all(states, moves)
    active = np.ones(len(states), dtype=np.bool_) if changed is None else changed
    done = 0
    with ThreadPoolExecutor(usable_cores()) as pool, progress("propagating", unit="layers") as report:
        while active.any() and (layers is None or done < layers):
            following = np.zeros(len(states), dtype=np.bool_)

            def pull(bound: tuple[int, int], now: Any = active, then: Any = following) -> int:
                return int(kernel.layer(live.edges, moves, states, now, then, *bound))

            list(pool.map(pull, _bounds(len(states))))
            active = following
            done += 1
            report(1)
    return done
