"""Ontologies as rule bases: the rules of all axioms, and each axiom counted that none stands for.

An axiom of which one part has rules and another part has none is counted as an axiom part.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from reshuffle.rules.linked_variables import Links
from reshuffle.rules.ontologies.axioms import EquivalentProperties, SameIndividuals
from reshuffle.rules.ontologies.equality import with_equality
from reshuffle.rules.ontologies.existentials import existentials_of
from reshuffle.rules.ontologies.individuals import Lacking, said_of_individuals
from reshuffle.rules.ontologies.schema import schema_facts
from reshuffle.rules.rule import ConstantRule, DisjointEnds, Disjointness, RuleBase, Unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reshuffle.rules.ontologies.axioms import Axiom, Ontology
    from reshuffle.rules.ontologies.existentials import Existentials
    from reshuffle.rules.ontologies.individuals import Said
    from reshuffle.rules.rule import Rule

AXIOM, PART = "axiom", "axiom part"
"""What an axiom is called in counts, and one of which a part is read."""


def rule_base(ontologies: Sequence[Ontology]) -> RuleBase:
    """The rules of all the ontologies together."""
    said: list[Said] = []
    lacking: dict[tuple[str, str], list[str]] = {}
    relations = frozenset(name for ontology in ontologies for name in _relations(ontology))
    schema = schema_facts(ontologies)
    existentials = existentials_of(ontologies, schema)
    for ontology in ontologies:
        for axiom in ontology.axioms:
            found = _said(axiom, relations, existentials)
            rules = [one for one in found if not isinstance(one, Lacking)]
            parts = [one for one in found if isinstance(one, Lacking)]
            said += rules
            if parts:
                kind = _kind(axiom, parts[0], half_read=bool(rules)), PART if rules else AXIOM
                lacking.setdefault(kind, []).append(f"{ontology.file}: {axiom}")
    unread = [one for ontology in ontologies for one in ontology.unread]
    unread += [Unread(what, len(some), some[0], noun) for (what, noun), some in lacking.items()]
    if missing := _missing_imports(ontologies):
        unread.append(Unread("owl:imports axioms", len(missing), missing[0], AXIOM))
    base = replace(_base(said), unread=tuple(unread), schema=schema)
    return with_equality(base)


def _missing_imports(ontologies: Sequence[Ontology]) -> list[str]:
    """The imports that no other file is: by the name of the ontology in it, or by the name of the file."""
    names = {ontology.name.rstrip("/#") for ontology in ontologies}
    files = {PurePath(ontology.file).name.removesuffix(".gz") for ontology in ontologies}
    return [
        f"{ontology.file}: {name}"
        for ontology in ontologies
        for name in ontology.imports
        if name.rstrip("/#") not in names and name.rstrip("/#").rpartition("/")[2] not in files
    ]


def rules_of(axioms: Iterable[Axiom]) -> RuleBase:
    """The rules of single axioms, as far as there are any."""
    return _base(
        one for axiom in axioms for one in said_of_individuals(axiom) if not isinstance(one, Lacking)
    )


def _base(said: Iterable[Said]) -> RuleBase:
    each = dict.fromkeys(said)
    rules = [one for one in each if not isinstance(one, Disjointness | DisjointEnds)]
    return RuleBase(
        tuple(rule for rule in rules if not _is_by_instance(rule)),
        tuple(one for one in each if isinstance(one, Disjointness | DisjointEnds)),
        by_instance=tuple(rule for rule in rules if isinstance(rule, ConstantRule) and _is_by_instance(rule)),
    )


def _is_by_instance(rule: Rule) -> bool:
    """Has it a condition between two variables of its conclusion, or a circle of conditions?"""
    return isinstance(rule, ConstantRule) and not Links(rule).is_tree


def _relations(ontology: Ontology) -> frozenset[str]:
    """The names of properties: those that are declared, and those of facts."""
    return ontology.properties.union(relation for _, relation, _ in ontology.facts)


def _said(axiom: Axiom, relations: frozenset[str], existentials: Existentials) -> list[Said | Lacking]:
    """What an axiom says; of names of one property, too, which the mapping to RDF writes as names of an individual."""
    found = said_of_individuals(axiom, existentials)
    if isinstance(axiom, SameIndividuals) and not relations.isdisjoint(axiom.members):
        found += said_of_individuals(EquivalentProperties(axiom.members))
    return found


def _kind(axiom: Axiom, lacking: Lacking, *, half_read: bool) -> str:
    """What an axiom is counted as: its construct, the one in it that is in the way, and whether a part is read."""
    within = f" with {lacking.construct}" if lacking.construct else ""
    return f"{axiom.construct} axioms{within}{', in part' * half_read}"
