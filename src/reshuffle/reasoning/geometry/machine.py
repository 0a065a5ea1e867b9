"""The automata of all relations, as arrays that the kernels run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reshuffle.errors import BudgetError
from reshuffle.kg import inverse_name
from reshuffle.kg.rows import starts_in, starts_of
from reshuffle.progress import SILENT
from reshuffle.reasoning.geometry.automaton import Automaton, SlotGraph
from reshuffle.reasoning.geometry.kernels.search import STATE_MASK, Arcs, Clauses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.progress import Progress


class Numbering(Protocol):
    """The relations of the facts, and their numbers."""

    def __iter__(self) -> Iterator[str]: ...

    def id(self, name: str) -> int:
        """The number of a relation."""
        ...


@dataclass(frozen=True)
class Machine:
    """Automata side by side, forwards and reversed. A relation holds where all of its clauses accept."""

    automata: tuple[Automaton, ...]
    clauses_of: Mapping[str, tuple[int, ...]]  # relation to automata; only relations that rules can derive
    forwards: Arcs
    backwards: Arcs
    first: tuple[int, ...] = field(repr=False)  # automaton to its first state

    def clauses(self, relation: str) -> Clauses:
        """What the kernels need to know of one relation."""
        places = self.clauses_of[relation]
        return Clauses(
            np.array([self.first[place] for place in places], dtype=np.int32),
            np.array([self.automata[place].num_states for place in places], dtype=np.int32),
            np.array([self.words(place) for place in places], dtype=np.int32),
        )

    def words(self, place: int) -> int:
        """Mask words per entity for one automaton."""
        return (self.automata[place].num_states + 63) // 64

    @property
    def most_words(self) -> int:
        """Mask words per entity that suffice for each automaton."""
        return max((self.words(place) for place in range(len(self.automata))), default=1)


def assemble(constraints: OrderingConstraints, ids: Numbering, *, progress: Progress = SILENT) -> Machine:
    """The automata for facts that use the relations which `ids` numbers."""
    alphabet = alphabet_of(constraints, ids)
    slots = SlotGraph(constraints, alphabet)
    places: dict[Automaton, int] = {}
    clauses_of: dict[str, tuple[int, ...]] = {}
    relations = answerable(constraints)
    with progress("preparing", total=len(relations), unit="relations") as report:
        for relation in relations:
            clauses = {
                slots.automaton(start, leave): None for start, leave in constraints.decisive_slots(relation)
            }
            # A relation that constrains nothing would capture every pair: useless, so its facts answer alone.
            # One whose words need relations without facts has no answers at all.
            possible = clauses and all(clause.accepting for clause in clauses)
            if possible and not all(clause.is_edge(relation) for clause in clauses):
                clauses_of[relation] = tuple(places.setdefault(clause, len(places)) for clause in clauses)
            report(1)
    return compiled(tuple(places), clauses_of, ids)


def alphabet_of(constraints: OrderingConstraints, ids: Numbering) -> frozenset[str]:
    """The relations of the constraints, and inverses, that facts can be walked by."""
    present = set(ids)
    return frozenset(
        relation
        for relation in constraints.relations
        if (inverse_name(relation) if is_inverse(relation) else relation) in present
    )


def answerable(constraints: OrderingConstraints) -> list[str]:
    """The user's own relations: no inverse, identity or fresh one."""
    silent = constraints.identities | constraints.hidden
    return [r for r in constraints.relations if r not in silent and not is_inverse(r)]


def is_inverse(relation: str) -> bool:
    """Is the name one of `r^-1`?"""
    return len(inverse_name(relation)) < len(relation)


def compiled(
    automata: tuple[Automaton, ...], clauses_of: dict[str, tuple[int, ...]], ids: Numbering
) -> Machine:
    """The automata as arrays, one after the other."""
    sizes = [automaton.num_states for automaton in automata]
    first = starts_of(sizes)
    if first[-1] > STATE_MASK:
        raise BudgetError(
            f"the automata of these rules need {first[-1]:,} states; at most {STATE_MASK:,} fit"
        )
    names = {relation for automaton in automata for _, relation, _ in automaton.arcs}
    labels = {relation: fact_label(relation, ids) for relation in names}
    arcs = np.array(
        [
            (offset + source, labels[relation], offset + target)
            for offset, automaton in zip(first.tolist(), automata, strict=False)
            for source, relation, target in automaton.arcs
        ],
        dtype=np.int32,
    ).reshape(-1, 3)
    starts = [int(offset) for offset in first[:-1]]
    accepting = [
        offset + state
        for offset, automaton in zip(starts, automata, strict=True)
        for state in automaton.accepting
    ]
    # Walking an arc backwards walks its facts the other way: the lowest bit of a label is the direction.
    turned = np.stack([arcs[:, 2], arcs[:, 1] ^ 1, arcs[:, 0]], axis=1)
    return Machine(
        automata,
        clauses_of,
        _as_arrays(arcs, int(first[-1]), seeds=starts, goals=accepting),
        _as_arrays(turned, int(first[-1]), seeds=accepting, goals=starts),
        tuple(starts),
    )


def fact_label(relation: str, ids: Numbering) -> int:
    """Relation r of the facts is label 2r walked forwards, and 2r + 1 walked backwards, as `r^-1`."""
    return 2 * ids.id(inverse_name(relation)) + 1 if is_inverse(relation) else 2 * ids.id(relation)


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
