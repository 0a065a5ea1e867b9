"""Exact answers from ordering constraints: reachability in the product of the graph and small automata.

(a, r, b) is captured iff, for every (start, exit) pair that decides r, the private value that starts in slot
`start` of a arrives in slot `exit` of b, that is iff some path of facts from a to b spells a word of the pair's
automaton. So a question is a search, and all answers are a search from every entity.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.errors import UnknownNameError
from reshuffle.kg import Triple, refuse_inverse_names
from reshuffle.kg.coerce import as_triples
from reshuffle.kg.io.tables import ROWS, SCHEMA, batch_of_pairs, rows_of
from reshuffle.kg.vocabulary import taken, text_array
from reshuffle.progress import SILENT
from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.geometry.all_pairs import AllPairs
from reshuffle.reasoning.geometry.changing_graph import LiveGraph
from reshuffle.reasoning.geometry.kernels.product_search import Workspaces
from reshuffle.reasoning.geometry.proof_search import ProofSearch
from reshuffle.reasoning.geometry.relation_automata import SlotGraph, assemble
from reshuffle.reasoning.geometry.stored_pairs import MaterialisedPairs
from reshuffle.reasoning.proofs import check_most
from reshuffle.reasoning.scaling.engine_interface import Deduction
from reshuffle.reasoning.sharing import Shared, budget, stepwise, usable_cores
from reshuffle.reasoning.violations import violations
from reshuffle.reasoning.why_not import why_not
from reshuffle.rules import RuleBase
from reshuffle.rules.exactness import within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.reasoning.geometry.all_pairs import Pairs
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.sharing import Unchanged
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules.exactness import Way

_MANY = 1000  # facts added at once from which storing everything anew is the faster way


class GeometryAnswers(Answers):
    """Exactly what constraints capture over a graph. Made by `Reasoner.on`."""

    def __init__(
        self,
        constraints: OrderingConstraints,
        graph: KnowledgeGraph,
        *,
        memory: int | None = None,
        node_budget: int | None = None,
        progress: Progress = SILENT,
    ) -> None:
        """`memory` limits the bytes of answering, `node_budget` the size of the automata, when they are first made."""
        self.shared = Shared()
        self.constraints = constraints
        self._memory, self._progress = memory, progress
        self._stored: MaterialisedPairs | None = None
        self._workspaces = Workspaces(memory)
        self._counts: dict[str, Count] | None = None
        self._search: ProofSearch | None = None
        self.live = LiveGraph(graph)
        self._machine = assemble(constraints, self.live.labels, node_budget=node_budget, progress=progress)

    @property
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included."""
        with self.shared.reading(), self.shared.building:
            return self.live.graph

    @property
    def deduction(self) -> Deduction:
        """The constraints."""
        return Deduction(self.constraints, self.constraints.rules)

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that facts or rules use; fresh ones and inverses are not among them."""
        with self.shared.reading():
            return tuple(dict.fromkeys([*self.constraints.answerable, *self.live.relations]))

    @property
    def way(self) -> Way:
        """By geometry, for any number of steps or for at most `bound`."""
        return within(self.constraints.bound)

    @property
    def read_rules(self) -> RuleBase | None:
        """The rules that were read."""
        return self.constraints.rules

    def __repr__(self) -> str:
        return f"<answers over {self.facts!r}: {self.exactness}>"

    @property
    def num_entities(self) -> int:
        """The number of entities, those that came later included."""
        return len(self.live.entities)

    @property
    def derivable(self) -> tuple[str, ...]:
        """The relations that rules can add to, given the relations that facts use now."""
        return tuple(self._machine.clauses_of)

    def fact_count(self, relation: str) -> int:
        """How many facts a relation has."""
        with self.shared.reading():
            number = self.live.relations.find(relation)
            return 0 if number is None else int(self.live.facts_of[number])

    # --- single questions ---------------------------------------------------------------------------

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""
        with self.shared.reading():
            return self._holds(self.live.entities.id(head), relation, self.live.entities.id(tail))

    def holds_ids(self, source: int, relation: str, target: int) -> bool:
        """Does the triple follow, with entities given by their ids?"""
        with self.shared.reading():
            return self._holds(source, relation, target)

    def _holds(self, source: int, relation: str, target: int) -> bool:
        if not self._is_derivable(relation):
            return self.live.is_fact(source, relation, target)
        return all(
            self._is_reached(relation, clause, source, target)
            for clause in range(len(self._machine.clauses_of[relation]))
        )

    def _is_reached(self, relation: str, clause: int, source: int, target: int) -> bool:
        """Does some path of facts from source to target spell a word of this clause of the relation?"""
        path = self._workspaces.shortest_path(self.live, self._machine, (relation, clause), source, target)
        return len(path) > 0

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds."""
        with self.shared.reading():
            return self._ends(self.live.entities.id(head), relation, backwards=False)

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds."""
        with self.shared.reading():
            return self._ends(self.live.entities.id(tail), relation, backwards=True)

    def _ends(self, entity: int, relation: str, *, backwards: bool) -> Iterator[str]:
        label = self.live.labels.get(relation)
        if self._is_derivable(relation):
            ids = self._workspaces.ends(self.live, self._machine, relation, entity, backwards=backwards)
        elif label is not None:
            ids = self.live.neighbours(entity, label + int(backwards))
        else:
            ids = np.empty(0, dtype=np.int32)
        return iter(self.live.entities.names(ids))

    def is_derivable(self, relation: str) -> bool:
        """Can rules add to the relation's facts? Raises where neither facts nor rules know the relation."""
        with self.shared.reading():
            return self._is_derivable(relation)

    def _is_derivable(self, relation: str) -> bool:
        if relation in self._machine.clauses_of:
            return True
        if relation not in self.live.relations and relation not in self.constraints.answerable:
            raise UnknownNameError("relation", relation, self.relations)
        return False

    # --- all answers --------------------------------------------------------------------------------

    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold, without storing them."""
        with self.shared.reading(), self.shared.building:
            if self._counts is None:
                self._counts = dict(self._counted())
            return dict(self._counts)

    def _counted(self) -> Iterator[tuple[str, Count]]:
        everything = self._all_pairs()
        # Many relations may each be counted too soon for a bar of their own.
        with self._progress("counting", total=len(self.relations), unit="relations") as report:
            for relation in self.relations:
                facts = total = self.fact_count(relation)
                if relation in self._machine.clauses_of:
                    total = (everything if self._stored is None else self._stored).total(relation)
                yield relation, Count(total - facts, total)
                report(1)

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, streamed, grouped by relation."""
        for relation, (heads, tails) in self._derived_blocks():
            names = self.live.entities.names
            for head, tail in zip(names(heads), names(tails), strict=True):
                yield Triple(head, relation, tail)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The derived triples as Arrow blocks of names, streamed; none of them becomes an object."""
        names = self.live.entities.vocabulary().to_arrow()
        for relation, (heads, tails) in self._derived_blocks():
            for start in range(0, len(heads), ROWS):
                ends = (taken(names, ids[start : start + ROWS]) for ids in (heads, tails))
                yield batch_of_pairs(relation, *ends)

    def _derived_blocks(self) -> Iterator[tuple[str, Pairs]]:
        unchanged = self.shared.unchanged()
        with unchanged():
            machine, stored, everything = self._machine, self._stored, self._all_pairs(unchanged)
        for relation in machine.clauses_of:
            held = None if stored is None else stepwise(stored.blocks(relation), unchanged)
            for heads, tails in everything.blocks(relation) if held is None else held:
                with unchanged():
                    new = self.live.without_facts(relation, heads, tails)
                yield relation, new
                with unchanged():
                    pass  # who changes facts between two triples hears of it, even behind the last block

    def sorted_triples(self) -> Iterator[Triple]:
        """The derived triples by head, relation and tail, in blocks of heads: memory stays bounded."""
        return (Triple(*row) for block in self.sorted_batches() for row in rows_of(block))

    def sorted_batches(self) -> Iterator[pa.RecordBatch]:
        """The same as Arrow blocks of names; none of them becomes an object."""
        unchanged = self.shared.unchanged()
        with unchanged():
            return self._sorted_batches(self._all_pairs(unchanged))

    def _sorted_batches(self, everything: AllPairs) -> Iterator[pa.RecordBatch]:
        relations = text_array(everything.relations)
        entities = self.live.entities.vocabulary().to_arrow()
        for block in everything.sorted_blocks():
            for start in range(0, len(block[0]), ROWS):
                named = zip((entities, relations, entities), block, strict=True)
                columns = [taken(names, ids[start : start + ROWS]) for names, ids in named]
                yield pa.record_batch(columns, schema=SCHEMA)

    def materialise(self) -> None:
        """Store all pairs that hold; from then on `add` and `remove` update them instead of searching again."""
        with self.shared.writing():
            self._stored = self._materialised()

    def _materialised(self) -> MaterialisedPairs:
        everything = self._all_pairs()
        stored = MaterialisedPairs(self._machine, len(self.live.entities), len(self.live.relations))
        for relation in self._machine.clauses_of:
            stored.fill(relation, everything.blocks(relation), most_bytes=self._memory)
        return stored

    def _all_pairs(self, unchanged: Unchanged = nullcontext) -> AllPairs:
        """Passes over the graph as it is now; `unchanged` is needed where the lock is not held until the end."""
        share = budget(
            self._memory,
            num_entities=len(self.live.entities),
            words=self._machine.most_words,
            cores=usable_cores(),
        )
        return AllPairs(self.live, self._machine, share, unchanged=unchanged, progress=self._progress)

    # --- updates ------------------------------------------------------------------------------------

    def add(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Add facts, also with new entities; stored answers grow by what follows from them."""
        given = as_triples(triples)
        refuse_inverse_names(relation for _, relation, _ in given)
        with self.shared.writing():
            self._add(given)

    def _add(self, given: list[tuple[str, str, str]]) -> None:
        self._touch()
        stored, self._stored = self._stored, None  # until it is whole again: after an error nothing is stored
        known = len(self.live.relations)
        ids = [self.live.intern(triple) for triple in given]
        if len(self.live.relations) > known:
            self._machine = assemble(self.constraints, self.live.labels, progress=self._progress)
        if stored is None:
            self.live.insert_all(ids)
        elif len(self.live.relations) > known or self._is_much(stored, ids):
            self.live.insert_all(ids)
            stored = self._materialised()
        else:
            with self._workspaces.borrowed(self.live, self._machine) as workspace:
                for fact in ids:
                    stored.add(self.live, workspace, fact)
        self._stored = stored

    def _is_much(self, stored: MaterialisedPairs, new: list[tuple[int, int, int]]) -> bool:
        """Is computing everything anew the faster way, or the only one?"""
        many = len(new) > max(_MANY, len(self.live) // 10)
        return many or not stored.has_room_for(len(self.live.entities))

    def remove(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Take facts back; what followed only from them no longer holds.

        Triples that are no facts are skipped; an unknown name is refused before anything is taken back.
        """
        given = as_triples(triples)
        with self.shared.writing():
            self._remove([fact for fact in map(self._ids, given) if fact is not None])

    def _remove(self, facts: list[tuple[int, int, int]]) -> None:
        self._touch()
        stored, self._stored = self._stored, None
        if stored is None:
            for fact in facts:
                self.live.discard(*fact)
        else:
            with self._workspaces.borrowed(self.live, self._machine) as workspace:
                for fact in facts:
                    stored.remove(self.live, workspace, fact)
        self._stored = stored

    def _ids(self, triple: tuple[str, str, str]) -> tuple[int, int, int] | None:
        """The ids of a triple of known names, or None where its relation has no facts."""
        head, relation, tail = triple
        entities = self.live.entities.id(head), self.live.entities.id(tail)
        self._is_derivable(relation)  # raises where nobody knows the relation
        number = self.live.relations.find(relation)
        return None if number is None else (entities[0], number, entities[1])

    def _touch(self) -> None:
        self.shared.note_change()
        self._counts = None
        self._search = None

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` different derivations, smaller ones first; empty when the triple does not follow."""
        check_most(most)
        goal = Triple(head, relation, tail)
        with self.shared.reading():
            source, target = self.live.entities.id(head), self.live.entities.id(tail)
            if not self._holds(source, relation, target):
                return []
            with self.shared.building:
                # Made anew when facts have changed: which relations have facts decides its automata.
                if self._search is None:
                    self._search = ProofSearch(self.constraints, self.live, self._machine, self._workspaces)
                search = self._search
            return search.proofs(goal, most=most)

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The nearest partial derivations of a triple that does not follow; none without rules."""
        return why_not(self, self._rules, head, relation, tail, most=most, progress=progress)

    def failed_slots(self, head: str, relation: str, tail: str) -> list[tuple[int, int]]:
        """The (start, exit) slots that decide the relation and between which no value arrives."""
        with self.shared.reading():
            if self.holds(head, relation, tail) or relation not in self.constraints.relation_ids:
                return []
            return list(self._failed(self.live.entities.id(head), relation, self.live.entities.id(tail)))

    def _failed(self, source: int, relation: str, target: int) -> Iterator[tuple[int, int]]:
        slots = SlotGraph(self.constraints, self.live.labels)
        places = {automaton: place for place, automaton in enumerate(self._machine.automata)}
        clauses = self._machine.clauses_of.get(relation, ())
        for pair in self.constraints.decisive_slots(relation):
            place = places.get(slots.automaton(*pair))
            if place not in clauses or not self._is_reached(relation, clauses.index(place), source, target):
                yield pair

    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint of the rules, with both proofs."""
        return violations(self, self._rules.disjointness)

    @property
    def _rules(self) -> RuleBase:
        return self.constraints.rules if self.constraints.rules is not None else RuleBase(())
