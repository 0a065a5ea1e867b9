"""Search in the product of the graph and an automaton.

A node of the product is (entity, state), packed into one integer. Visited states of an entity are bits of a
word, valid while the entity's stamp is the current tick: nothing is cleared between searches, so a search
costs what it reaches and no more. Each search borrows what it writes on, so that several can run at a time.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.errors import InternalError
from reshuffle.kg.row_kernels import lower_bound
from reshuffle.reasoning.geometry.changing_graph import NONE, Edges
from reshuffle.reasoning.sharing import Ticks, budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.relation_automata import Machine

STATE_BITS = 20
STATE_MASK = (1 << STATE_BITS) - 1
CLAUSE_BITS = 16
ANYWHERE = -1  # a search without a wanted entity
_SPARE = 16  # entities that may come before a workspace is too small, beside an eighth of those there are


class Arcs(NamedTuple):
    """Automata side by side: the arcs of state s are `starts[s] : starts[s + 1]`."""

    starts: NDArray[np.int32]  # state + 1
    labels: NDArray[np.int32]  # arc
    targets: NDArray[np.int32]  # arc
    seeds: NDArray[np.bool_]  # state: does a search start here?
    goals: NDArray[np.bool_]  # state: does it end here?


class Scratch(NamedTuple):
    """What searches write on; one per thread."""

    stamps: NDArray[np.int32]  # entity x words
    masks: NDArray[np.uint64]  # entity x words
    met: NDArray[np.int64]  # entity: how many clauses of the current source it meets


class Workspace(Ticks):
    """Scratch arrays for one thread. Pages that no search touches cost nothing."""

    def __init__(self, num_entities: int, words: int) -> None:
        self.num_entities, self.words = num_entities, words
        self.scratch = Scratch(
            np.zeros(num_entities * words, dtype=np.int32),
            np.zeros(num_entities * words, dtype=np.uint64),
            np.zeros(num_entities, dtype=np.int64),
        )

    def forget(self) -> None:
        """Clear the stamps."""
        self.scratch.stamps.fill(0)
        self.scratch.met.fill(0)

    def fits(self, num_entities: int, words: int) -> bool:
        """Is there room for a graph and automata of this size?"""
        return num_entities <= self.num_entities and words <= self.words

    def marks_for(self, num_entities: int, words: int, *, ticks: int) -> tuple[Scratch, int]:
        """What a search over a graph and automata of this size writes on, and the first of its ticks.

        Kernels do not look whether what they write on is large enough.
        """
        if not self.fits(num_entities, words):
            raise InternalError(
                f"a search over {num_entities:,} entities with {words} words of marks each got room for "
                f"{self.num_entities:,} entities with {self.words}"
            )
        return self.scratch, self.ticks(ticks)


@compiled(small_in_python=True)
def mark(stamps: NDArray[np.int32], masks: NDArray[np.uint64], tick: int, row: int, state: int) -> bool:
    """Visit a state, counted from the first of its automaton, of the entity whose words start at `row`; was it new?

    Invariant: a mask counts only while its stamp is the current tick. Cost: constant.
    """
    place = row + (state >> 6)
    bit = np.uint64(1) << np.uint64(state & 63)
    if stamps[place] != tick:
        stamps[place] = tick
        masks[place] = bit
        return True
    if masks[place] & bit:
        return False
    masks[place] |= bit
    return True


@compiled(small_in_python=True)
def is_marked(stamps: NDArray[np.int32], masks: NDArray[np.uint64], tick: int, row: int, state: int) -> bool:
    """Was the state visited at this tick?

    Invariant: nothing is written. Cost: constant.
    """
    place = row + (state >> 6)
    bit = np.uint64(1) << np.uint64(state & 63)
    found: bool = stamps[place] == tick and masks[place] & bit != 0
    return found


@compiled(small_in_python=True)
def doubled(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same values with as much room again.

    Invariant: the second half is not set. Cost: one copy; constant per value when lists grow this way.
    """
    grown = np.empty(2 * len(column), dtype=np.int64)
    grown[: len(column)] = column
    return grown


@compiled(small_in_python=True)
def flood(  # noqa: C901, PLR0913, PLR0917 - the inner loop, kept in one piece for speed
    edges: Edges,
    arcs: Arcs,
    first: int,
    words: int,
    scratch: Scratch,
    tick: int,
    queue: NDArray[np.int64],
    filled: int,
    wanted: int,
    parents: NDArray[np.int64],
) -> tuple[NDArray[np.int64], int, int, NDArray[np.int64]]:
    """Visit all that the first `filled` nodes of the queue reach, breadth first.

    Returns the queue, how far it is filled, the place of the first goal node whose entity is `wanted`, at
    which the search stops (NONE without one), and, unless `parents` is empty, for every place of the queue
    the place from which it was reached.

    Invariant: each node enters the queue once, when it is first marked; places before `done` are finished.
    Cost: for each reached node and arc a binary search in the entity's row, its hits, and its list of added
    edges.
    """
    # Plain arrays in local names: reaching into the tuples in the loop costs a reference count each time.
    starts, labels, neighbours = edges.starts, edges.labels, edges.neighbours
    first_added, next_added = edges.first_added, edges.next_added
    added_labels, added_neighbours = edges.added_labels, edges.added_neighbours
    arc_starts, arc_labels, arc_targets, goals = arcs.starts, arcs.labels, arcs.targets, arcs.goals
    stamps, masks = scratch.stamps, scratch.masks
    done = 0
    while done < filled:
        node = queue[done]
        done += 1
        entity, state = node >> STATE_BITS, node & STATE_MASK
        if entity == wanted and goals[state]:
            return queue, filled, done - 1, parents
        for arc in range(arc_starts[state], arc_starts[state + 1]):
            label, target = arc_labels[arc], arc_targets[arc]
            local = target - first
            if entity + 1 < len(starts):
                end = starts[entity + 1]
                edge = lower_bound(labels, starts[entity], end, label)
                while edge < end and labels[edge] == label:
                    neighbour = neighbours[edge]
                    edge += 1
                    if neighbour >= 0 and mark(stamps, masks, tick, neighbour * words, local):
                        if filled == len(queue):
                            queue, parents = doubled(queue), doubled(parents)
                        queue[filled] = (neighbour << STATE_BITS) | target
                        if len(parents):
                            parents[filled] = done - 1
                        filled += 1
            added = first_added[entity]
            while added != NONE:
                neighbour = added_neighbours[added]
                is_next = added_labels[added] == label and neighbour >= 0
                if is_next and mark(stamps, masks, tick, neighbour * words, local):
                    if filled == len(queue):
                        queue, parents = doubled(queue), doubled(parents)
                    queue[filled] = (neighbour << STATE_BITS) | target
                    if len(parents):
                        parents[filled] = done - 1
                    filled += 1
                added = next_added[added]
    return queue, filled, NONE, parents


@compiled(small_in_python=True)
def search(  # noqa: PLR0913, PLR0917
    edges: Edges,
    arcs: Arcs,
    first: int,
    words: int,
    scratch: Scratch,
    tick: int,
    queue: NDArray[np.int64],
    entity: int,
    state: int,
) -> tuple[NDArray[np.int64], int]:
    """All that one node reaches: the queue, and how far it is filled.

    Invariant: as `flood`. Cost: what is reached, and no more.
    """
    queue[0] = (entity << STATE_BITS) | state
    mark(scratch.stamps, scratch.masks, tick, entity * words, state - first)
    nowhere = np.empty(0, dtype=np.int64)
    queue, filled, _, _ = flood(edges, arcs, first, words, scratch, tick, queue, 1, ANYWHERE, nowhere)
    return queue, filled


class Clauses(NamedTuple):
    """The automata of one relation, which all have to accept: first state, states and mask words of each."""

    first: NDArray[np.int32]  # clause
    sizes: NDArray[np.int32]  # clause
    words: NDArray[np.int32]  # clause


@compiled(small_in_python=True)
def room_for(clauses: Clauses) -> NDArray[np.int64]:
    """An empty queue in which the start nodes of any clause find place.

    Invariant: `seed` never runs out of room. Cost: one allocation.
    """
    return np.empty(max(1024, clauses.sizes.max()), dtype=np.int64)


@compiled(small_in_python=True)
def seed(
    arcs: Arcs,
    clauses: Clauses,
    clause: int,
    scratch: Scratch,
    tick: int,
    queue: NDArray[np.int64],
    entity: int,
) -> int:
    """Put the start nodes of a clause at `entity` into the queue, which has room; returns how many.

    Invariant: the start nodes are marked. Cost: the states of the clause.
    """
    first, words, filled = clauses.first[clause], clauses.words[clause], 0
    for state in range(first, first + clauses.sizes[clause]):
        if arcs.seeds[state]:
            mark(scratch.stamps, scratch.masks, tick, entity * words, state - first)
            queue[filled] = (entity << STATE_BITS) | state
            filled += 1
    return filled


@compiled(small_in_python=True)
def ends_of(  # noqa: PLR0913, PLR0917
    edges: Edges,
    arcs: Arcs,
    clauses: Clauses,
    scratch: Scratch,
    tick: int,
    queue: NDArray[np.int64],
    entity: int,
    hits: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """All entities that every clause reaches from `entity`: in `hits`, with their number.

    Uses the ticks from `tick` on, one per clause. An entity that meets the first c clauses has `met` = base + c;
    bases of different ticks are apart, so `met` is never cleared either.

    Cost: one `flood` per clause, as long as some entity meets all clauses so far.
    """
    count = len(clauses.first)
    goals, met = arcs.goals, scratch.met
    nowhere = np.empty(0, dtype=np.int64)
    base = tick << CLAUSE_BITS
    found = 0
    for clause in range(count):
        filled = seed(arcs, clauses, clause, scratch, tick + clause, queue, entity)
        first, words = clauses.first[clause], clauses.words[clause]
        queue, filled, _, _ = flood(
            edges, arcs, first, words, scratch, tick + clause, queue, filled, ANYWHERE, nowhere
        )
        found = 0
        for place in range(filled):
            reached = queue[place] >> STATE_BITS
            if not goals[queue[place] & STATE_MASK]:
                continue
            before = met[reached]
            if (clause == 0 and before != base + 1) or (clause > 0 and before == base + clause):
                met[reached] = base + clause + 1
                if found == len(hits):
                    hits = doubled(hits)
                hits[found] = reached
                found += 1
        if found == 0:
            break
    return queue, hits, found


@compiled(small_in_python=True)
def shortest_path(  # noqa: PLR0913, PLR0917
    edges: Edges,
    arcs: Arcs,
    clauses: Clauses,
    clause: int,
    scratch: Scratch,
    tick: int,
    entity: int,
    wanted: int,
) -> NDArray[np.int64]:
    """The nodes of a shortest path of one clause from `entity` to `wanted`, last one first; empty without one.

    Invariant: places enter the queue by distance, so the first goal at `wanted` is a nearest one.
    Cost: one `flood` at most.
    """
    queue = room_for(clauses)
    parents = np.empty(len(queue), dtype=np.int64)
    filled = seed(arcs, clauses, clause, scratch, tick, queue, entity)
    parents[:filled] = NONE
    first, words = clauses.first[clause], clauses.words[clause]
    queue, _, place, parents = flood(edges, arcs, first, words, scratch, tick, queue, filled, wanted, parents)
    path = np.empty(64, dtype=np.int64)
    length = 0
    while place != NONE:
        if length == len(path):
            path = doubled(path)
        path[length] = queue[place]
        length += 1
        place = parents[place]
    return path[:length]


@compiled(small_in_python=True)
def count_answers(
    edges: Edges,
    arcs: Arcs,
    clauses: Clauses,
    scratch: Scratch,
    tick: int,
    sources: NDArray[np.int32],
) -> int:
    """How many pairs hold with these sources.

    Invariant: every source takes as many ticks as there are clauses.
    Cost: one `ends_of` per source; nothing is stored.
    """
    queue, hits = room_for(clauses), np.empty(1024, dtype=np.int64)
    total = 0
    for source in sources:
        queue, hits, found = ends_of(edges, arcs, clauses, scratch, tick, queue, source, hits)
        tick += len(clauses.first)
        total += found
    return total


@compiled(small_in_python=True)
def pairs_of(
    edges: Edges,
    arcs: Arcs,
    clauses: Clauses,
    scratch: Scratch,
    tick: int,
    sources: NDArray[np.int32],
    most: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """The pairs that hold with these sources, and how many sources are done.

    Stops before the source that would exceed `most` pairs (one source may exceed it alone).

    Cost: one `ends_of` per source, and a copy of its answers.
    """
    queue, hits = room_for(clauses), np.empty(1024, dtype=np.int64)
    heads, tails = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    filled = 0
    for place in range(len(sources)):
        source = sources[place]
        queue, hits, found = ends_of(edges, arcs, clauses, scratch, tick, queue, source, hits)
        tick += len(clauses.first)
        if filled + found > len(heads):
            if filled > 0:
                return heads[:filled], tails[:filled], place
            heads, tails = np.empty(found, dtype=np.int32), np.empty(found, dtype=np.int32)
        heads[filled : filled + found] = source
        tails[filled : filled + found] = hits[:found]
        filled += found
    return heads[:filled], tails[:filled], len(sources)


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
        size, words = len(live.entities), machine.most_words
        workspace = self._taken(size, words)
        scratch, tick = workspace.marks_for(size, words, ticks=1)
        clauses = machine.clauses[relation]
        path: NDArray[np.int64] = shortest_path(
            live.edges, machine.forwards, clauses, number, scratch, tick, source, target
        )
        self.idle.append(workspace)
        return path

    def ends(
        self, live: LiveGraph, machine: Machine, relation: str, entity: int, *, backwards: bool
    ) -> NDArray[np.int32]:
        """The entities that every clause of the relation reaches."""
        clauses, size, words = machine.clauses[relation], len(live.entities), machine.most_words
        workspace = self._taken(size, words)
        scratch, tick = workspace.marks_for(size, words, ticks=len(clauses.first))
        _, hits, found = ends_of(
            live.edges,
            machine.backwards if backwards else machine.forwards,
            clauses,
            scratch,
            tick,
            room_for(clauses),
            entity,
            np.empty(64, dtype=np.int64),
        )
        self.idle.append(workspace)
        ids: NDArray[np.int32] = hits[:found].astype(np.int32)
        return ids

    @contextmanager
    def borrowed(self, live: LiveGraph, machine: Machine) -> Iterator[Workspace]:
        """A workspace for several searches about the same graph and automata."""
        workspace = self._taken(len(live.entities), machine.most_words)
        yield workspace
        self.idle.append(workspace)

    def _taken(self, size: int, words: int) -> Workspace:
        """One with room for the graph and the automata; what is too small is given up."""
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
