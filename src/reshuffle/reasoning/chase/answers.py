"""Answers from the chase: names in and out, updates, proofs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import BudgetError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple, Vocabulary, refuse_inverse_names
from reshuffle.kg.coerce import as_triples
from reshuffle.kg.vocabulary import GrowingVocabulary, base_relation
from reshuffle.progress import SILENT
from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.chase.program import Program
from reshuffle.reasoning.chase.proof_search import ProofSearch
from reshuffle.reasoning.chase.store import Store
from reshuffle.reasoning.keysets import KeySet
from reshuffle.reasoning.proofs import check_most
from reshuffle.reasoning.scaling.engine_interface import Deduction
from reshuffle.reasoning.sharing import Shared, stepwise
from reshuffle.reasoning.violations import violations
from reshuffle.reasoning.why_not import why_not
from reshuffle.rules.exactness import by_chase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from reshuffle.progress import Progress
    from reshuffle.reasoning.chase.store import Layout
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules import RuleBase
    from reshuffle.rules.exactness import Way

_LEAST_BITS = 20  # of an entity in a key: a million entities may come before keys are made anew


class ChaseAnswers(Answers):
    """The exact fixpoint of any path, hierarchy and intersection rules over a graph, inverse atoms included.

    It is computed when first asked for. There is no geometry behind it, so there is no bound and no sketch.

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> rules = RuleBase((PathRule(("parent", "parent^-1"), "sibling"),))
    >>> answers = ChaseAnswers(rules, KnowledgeGraph([("ann", "parent", "eve"), ("bob", "parent", "eve")]))
    >>> answers.holds("ann", "sibling", "bob"), answers.count()
    (True, 4)
    >>> answers.remove([("bob", "parent", "eve")])
    >>> sorted(answers.triples())
    [Triple(head='ann', relation='sibling', tail='ann')]
    """

    def __init__(
        self,
        rules: RuleBase,
        facts: KnowledgeGraph,
        *,
        memory: int | None = None,
        layout: Layout = "auto",
        progress: Progress = SILENT,
        without_geometry: str | None = None,
    ) -> None:
        """`memory` limits the fixpoint, in bytes; `layout` forces sparse or dense relations.

        `without_geometry` is the reason why the chase answers, where the caller did not ask for it.
        """
        self.shared = Shared()
        refuse_inverse_names(facts.relations)
        self.rules = rules
        self._memory, self._layout, self._progress = memory, layout, progress
        self._without_geometry = without_geometry
        self._entities = GrowingVocabulary(facts.entities)
        own = (name for name in map(base_relation, rules.relations) if name not in rules.fresh)
        names = dict.fromkeys([*facts.relations, *own])
        self._relations = {name: number for number, name in enumerate(names)}
        self._program = Program(rules, self._relations)
        self._graph: KnowledgeGraph | None = facts
        self._graph_relations = dict.fromkeys(facts.relations)
        self._set_facts(facts.heads, facts.relation_ids, facts.tails)

    def _set_facts(
        self, heads: NDArray[np.int32], relations: NDArray[np.int32], tails: NDArray[np.int32]
    ) -> None:
        # Keys have room for twice the entities, so that most additions need no new keys.
        self._bits = max(_LEAST_BITS, (2 * len(self._entities)).bit_length())
        self._facts = KeySet(self._keys(heads, relations, tails))
        self._computed: Store | None = None
        self._search: ProofSearch | None = None

    # --- the fixpoint -------------------------------------------------------------------------------

    @property
    def _store(self) -> Store:
        if self._computed is None:
            with self.shared.building:
                if self._computed is None:
                    self._computed = self._fixpoint()
                return self._computed
        return self._computed

    def _fixpoint(self) -> Store:
        store = Store(
            self._program,
            len(self._entities),
            entity_bits=self._bits,
            layout=self._layout,
            memory=self._memory,
        )
        store.enlarge(len(self._entities), self._num_relations)
        self._check_keys()
        store.add(self._facts.keys(), progress=self._progress)
        return store

    def _check_keys(self) -> None:
        if self._num_relations > 1 << 63 - 2 * self._bits:
            raise BudgetError(
                f"{len(self._entities):,} entities and {self._num_relations:,} relations (those of the prefixes of "
                "rule bodies included) do not fit the chase's keys of 63 bits"
            )

    @property
    def _num_relations(self) -> int:
        """The number of relations. Fresh ones lie between the user's first relations and those added later."""
        return max(self._program.num_relations, 1 + max(self._relations.values(), default=-1))

    def _keys(
        self, heads: NDArray[np.int32], relations: NDArray[np.int32], tails: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        return (relations.astype(np.int64) << self._bits | heads) << self._bits | tails

    def _columns(
        self, keys: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        mask = (1 << self._bits) - 1
        columns = (keys >> self._bits & mask, keys >> 2 * self._bits, keys & mask)
        return tuple(column.astype(np.int32) for column in columns)  # type: ignore[return-value]

    @property
    def way(self) -> Way:
        """By the chase, and why."""
        return by_chase(self._without_geometry)

    @property
    def read_rules(self) -> RuleBase | None:
        """The rules that were read."""
        return self.rules

    def __repr__(self) -> str:
        return f"<answers over {self.facts!r}: {self.exactness}>"

    @property
    def deduction(self) -> Deduction:
        """The rules."""
        return Deduction(None, self.rules)

    # --- questions ----------------------------------------------------------------------------------

    @property
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included."""
        with self.shared.reading(), self.shared.building:
            if self._graph is None:
                self._graph = self._made_graph()
            return self._graph

    def _made_graph(self) -> KnowledgeGraph:
        names = Vocabulary(self._graph_relations, kind="relation")
        place = np.full(self._num_relations, -1, dtype=np.int32)
        place[[self._relations[name] for name in names]] = np.arange(len(names))
        heads, relations, tails = self._columns(self._facts.keys())
        return KnowledgeGraph.from_ids(
            heads, place[relations], tails, entities=self._entities.vocabulary(), relations=names
        )

    def _relation(self, name: str) -> int:
        number = self._relations.get(name)
        if number is None:
            raise UnknownNameError("relation", name, self._relations)
        return number

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""
        with self.shared.reading():
            code, store = 2 * self._relation(relation), self._computed or self._store
            return store.contains(code, self._entities.id(head), self._entities.id(tail))

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds."""
        with self.shared.reading():
            return iter(self._ends(2 * self._relation(relation), head))

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds."""
        with self.shared.reading():
            return iter(self._ends(2 * self._relation(relation) + 1, tail))

    def _ends(self, code: int, start: str) -> list[str]:
        return self._entities.names(self._store.ends(code, self._entities.id(start)))

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, grouped by relation."""
        unchanged = self.shared.unchanged()
        with unchanged():
            relations, store = dict(self._relations), self._store
        for name, number in relations.items():
            for heads, tails in stepwise(self._derived_blocks(store, number), unchanged):
                yield from map(Triple._make, zip(heads, itertools.repeat(name), tails, strict=False))
                with unchanged():
                    pass  # who changes facts between two triples hears of it, even behind the last block

    def _derived_blocks(self, store: Store, relation: int) -> Iterator[tuple[list[str], list[str]]]:
        """The names of the heads and tails of a relation that are derived, in blocks."""
        for heads, tails in store.blocks(relation):
            keys = self._keys(heads, np.full(len(heads), relation, dtype=np.int32), tails)
            new_heads, _, new_tails = self._columns(self._facts.without(keys))
            yield self._entities.names(new_heads), self._entities.names(new_tails)

    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold."""
        with self.shared.reading():
            totals = self._store.pairs.totals
            given = np.bincount(self._facts.keys() >> 2 * self._bits, minlength=len(totals))
            return {
                name: Count(int(totals[number] - given[number]), int(totals[number]))
                for name, number in self._relations.items()
            }

    # --- updates ------------------------------------------------------------------------------------

    def add(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Add facts; only their own consequences are derived."""
        given = as_triples(triples)
        refuse_inverse_names(relation for _, relation, _ in given)
        with self.shared.writing():
            self._add(given)

    def _add(self, given: list[tuple[str, str, str]]) -> None:
        store, self._computed = (
            self._computed,
            None,
        )  # until it is whole again: after an error it starts afresh
        rows = [
            (self._entities.intern(head), self._relation_of_new(relation), self._entities.intern(tail))
            for head, relation, tail in given
        ]
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
        if len(self._entities) > 1 << self._bits:
            self._set_facts(*self._columns_with(columns))
            self._changed()
            return
        new = self._facts.add(self._keys(*columns))
        if len(new):
            self._changed()
        if store is not None:
            store.enlarge(len(self._entities), self._num_relations)
            store.add(new)
        self._computed = store

    def _columns_with(self, columns: NDArray[np.int32]) -> NDArray[np.int32]:
        """The columns of the facts with more facts behind them; repeated ones are dropped by the key set."""
        return np.concatenate([np.array(self._columns(self._facts.keys())), columns], axis=1)

    def _relation_of_new(self, name: str) -> int:
        self._graph_relations[name] = None
        return self._relations.setdefault(name, self._num_relations)

    def remove(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Take facts back, by delete and re-derive; triples of known names that are no facts are skipped.

        Where more than half of the fixpoint would be in doubt, it is computed again when next asked for.
        """
        given = as_triples(triples)
        with self.shared.writing():
            self._remove(given)

    def _remove(self, given: list[tuple[str, str, str]]) -> None:
        rows = [
            (self._entities.id(head), self._relation(relation), self._entities.id(tail))
            for head, relation, tail in given
        ]
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
        store, self._computed = self._computed, None
        old = self._facts.discard(self._keys(*columns))
        if len(old):
            self._changed()
        if store is not None and (not len(old) or store.remove(old, self._facts.places)):
            self._computed = store

    def _changed(self) -> None:
        self.shared.note_change()
        self._graph = None
        self._search = None

    # --- proofs -------------------------------------------------------------------------------------

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` different derivations, smallest first; empty when the triple does not follow."""
        check_most(most)
        with self.shared.reading():
            goal = (2 * self._relation(relation), self._entities.id(head), self._entities.id(tail))
            if not self._store.contains(*goal):
                return []
            with self.shared.building:  # one proof at a time: what a search has found helps the next one
                if self._search is None:
                    self._search = ProofSearch(self._store, self._facts.places, self._named)
                return self._search.proofs(self._store.key(*goal), most=most)

    def _named(self, key: int) -> Triple:
        mask = (1 << self._bits) - 1
        number = key >> 2 * self._bits
        relation = next(name for name, known in self._relations.items() if known == number)
        return Triple(self._entities[key >> self._bits & mask], relation, self._entities[key & mask])

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The nearest partial derivations of a triple that does not follow."""
        return why_not(self, self.rules, head, relation, tail, most=most, progress=progress)

    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint of the rules, with both proofs."""
        return violations(self, self.rules.disjointness)
