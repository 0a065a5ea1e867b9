"""All derived pairs, stored once and updated when facts are added or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import BudgetError, InternalError
from reshuffle.kg.rows import starts_in, starts_of
from reshuffle.reasoning import keysets
from reshuffle.reasoning.geometry.kernels import updates as kernel
from reshuffle.reasoning.geometry.kernels.updates import Stored, Touches
from reshuffle.reasoning.sharing import spelled_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.kernels.product_search import Arcs, Scratch, Workspace
    from reshuffle.reasoning.geometry.relation_automata import Machine

_SMALLEST = 1024
_BLOCK = 1 << 20


class MaterialisedPairs:
    """The (relation, head, tail) that hold, for the relations that rules can derive.

    After `add` and `remove` it holds what a computation from scratch would.
    """

    def __init__(self, machine: Machine, num_entities: int, num_relations: int) -> None:
        self._relations = {relation: place for place, relation in enumerate(machine.clauses_of)}
        # Twice the entities of now: ids of later ones fit as well.
        self._bits = max(int(num_entities).bit_length() + 1, 4)
        self._stored = Stored(
            np.full(_SMALLEST, keysets.EMPTY, dtype=np.int64),
            np.zeros(max(len(self._relations), 1), dtype=np.int64),
            self._bits,
        )
        self._machine = machine
        self._touches = _touches(machine, list(self._relations), num_relations)

    def has_room_for(self, num_entities: int) -> bool:
        """Do the ids of that number of entities fit?"""
        return num_entities < 1 << self._bits

    def fill(
        self,
        relation: str,
        blocks: Iterable[tuple[NDArray[np.int32], NDArray[np.int32]]],
        *,
        most_bytes: int | None,
    ) -> None:
        """Store the pairs of one relation, computed elsewhere, each exactly once."""
        place = self._relations[relation]
        for heads, tails in blocks:
            used = int(self._stored.counts.sum())
            needed = 32 * (used + len(heads))  # half full after doubling, and the old table while copying
            if most_bytes is not None and needed > most_bytes:
                raise BudgetError(
                    f"storing the answers needs more than {spelled_bytes(most_bytes)} (already "
                    f"{spelled_bytes(needed)})",
                    hint="allow more memory, or stream triples() without materialise()",
                )
            table = kernel.with_room(self._stored.table, used, len(heads))
            kernel.insert_pairs(table, place, heads, tails, self._bits)
            self._stored.counts[place] += len(heads)
            self._stored = self._stored._replace(table=table)

    def total(self, relation: str) -> int:
        """How many pairs of a relation hold."""
        return int(self._stored.counts[self._relations[relation]])

    def blocks(self, relation: str) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The pairs of a relation, in blocks, in no order."""
        place = self._relations[relation]
        mask = (1 << self._bits) - 1
        for start in range(0, len(self._stored.table), _BLOCK):
            keys = self._stored.table[start : start + _BLOCK]
            keys = keys[(keys >= 0) & (keys >> (2 * self._bits) == place)]
            if len(keys):
                yield ((keys >> self._bits) & mask).astype(np.int32), (keys & mask).astype(np.int32)

    def add(self, live: LiveGraph, workspace: Workspace, fact: tuple[int, int, int]) -> bool:
        """Add a fact and the pairs that follow from it; returns whether it was new."""
        if live.has_edge(fact[0], 2 * fact[1], fact[2]):
            return False
        live.make_room()
        memory = self._memory(live, workspace, fact)
        used, workspace.tick, table = kernel.add_fact(live.edges, live.used, *memory, fact)
        if table is not self._stored.table:
            self._stored = self._stored._replace(table=table)
        live.note_insertion(fact[1], used)
        return True

    def remove(self, live: LiveGraph, workspace: Workspace, fact: tuple[int, int, int]) -> bool:
        """Take out a fact and the pairs that followed only from it; returns whether it was there."""
        if not live.has_edge(fact[0], 2 * fact[1], fact[2]):
            return False
        workspace.tick = kernel.remove_fact(live.edges, *self._memory(live, workspace, fact), fact)
        live.note_removal(fact[1])
        return True

    def _memory(
        self, live: LiveGraph, workspace: Workspace, fact: tuple[int, int, int]
    ) -> tuple[Arcs, Arcs, Touches, Scratch, int, Stored]:
        """The arrays that an update reads and writes, in the order in which the kernels take them."""
        machine, size = self._machine, len(live.entities)
        if not self.has_room_for(size) or 2 * fact[1] + 2 >= len(self._touches.starts):
            raise InternalError(
                f"an update over {size:,} entities of relation {fact[1]} got pairs stored with {self._bits} bits for "
                f"an entity, of {len(self._touches.starts) // 2} relations"
            )
        scratch, tick = workspace.marks_for(size, machine.most_words, ticks=1)
        return machine.forwards, machine.backwards, self._touches, scratch, tick, self._stored


def _touches(machine: Machine, relations: list[str], num_relations: int) -> Touches:
    """The arcs of all clauses of all stored relations, by label."""
    rows = []
    for place, relation in enumerate(relations):
        for clause in machine.clauses_of[relation]:
            first = machine.first[clause]
            for state in range(first, first + machine.automata[clause].num_states):
                for arc in range(machine.forwards.starts[state], machine.forwards.starts[state + 1]):
                    label, target = machine.forwards.labels[arc], machine.forwards.targets[arc]
                    rows.append((label, place, first, machine.words[clause], state, target))
    table = np.array(sorted(rows), dtype=np.int32).reshape(-1, 6)
    starts = starts_in(table[:, 0], num_rows=2 * num_relations).astype(np.int32)
    _, owners, firsts, words, sources, targets = (np.ascontiguousarray(column) for column in table.T)
    clauses = [machine.clauses[relation] for relation in relations]
    none = np.zeros(0, dtype=np.int32)
    return Touches(
        starts,
        owners,
        firsts,
        words,
        sources,
        targets,
        starts_of([len(each.first) for each in clauses]).astype(np.int32),
        np.concatenate([none, *(each.first for each in clauses)]),
        np.concatenate([none, *(each.sizes for each in clauses)]),
        np.concatenate([none, *(each.words for each in clauses)]),
    )
