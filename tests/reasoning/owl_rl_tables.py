"""OWL 2 RL/RDF as its specification has it: tables 4 to 9, rule by rule, run until nothing is new.

Slow and plain on purpose. What the tables say of datatypes, and that everything is the same as itself, is left out.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph as ox

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Triple: TypeAlias = tuple[str, str, str]
Binding: TypeAlias = dict[str, str]

_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}

# Premises, then what follows; `false` is a clash. T(?c, list, ...) is in `_of_lists`.
_TABLES = """
eq-sym: ?x owl:sameAs ?y => ?y owl:sameAs ?x
eq-trans: ?x owl:sameAs ?y . ?y owl:sameAs ?z => ?x owl:sameAs ?z
eq-rep-s: ?s owl:sameAs ?t . ?s ?p ?o => ?t ?p ?o
eq-rep-p: ?p owl:sameAs ?q . ?s ?p ?o => ?s ?q ?o
eq-rep-o: ?o owl:sameAs ?t . ?s ?p ?o => ?s ?p ?t
eq-diff1: ?x owl:sameAs ?y . ?x owl:differentFrom ?y => false
prp-dom: ?p rdfs:domain ?c . ?x ?p ?y => ?x rdf:type ?c
prp-rng: ?p rdfs:range ?c . ?x ?p ?y => ?y rdf:type ?c
prp-fp: ?p rdf:type owl:FunctionalProperty . ?x ?p ?y . ?x ?p ?z => ?y owl:sameAs ?z
prp-ifp: ?p rdf:type owl:InverseFunctionalProperty . ?x ?p ?y . ?z ?p ?y => ?x owl:sameAs ?z
prp-irp: ?p rdf:type owl:IrreflexiveProperty . ?x ?p ?x => false
prp-symp: ?p rdf:type owl:SymmetricProperty . ?x ?p ?y => ?y ?p ?x
prp-asyp: ?p rdf:type owl:AsymmetricProperty . ?x ?p ?y . ?y ?p ?x => false
prp-trp: ?p rdf:type owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z => ?x ?p ?z
prp-spo1: ?p rdfs:subPropertyOf ?q . ?x ?p ?y => ?x ?q ?y
prp-eqp1: ?p owl:equivalentProperty ?q . ?x ?p ?y => ?x ?q ?y
prp-eqp2: ?p owl:equivalentProperty ?q . ?x ?q ?y => ?x ?p ?y
prp-pdw: ?p owl:propertyDisjointWith ?q . ?x ?p ?y . ?x ?q ?y => false
prp-inv1: ?p owl:inverseOf ?q . ?x ?p ?y => ?y ?q ?x
prp-inv2: ?p owl:inverseOf ?q . ?x ?q ?y => ?y ?p ?x
prp-npa1: ?n owl:sourceIndividual ?x . ?n owl:assertionProperty ?p . ?n owl:targetIndividual ?y . ?x ?p ?y => false
cls-nothing2: ?x rdf:type owl:Nothing => false
cls-com: ?c owl:complementOf ?d . ?x rdf:type ?c . ?x rdf:type ?d => false
cls-svf1: ?r owl:someValuesFrom ?c . ?r owl:onProperty ?p . ?x ?p ?y . ?y rdf:type ?c => ?x rdf:type ?r
cls-svf2: ?r owl:someValuesFrom owl:Thing . ?r owl:onProperty ?p . ?x ?p ?y => ?x rdf:type ?r
cls-avf: ?r owl:allValuesFrom ?c . ?r owl:onProperty ?p . ?x rdf:type ?r . ?x ?p ?y => ?y rdf:type ?c
cls-hv1: ?r owl:hasValue ?v . ?r owl:onProperty ?p . ?x rdf:type ?r => ?x ?p ?v
cls-hv2: ?r owl:hasValue ?v . ?r owl:onProperty ?p . ?x ?p ?v => ?x rdf:type ?r
cls-maxc1: ?r owl:maxCardinality 0 . ?r owl:onProperty ?p . ?x rdf:type ?r . ?x ?p ?y => false
cls-maxc2: ?r owl:maxCardinality 1 . ?r owl:onProperty ?p . ?x rdf:type ?r . ?x ?p ?y . ?x ?p ?z => ?y owl:sameAs ?z
cls-maxqc1: ?r owl:maxQualifiedCardinality 0 . ?r owl:onProperty ?p . ?r owl:onClass ?c . ?x rdf:type ?r . ?x ?p ?y . \
?y rdf:type ?c => false
cls-maxqc3: ?r owl:maxQualifiedCardinality 1 . ?r owl:onProperty ?p . ?r owl:onClass ?c . ?x rdf:type ?r . ?x ?p ?y . \
?y rdf:type ?c . ?x ?p ?z . ?z rdf:type ?c => ?y owl:sameAs ?z
cax-sco: ?c rdfs:subClassOf ?d . ?x rdf:type ?c => ?x rdf:type ?d
cax-eqc1: ?c owl:equivalentClass ?d . ?x rdf:type ?c => ?x rdf:type ?d
cax-eqc2: ?c owl:equivalentClass ?d . ?x rdf:type ?d => ?x rdf:type ?c
cax-dw: ?c owl:disjointWith ?d . ?x rdf:type ?c . ?x rdf:type ?d => false
scm-sco: ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e => ?c rdfs:subClassOf ?e
scm-eqc1: ?c owl:equivalentClass ?d => ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c
scm-eqc2: ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c => ?c owl:equivalentClass ?d
scm-spo: ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r => ?p rdfs:subPropertyOf ?r
scm-eqp1: ?p owl:equivalentProperty ?q => ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p
scm-eqp2: ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p => ?p owl:equivalentProperty ?q
scm-dom1: ?p rdfs:domain ?c . ?c rdfs:subClassOf ?d => ?p rdfs:domain ?d
scm-dom2: ?q rdfs:domain ?c . ?p rdfs:subPropertyOf ?q => ?p rdfs:domain ?c
scm-rng1: ?p rdfs:range ?c . ?c rdfs:subClassOf ?d => ?p rdfs:range ?d
scm-rng2: ?q rdfs:range ?c . ?p rdfs:subPropertyOf ?q => ?p rdfs:range ?c
scm-hv: ?r owl:hasValue ?v . ?r owl:onProperty ?p . ?s owl:hasValue ?v . ?s owl:onProperty ?q . \
?p rdfs:subPropertyOf ?q => ?r rdfs:subClassOf ?s
scm-svf1: ?r owl:someValuesFrom ?c . ?r owl:onProperty ?p . ?s owl:someValuesFrom ?d . ?s owl:onProperty ?p . \
?c rdfs:subClassOf ?d => ?r rdfs:subClassOf ?s
scm-svf2: ?r owl:someValuesFrom ?c . ?r owl:onProperty ?p . ?s owl:someValuesFrom ?c . ?s owl:onProperty ?q . \
?p rdfs:subPropertyOf ?q => ?r rdfs:subClassOf ?s
scm-avf1: ?r owl:allValuesFrom ?c . ?r owl:onProperty ?p . ?s owl:allValuesFrom ?d . ?s owl:onProperty ?p . \
?c rdfs:subClassOf ?d => ?r rdfs:subClassOf ?s
scm-avf2: ?r owl:allValuesFrom ?c . ?r owl:onProperty ?p . ?s owl:allValuesFrom ?c . ?s owl:onProperty ?q . \
?p rdfs:subPropertyOf ?q => ?s rdfs:subClassOf ?r
"""
FALSE = ("", "", "false")


def _term(word: str) -> str:
    prefix, colon, local = word.partition(":")
    return _PREFIXES[prefix] + local if colon and prefix in _PREFIXES else word


def _atoms(text: str) -> list[Triple]:
    if text.strip() == "false":
        return [FALSE]
    return [tuple(map(_term, atom.split())) for atom in text.split(" . ")]  # type: ignore[misc]


_RULES = [
    tuple(map(_atoms, line.partition(": ")[2].split("=>")))
    for line in _TABLES.replace("\\\n", "").strip().splitlines()
]


def triples_of(turtle: str) -> set[Triple]:
    """The triples of a text; a literal is its lexical form."""
    return {
        (_name(quad.subject), quad.predicate.value, _name(quad.object))
        for quad in ox.parse(turtle, format=ox.RdfFormat.TURTLE)
    }


def _name(node: ox.NamedNode | ox.BlankNode | ox.Literal) -> str:
    return str(node) if isinstance(node, ox.BlankNode) else node.value


def closed(given: Iterable[Triple]) -> set[Triple]:
    """All that follows; `FALSE` is among it where there is a clash."""
    known = set(given)
    while True:
        by_predicate = defaultdict(list)
        for triple in known:
            by_predicate[triple[1]].append(triple)
        new = {*_by_tables(known, by_predicate), *_of_lists(known, by_predicate)} - known
        if not new:
            return known
        known |= new


def _by_tables(known: set[Triple], by_predicate: dict[str, list[Triple]]) -> Iterator[Triple]:
    for body, head in _RULES:
        for bound in _matches(body, {}, known, by_predicate):
            yield from (tuple(bound.get(name, name) for name in atom) for atom in head)  # type: ignore[misc]


def _matches(
    body: list[Triple], bound: Binding, known: set[Triple], by_predicate: dict[str, list[Triple]]
) -> Iterator[Binding]:
    if not body:
        yield bound
        return
    first, *rest = body
    pattern = tuple(bound.get(name, name) for name in first)
    for triple in known if pattern[1].startswith("?") else by_predicate.get(pattern[1], ()):
        more = dict(bound)
        if all(
            more.setdefault(name, found) == found if name.startswith("?") else name == found
            for name, found in zip(pattern, triple, strict=True)
        ):
            yield from _matches(rest, more, known, by_predicate)


def _of_lists(  # noqa: C901, PLR0912 - the rules of the tables, one after the other
    known: set[Triple], by_predicate: dict[str, list[Triple]]
) -> Iterator[Triple]:
    """The rules with lists: prp-spo2, prp-key, cls-int1, cls-int2, cls-uni, cls-oo, scm-int, scm-uni, cax-adc, prp-adp,
    eq-diff2 and eq-diff3.
    """
    rdf, rdfs, owl = _PREFIXES.values()
    kind, same = f"{rdf}type", f"{owl}sameAs"
    first = {s: o for s, _, o in by_predicate[f"{rdf}first"]}
    rest = {s: o for s, _, o in by_predicate[f"{rdf}rest"]}

    def members(node: str) -> list[str]:
        return [] if node == f"{rdf}nil" else [first[node], *members(rest[node])]

    def pairs(relation: str) -> set[tuple[str, str]]:
        return {(s, o) for s, _, o in by_predicate[relation]}

    types = pairs(kind)
    for p, node in pairs(f"{owl}propertyChainAxiom"):
        found = {(s, s) for s in {name for s, _, o in known for name in (s, o)}}
        for step in members(node):
            onwards = pairs(step)
            found = {(s, z) for s, y in found for x, z in onwards if x == y}
        yield from ((s, p, z) for s, z in found)
    for c, node in pairs(f"{owl}hasKey"):
        of_class = [x for x, found in types if found == c]
        keys = [pairs(p) for p in members(node)]
        for x, y in itertools.permutations(of_class, 2):
            if all({z for s, z in key if s == x} & {z for s, z in key if s == y} for key in keys):
                yield x, same, y
    for c, node in pairs(f"{owl}intersectionOf"):
        parts = members(node)
        yield from ((x, kind, c) for x in {x for x, _ in types} if all((x, part) in types for part in parts))
        yield from ((x, kind, part) for x, found in types if found == c for part in parts)
        yield from ((c, f"{rdfs}subClassOf", part) for part in parts)
    for c, node in pairs(f"{owl}unionOf"):
        parts = members(node)
        yield from ((x, kind, c) for x, found in types if found in parts)
        yield from ((part, f"{rdfs}subClassOf", c) for part in parts)
    for c, node in pairs(f"{owl}oneOf"):
        yield from ((x, kind, c) for x in members(node))
    for axiom, node in {*pairs(f"{owl}members"), *pairs(f"{owl}distinctMembers")}:
        for one, other in itertools.combinations(members(node), 2):
            if (axiom, f"{owl}AllDisjointClasses") in types and any(
                (x, one) in types and (x, other) in types for x, _ in types
            ):
                yield FALSE
            if (axiom, f"{owl}AllDisjointProperties") in types and pairs(one) & pairs(other):
                yield FALSE
            if (axiom, f"{owl}AllDifferent") in types and (one, other) in pairs(same):
                yield FALSE
