"""Rules with confidences, made ready for one graph: each body is matched once, whatever rules share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg import inverse_name
from reshuffle.rulelist.aggregation.matches import ANY_WAY, Matches, StoredFacts, matches, slices
from reshuffle.rulelist.kernels.distinct_walks import walked_ends
from reshuffle.rules.rule import ConstantRule, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist.aggregation.matches import Atom
    from reshuffle.rules import IntersectionRule, Rule
    from reshuffle.rules.rule import Terms

_ITSELF = -1
"""The answer of a rule such as `b(X, c) -> h(X, X)`: the entity that was asked about."""


@dataclass(frozen=True)
class Entries:
    """Which rules lead to which answers, each pair once."""

    answers: NDArray[np.int64]
    rules: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Iterable[Entries]) -> Entries:
        """All of them."""
        both = [(part.answers, part.rules) for part in parts]
        return cls(
            *(np.concatenate([np.zeros(0, np.int64), *columns]) for columns in zip(*both, strict=True))
        )

    def without(self, answer: int) -> Entries:
        """Those that lead to somebody else."""
        kept = self.answers != answer
        return Entries(self.answers[kept], self.rules[kept])


class _Lookup:
    """Rows by a number, several for each."""

    def __init__(
        self, keys: Sequence[int] | NDArray[np.int64], *columns: Sequence[int] | NDArray[np.int64]
    ) -> None:
        keys = np.asarray(keys, dtype=np.int64)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._columns = [np.asarray(column, dtype=np.int64)[order] for column in columns]

    def of(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Which of the wanted numbers each row has, and the rows' columns."""
        first, end = (np.searchsorted(self._keys, wanted, side) for side in ("left", "right"))
        asked, rows = slices(first, end)
        return asked, [column[rows] for column in self._columns]


class _Sorted:
    """The rules by kind, while they are read one by one."""

    def __init__(self, facts: StoredFacts, *, distinct: bool) -> None:
        graph = facts.graph
        names = [*graph.relations, *map(inverse_name, graph.relations)]
        self.codes = {name: code for code, name in enumerate(names)}
        self.entities = {name: ~number for number, name in enumerate(graph.entities)}
        self.facts, self.distinct = facts, distinct
        self.bodies: dict[tuple[tuple[Atom, ...], int], int] = {}
        self.members: list[NDArray[np.int64]] = []
        self.forwards: list[tuple[int, int, int, int]] = []  # directed, body, answer, rule
        self.backwards: list[tuple[int, int, int, int]] = []  # directed, anchor, body, rule
        self.words: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        self.others: dict[int, list[tuple[int, tuple[Atom, ...], int, int]]] = {}

    def take(self, number: int, rule: Rule) -> None:
        """Sort in one rule; one that names what the graph does not have leads nowhere."""
        if isinstance(rule, PathRule):
            self._take_path(number, rule)
            return
        terms = (*rule.atoms, rule.conclusion) if isinstance(rule, ConstantRule) else _numbered(rule)
        try:
            *atoms, head = (
                (self.codes[relation], self._term(start), self._term(end)) for relation, start, end in terms
            )
        except KeyError:
            return
        self._take_atoms(number, tuple(atoms), head)

    def _term(self, term: int | str) -> int:
        return term if isinstance(term, int) else self.entities[term]

    def _take_path(self, number: int, rule: PathRule) -> None:
        for one in (rule, rule.reversed()):
            word = tuple(self.codes.get(name, -1) for name in one.body)
            if min(word) >= 0:
                self.words.setdefault(self.codes[one.head], []).append((number, word))

    def _take_atoms(self, number: int, atoms: tuple[Atom, ...], head: Atom) -> None:
        relation, start, end = head
        back = self.facts.inverse(relation)
        if start >= 0 and end >= 0 and start != end:
            self.others.setdefault(relation, []).append((number, atoms, start, end))
            self.others.setdefault(back, []).append((number, atoms, end, start))
        elif start == end and start >= 0:
            body = self._body(atoms, start)
            self.forwards += [(one, body, _ITSELF, number) for one in (relation, back)]
        else:
            if start < 0 <= end:
                relation, back, start, end = back, relation, end, start
            body = self._body(atoms, start)
            self.forwards.append((relation, body, ~end, number))
            self.backwards.append((back, ~end, body, number))

    def _body(self, atoms: tuple[Atom, ...], asked: int) -> int:
        """The number of a body and the argument that its members stand at."""
        found = self.bodies.setdefault((atoms, asked), len(self.bodies))
        if found == len(self.members):
            ways = matches(self.facts, atoms, distinct=self.distinct)
            self.members.append(_ends(ways, asked, self.facts.graph.num_entities))
        return found


def _ends(ways: Matches, asked: int, everybody: int) -> NDArray[np.int64]:
    """Who can stand at an argument; a variable that no atom speaks about is everybody."""
    if not ways.count:
        return np.zeros(0, np.int64)
    return np.unique(ways.values(asked)) if ways.known(asked) else np.arange(everybody)


def _numbered(rule: IntersectionRule) -> list[Terms]:
    """The atoms and then the head, with variables by number."""
    return [(relation, int(start), int(end)) for relation, start, end in rule.terms("01")]


class StoredRules:
    """The rules on one graph, which has all relations that they conclude."""

    def __init__(self, rules: Sequence[Rule], graph: KnowledgeGraph, *, distinct: bool) -> None:
        self.facts, self.distinct = StoredFacts(graph), distinct
        found = _Sorted(self.facts, distinct=distinct)
        for number, rule in enumerate(rules):
            found.take(number, rule)
        self.num_bodies = len(found.members)
        sizes = [len(part) for part in found.members]
        everybody = np.concatenate([np.zeros(0, np.int64), *found.members])
        of_body = np.repeat(np.arange(self.num_bodies), np.array(sizes, dtype=np.int64))
        self._members, self._bodies = _Lookup(of_body, everybody), _Lookup(everybody, of_body)
        relations, bodies, answers, numbers = _columns(found.forwards)
        self._forwards = _Lookup(relations * self.num_bodies + bodies, answers, numbers)
        relations, anchors, bodies, numbers = _columns(found.backwards)
        self._backwards = _Lookup(relations * graph.num_entities + anchors, bodies, numbers)
        self._words, self._others = found.words, found.others
        self._take_words()

    def _take_words(self) -> None:
        """The words of all paths one after the other, as the kernel reads them."""
        each = [(relation, *one) for relation, words in self._words.items() for one in words]
        lengths = [len(word) for _, _, word in each]
        self._letters = np.array([letter for _, _, word in each for letter in word], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])
        self._numbers = np.array([number for _, number, _ in each], dtype=np.int64)
        of_relation = np.array([relation for relation, _, _ in each], dtype=np.int64)
        self._chosen = {relation: np.flatnonzero(of_relation == relation) for relation in self._words}

    def entries(self, anchor: int, relation: int) -> Entries:
        """The rules that answer the question about an entity and a directed relation, with their answers."""
        parts = [
            self._by_paths(anchor, relation),
            self._to_constants(anchor, relation),
            self._from_constants(anchor, relation),
            *self._by_others(anchor, relation),
        ]
        found = Entries.joined(parts)
        if self.distinct:
            found = found.without(anchor)
        itself = found.answers == _ITSELF
        return Entries(np.where(itself, anchor, found.answers), found.rules)

    def _by_paths(self, anchor: int, relation: int) -> Entries:
        chosen = self._chosen.get(relation)
        if chosen is None:
            return Entries(np.zeros(0, np.int64), np.zeros(0, np.int64))
        rows = self.facts.adjacency
        edges = (rows.starts, rows.relations, rows.neighbours)
        seen = np.full(self.facts.graph.num_entities, -1, dtype=np.int64)
        words, ends = walked_ends(edges, self._letters, self._starts, chosen, anchor, seen, self.distinct)
        return Entries(ends, self._numbers[words])

    def _to_constants(self, anchor: int, relation: int) -> Entries:
        _, (bodies,) = self._bodies.of(np.array([anchor]))
        _, (answers, rules) = self._forwards.of(relation * self.num_bodies + bodies)
        return Entries(answers, rules)

    def _from_constants(self, anchor: int, relation: int) -> Entries:
        _, (bodies, rules) = self._backwards.of(np.array([relation * self.facts.graph.num_entities + anchor]))
        asked, (members,) = self._members.of(bodies)
        return Entries(members, rules[asked])

    def _by_others(self, anchor: int, relation: int) -> Iterable[Entries]:
        for number, atoms, start, end in self._others.get(relation, ()):
            given = Matches({start: np.array([anchor])}, ANY_WAY.count)
            ways = matches(self.facts, atoms, given, distinct=self.distinct)
            ends = _ends(ways, end, self.facts.graph.num_entities)
            yield Entries(ends, np.full(len(ends), number))


def _columns(rows: list[tuple[int, int, int, int]]) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, 4).T
