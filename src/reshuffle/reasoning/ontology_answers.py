"""Answers to ontologies: what axioms say of the relations of the facts, and of axioms that follow themselves.

Two names of one individual share all their triples. The rules for that are rules of each relation
(`rules.ontologies.equality`), so facts with new relations bring new rules. Where axioms follow from facts, as from
`ex:p owl:sameAs ex:q` or a relation below `rdfs:subClassOf`, they are taken up as rules, and everything is derived
again until no axiom is new. Both make new rules, for which answers are computed anew.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from heapq import merge
from itertools import chain
from typing import TYPE_CHECKING

from reshuffle.errors import UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.kg.coerce import graph_of_others
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.axioms_taken_up import (
    among,
    axioms_of,
    may_follow,
    over_literals,
    same_relations,
    taking_up,
)
from reshuffle.reasoning.constant_answers import with_helpers
from reshuffle.reasoning.proofs import Proof
from reshuffle.reasoning.rule_instances import new_instances
from reshuffle.reasoning.scaling.ontology_rules import for_engine
from reshuffle.reasoning.violations import violations
from reshuffle.rules.class_axioms import SAME_AS, forbidden
from reshuffle.rules.ontologies.equality import with_equality
from reshuffle.rules.ontologies.schema import RELATIONS, SCHEMA_RULES
from reshuffle.rules.ontologies.tautologies import Words
from reshuffle.rules.rule import ConstantRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.reasoner import Reasoner
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.sharing import Shared
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules import RuleBase
    from reshuffle.rules.exactness import Way
    from reshuffle.rules.rule import Terms


class OntologyAnswers(Answers):
    """The answers of an engine to the rules of an ontology, and the chase's to what its axioms say of each other."""

    def __init__(
        self, reasoner: Reasoner, facts: KnowledgeGraph, *, progress: Progress, notes: Notes
    ) -> None:
        self._reasoner, self._progress = reasoner, progress
        self._make(facts, notes)

    def _make(self, facts: KnowledgeGraph, notes: Notes) -> None:
        """Derive, take up the rules that this brings, and derive again until it brings none."""
        stated = taking_up(self._given, axioms_of(among(facts)))
        self._rules = with_equality(stated, facts.relations)
        self._inner = self._derived(facts, notes)
        while self._has_brought():
            self._inner = self._derived(facts, UNHEARD)
        self._said: tuple[KnowledgeGraph, Words] | None = None
        self._computed: Answers | None = None

    def _derived(self, facts: KnowledgeGraph, notes: Notes) -> Answers:
        answers = self._reasoner.with_rules(self._rules).over(facts, progress=self._progress, notes=notes)
        self.unread_facts = (*answers.unread_facts, *over_literals(self._rules, facts))
        return answers

    @property
    def _equal(self) -> bool:
        """Can two names be of one individual?"""
        return SAME_AS in map(base_relation, self._rules.relations)

    def _has_brought(self) -> bool:
        """Do the answers bring rules? By axioms that follow, and by instances of rules that no engine takes."""
        before = self._rules
        found = axioms_of(self._inner.triples()) if may_follow(before) else {}
        if self._equal:
            names = dict.fromkeys([*map(base_relation, before.relations), *self._inner.facts.relations])
            found |= same_relations(self._inner, names)
        self._rules = taking_up(before, found)
        if before.by_instance:
            instances = new_instances(self._inner, before.by_instance)
            given = (*self._rules.given, *instances)
            self._rules = replace(self._rules, given=given) if instances else self._rules
        return self._rules is not before

    @property
    def _given(self) -> RuleBase:
        assert self._reasoner.rules is not None
        return self._reasoner.rules

    @property
    def _words(self) -> Words:
        """The names that the ontology and the facts use."""
        facts = self.facts
        if self._said is None or self._said[0] is not facts:
            words = Words()
            words.learn(self._rules.schema)
            words.learn(facts)
            if facts.literals is not None:
                words.properties.update(facts.literals.relations)
            self._said = facts, words
        return self._said[1]

    @property
    def _schema(self) -> Answers:
        """What the axioms say of each other, by those of the ontology and those that stand among the facts."""
        with self.shared.building:
            if self._computed is None:
                axioms = dict.fromkeys([*self._rules.schema, *among(self._inner.facts)])
                self._computed = self._reasoner.chased(SCHEMA_RULES, KnowledgeGraph(axioms))
            return self._computed

    @property
    def shared(self) -> Shared:  # type: ignore[override]
        """What threads hold while they read or change."""
        return self._inner.shared

    @property
    def way(self) -> Way:
        """How the engine answers."""
        return self._inner.way

    @property
    def read_rules(self) -> RuleBase | None:
        """The rules and axioms that were read or taken up."""
        return self._rules

    @property
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included."""
        return self._inner.facts

    @property
    def facts_to_derive_from(self) -> KnowledgeGraph:
        """The facts that an engine outside of this process needs."""
        if not self._lists_axioms:
            return self._inner.facts_to_derive_from
        rules = self._for_engine.rules
        assert rules is not None
        return self.facts if self._for_engine.encoding is None else with_helpers(self.facts, rules)

    @property
    def deduction(self) -> Deduction:
        """What the answers are derived by."""
        return (self._for_engine if self._lists_axioms else self._inner).deduction

    @property
    def _lists_axioms(self) -> bool:
        """Is what axioms say of each other among the answers?"""
        return not RELATIONS.isdisjoint(self._inner.facts.relations)

    @property
    def _for_engine(self) -> Reasoner:
        """A reasoner that derives this, too."""
        return for_engine(self._reasoner.with_rules(self._rules), self.facts).reasoner

    def __repr__(self) -> str:
        return f"<answers over {self.facts!r}: {self.exactness}>"

    # --- questions ----------------------------------------------------------------------------------------

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""
        if self._in_schema(head, relation, tail):
            return True
        try:
            return self._inner.holds(head, relation, tail)
        except UnknownNameError:
            if not (self._knows(relation, head, tail) or self._words.always(head, relation, tail)):
                raise
        return self._words.always(head, relation, tail)

    def _knows(self, relation: str, *entities: str) -> bool:
        """Does the ontology speak of these names, though the facts do not?"""
        known = relation in RELATIONS or relation in self._inner.facts.relations
        return known and all(name in self._words for name in entities)

    def _in_schema(self, head: str, relation: str, tail: str) -> bool:
        names = self._schema.facts.entities if relation in RELATIONS else ()
        return head in names and tail in names and self._schema.holds(head, relation, tail)

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds."""
        return self._both(relation, head, lambda answers: answers.tails(head, relation))

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds."""
        return self._both(relation, tail, lambda answers: answers.heads(relation, tail))

    def _both(self, relation: str, entity: str, asked: Callable[[Answers], Iterator[str]]) -> Iterator[str]:
        """What both parts know of an entity; an error only where neither knows it."""
        if relation not in RELATIONS or entity not in self._schema.facts.entities:
            return asked(self._inner)
        found = dict.fromkeys(asked(self._schema))
        with suppress(UnknownNameError):
            found |= dict.fromkeys(asked(self._inner))
        return iter(found)

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts; that a name is the same as itself is not listed."""
        return chain(self._listed(self._inner.triples()), self._of_schema())

    def _listed(self, triples: Iterator[Triple]) -> Iterator[Triple]:
        if not self._equal:
            return triples
        return (triple for triple in triples if triple.relation != SAME_AS or triple.head != triple.tail)

    def _of_schema(self) -> Iterator[Triple]:
        """What follows between classes and properties, where axioms are among the facts.

        With an ontology and facts, what follows from the facts is listed; what follows between classes is answered when
        it is asked. What says that something is below itself is left out.
        """
        if self._lists_axioms:
            facts = self._inner.facts
            for triple in self._schema.triples():
                if triple.head != triple.tail and triple not in facts and triple not in self._inner:
                    yield triple

    def sorted_triples(self) -> Iterator[Triple]:
        """The same by head, relation and tail."""
        return merge(self._listed(self._inner.sorted_triples()), sorted(self._of_schema()))

    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold."""
        counts = self._inner.counts()
        if (found := counts.get(SAME_AS)) is not None and found.derived:
            listed = self._listed(self._inner.triples())
            counts[SAME_AS] = _counted(found, sum(triple.relation == SAME_AS for triple in listed))
        for relation, more in Counter(triple.relation for triple in self._of_schema()).items():
            found = counts.get(relation, Count(0, 0))
            counts[relation] = _counted(found, found.derived + more)
        return counts

    # --- updates ------------------------------------------------------------------------------------------

    def add(self, triples: Triples) -> None:
        """Add facts. New relations beside two names of one individual need new rules: all is derived again."""
        graph = graph_of_others(triples)
        given = graph if isinstance(graph, KnowledgeGraph) else KnowledgeGraph(graph)
        rules = taking_up(with_equality(self._rules, given.relations), axioms_of(among(given)))
        if rules is self._rules:
            self._inner.add(given)
            if not self._has_brought():
                return
        with self.shared.writing():
            facts = self._inner.facts | given
        self._make(facts, UNHEARD)

    def remove(self, triples: Triples) -> None:
        """Take facts back. Axioms that were taken up from facts, or that follow from these, make all new."""
        graph = graph_of_others(triples)
        given = graph if isinstance(graph, KnowledgeGraph) else KnowledgeGraph(graph)
        self._inner.remove(given)
        taken = self._rules.schema != self._given.schema
        if taken or not RELATIONS.isdisjoint(given.relations):
            self._make(self._inner.facts, UNHEARD)

    # --- proofs -------------------------------------------------------------------------------------------

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` different derivations."""
        if self._in_schema(head, relation, tail):
            return self._schema.proofs(head, relation, tail, most=most)
        try:
            found = self._inner.proofs(head, relation, tail, most=most)
        except UnknownNameError:
            found = []
            if not (self._knows(relation, head, tail) or self._words.always(head, relation, tail)):
                raise
        if not found and self._words.always(head, relation, tail):
            return [_proof_of_tautology(head, relation, tail)]
        return found

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The rules that come nearest to a triple that does not follow."""
        try:
            return self._inner.why_not(head, relation, tail, most=most, progress=progress)
        except UnknownNameError:
            if not self._knows(relation, head, tail):
                raise
            return []

    def violations(self) -> Iterator[Violation]:
        """What breaks a constraint, with proofs."""
        return violations(self, forbidden(self._rules))


def _counted(count: Count, derived: int) -> Count:
    """The count with another number of derived triples."""
    return Count(derived, count.total - count.derived + derived)


def _proof_of_tautology(head: str, relation: str, tail: str) -> Proof:
    conclusion: Terms = (relation, 0, 0) if head == tail else (relation, head, tail)
    return Proof(Triple(head, relation, tail), ConstantRule((), conclusion))
