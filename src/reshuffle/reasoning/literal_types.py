"""The classes that domains give to entities by their literals: `x p "..."` and `p rdfs:domain c` say that x is a c.

A literal is not an entity, so no path of the graph leads to it. This module finds the types of its subject x instead:
from p, and from the properties that p implies by rules with one body atom. Each property gives its domains, and an
inverse property its ranges. The engine gets a helper fact `~literal(x, c)` for each such class, and goes on from there
by rules.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.kg import KnowledgeGraph, Triple, Vocabulary, inverse_name
from reshuffle.kg.rows import LITERAL
from reshuffle.reasoning.proofs import Proof, atom_triple
from reshuffle.rules.class_axioms import BY_LITERAL, TYPE, domains_of
from reshuffle.rules.rule import ConstantRule, PathRule

if TYPE_CHECKING:
    from reshuffle.rules import RuleBase

_Derivation: TypeAlias = tuple[tuple[tuple[PathRule, str], ...], ConstantRule]
"""Rules, each with the property that it concludes, and then a domain of the last one."""


class LiteralTypes:
    """What the literals of a graph say about the types of their subjects."""

    def __init__(self, rules: RuleBase, literals: KnowledgeGraph | None) -> None:
        self._rules = rules
        self.literals = literals
        self._classes: dict[str, dict[str, _Derivation]] = {}  # by property

    def replaced(self, literals: KnowledgeGraph | None) -> LiteralTypes:
        """The same for other literals."""
        return LiteralTypes(self._rules, literals)

    def helpers(self) -> KnowledgeGraph:
        """A helper fact for each entity and class."""
        literals = self.literals
        if literals is None:
            return KnowledgeGraph()
        classes = Vocabulary(
            dict.fromkeys(cls for p in literals.relations for cls in self._of(p)), kind="entity"
        )
        entities, class_ids = literals.entities.extended_by(classes)
        pairs = [
            (literals.edges(number)[0], class_ids[classes.id(cls)])
            for number, name in enumerate(literals.relations)
            for cls in self._of(name)
        ]
        heads = np.concatenate([np.empty(0, np.int32), *(heads for heads, _ in pairs)])
        tails = np.repeat(np.array([cls for _, cls in pairs], np.int32), [len(heads) for heads, _ in pairs])
        relation = Vocabulary(BY_LITERAL.body, kind="relation")
        found = KnowledgeGraph.from_ids(
            heads, np.zeros_like(heads), tails, entities=entities, relations=relation
        )
        return found.without_gone(0)[0]

    def proof(self, entity: str, cls: str) -> Proof:
        """Why an entity is of a class that some literal gives it: the literal itself is not named."""
        assert self.literals is not None
        place = self.literals.entities.id(entity)
        rows = self.literals.by_head
        own = rows.relations[rows.starts[place] : rows.starts[place + 1]]
        names = [
            name for name in map(self.literals.relations.__getitem__, own.tolist()) if cls in self._of(name)
        ]
        name = min(names, key=lambda name: len(self._of(name)[cls][0]))
        steps, domain = self._of(name)[cls]
        proof = Proof(Triple(entity, name, LITERAL))
        for rule, relation in steps:
            proof = Proof(atom_triple(relation, entity, LITERAL), rule, (proof,))
        return Proof(Triple(entity, TYPE, cls), domain, (proof,))

    def _of(self, name: str) -> dict[str, _Derivation]:
        """The classes of whatever has a property, each by the fewest rules."""
        if name not in self._classes:
            self._classes[name] = self._derived(name)
        return self._classes[name]

    def _derived(self, name: str) -> dict[str, _Derivation]:
        reached: dict[str, tuple[tuple[PathRule, str], ...]] = {name: ()}
        found: dict[str, _Derivation] = {}
        for relation, steps in (waiting := list(reached.items())):
            for cls, rule in self._domains.get(relation, ()):
                found.setdefault(cls, (steps, rule))
            for path, implied in self._implied.get(relation, ()):
                if implied not in reached:
                    reached[implied] = (*steps, (path, implied))
                    waiting.append((implied, reached[implied]))
        return found

    @cached_property
    def _domains(self) -> dict[str, list[tuple[str, ConstantRule]]]:
        """The domains of each property, each with its rule; a range is the domain of the inverse."""
        domains: dict[str, list[tuple[str, ConstantRule]]] = {}
        for relation, cls, rule in domains_of(self._rules):
            domains.setdefault(relation, []).append((cls, rule))
        return domains

    @cached_property
    def _implied(self) -> dict[str, list[tuple[PathRule, str]]]:
        """By relation, the relations that hold between the same two, in the same order, by one rule."""
        implied: dict[str, list[tuple[PathRule, str]]] = {}
        for rule in self._rules.path_rules:
            if len(rule.body) == 1:
                implied.setdefault(rule.body[0], []).append((rule, rule.head))
                implied.setdefault(inverse_name(rule.body[0]), []).append((rule, inverse_name(rule.head)))
        return implied
