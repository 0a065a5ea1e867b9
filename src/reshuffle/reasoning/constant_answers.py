"""Answers to rules with constants: an engine works over facts and helper facts; answers hide the helper facts.

`rules.encoding` defines the helper facts. This module adds them to the graph of an engine, adds more for new entities,
and removes them from answers: proofs use the given rules only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple, Vocabulary
from reshuffle.kg.coerce import as_triples, graph_of_others
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT
from reshuffle.reasoning.answers import Answers
from reshuffle.reasoning.literal_types import LiteralTypes
from reshuffle.reasoning.proofs import Proof
from reshuffle.reasoning.violations import violations
from reshuffle.reasoning.why_not import why_not
from reshuffle.rules.class_axioms import BY_LITERAL, forbidden
from reshuffle.rules.encoding import ANYTHING, HUB, encoding_of
from reshuffle.rules.rule import bound_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Progress
    from reshuffle.reasoning.answers import Count
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules import RuleBase
    from reshuffle.rules.encoding import Encoding
    from reshuffle.rules.exactness import Way
    from reshuffle.rules.rule import ConstantRule


def with_helpers(facts: KnowledgeGraph, rules: RuleBase) -> KnowledgeGraph:
    """The facts with the helper facts of rules with constants; the ids of the facts' names stay."""
    encoding = encoding_of(rules)
    assert encoding is not None
    encoding.refuse_kept_names(facts.relations, facts.entities)
    if facts.literals is not None:
        encoding.refuse_kept_names(facts.literals.relations, facts.literals.entities)
    helpers = encoding.helpers
    of_literals = LiteralTypes(rules, facts.literals).helpers()
    if len(of_literals):
        names = dict.fromkeys(name for head, _, tail in of_literals for name in (head, tail))
        helpers |= of_literals | KnowledgeGraph((name, ANYTHING, HUB) for name in names)
    if encoding.needs_entities and facts.num_entities:
        helpers |= KnowledgeGraph([(facts.entities[0], ANYTHING, HUB)])  # which names the hub
    entities, entity_ids = facts.entities.extended_by(helpers.entities)
    relations, relation_ids = facts.relations.extended_by(helpers.relations)
    everyone = np.arange(facts.num_entities if encoding.needs_entities else 0, dtype=np.int32)
    hub = np.full_like(everyone, entity_ids[helpers.entities.id(HUB)] if len(everyone) else 0)
    anything = np.full_like(everyone, relation_ids[helpers.relations.id(ANYTHING)] if len(everyone) else 0)
    return KnowledgeGraph.from_ids(
        np.concatenate([facts.heads, entity_ids[helpers.heads], everyone]),
        np.concatenate([facts.relation_ids, relation_ids[helpers.relation_ids], anything]),
        np.concatenate([facts.tails, entity_ids[helpers.tails], hub]),
        entities=entities,
        relations=relations,
    )


class ConstantAnswers(Answers):
    """The answers of `inner` over facts and helper facts, as answers over the facts alone."""

    def __init__(self, inner: Answers, rules: RuleBase, facts: KnowledgeGraph) -> None:
        encoding = encoding_of(rules)
        assert encoding is not None
        self._inner, self._rules, self._encoding = inner, rules, encoding
        self._given: KnowledgeGraph | None = facts
        self._num_given = facts.num_entities
        self._by_literals = LiteralTypes(rules, facts.literals)
        self._known = dict.fromkeys([*map(base_relation, rules.relations), *facts.relations])
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
    def way(self) -> Way:
        """How the engine answers."""
        return self._inner.way

    @property
    def read_rules(self) -> RuleBase | None:
        """The rules and axioms that were read."""
        return self._rules

    def __repr__(self) -> str:
        return f"<answers over {self.facts!r}: {self.exactness}>"

    @property
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included, without helper facts."""
        with self.shared.reading(), self.shared.building:
            if self._given is None:
                left = _without_helpers(self._inner.facts, self._encoding, self._num_given)
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
        for name in entities:
            if name in self._encoding.nodes:
                raise UnknownNameError("entity", name, ())

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, grouped by relation."""
        return self._inner.triples()  # engines derive helper relations, but do not give them: they are fresh

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
        hidden = self._encoding.relations
        return {name: count for name, count in self._inner.counts().items() if name not in hidden}

    # --- updates ------------------------------------------------------------------------------------

    def add(self, triples: Triples) -> None:
        """Add facts, also with new entities, which get their helper fact in the same step."""
        given, literals = _opened(triples)
        ends = {name for head, _, tail in given for name in (head, tail)}
        self._encoding.refuse_kept_names({relation for _, relation, _ in given}, ends)
        with self.shared.writing():
            types = self._by_literals.replaced(_joined(self._by_literals.literals, literals))
            new = [*given, *(types.helpers() - self._by_literals.helpers() if literals else ())]
            if self._encoding.needs_entities:
                entities = dict.fromkeys(name for head, _, tail in new for name in (head, tail))
                new += [(name, ANYTHING, HUB) for name in entities]
            self._inner.add(new)
            self._known.update(dict.fromkeys(relation for _, relation, _ in given))
            self._given, self._by_literals = None, types

    def remove(self, triples: Triples) -> None:
        """Take facts back. Helper facts that say nothing by themselves stay."""
        given, literals = _opened(triples)
        for head, relation, tail in given:
            self._check(relation, head, tail)
        with self.shared.writing():
            kept = self._by_literals.literals
            types = self._by_literals.replaced(kept - literals if kept and literals else kept)
            gone = self._by_literals.helpers() - types.helpers() if literals else ()
            self._inner.remove([*given, *gone])
            self._given, self._by_literals = None, types
            if self._encoding.speaks_of_everything:
                self._inner.remove([(name, ANYTHING, HUB) for name in self._forgotten(given, gone)])

    def _forgotten(self, given: Iterable[tuple[str, str, str]], gone: Iterable[Triple]) -> list[str]:
        """The entities that no fact and no rule names any more."""
        ends = dict.fromkeys(name for head, _, tail in (*given, *gone) for name in (head, tail))
        helpers, left, kept = self._by_literals.helpers(), self.facts, set(self._encoding.named)
        places = {name: left.entities.find(name) for name in ends}
        used = set(np.unique(np.concatenate([left.heads, left.tails])).tolist())
        return [
            name
            for name in ends
            if places[name] not in used and name not in kept and name not in helpers.entities
        ]

    # --- proofs -------------------------------------------------------------------------------------

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` different derivations, in the rules and axioms as they were written."""
        self._check(relation, head, tail)
        found = self._inner.proofs(head, relation, tail, most=most)
        return list(dict.fromkeys(map(self._shown, found)))

    def _shown(self, proof: Proof) -> Proof:
        """The proof with steps of rules with constants in the place of steps through helpers."""
        hidden = self._encoding.relations
        made: dict[int, Proof] = {}
        below: dict[int, tuple[Proof, ...]] = {}  # of a helper triple: what it rests on, helper facts aside
        said: dict[int, ConstantRule | None] = {}
        for step in proof.steps():
            known = [premise for premise in step.premises if premise.triple.relation in hidden]
            others = [
                part
                for premise in step.premises
                for part in (
                    below[id(premise)] if premise.triple.relation in hidden else (made[id(premise)],)
                )
            ]
            rule = next((said[id(premise)] for premise in known if said[id(premise)] is not None), None)
            if step.triple.relation in hidden:
                below[id(step)] = tuple(others)
                said[id(step)] = self._encoding.by_helper.get(step.triple) if step.rule is None else rule
            elif step.rule == BY_LITERAL:
                made[id(step)] = self._by_literals.proof(step.triple.head, step.triple.tail)
            elif rule is None:
                made[id(step)] = Proof(step.triple, step.rule, tuple(others))
            else:
                made[id(step)] = Proof(step.triple, rule, _in_order(rule, step.triple, others))
        return made[id(proof)]

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The rules that come nearest to a triple that does not follow."""
        self._check(relation, head, tail)
        return why_not(self, self._rules, head, relation, tail, most=most, progress=progress)

    def violations(self) -> Iterator[Violation]:
        """The pairs that break a disjointness constraint, and what is of a class that must be empty."""
        return violations(self, forbidden(self._rules))


def _in_order(rule: ConstantRule, conclusion: Triple, parts: Sequence[Proof]) -> tuple[Proof, ...]:
    """The proofs among these that stand for the atoms of a rule, in the order of its body."""
    bound: dict[int, str] = {}
    bound_by(rule.conclusion, conclusion, bound)
    ways: list[tuple[dict[int, str], tuple[Proof, ...]]] = [(bound, ())]
    for atom in rule.atoms:
        ways = [
            (then, (*chosen, part))
            for known, chosen in ways
            for part in parts
            if bound_by(atom, part.triple, then := dict(known))
        ]
    return min((chosen for _, chosen in ways), key=lambda chosen: sum(part.size for part in chosen))


def _without_helpers(graph: KnowledgeGraph, encoding: Encoding, num_given: int) -> KnowledgeGraph:
    """The graph without helper facts, and without the entities that only these name."""
    visible = [position for position, name in enumerate(graph.relations) if name not in encoding.relations]
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
