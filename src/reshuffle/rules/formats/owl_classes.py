"""Write the rules that are class axioms of OWL 2 and RDFS, which determine the `rdf:type` of entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from reshuffle.kg import inverse_name
from reshuffle.kg.io.rdf import to_term
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rules.class_axioms import TYPE
from reshuffle.rules.rule import DisjointEnds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules.rule import ConstantRule, RuleBase, Term, Terms


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
