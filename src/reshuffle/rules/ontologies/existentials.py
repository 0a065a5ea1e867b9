"""What axioms say to have some value: `A rdfs:subClassOf (p some B)` says so of every A, although it names no value.

Where `q some C` stands below a class, an A meets it if p is below q and B is below C (scm-svf1, scm-svf2 in OWL 2 RL).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reshuffle.rules.digraphs import reachable
from reshuffle.rules.ontologies.axioms import And, EquivalentClasses, Some, SubClassOf
from reshuffle.rules.ontologies.tautologies import EQUAL_CLASS, EQUAL_PROPERTY, SUB_CLASS, SUB_PROPERTY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reshuffle.rules.ontologies.axioms import Axiom, ClassExpression, Ontology

_MOST = 2_000
"""Existentials of all ontologies together; of more, classification in OWL 2 EL has to tell."""


@dataclass(frozen=True)
class Existentials:
    """Which classes have some value of a class under a property, by what axioms say of subclasses and subproperties."""

    by_value: Mapping[tuple[str, str], tuple[ClassExpression, ...]] = field(default_factory=dict)

    def below(self, relation: str, filler: ClassExpression) -> tuple[ClassExpression, ...]:
        """The classes whose members lead by the relation to a member of the filler."""
        return self.by_value.get((relation, filler), ()) if isinstance(filler, str) else ()


NO_EXISTENTIALS = Existentials()


def existentials_of(ontologies: Iterable[Ontology], schema: Iterable[tuple[str, str, str]]) -> Existentials:
    """Those of ontologies, whose schema is given as triples of names."""
    said = [found for ontology in ontologies for axiom in ontology.axioms for found in _said(axiom)]
    if not 0 < len(said) <= _MOST:
        return NO_EXISTENTIALS
    classes, relations = defaultdict(list), defaultdict(list)
    for head, relation, tail in schema:
        if relation in (SUB_CLASS, EQUAL_CLASS):
            classes[head].append(tail)
        elif relation in (SUB_PROPERTY, EQUAL_PROPERTY):
            relations[head].append(tail)
        if relation == EQUAL_CLASS:
            classes[tail].append(head)
        elif relation == EQUAL_PROPERTY:
            relations[tail].append(head)
    found: dict[tuple[str, str], dict[ClassExpression, None]] = defaultdict(dict)
    for cls, relation, filler in said:
        for above in sorted(reachable([relation], relations)):
            for wider in sorted(reachable([filler], classes)):
                found[above, wider][cls] = None
    return Existentials({value: tuple(each) for value, each in found.items()})


def _said(axiom: Axiom) -> Iterator[tuple[ClassExpression, str, str]]:
    if isinstance(axiom, SubClassOf):
        yield from ((axiom.sub, *value) for value in _values(axiom.sup))
    elif isinstance(axiom, EquivalentClasses):
        for one in axiom.members:
            if isinstance(one, str):
                yield from (
                    (one, *value) for other in axiom.members if other != one for value in _values(other)
                )


def _values(expression: ClassExpression) -> Iterator[tuple[str, str]]:
    if isinstance(expression, Some) and isinstance(expression.filler, str):
        yield expression.relation, expression.filler
    elif isinstance(expression, And):
        for member in expression.members:
            yield from _values(member)
