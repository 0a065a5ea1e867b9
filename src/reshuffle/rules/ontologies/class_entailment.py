"""What follows between classes in OWL 2 EL, slow and obvious on purpose; classification is tested against it.

It follows the completion of EL++ by its definition (Baader, Brandt and Lutz: Pushing the EL Envelope, 2005 and 2008) on
class expressions as they stand, and shares no code with `reasoning.classes`. A node stands for the things that are of a
set of classes; S(X) are the expressions that all of X have, R(r) the pairs of nodes that r links.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.rules.ontologies.axioms import (
    NOTHING,
    THING,
    And,
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
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.rules.ontologies.axioms import Axiom, ClassExpression

Node: TypeAlias = frozenset["ClassExpression"]


def edges(axioms: Iterable[Axiom], names: Iterable[str], is_a: str) -> set[tuple[str, str, str]]:
    """Each `X is_a Y` and `X p Y` that is entailed for names, without X itself and owl:Thing above X.

    An empty class is below owl:Nothing, and has no other edges.
    """
    completion = Completion(list(axioms), list(names))
    found = set()
    for name in completion.names:
        above = completion.above[frozenset([name])]
        if NOTHING in above:
            found.add((name, is_a, NOTHING))
            continue
        found |= {(name, is_a, other) for other in completion.names if other in above and other != name}
        for relation, one, other in completion.links:
            if one == frozenset([name]):
                beyond = completion.above[other]
                found |= {(name, relation, tail) for tail in completion.names if tail in beyond}
    return found


class Completion:
    """The smallest S and R that the rules allow."""

    def __init__(self, axioms: list[Axiom], names: list[str]) -> None:
        self._inclusions = list(_inclusions(axioms))
        self._read_properties(axioms)
        self._occurring = {
            part for pair in self._inclusions for side in pair for part in parts_of(side) if part != THING
        }
        self.names = set(names) | {part for part in self._occurring if isinstance(part, str)} - {NOTHING}
        self.above: dict[Node, set[ClassExpression]] = {}
        self.links: set[tuple[str, Node, Node]] = set()
        for name in self.names:
            self._node(frozenset([name]))
        while self._round():
            pass

    def _read_properties(self, axioms: list[Axiom]) -> None:
        self._chains: list[tuple[tuple[str, ...], str]] = []
        self._ranges: list[tuple[str, ClassExpression]] = []
        for axiom in axioms:
            match axiom:
                case SubProperty(sub, sup):
                    self._chains.append(((sub,), sup))
                case EquivalentProperties(members):
                    self._chains += [((one,), other) for one, other in itertools.permutations(members, 2)]
                case PropertyChain(chain, sup):
                    self._chains.append((chain, sup))
                case PropertyIs(Kind.TRANSITIVE, relation):
                    self._chains.append(((relation, relation), relation))
                case PropertyRange(relation, cls):
                    self._ranges.append((relation, cls))
                case _:
                    pass

    def _supers(self, relation: str) -> set[str]:
        found = {relation}
        while more := {sup for chain, sup in self._chains if len(chain) == 1 and chain[0] in found} - found:
            found |= more
        return found

    def _node(self, node: Node) -> Node:
        self.above.setdefault(node, {THING, *node})
        return node

    def _round(self) -> bool:
        """Apply every rule to everything once; did anything new follow?"""
        before = sum(map(len, self.above.values())) + len(self.links)
        for node in list(self.above):
            self._classes(node)
        for relation, one, other in list(self.links):
            self.links |= {(sup, one, other) for sup in self._supers(relation)}
            if NOTHING in self.above[other]:
                self.above[one].add(NOTHING)
            for part in self._occurring:
                if isinstance(part, Some) and part.relation == relation and part.filler in self.above[other]:
                    self.above[one].add(part)
        for chain, sup in self._chains:
            self.links |= {(sup, one, other) for one, other in self._along(chain)}
        return sum(map(len, self.above.values())) + len(self.links) > before

    def _classes(self, node: Node) -> None:
        above = self.above[node]
        for sub, sup in self._inclusions:
            if sub in above:
                above.add(sup)
        above.update(HasSelf(sup) for chain, sup in self._chains if above.issuperset(map(HasSelf, chain)))
        for part in self._occurring | set(above):
            if isinstance(part, And):
                if part in above:
                    above.update(part.members)
                elif all(member in above for member in part.members):
                    above.add(part)
            elif isinstance(part, Some) and part in above:
                filled = frozenset([part.filler, *self._range_of(part.relation)])
                self.links.add((part.relation, node, self._node(filled)))
            elif isinstance(part, HasSelf) and part in above:
                self.links.add((part.relation, node, node))
                above |= self._range_of(part.relation)

    def _range_of(self, relation: str) -> set[ClassExpression]:
        return {cls for of, cls in self._ranges if of in self._supers(relation)}

    def _along(self, chain: tuple[str, ...]) -> set[tuple[Node, Node]]:
        first, *rest = chain
        found = {(one, other) for relation, one, other in self.links if relation == first}
        for step in rest:
            found = {
                (one, end)
                for one, middle in found
                for relation, start, end in self.links
                if relation == step and start == middle
            }
        return found


def _inclusions(axioms: Iterable[Axiom]) -> Iterator[tuple[ClassExpression, ClassExpression]]:
    """Each axiom about classes as inclusions."""
    for axiom in axioms:
        match axiom:
            case SubClassOf(sub, sup):
                yield sub, sup
            case EquivalentClasses(members):
                yield from itertools.permutations(members, 2)
            case DisjointClasses(members):
                yield from ((And(pair), NOTHING) for pair in itertools.combinations(members, 2))
            case PropertyDomain(relation, cls):
                yield Some(relation, THING), cls
            case PropertyRange(_, cls):
                yield cls, cls  # so that its parts are there
            case PropertyIs(Kind.REFLEXIVE, relation):
                yield THING, HasSelf(relation)
            case _:
                pass
