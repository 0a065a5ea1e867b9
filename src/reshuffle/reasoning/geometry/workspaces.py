"""The memory that single searches write on: each search borrows some, so that several can run at a time."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.reasoning.geometry.kernels import product_search as kernel
from reshuffle.reasoning.geometry.kernels.product_search import Workspace
from reshuffle.reasoning.resources import budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.relation_automata import Machine

_SPARE = 16  # entities that may come before a workspace is too small, beside an eighth of those there are


@dataclass(frozen=True)
class Workspaces:
    """Workspaces that nobody uses at the moment. There are as many as searches ever ran at a time.

    Every search says which graph and which automata it is about, so it never gets memory that is too small.
    """

    memory: int | None
    """What one search may take, in bytes."""
    idle: deque[Workspace] = field(default_factory=deque)  # its `pop` and `append` are safe between threads

    def shortest_path(
        self, live: LiveGraph, machine: Machine, clause: tuple[str, int], source: int, target: int
    ) -> NDArray[np.int64]:
        """The nodes of a shortest path by a clause (relation, number), last one first; empty without one."""
        relation, number = clause
        workspace = self._taken(live, machine)
        path: NDArray[np.int64] = kernel.shortest_path(
            live.edges,
            machine.forwards,
            machine.clauses[relation],
            number,
            workspace.scratch,
            workspace.ticks(1),
            source,
            target,
        )
        self.idle.append(workspace)
        return path

    def ends(
        self, live: LiveGraph, machine: Machine, relation: str, entity: int, *, backwards: bool
    ) -> NDArray[np.int32]:
        """The entities that every clause of the relation reaches."""
        clauses, workspace = machine.clauses[relation], self._taken(live, machine)
        _, hits, found = kernel.ends_of(
            live.edges,
            machine.backwards if backwards else machine.forwards,
            clauses,
            workspace.scratch,
            workspace.ticks(len(clauses.first)),
            kernel.room_for(clauses),
            entity,
            np.empty(64, dtype=np.int64),
        )
        self.idle.append(workspace)
        ids: NDArray[np.int32] = hits[:found].astype(np.int32)
        return ids

    @contextmanager
    def borrowed(self, live: LiveGraph, machine: Machine) -> Iterator[Workspace]:
        """A workspace for several searches about the same graph and automata."""
        workspace = self._taken(live, machine)
        yield workspace
        self.idle.append(workspace)

    def _taken(self, live: LiveGraph, machine: Machine) -> Workspace:
        """One with room for the graph and the automata; what is too small is given up."""
        size, words = len(live.entities), machine.most_words
        if self.idle:
            try:
                workspace = self.idle.pop()
            except IndexError:  # another thread was faster
                return self._new(size, words)
            if workspace.fits(size, words):
                return workspace
        return self._new(size, words)

    def _new(self, size: int, words: int) -> Workspace:
        if self.memory is not None:
            budget(self.memory, num_entities=size, words=words, cores=1)  # raises where it does not fit
        return Workspace(size + size // 8 + _SPARE, words)
