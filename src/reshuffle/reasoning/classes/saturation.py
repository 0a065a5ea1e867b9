"""Everything that follows between classes: rules as arrays, room for what they derive, and what is read off it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain as chained
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import BudgetError
from reshuffle.progress import SILENT
from reshuffle.reasoning.classes import saturation_kernels as kernels
from reshuffle.reasoning.classes.normal_forms import TOP, super_relations
from reshuffle.reasoning.classes.saturation_kernels import (
    CHAIN,
    DOMAIN,
    KINDS,
    LEFT,
    MEET,
    SOME,
    TOLD,
    A,
    B,
    Facts,
    Relations,
    Rules,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.progress import Progress
    from reshuffle.reasoning.classes.normal_forms import NormalForms

    Ints = NDArray[np.int32]
    Booleans = NDArray[np.bool_]

_STEPS = 1_000_000  # of a kernel, between two reports
_BLOCK = 1 << 20  # edges that are read at once
_MOST_FACTS = 1 << 30


@dataclass(frozen=True)
class Saturated:
    """All that holds between the classes of an ontology, by number."""

    forms: NormalForms
    rules: Rules
    facts: Facts
    above: list[list[int]]
    """For each relation, itself and all above it."""

    @property
    def num_subs(self) -> int:
        """How many `a is_a b` were derived."""
        return int(self.facts.counts[kernels.SUBS])

    @property
    def num_links(self) -> int:
        """How many `a r b` were derived."""
        return int(self.facts.counts[kernels.LINKS])

    def sub(self, a: int, b: int) -> int:
        """The number of the fact `a is_a b`; below 0 where it does not hold."""
        return int(kernels.found_sub(self.facts, a, b))

    def is_empty(self, a: int) -> bool:
        """Can the class have no member?"""
        return self.sub(a, kernels.BOTTOM) >= 0

    @property
    def empty(self) -> NDArray[np.int32]:
        """The named classes that can have no member, owl:Nothing aside."""
        count = self.num_subs
        found = self.facts.subs[A, :count][self.facts.subs[B, :count] == kernels.BOTTOM]
        return np.unique(found[(found < self.forms.num_named) & (found != kernels.BOTTOM)])

    def edges(self, of: Ints | None = None) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Blocks of edges (class, relation, class) of some classes or all, each edge once, by class.

        The number after those of the relations is `is_a`. Neither a class itself nor owl:Thing is above a class. An
        empty class has the edge to owl:Nothing alone.
        """
        last = self.forms.num_named
        wanted = np.zeros(last, np.int32)
        wanted[slice(None) if of is None else of] = 1
        wanted[np.intersect1d(self.empty, np.flatnonzero(wanted))] = 2
        wanted[[TOP, kernels.BOTTOM]] = 0
        shown = np.array([not name.startswith("~") for name in self.forms.relations] or [False]).astype(
            np.int32
        )
        columns = self._columns(_BLOCK if of is None else 1024)
        place = np.zeros(2, np.int64)
        place[0] = last if not wanted.any() else int(np.flatnonzero(wanted)[0])
        end = last if of is None else int(np.max(of, initial=0)) + 1
        seen = np.full(self.facts.classes.shape[1], -1, np.int64)
        relations = Relations(*_rows(self.above), shown)
        while place[0] < end:
            before = place[0]
            size = kernels.edges(self.facts, place, last, wanted[:end], relations, seen, columns)
            if size == 0 and place[0] == before:
                columns = self._columns(2 * len(columns[0]))
            elif size:
                yield columns[0][:size].copy(), columns[1][:size].copy(), columns[2][:size].copy()

    @staticmethod
    def _columns(size: int) -> tuple[Ints, Ints, Ints]:
        return np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)


def saturated(forms: NormalForms, *, progress: Progress = SILENT) -> Saturated:
    """All that follows by the rules."""
    above = super_relations(len(forms.relations), forms.sub_relations)
    rules = _rules(forms, above)
    facts = _facts(len(forms.meanings), 4 * len(forms.meanings) + 1024, 1024 + 2 * len(forms.somes))
    done = 0
    with progress("classifying", unit="inferences") as report:
        while (after := int(kernels.begin_all(rules, facts, done, forms.num_named))) < forms.num_named:
            done, facts = after, _with_room(facts, kernels.MORE_SUBS)
        while True:
            before = int(facts.counts.sum())
            status = kernels.saturate(rules, facts, _STEPS)
            report(int(facts.counts.sum()) - before)
            if status != kernels.DONE:
                facts = _with_room(facts, status)
            elif facts.counts[kernels.SUBS] == facts.counts[kernels.SUBS_DONE] and (
                facts.counts[kernels.LINKS] == facts.counts[kernels.LINKS_DONE]
            ):
                return Saturated(forms, rules, facts, above)


# --- arrays --------------------------------------------------------------------------------------------------


def _facts(num_classes: int, subs: int, links: int) -> Facts:
    classes = np.full((5, num_classes), -1, np.int32)
    classes[kernels.SIZE] = 0
    rows = np.empty((7, subs), np.int32), np.empty((8, links), np.int32)
    return Facts(*rows, classes, _table(subs), _table(links), np.zeros(4, np.int64))


def _table(size: int) -> Ints:
    """An empty table with room for the facts; its length is a power of two."""
    return np.full(1 << max(4, int(2 * size).bit_length()), -1, np.int32)


def _with_room(facts: Facts, status: int) -> Facts:
    """The same facts with twice the room for subsumptions or links."""
    of_subs = status == kernels.MORE_SUBS
    rows = facts.subs if of_subs else facts.links
    size = 2 * rows.shape[1]
    if size > _MOST_FACTS:
        raise BudgetError(
            f"classification would hold more than {_MOST_FACTS:,} facts",
            hint="classify a part of the ontology",
        )
    count = int(facts.counts[kernels.SUBS if of_subs else kernels.LINKS])
    larger = np.empty((len(rows), size), np.int32)
    larger[:, :count] = rows[:, :count]
    table = _table(size)
    kernels.rehash(table, larger, count, not of_subs)
    if of_subs:
        return facts._replace(subs=larger, sub_table=table)
    return facts._replace(links=larger, link_table=table)


def _rows(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Rows one after the other, and where each begins."""
    starts = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    return starts, np.fromiter(chained.from_iterable(rows), np.int32, count=int(starts[-1]))


def _blocks(keys: Ints, count: int, *columns: Ints) -> tuple[Ints, Ints]:
    """The beginnings of the blocks of equal keys, and the columns in that order as rows."""
    order = np.lexsort((*reversed(columns), keys))
    starts = np.searchsorted(keys[order], np.arange(count + 1)).astype(np.int32)
    return starts, np.array([column[order] for column in columns], np.int32).reshape(len(columns), -1)


def _columns(rows: Iterable[tuple[int, ...]], width: int, kind: int) -> list[Ints]:
    """Rules as columns, the last of which is the rule's number."""
    table = np.array(list(rows), dtype=np.int64).reshape(-1, width)
    columns = [table[:, at].astype(np.int32) for at in range(width - 1)]
    return [*columns, ((table[:, -1] + 1) * KINDS + kind).astype(np.int32)]


def _rules(forms: NormalForms, above: list[list[int]]) -> Rules:
    count = len(forms.meanings)
    one, other, *met = _columns(forms.conjunctions, 4, MEET)
    of, with_ = np.concatenate([one, other]), np.concatenate([other, one])
    domains, lefts, is_sub = _existentials(forms, above)
    blocks = [
        _blocks(keys, count, *columns)
        for keys, *columns in (_columns(forms.told, 3, TOLD), _columns(forms.somes, 4, SOME))
    ]
    blocks += [
        _blocks(of, count, with_, *(np.tile(part, 2) for part in met)),
        _blocks(lefts[0], count, *lefts[1:]),
    ]
    loop = np.full(count, -1, np.int32)
    for relation, cls in forms.loops.items():
        loop[cls] = relation
    starts = np.array([starts for starts, _ in blocks], np.int32)
    told, some, meet, left = (rows for _, rows in blocks)
    of_domains = _blocks(domains[0], len(above), *domains[1:])
    return Rules(starts, told, some, meet, left, loop, *of_domains, is_sub, *_chains(forms, above))


def _existentials(
    forms: NormalForms, above: list[list[int]]
) -> tuple[list[Ints], list[Ints], NDArray[np.bool_]]:
    """Existentials on the left: those of anything by relation, those with a filler by filler, and the relations below
    the one that each asks for.
    """
    relation, filler, sup, rule = _columns(forms.some_lefts, 4, LEFT)
    filled = filler != TOP
    asked, column = np.unique(relation[filled], return_inverse=True)
    places = {int(name): at for at, name in enumerate(asked)}
    is_sub = np.zeros((max(1, len(above)), max(1, len(asked))), np.bool_)
    for below, sups in enumerate(above):
        is_sub[below, [places[one] for one in sups if one in places]] = True
    domains = [
        (below, int(cls), int(number) - LEFT + DOMAIN)
        for name, cls, number in zip(*(part[~filled] for part in (relation, sup, rule)), strict=True)
        for below, sups in enumerate(above)
        if name in sups
    ]
    of_any = np.array(domains, np.int32).reshape(-1, 3)
    return list(of_any.T), [filler[filled], column.astype(np.int32), sup[filled], rule[filled]], is_sub


def _chains(forms: NormalForms, above: list[list[int]]) -> tuple[Ints, Ints, Ints]:
    """The chains by their two relations, those below included; of several heads only the lowest."""
    below: dict[int, list[int]] = {}
    for name, sups in enumerate(above):
        for sup in sups:
            below.setdefault(sup, []).append(name)
    heads: dict[tuple[int, int], dict[int, int]] = {}
    for first, second, sup, axiom in forms.chains:
        for one in below[first]:
            for other in below[second]:
                heads.setdefault((one, other), {}).setdefault(sup, (axiom + 1) * KINDS + CHAIN)
    rows = {name: at for at, name in enumerate(dict.fromkeys(first for first, _ in heads))}
    columns = {name: at for at, name in enumerate(dict.fromkeys(second for _, second in heads))}
    cells: list[list[tuple[int, int]]] = [[] for _ in range(len(rows) * len(columns))]
    for (first, second), found in heads.items():
        cells[rows[first] * len(columns) + columns[second]] = [
            (sup, rule) for sup, rule in found.items() if not _is_above_another(sup, found, above)
        ]
    starts, _ = _rows([[0] * len(cell) for cell in cells])
    table = np.array([pair for cell in cells for pair in cell], np.int32).reshape(-1, 2)
    places = np.array([_places(rows, len(above)), _places(columns, len(above))])
    return places, np.concatenate([np.array([len(columns)], np.int32), starts]), np.ascontiguousarray(table.T)


def _is_above_another(sup: int, found: Iterable[int], above: list[list[int]]) -> bool:
    """Does a relation follow from another one that is found, too? Of equivalent ones the first stays."""
    others = (other for other in found if other != sup and sup in above[other])
    return any(other not in above[sup] or other < sup for other in others)


def _places(found: dict[int, int], count: int) -> Ints:
    places = np.full(count, -1, np.int32)
    for name, place in found.items():
        places[name] = place
    return places
