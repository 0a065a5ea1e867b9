"""What an ontology says about `rdf:type`, as rules with constants: a class is an entity.

| axiom | rule |
| --- | --- |
| `c rdfs:subClassOf d` | `type(X, c) -> type(X, d)` |
| `p rdfs:domain c` | `p(X, Y) -> type(X, c)` |
| `p rdfs:range c` | `p(X, Y) -> type(Y, c)` |
| `[p value v] rdfs:subClassOf c` | `p(X, v) -> type(X, c)` |
| `c owl:oneOf (... a ...)` | `-> type(a, c)` |
| `c owl:disjointWith d` | `type(X, c) & type(X, d) -> false` |

`[p some owl:Thing] rdfs:subClassOf c` is a domain, too. The paths that `encoding` makes of them are left-linear in
`rdf:type`: the geometry is exact wherever that of the other rules is, and its size does not depend on the number of
classes. Literals are no entities, so that no path leads to them; `reasoning.literal_types` finds the classes that
domains give to what has them, and hands them on by helper facts of the rule `BY_LITERAL`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.kg import inverse_name
from reshuffle.rules.rule import SAME, Constant, ConstantRule, DisjointEnds, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import Constraint, RuleBase

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
BY_LITERAL = PathRule(("~literal",), TYPE)
"""The rule of all domains of properties that lead to literals."""


def sub_class_of(sub: str, cls: str) -> ConstantRule:
    """Whatever is a `sub` is a `cls`."""
    return ConstantRule(((TYPE, 0, sub),), (TYPE, 0, cls))


def domain_of(relation: str, cls: str) -> ConstantRule:
    """Whatever `relation` leads from is a `cls`; with an inverse relation this is a range.

    >>> print(domain_of("teaches^-1", "Course").atoms, domain_of("teaches^-1", "Course").conclusion[1:])
    (('teaches', 0, 1),) (1, 'Course')
    """
    return ConstantRule.of([(relation, "X", "Y")], (TYPE, "X", Constant(cls)))


def value_of(relation: str, entity: str, cls: str) -> ConstantRule:
    """Whatever `relation` leads from to `entity` is a `cls`."""
    return ConstantRule.of([(relation, "X", Constant(entity))], (TYPE, "X", Constant(cls)))


def member_of(entity: str, cls: str) -> ConstantRule:
    """The entity is a `cls`."""
    return ConstantRule((), (TYPE, entity, cls))


def disjoint_classes(first: str, second: str) -> DisjointEnds:
    """Nothing is both."""
    return DisjointEnds(TYPE, first, TYPE, second)


def denied(head: str, relation: str, tail: str) -> DisjointEnds:
    """The triple does not hold."""
    return DisjointEnds(relation, tail, SAME, head)


NOTHING = "http://www.w3.org/2002/07/owl#Nothing"
EMPTY_CLASS = disjoint_classes(NOTHING, NOTHING)
"""That no entity is of `owl:Nothing`: it shares none with itself."""


def forbidden(base: RuleBase) -> tuple[Constraint, ...]:
    """The constraints of a base; where it speaks of classes, nothing may be of `owl:Nothing` either."""
    of_classes = (
        base.stated is not None
        or any(isinstance(rule, ConstantRule) and rule.head == TYPE for rule in base.given)
        or any(isinstance(pair, DisjointEnds) and TYPE in pair.relations for pair in base.disjointness)
    )
    return (*base.disjointness, EMPTY_CLASS) if of_classes else base.disjointness


def domains_of(base: RuleBase) -> Iterator[tuple[str, str, ConstantRule]]:
    """The relation, the class and the rule of each domain; a range is the domain of the inverse."""
    for rule in base.given:
        if isinstance(rule, ConstantRule) and rule.head == TYPE and (found := domain_in(rule)) is not None:
            yield *found, rule


def domain_in(rule: ConstantRule) -> tuple[str, str] | None:
    """The relation and the class of a domain; None for any other rule."""
    _, who, cls = rule.conclusion
    if len(rule.atoms) != 1 or rule.atoms[0][1:] != (0, 1) or not isinstance(cls, str) or who not in (0, 1):
        return None
    relation = rule.atoms[0][0]
    return (relation if who == 0 else inverse_name(relation)), cls
