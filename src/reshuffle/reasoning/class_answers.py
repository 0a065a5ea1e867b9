"""Answers to rules and class axioms: what an engine answers over facts and helper facts, without a trace of the latter.

`rules.class_axioms` says which helper facts there are and why. Here they are added to the graph that an engine gets,
follow the entities that come later, and are taken out of all that an answer shows: proofs end in the axioms themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple, Vocabulary
from reshuffle.kg.coerce import as_triples, graph_of_others
from reshuffle.kg.vocabulary import base_relation
from reshuffle.reasoning.answers import Answers
from reshuffle.reasoning.literal_types import LiteralTypes
from reshuffle.reasoning.proofs import Proof
from reshuffle.reasoning.violations import Violation, violations
from reshuffle.reasoning.why_not import UNBOUND, PartialDerivation
from reshuffle.rules.class_axioms import ANYTHING, BY_LITERAL, HUB, TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from reshuffle.kg.coerce import Triples
    from reshuffle.reasoning.answers import Count
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.rules import RuleBase
    from reshuffle.rules.class_axioms import ClassAxiom, ClassAxioms, DisjointClasses


def with_helpers(facts: KnowledgeGraph, rules: RuleBase) -> KnowledgeGraph:
    """The facts with the helper facts of the axioms; the ids of the facts' names stay."""
    classes = rules.classes
    assert classes is not None
    for given in (facts, facts.literals):
        classes.refuse_kept_names(() if given is None else given.relations)
    helpers = KnowledgeGraph([*classes.by_helper, (HUB, ANYTHING, HUB)])
    helpers |= LiteralTypes(rules, facts.literals).helpers()
    entities, entity_ids = facts.entities.extended_by(helpers.entities)
    relations, relation_ids = facts.relations.extended_by(helpers.relations)
    everyone = np.arange(facts.num_entities, dtype=np.int32)
    hub, anything = entity_ids[helpers.entities.id(HUB)], relation_ids[helpers.relations.id(ANYTHING)]
    return KnowledgeGraph.from_ids(
        np.concatenate([facts.heads, entity_ids[helpers.heads], everyone]),
        np.concatenate([facts.relation_ids, relation_ids[helpers.relation_ids], np.full_like(everyone, anything)]),
        np.concatenate([facts.tails, entity_ids[helpers.tails], np.full_like(everyone, hub)]),
        entities=entities,
        relations=relations,
    )  # fmt: skip


class ClassAnswers(Answers):
    """The answers of `inner` over facts and helper facts, as answers over the facts alone."""

    def __init__(self, inner: Answers, rules: RuleBase, facts: KnowledgeGraph) -> None:
        assert rules.classes is not None
        self._inner, self._rules, self._classes = inner, rules, rules.classes
        self._given: KnowledgeGraph | None = facts
        self._num_given = facts.num_entities
        self._by_literals = LiteralTypes(rules, facts.literals)
        self._known = dict.fromkeys([*map(base_relation, rules.own_relations), *facts.relations])
        self.shared = inner.shared

    @property
    def deduction(self) -> Deduction:
        """What the engine derives by, over facts and helper facts."""
        return self._inner.deduction

    @property
    def facts_to_derive_from(self) -> KnowledgeGraph:
        """The facts and helper facts."""
        return self._inner.facts

    @property
    def exactness(self) -> str:
        """What the answers of the engine are."""
        return self._inner.exactness

    def __repr__(self) -> str:
        return f"<answers over {self.facts!r}: {self.exactness}>"

    @property
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included, without helper facts."""
        with self.shared.reading(), self.shared.building:
            if self._given is None:
                left = _without_helpers(self._inner.facts, self._classes, self._num_given)
                self._given = left.with_literals(self._by_literals.literals)
            return self._given

    # --- questions ----------------------------------------------------------------------------------

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow (or stand in the graph)?"""
        self._check(relation, head, tail)
        return self._inner.holds(head, relation, tail)

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds."""
        self._check(relation, head)
        return self._inner.tails(head, relation)

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds."""
        self._check(relation, tail)
        return self._inner.heads(relation, tail)

    def _check(self, relation: str, *entities: str) -> None:
        if relation not in self._known:
            raise UnknownNameError("relation", relation, self._known)
        if HUB in entities:
            raise UnknownNameError("entity", HUB, ())

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, grouped by relation."""
        return self._inner.triples()  # no helper relation is the head of a rule

    def sorted_triples(self) -> Iterator[Triple]:
        """The derived triples by head, relation and tail."""
        return self._inner.sorted_triples()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The derived triples as Arrow blocks of names."""
        return self._inner.batches()

    def sorted_batches(self) -> Iterator[pa.RecordBatch]:
        """The same by head, relation and tail."""
        return self._inner.sorted_batches()

    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold."""
        hidden = self._classes.relations
        return {name: count for name, count in self._inner.counts().items() if name not in hidden}

    # --- updates ------------------------------------------------------------------------------------

    def add(self, triples: Triples) -> None:
        """Add facts, also with new entities, which get their helper fact in the same step."""
        given, literals = _opened(triples)
        self._classes.refuse_kept_names(relation for _, relation, _ in given)
        entities = dict.fromkeys(name for head, _, tail in given for name in (head, tail))
        with self.shared.writing():
            types = self._by_literals.replaced(_joined(self._by_literals.literals, literals))
            new = types.helpers() - self._by_literals.helpers() if literals else ()
            self._inner.add([*given, *((name, ANYTHING, HUB) for name in entities), *new])
            self._known.update(dict.fromkeys(relation for _, relation, _ in given))
            self._given, self._by_literals = None, types

    def remove(self, triples: Triples) -> None:
        """Take facts back. Helper facts stay, but for those of literals: they say nothing by themselves."""
        given, literals = _opened(triples)
        for head, relation, tail in given:
            self._check(relation, head, tail)
        with self.shared.writing():
            kept = self._by_literals.literals
            types = self._by_literals.replaced(kept - literals if kept and literals else kept)
            gone = self._by_literals.helpers() - types.helpers() if literals else ()
            self._inner.remove([*given, *gone])
            self._given, self._by_literals = None, types

    # --- proofs -------------------------------------------------------------------------------------

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` different derivations, in the rules and axioms as they were written."""
        self._check(relation, head, tail)
        found = self._inner.proofs(head, relation, tail, most=most)
        return list(dict.fromkeys(map(self._shown, found)))

    def _shown(self, proof: Proof) -> Proof:
        made: dict[int, Proof] = {}
        for step in proof.steps():
            premises = tuple(
                made[id(p)] for p in step.premises if p.triple.relation not in self._classes.relations
            )
            if step.triple.relation in self._classes.relations:
                continue
            if step.rule == BY_LITERAL:
                made[id(step)] = self._by_literals.proof(step.triple.head, step.triple.tail)
                continue
            axiom = self._axiom_of(step)
            made[id(step)] = Proof(step.triple, step.rule if axiom is None else axiom.shown, premises)
        return made[id(proof)]

    def _axiom_of(self, step: Proof) -> ClassAxiom | None:
        found = (self._classes.by_helper.get(premise.triple) for premise in step.premises)
        return next((axiom for axiom in found if axiom is not None), None)

    def why_not(self, head: str, relation: str, tail: str, *, most: int = 5) -> list[PartialDerivation]:
        """The rules and axioms that come nearest to a triple that does not follow."""
        self._check(relation, head, tail)
        with self.shared.reading():
            nearest = self._inner.why_not(head, relation, tail, most=most)
            own = [partial for partial in nearest if partial.rule not in self._classes.rules]
            if relation != TYPE or self.holds(head, relation, tail):
                return own
        missing = [_missing(axiom, head) for axiom in self._classes.by_class.get(tail, ())]
        return [*missing, *own][:most]

    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint, and the entities of two disjoint classes."""
        yield from violations(self, self._rules.disjointness)
        yield from self._of_two_classes()

    def _of_two_classes(self) -> Iterator[Violation]:
        unchanged = self.shared.unchanged()
        members: dict[str, set[str]] = {}
        for pair in self._classes.disjoint:
            with unchanged():
                for name in (pair.first, pair.second):
                    if name not in members:
                        members[name] = self._members(name)
            for entity in sorted(members[pair.first] & members[pair.second]):
                with unchanged():
                    violation = self._violation(pair, entity)
                yield violation

    def _members(self, name: str) -> set[str]:
        try:
            return set(self.heads(TYPE, name))
        except UnknownNameError:  # neither a fact nor another axiom names the class
            return set()

    def _violation(self, pair: DisjointClasses, entity: str) -> Violation:
        first, second = (self.proofs(entity, TYPE, name)[0] for name in (pair.first, pair.second))
        return Violation(pair, first, second)


def _without_helpers(graph: KnowledgeGraph, classes: ClassAxioms, num_given: int) -> KnowledgeGraph:
    """The graph without helper facts, and without the entities that only these name."""
    visible = [position for position, name in enumerate(graph.relations) if name not in classes.relations]
    places = np.full(len(graph.relations), -1, dtype=np.int32)
    places[visible] = np.arange(len(visible), dtype=np.int32)
    kept = places[graph.relation_ids] >= 0
    names = Vocabulary([graph.relations[position] for position in visible], kind="relation")
    left = KnowledgeGraph.from_ids(
        graph.heads[kept], places[graph.relation_ids[kept]], graph.tails[kept], entities=graph.entities, relations=names
    )  # fmt: skip
    return left.without_gone(num_given)[0]


def _opened(triples: Triples) -> tuple[list[tuple[str, str, str]], KnowledgeGraph | None]:
    """Triples, and the facts with literals beside them."""
    graph = graph_of_others(triples)
    return as_triples(graph), graph.literals if isinstance(graph, KnowledgeGraph) else None


def _joined(one: KnowledgeGraph | None, other: KnowledgeGraph | None) -> KnowledgeGraph | None:
    return one | other if one is not None and other is not None else one or other


def _missing(axiom: ClassAxiom, entity: str) -> PartialDerivation:
    """What an axiom would need to make the entity a member of its class."""
    rule = axiom.shown
    who = rule.conclusion[1]
    named = dict.fromkeys("XY", UNBOUND) | {who: entity}
    ends = ((start, relation, end) for relation, start, end in rule.terms((named["X"], named["Y"])))
    *atoms, _ = (Triple(*atom) for atom in ends)
    return PartialDerivation(rule, (), tuple(atoms))
