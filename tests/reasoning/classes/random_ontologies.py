"""Small random ontologies in OWL 2 EL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.rules.ontologies.axioms import (
    NOTHING,
    THING,
    And,
    Axiom,
    DisjointClasses,
    EquivalentClasses,
    EquivalentProperties,
    HasSelf,
    Kind,
    PropertyChain,
    PropertyDomain,
    PropertyIs,
    PropertyRange,
    Some,
    SubClassOf,
    SubProperty,
)

if TYPE_CHECKING:
    import random

    from reshuffle.rules.ontologies.axioms import ClassExpression

CLASSES, RELATIONS = "ABCDEFGH", "pqrs"


class _Maker:
    """Makes axioms over some classes and relations."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._classes = CLASSES[: chance.randint(2, len(CLASSES))]
        self._relations = RELATIONS[: chance.randint(1, len(RELATIONS))]
        self._ranged = chance.random() < 0.3  # chains and ranges of one relation are outside of EL

    def axiom(self) -> Axiom:
        chance, kind = self._chance, self._chance.random()
        if kind < 0.2:
            return self._about_relations()
        if kind < 0.25:
            return DisjointClasses(
                tuple(chance.sample(self._classes, min(len(self._classes), chance.randint(2, 8))))
            )
        if kind < 0.4:
            return EquivalentClasses((chance.choice(self._classes), self._expression(2)))
        return SubClassOf(self._expression(2), NOTHING if chance.random() < 0.03 else self._expression(2))

    def _about_relations(self) -> Axiom:
        one, other, third = (self._chance.choice(self._relations) for _ in range(3))
        kinds = [
            SubProperty(one, other),
            PropertyDomain(one, self._expression(1)),
            EquivalentProperties((one, other)),
        ]
        if self._ranged:
            return self._chance.choice([*kinds, PropertyRange(one, self._expression(1))])
        kinds += [PropertyIs(Kind.TRANSITIVE, one), PropertyIs(Kind.REFLEXIVE, one)]
        return self._chance.choice(
            [*kinds, PropertyChain((one, other), third), PropertyChain((one, other, one), third)]
        )

    def _expression(self, depth: int) -> ClassExpression:
        chance, kind = self._chance, self._chance.random()
        if depth == 0 or kind < 0.5:
            return chance.choice(self._classes) if chance.random() < 0.95 else THING
        if kind < 0.7:
            return And(tuple(self._expression(depth - 1) for _ in range(chance.randint(2, 3))))
        if kind < 0.75:
            return HasSelf(chance.choice(self._relations))
        return Some(chance.choice(self._relations), self._expression(depth - 1))


def ontology(chance: random.Random) -> list[Axiom]:
    """Some axioms of all kinds."""
    maker = _Maker(chance)
    return [maker.axiom() for _ in range(chance.randint(1, 14))]
