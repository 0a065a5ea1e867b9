"""From ordering constraints to one small automaton per relation, and to the arrays that kernels run.

The constraints are a graph on the slots: `sources[s, i] = j` is an s-edge from slot j to slot i. The words
that lead from a relation's start slot to its exit slot, with identity relations read as nothing, are the
paths of facts that make the relation follow. Any automaton of the same language gives the same answers, so
the reasoner runs the smallest deterministic one (theory notes, section 1). `rulegraphs.automata` has automata
of its own, with free moves and made from the grammar, so that its checks share no code with what they check.

A *label* is the number of a relation or an inverse in the rows of the graph: 2r for relation r walked
forwards, 2r + 1 for r walked backwards. Only relations that facts use have one.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.constraints import UNCONSTRAINED
from reshuffle.errors import BudgetError
from reshuffle.kg.rows import starts_in
from reshuffle.progress import SILENT
from reshuffle.reasoning.geometry.kernels.product_search import STATE_MASK, Arcs, Clauses
from reshuffle.rulegraphs.budgets import ARCS, STEPS, over_budget
from reshuffle.rules.digraphs import alike, reachable, walked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.progress import Progress

Arc: TypeAlias = tuple[int, str, int]  # from state, relation (or inverse `r^-1`), to state

_MOST_STATES_PER_SLOT = 8  # determinising may explode; beyond this the nondeterministic automaton is kept


@dataclass(frozen=True)
class Automaton:
    """States 0 (the start) to `num_states` - 1, and labelled arcs between them.

    >>> Automaton(2, ((0, "r", 1), (1, "r", 1)), frozenset({1})).accepts(["r", "r"])
    True
    """

    num_states: int
    arcs: tuple[Arc, ...]
    accepting: frozenset[int]

    def accepts(self, word: Iterable[str]) -> bool:
        """Is the word in the language?"""
        current = frozenset({0})
        for label in word:
            current = frozenset(t for s, read, t in self.arcs if read == label and s in current)
        return not current.isdisjoint(self.accepting)

    def is_edge(self, relation: str) -> bool:
        """Does it accept just the relation itself, so that facts are all there is?"""
        return self.arcs == ((0, relation, 1),) and self.accepting == {1}


class SlotGraph:
    """The constraints as a labelled graph on slots, with the identity relations eliminated.

    Only the relations and inverses of `alphabet`, which the facts use, can ever be walked; others are left out.
    """

    def __init__(
        self, constraints: OrderingConstraints, alphabet: Collection[str], *, most_steps: int | None = None
    ) -> None:
        """More than `most_steps` steps from slot to slot or state to state are refused."""
        silent = constraints.identities | constraints.hidden
        self.bound = constraints.bound
        self.num_slots = constraints.num_slots
        self._free: dict[int, list[int]] = defaultdict(list)
        self._freed: dict[int, list[int]] = defaultdict(list)  # the same the other way round
        self._moves: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self._moved: dict[int, list[int]] = defaultdict(list)
        for relation, row in zip(constraints.relations, constraints.sources, strict=True):
            for slot in np.flatnonzero(row != UNCONSTRAINED).tolist():
                source = int(row[slot])
                if relation in constraints.identities:
                    self._free[source].append(slot)
                    self._freed[slot].append(source)
                elif relation not in silent and relation in alphabet:
                    self._moves[source].append((relation, slot))
                    self._moved[slot].append(source)
        self._steps, self._most_steps = 0, most_steps
        self.automaton = cache(self._automaton)  # relations that mean the same have the same slots

    def _automaton(self, start: int, leave: int) -> Automaton:
        """The reduced automaton of the words from slot `start` to slot `leave`."""
        whole = self._between(start, leave)
        if self.bound is not None:
            whole = _unrolled(whole, self.bound + 1)
        trimmed = _trimmed(whole)
        most = _MOST_STATES_PER_SLOT * max(self.num_slots, 8)
        deterministic = _determinised(trimmed, most=most, spend=self._spend)
        return trimmed if deterministic is None else _minimised(_trimmed(deterministic))

    def without_identities(self, start: int, leave: int) -> Automaton:
        """The automaton of the words from `start` to `leave` on the slots themselves, not reduced.

        Slots `start` and 0 swap their numbers, since an automaton starts in state 0.
        """
        everywhere = range(self.num_slots)
        renamed = {slot: slot for slot in everywhere} | {start: 0, 0: start}
        arcs = ((slot, *arc) for slot in everywhere for arc in self._arcs_from(slot, everywhere))
        moved = {(renamed[source], relation, renamed[target]) for source, relation, target in arcs}
        accepting = frozenset(renamed[slot] for slot in reachable([leave], self._freed))
        return Automaton(self.num_slots, tuple(sorted(moved)), accepting)

    def _slots_before(self, leave: int) -> set[int]:
        """The slots from which some word leads to `leave`, itself included."""
        found, waiting = {leave}, [leave]
        while waiting:
            slot = waiting.pop()
            for source in (*self._freed.get(slot, ()), *self._moved.get(slot, ())):
                if source not in found:
                    found.add(source)
                    waiting.append(source)
        self._spend(len(found))
        return found

    def _between(self, start: int, leave: int) -> Automaton:
        """As `without_identities`, but only of slots that words of the language lead through.

        They keep their order, so that an automaton that cannot be made deterministic is numbered in one way.
        """
        useful = self._slots_before(leave)
        carrying = reachable(self._moves.keys() & useful, self._freed)
        reached, arcs = {start}, set()
        for slot in (waiting := [start]):
            for relation, target in self._arcs_from(slot, carrying):
                if target in useful:
                    arcs.add((slot, relation, target))
                    if target not in reached:
                        reached.add(target)
                        waiting.append(target)
        self._spend(len(arcs))
        swapped = {start: 0, 0: start}
        order = sorted(reached, key=lambda slot: swapped.get(slot, slot))
        place = {slot: number for number, slot in enumerate(order)}
        return Automaton(
            len(order),
            tuple(sorted((place[source], relation, place[target]) for source, relation, target in arcs)),
            frozenset(place[slot] for slot in reachable([leave], self._freed) & reached),
        )

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._most_steps is not None and self._steps > self._most_steps:
            raise over_budget(self._most_steps, "steps for its automata")

    def _arcs_from(self, slot: int, carrying: Container[int]) -> Iterator[tuple[str, int]]:
        """The steps from a slot, and from those of `carrying` that free moves lead to from it."""
        if slot in carrying:
            yield from self._moves.get(slot, ())
        for free in walked(slot, self._free, only=carrying) if slot in self._free else ():
            if free != slot:
                yield from self._moves.get(free, ())


def _unrolled(automaton: Automaton, longest: int) -> Automaton:
    """The words of at most `longest` relations: m-step derivability is m + 1 labelled steps."""
    size = automaton.num_states
    arcs = [
        (source + step * size, label, target + (step + 1) * size)
        for step in range(longest)
        for source, label, target in automaton.arcs
    ]
    accepting = {state + step * size for step in range(longest + 1) for state in automaton.accepting}
    return Automaton(size * (longest + 1), tuple(arcs), frozenset(accepting))


def _trimmed(automaton: Automaton) -> Automaton:
    """The automaton with only those states that the start reaches and that reach an accepting state."""
    onward: dict[int, set[int]] = defaultdict(set)
    back: dict[int, set[int]] = defaultdict(set)
    for source, _, target in automaton.arcs:
        onward[source].add(target)
        back[target].add(source)
    useful = reachable(automaton.accepting, back)
    kept = sorted((reachable([0], onward) & useful) | {0})
    number = {state: position for position, state in enumerate(kept)}
    arcs = tuple(
        (number[s], label, number[t]) for s, label, t in automaton.arcs if s in number and t in number
    )
    return Automaton(len(kept), arcs, frozenset(number[s] for s in automaton.accepting if s in number))


def _determinised(automaton: Automaton, *, most: int, spend: Callable[[int], None]) -> Automaton | None:
    """The subset construction, or None when it needs more than `most` states."""
    moves: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for source, label, target in automaton.arcs:
        moves[source].append((label, target))
    number = {frozenset({0}): 0}
    open_ = [frozenset({0})]
    arcs: list[Arc] = []
    while open_:
        subset = open_.pop()
        following: dict[str, set[int]] = defaultdict(set)
        for state in subset:
            for label, target in moves[state]:
                following[label].add(target)
        for label, targets in following.items():
            new = frozenset(targets)
            if new not in number:
                if len(number) == most:
                    return None
                number[new] = len(number)
                open_.append(new)
            arcs.append((number[subset], label, number[new]))
            spend(len(targets))
    accepting = frozenset(n for subset, n in number.items() if not subset.isdisjoint(automaton.accepting))
    return Automaton(len(number), tuple(arcs), accepting)


def _minimised(automaton: Automaton) -> Automaton:
    """The smallest automaton (partition refinement), canonically numbered: equal languages compare equal."""
    moves: list[list[tuple[str, int]]] = [[] for _ in range(automaton.num_states)]
    for source, label, target in automaton.arcs:
        moves[source].append((label, target))
    block = alike([int(state in automaton.accepting) for state in range(automaton.num_states)], moves)
    merged = {(block[source], label, block[target]) for source, label, target in automaton.arcs}
    return _numbered(block[0], merged, {block[state] for state in automaton.accepting})


def _numbered(start: int, arcs: set[Arc], accepting: set[int]) -> Automaton:
    """The automaton with states numbered in the order in which a breadth-first walk by label meets them."""
    moves: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for source, label, target in sorted(arcs):
        moves[source].append((label, target))
    order = {start: 0}
    for state in (queue := [start]):
        for _, target in moves[state]:
            if target not in order:
                order[target] = len(order)
                queue.append(target)
    named = tuple(sorted((order[s], label, order[t]) for s, label, t in arcs))
    return Automaton(len(order), named, frozenset(order[state] for state in accepting))


@dataclass(frozen=True)
class Machine:
    """Automata side by side, forwards and reversed. A relation holds where all of its clauses accept."""

    automata: tuple[Automaton, ...]
    clauses_of: Mapping[str, tuple[int, ...]]  # relation to automata; only relations that rules can derive
    clauses: Mapping[str, Clauses]  # the same as the kernels need it
    forwards: Arcs
    backwards: Arcs
    first: tuple[int, ...]  # automaton to its first state
    words: tuple[int, ...]  # automaton to the mask words per entity that its states need
    most_words: int  # mask words per entity that suffice for each automaton


def assemble(
    constraints: OrderingConstraints,
    labels: Mapping[str, int],
    *,
    node_budget: int | None = None,
    progress: Progress = SILENT,
) -> Machine:
    """The automata of all relations that rules can derive from facts with these labels, within the budget."""
    slots = SlotGraph(constraints, labels, most_steps=None if node_budget is None else STEPS * node_budget)
    num_arcs = 0
    places: dict[Automaton, int] = {}
    clauses_of: dict[str, tuple[int, ...]] = {}
    with progress("preparing", total=len(constraints.answerable), unit="relations") as report:
        for relation in constraints.answerable:
            clauses = {
                slots.automaton(start, leave): None for start, leave in constraints.decisive_slots(relation)
            }
            # A relation that constrains nothing would capture every pair: useless, so its facts answer alone.
            # One whose words need relations without facts has no answers at all.
            possible = clauses and all(clause.accepting for clause in clauses)
            if possible and not all(clause.is_edge(relation) for clause in clauses):
                num_arcs += sum(len(clause.arcs) for clause in clauses if clause not in places)
                clauses_of[relation] = tuple(places.setdefault(clause, len(places)) for clause in clauses)
                if node_budget is not None and num_arcs > ARCS * node_budget:
                    raise over_budget(ARCS * node_budget, "arcs of its automata")
            report(1)
    return machine_of(tuple(places), clauses_of, labels)


def machine_of(
    automata: tuple[Automaton, ...], clauses_of: Mapping[str, tuple[int, ...]], labels: Mapping[str, int]
) -> Machine:
    """The automata as arrays, their states numbered one automaton after the other."""
    sizes = [automaton.num_states for automaton in automata]
    *starts, num_states = itertools.accumulate(sizes, initial=0)
    if num_states > STATE_MASK:
        raise BudgetError(
            f"the automata of these rules need {num_states:,} states; at most {STATE_MASK:,} fit"
        )
    arcs = np.array(
        [
            (offset + source, labels[relation], offset + target)
            for offset, automaton in zip(starts, automata, strict=True)
            for source, relation, target in automaton.arcs
        ],
        dtype=np.int32,
    ).reshape(-1, 3)
    accepting = [
        offset + state
        for offset, automaton in zip(starts, automata, strict=True)
        for state in automaton.accepting
    ]
    # Walking an arc backwards walks its facts the other way: the lowest bit of a label is the direction.
    turned = np.stack([arcs[:, 2], arcs[:, 1] ^ 1, arcs[:, 0]], axis=1)
    words = [(size + 63) // 64 for size in sizes]
    return Machine(
        automata,
        clauses_of,
        {
            relation: Clauses(
                *(np.array([column[p] for p in places], np.int32) for column in (starts, sizes, words))
            )
            for relation, places in clauses_of.items()
        },
        _as_arrays(arcs, num_states, seeds=starts, goals=accepting),
        _as_arrays(turned, num_states, seeds=accepting, goals=starts),
        tuple(starts),
        tuple(words),
        max(words, default=1),
    )


def _as_arrays(
    arcs: NDArray[np.int32], num_states: int, *, seeds: list[int], goals: list[int]
) -> Arcs:  # arc (source label target)
    sources, labels, targets = arcs[np.lexsort(arcs.T[::-1])].T
    starts = starts_in(sources, num_rows=num_states)
    is_seed, is_goal = np.zeros(num_states, dtype=np.bool_), np.zeros(num_states, dtype=np.bool_)
    is_seed[seeds] = is_goal[goals] = True
    return Arcs(
        starts.astype(np.int32),
        np.ascontiguousarray(labels),
        np.ascontiguousarray(targets),
        is_seed,
        is_goal,
    )
