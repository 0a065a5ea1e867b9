"""Class axioms of OWL 2 and RDFS that determine the `rdf:type` of entities.

A class on the left of `rdfs:subClassOf` may be named, a union, an enumeration, `[p some owl:Thing]` or `[p value v]`;
one on the right may be named, `[p value v]` or an intersection. An axiom that says more gives what can be said of it,
and the rest is counted under the name of the construct, such as `owl:someValuesFrom`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from reshuffle.kg import inverse_name
from reshuffle.kg.io.rdf import to_term
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import TYPE, disjoint_classes, sub_class_of
from reshuffle.rules.formats.ontology import OWL, RDF, RDFS, Ontology, UnreadableError, shortened
from reshuffle.rules.rule import Constant, ConstantRule, DisjointEnds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.rules.rule import RuleBase, Term, Terms

_XSD = "http://www.w3.org/2001/XMLSchema#"
_THING = f"{OWL}Thing"
# What makes an anonymous class, most telling first.
_CONSTRUCTS = tuple(
    f"{OWL}{name}"
    for name in (
        "someValuesFrom", "allValuesFrom", "hasValue", "hasSelf", "intersectionOf", "unionOf", "complementOf", "oneOf",
        "cardinality", "minCardinality", "maxCardinality", "qualifiedCardinality", "minQualifiedCardinality",
        "maxQualifiedCardinality", "onDatatype", "onProperty",
    )
)  # fmt: skip

MOST_DISJOINT = 1_000
"""Classes of one axiom: half a million pairs."""


@dataclass(frozen=True)
class Lacking:
    """A part of an axiom that is not read, by the name of its construct."""

    construct: str


Said: TypeAlias = ConstantRule | DisjointEnds | Lacking
_Upper: TypeAlias = tuple[str, str]
"""What something above says of whoever is below: `rdf:type` and a class, or a property and its value."""
_Lower: TypeAlias = Callable[[_Upper], ConstantRule]  # from what lies above to the rule that says so


def sub_class(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """`subject rdfs:subClassOf target`."""
    lower, lacking = _lower(ontology, subject)
    upper, also_lacking = _upper(ontology, target)
    said = [make(above) for above in upper for make in lower]
    return [*(rule for rule in said if not rule.is_tautology), *lacking, *also_lacking]


def equivalent_class(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Both ways."""
    return list(dict.fromkeys([*sub_class(ontology, subject, target), *sub_class(ontology, target, subject)]))


def domain(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """What the property leads from is of that class."""
    return _leading_from(ontology, ontology.relation(subject), target)


def range_(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """What the property leads to is of that class; literals have none."""
    return _leading_from(ontology, inverse_name(ontology.relation(subject)), target)


def union(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Every part is a subclass."""
    lower, lacking = _lower_of(ontology, {f"{OWL}unionOf": target})
    return [*(make((TYPE, ontology.named(subject))) for make in lower), *lacking]


def enumeration(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Every member is of the class."""
    lower, lacking = _lower_of(ontology, {f"{OWL}oneOf": target})
    return [*(make((TYPE, ontology.named(subject))) for make in lower), *lacking]


def intersection(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """The class is below every part; that whatever is in all parts is in the class is not read."""
    upper, lacking = _upper_of(ontology, {f"{OWL}intersectionOf": target})
    below = _has(TYPE, ontology.named(subject))
    return [*(below(above) for above in upper), *lacking, Lacking("")]


def disjoint(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """Nothing is of both classes."""
    return [disjoint_classes(ontology.named(subject), ontology.named(target))]


def all_disjoint(ontology: Ontology, subject: Any, _: Any) -> list[Said]:
    """Nothing is of two of the classes."""
    members = ontology.members(ontology.anonymous.get(subject, {}).get(f"{OWL}members"))
    return _disjoint([ontology.named(member) for member in members])


def _disjoint(names: list[str]) -> list[Said]:
    """Each pair of the classes; of very many the axiom is not read, since the pairs would fill the memory."""
    if len(names) > MOST_DISJOINT:
        return [Lacking(f"more than {MOST_DISJOINT:,} disjoint classes")]
    return [disjoint_classes(*pair) for pair in itertools.combinations(names, 2)]


def disjoint_union(ontology: Ontology, subject: Any, target: Any) -> list[Said]:
    """A union, whose parts are disjoint."""
    named = [ontology.named(member) for member in ontology.members(target)]
    return [
        *(sub_class_of(name, ontology.named(subject)) for name in named),
        *_disjoint(named),
    ]


def _leading_from(ontology: Ontology, relation: str, target: Any) -> list[Said]:
    if _is_datatype(ontology, target):
        return [Lacking("a datatype")]
    upper, lacking = _upper(ontology, target)
    return [*(_leads(relation)(above) for above in upper), *lacking]


def _is_datatype(ontology: Ontology, node: Any) -> bool:
    iri = getattr(node, "value", "")
    declared = ontology.anonymous.get(node, {}).get(f"{RDF}type")
    return (
        iri.startswith(_XSD)
        or iri in (f"{RDFS}Literal", f"{RDF}PlainLiteral", f"{RDF}langString")
        or getattr(declared, "value", "") == f"{RDFS}Datatype"
    )


def _upper(ontology: Ontology, node: Any) -> tuple[list[_Upper], list[Lacking]]:
    """The named classes that a class lies below, and the values that its members have."""
    if isinstance(node, ontology.named_node):
        return [(TYPE, ontology.named(node))], []
    return _upper_of(ontology, ontology.anonymous.get(node, {}))


def _upper_of(ontology: Ontology, expression: dict[str, Any]) -> tuple[list[_Upper], list[Lacking]]:
    entity, relation = expression.get(f"{OWL}hasValue"), expression.get(f"{OWL}onProperty")
    if entity is not None and relation is not None:
        return [(ontology.relation(relation), ontology.entity(entity))], []
    parts = expression.get(f"{OWL}intersectionOf")
    if parts is None:
        return [], [_lacking(expression)]
    return _joined(_upper(ontology, member) for member in ontology.members(parts))


def _lower(ontology: Ontology, node: Any) -> tuple[list[_Lower], list[Lacking]]:
    """What a class has in it, each as the axiom that puts it below another class."""
    if isinstance(node, ontology.named_node):
        return [_has(TYPE, ontology.named(node))], []
    return _lower_of(ontology, ontology.anonymous.get(node, {}))


def _lower_of(ontology: Ontology, expression: dict[str, Any]) -> tuple[list[_Lower], list[Lacking]]:
    get = expression.get
    if (parts := get(f"{OWL}unionOf")) is not None:
        return _joined(_lower(ontology, member) for member in ontology.members(parts))
    if (members := get(f"{OWL}oneOf")) is not None:
        return [_is(ontology.entity(member)) for member in ontology.members(members)], []
    if (relation := get(f"{OWL}onProperty")) is not None:
        if (value := get(f"{OWL}hasValue")) is not None:
            return [_has(ontology.relation(relation), ontology.entity(value))], []
        if getattr(get(f"{OWL}someValuesFrom"), "value", "") == _THING:
            return [_leads(ontology.relation(relation))], []
    return [], [_lacking(expression)]


def _has(relation: str, entity: str) -> _Lower:
    """Whatever leads there by the relation; by `rdf:type` the members of a class."""
    return lambda above: _rule([(relation, "X", Constant(entity))], "X", above)


def _leads(relation: str) -> _Lower:
    """Whatever leads anywhere by the relation."""
    return lambda above: _rule([(relation, "X", "Y")], "X", above)


def _is(entity: str) -> _Lower:
    """The entity itself."""
    return lambda above: _rule([], Constant(entity), above)


def _rule(body: list[tuple[str, str, str]], who: str, above: _Upper) -> ConstantRule:
    relation, end = above
    return ConstantRule.of(body, (relation, who, Constant(end)))


def _joined(parts: Iterable[tuple[list[Any], list[Lacking]]]) -> tuple[list[Any], list[Lacking]]:
    found: list[Any] = []
    lacking: list[Lacking] = []
    for some, missing in parts:
        found += some
        lacking += missing
    return found, lacking


def _lacking(expression: dict[str, Any]) -> Lacking:
    for construct in _CONSTRUCTS:
        if construct in expression:
            return Lacking(shortened(construct))
    raise UnreadableError


def lines(base: RuleBase) -> Iterator[str]:
    """Turtle: one statement per class axiom; what is none is skipped."""
    for rule in base.constant_rules:
        statement = statement_of(rule)
        if statement is not None:
            yield f"{statement} ."
    for pair in base.disjointness:
        if is_of_classes(pair):
            yield f"{_term(pair.first_end)} owl:disjointWith {_term(pair.second_end)} ."


def is_of_classes(pair: object) -> TypeGuard[DisjointEnds]:
    """Is a constraint one between two classes?"""
    return isinstance(pair, DisjointEnds) and pair.relations == (TYPE, TYPE)


def statement_of(rule: ConstantRule) -> str | None:
    """The axiom that a rule is, without its full stop; None where OWL has none."""
    relation, who, end = rule.conclusion
    if isinstance(who, int) and isinstance(end, str):
        above = _term(end) if relation == TYPE else _restriction(relation, end)
    elif isinstance(who, str) and isinstance(end, str) and not rule.atoms:
        above = _term(end) if relation == TYPE else _restriction(relation, end)
        return f"[ owl:oneOf ( {_term(who)} ) ] rdfs:subClassOf {above}"
    elif isinstance(who, str) and isinstance(end, int):
        above, who = _restriction(inverse_name(relation), who), end
    else:
        return None
    if len(rule.atoms) != 1:
        return None
    below = _below(rule.atoms[0], who)
    return None if below is None else f"{below} {above}"


def _below(atom: Terms, who: Term) -> str | None:
    """What is below another class by its one condition, up to the name of that class."""
    relation, start, end = atom
    if start == who and isinstance(end, str):
        return f"{_term(end) if relation == TYPE else _restriction(relation, end)} rdfs:subClassOf"
    if end == who and isinstance(start, str):
        return f"{_restriction(inverse_name(relation), start)} rdfs:subClassOf"
    return f"{_term(relation)} rdfs:{'domain' if start == who else 'range'}"


def _restriction(relation: str, entity: str) -> str:
    name = _term(base_relation(relation))
    of = f"[ owl:inverseOf {name} ]" if is_inverse(relation) else name
    return f"[ a owl:Restriction ; owl:onProperty {of} ; owl:hasValue {_term(entity)} ]"


def _term(name: str) -> str:
    return to_term(name, blank_nodes=False)
