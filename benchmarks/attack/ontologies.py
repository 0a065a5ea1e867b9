"""Random ontologies beside a fixpoint that follows the tables of RDFS and OWL 2 RL, word by word."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces
from benchmarks.attack.readers import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from random import Random

    from reshuffle.reasoning.answers import Answers

Fact: TypeAlias = tuple[str, str, str]
Pair: TypeAlias = frozenset[Fact]

TYPE = "type"
ENTITIES = [f"e{n}" for n in range(6)]
CLASSES = [f"C{n}" for n in range(5)]
PROPERTIES = [f"p{n}" for n in range(5)]
ATTRIBUTES = ["d0", "d1", "d2"]  # whose values are literals
_PREFIXES = """@prefix : <http://x/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
_ANY_PROPERTY = {
    "domain",
    "range",
    "sub property",
    "equivalent property",
    "inverse",
    "symmetric",
    "transitive",
}
_ENGINES = ("auto", "chase", "geometry")
_PROVED = 3


# --- axioms as data: a kind and names ---------------------------------------------------------------------------------


def random_axiom(random: Random) -> list[str]:
    """An axiom that the library reads; some are about `rdf:type` itself, and some about attributes."""
    c, d, e = random.sample(CLASSES, 3)
    p, q, r = random.sample(PROPERTIES, 3)
    one, other = random.sample(ATTRIBUTES, 2)
    axiom = random.choice(
        [
            ["sub class", c, d], ["sub class", c, d], ["equivalent class", c, d],
            ["domain", p, c], ["range", p, c], ["sub property", p, q], ["sub property", p, q],
            ["equivalent property", p, q], ["inverse", p, q], ["symmetric", p], ["transitive", p],
            ["chain", p, q, r], ["chain", p, q, p], ["chain", p, *random.choices(PROPERTIES, k=3)],
            ["has value", p, random.choice([*ENTITIES, *CLASSES]), c], ["some", p, c],
            ["one of", c, *random.sample([*ENTITIES, *CLASSES], 2)],
            ["union below", c, d, e], ["union of", c, d, e], ["intersection above", c, d, e],
            ["disjoint classes", c, d], ["all disjoint classes", c, d, e], ["disjoint union", c, d, e],
            ["disjoint properties", p, q], ["all disjoint properties", p, q, r],
            ["domain", one, c], ["range", one, c], ["sub property", one, other], ["some", one, c],
        ]
    )  # fmt: skip
    if random.random() < 0.12 and axiom[0] in {
        *_ANY_PROPERTY,
        "chain",
        "has value",
        "some",
        "disjoint properties",
    }:
        axiom = [TYPE if name == p else name for name in axiom]
    return axiom


def _named(name: str) -> str:
    return "rdf:type" if name == TYPE else f":{name}"


def turtle(axiom: Sequence[str]) -> str:
    """An axiom as Turtle.

    >>> turtle(["chain", "p0", "type", "p1"])
    ':p0 owl:propertyChainAxiom ( rdf:type :p1 ) .'
    """
    kind, *names = axiom
    first, *others = map(_named, names)
    listed, everyone = f"( {' '.join(others)} )", f"( {' '.join([first, *others])} )"
    last = others[-1] if others else ""
    below = f"( {' '.join([first, *others[:-1]])} )"
    some = f"[ a owl:Restriction ; owl:onProperty {first} ; "
    return {
        "sub class": f"{first} rdfs:subClassOf {last} .",
        "equivalent class": f"{first} owl:equivalentClass {last} .",
        "domain": f"{first} rdfs:domain {last} .",
        "range": f"{first} rdfs:range {last} .",
        "sub property": f"{first} rdfs:subPropertyOf {last} .",
        "equivalent property": f"{first} owl:equivalentProperty {last} .",
        "inverse": f"{first} owl:inverseOf {last} .",
        "symmetric": f"{first} a owl:SymmetricProperty .",
        "transitive": f"{first} a owl:TransitiveProperty .",
        "chain": f"{first} owl:propertyChainAxiom {listed} .",
        "has value": f"{some}owl:hasValue {others[0] if others else ''} ] rdfs:subClassOf {last} .",
        "some": f"{some}owl:someValuesFrom owl:Thing ] rdfs:subClassOf {last} .",
        "one of": f"{first} owl:oneOf {listed} .",
        "union below": f"[ a owl:Class ; owl:unionOf {below} ] rdfs:subClassOf {last} .",
        "union of": f"{first} owl:unionOf {listed} .",
        "intersection above": f"{first} rdfs:subClassOf [ a owl:Class ; owl:intersectionOf {listed} ] .",
        "disjoint classes": f"{first} owl:disjointWith {last} .",
        "all disjoint classes": f"[] a owl:AllDisjointClasses ; owl:members {everyone} .",
        "disjoint union": f"{first} owl:disjointUnionOf {listed} .",
        "disjoint properties": f"{first} owl:propertyDisjointWith {last} .",
        "all disjoint properties": f"[] a owl:AllDisjointProperties ; owl:members {everyone} .",
    }[kind]


# --- the naive fixpoint: what the tables say, over all facts, until nothing is new ------------------------------------


def closed(axioms: Sequence[Sequence[str]], facts: set[Fact], texts: set[Fact]) -> set[Fact]:
    """All that holds; `texts` are facts about literals, which themselves are no triples of the library."""
    facts, texts = set(facts), set(texts)
    while True:
        new = set().union(*(_follows(axiom, facts, texts) for axiom in axioms)) - facts
        more = {
            (s, axiom[2 - back], o)
            for axiom in axioms
            for back in (0, 1)
            if axiom[0] == "equivalent property" or (axiom[0] == "sub property" and not back)
            for s, p, o in texts
            if p == axiom[1 + back]
        } - texts
        if not new and not more:
            return facts
        facts |= new
        texts |= more


def _follows(axiom: Sequence[str], facts: set[Fact], texts: set[Fact]) -> set[Fact]:
    """What one axiom derives in one step; the names of the tables stand behind."""
    kind, first, *others = axiom
    last = others[-1] if others else ""

    def typed(cls: str) -> set[str]:
        return {s for s, p, o in facts if p == TYPE and o == cls}

    def members(names: set[str], cls: str) -> set[Fact]:
        return {(name, TYPE, cls) for name in names}

    def copied(one: str, other: str) -> set[Fact]:
        return {(s, other, o) for s, p, o in facts if p == one}

    def turned(one: str, other: str) -> set[Fact]:
        return {(o, other, s) for s, p, o in facts if p == one}

    subjects: Callable[[], set[str]] = lambda: {s for s, p, _ in facts | texts if p == first}  # noqa: E731
    rules: dict[str, Callable[[], set[Fact]]] = {
        "sub class": lambda: members(typed(first), last),  # cax-sco
        "equivalent class": lambda: members(typed(first), last) | members(typed(last), first),  # cax-eqc1, 2
        "domain": lambda: members(subjects(), last),  # prp-dom
        "range": lambda: members({o for _, p, o in facts if p == first}, last),  # prp-rng
        "sub property": lambda: copied(first, last),  # prp-spo1
        "equivalent property": lambda: copied(first, last) | copied(last, first),  # prp-eqp1, 2
        "inverse": lambda: turned(first, last) | turned(last, first),  # prp-inv1, 2
        "symmetric": lambda: turned(first, first),  # prp-symp
        "transitive": lambda: _chained([first, first], first, facts),  # prp-trp
        "chain": lambda: _chained(others, first, facts),  # prp-spo2
        "has value": lambda: members(
            {s for s, p, o in facts if p == first and o == others[0]}, last
        ),  # cls-hv2
        "some": lambda: members(subjects(), last),  # cls-svf2
        "one of": lambda: members(set(others), first),  # cls-oo
        "union below": lambda: members(set().union(*map(typed, [first, *others[:-1]])), last),  # cls-uni
        "union of": lambda: members(set().union(*map(typed, others)), first),  # cls-uni
        "disjoint union": lambda: members(set().union(*map(typed, others)), first),  # cls-uni
        "intersection above": lambda: set().union(
            *(members(typed(first), cls) for cls in others)
        ),  # cls-int2
    }
    return rules[kind]() if kind in rules else set()


def _chained(steps: Sequence[str], head: str, facts: set[Fact]) -> set[Fact]:
    pairs = {(s, o) for s, p, o in facts if p == steps[0]}
    for step in steps[1:]:
        pairs = {(start, o) for start, middle in pairs for s, p, o in facts if p == step and s == middle}
    return {(start, head, end) for start, end in pairs}


def broken(axioms: Sequence[Sequence[str]], holds: set[Fact]) -> set[Pair]:
    """Each pair of facts that a disjointness forbids (cax-dw, cax-adc, prp-pdw, prp-adp)."""
    found: set[Pair] = set()
    for kind, *names in axioms:
        parts = names[1:] if kind == "disjoint union" else names
        for one, other in itertools.combinations(parts, 2) if "disjoint" in kind else ():
            if "properties" in kind:
                found |= {frozenset({(s, one, o), (s, other, o)}) for s, p, o in holds if p == one}
            else:
                found |= {frozenset({(s, TYPE, one), (s, TYPE, other)}) for s, p, _ in holds if p == TYPE}
    return {pair for pair in found if pair <= holds}


# --- the part ---------------------------------------------------------------------------------------------------------


class Ontologies(Part):
    """Derived triples, proofs and violations, in every engine that takes the ontology."""

    name, seconds = "ontologies", 120

    def missing(self) -> str | None:
        return None if find_spec("pyoxigraph") else "the package pyoxigraph is not installed"

    def made(self, random: Random) -> Case:
        someone = [*ENTITIES, *ENTITIES, *CLASSES]
        facts = [
            [random.choice(someone), random.choice(PROPERTIES), random.choice(someone)]
            for _ in range(random.randint(1, 8))
        ]
        facts += [
            [random.choice(ENTITIES), TYPE, random.choice(CLASSES)] for _ in range(random.randint(0, 3))
        ]
        texts = [
            [random.choice(ENTITIES), random.choice(ATTRIBUTES), "1"] for _ in range(random.randint(0, 2))
        ]
        axioms = [random_axiom(random) for _ in range(random.randint(1, 10))]
        return {"axioms": axioms, "facts": facts, "texts": texts}

    def run(self, case: Case, folder: Path) -> Counts:
        if not case["facts"]:
            return {}  # a file without triples is refused
        ontology, data = _written(case, folder)
        facts = {(s, p, o) for s, p, o in case["facts"]}
        holds = closed(case["axioms"], facts, {(s, p, o) for s, p, o in case["texts"]})
        counts = {"engines": 0, "triples": 0, "proofs": 0, "violations": 0}
        for engine in _ENGINES:
            if (answers := _answers(ontology, data, engine)) is not None:
                counts["engines"] += 1
                counts["proofs"] += _compare(answers, facts, holds, engine)
                counts["violations"] += _compare_violations(answers, broken(case["axioms"], holds), engine)
        if find_spec("duckdb"):
            _same(_by_duckdb(ontology, data, folder), holds - facts, "duckdb")
            counts["engines"] += 1
        counts["triples"] += counts["engines"] * len(holds - facts)
        return counts

    def smaller(self, case: Case) -> Iterator[Case]:
        for key in ("axioms", "facts", "texts"):
            for items in without_pieces(case[key]):
                if items or key != "axioms":
                    yield {**case, key: items}


def _written(case: Case, folder: Path) -> tuple[Path, Path]:
    ontology, data = folder / "ontology.ttl", folder / "facts.ttl"
    ontology.write_text(_PREFIXES + "".join(f"{turtle(axiom)}\n" for axiom in case["axioms"]), "utf-8")
    lines = [f"{_named(s)} {_named(p)} {_named(o)} .\n" for s, p, o in case["facts"]]
    lines += [f"{_named(s)} {_named(p)} {value} .\n" for s, p, value in case["texts"]]
    data.write_text(_PREFIXES + "".join(lines), "utf-8")
    return ontology, data


def _answers(ontology: Path, data: Path, engine: str) -> Answers | None:
    from reshuffle import KnowledgeGraph, NotExpressibleError, Reasoner
    from reshuffle.errors import BudgetError
    from reshuffle.rules import read_rules

    try:
        return Reasoner(read_rules(ontology), engine=engine).on(KnowledgeGraph.read(data))
    except (NotExpressibleError, BudgetError):
        if engine == "chase":
            raise
        return None


def _compare(answers: Answers, facts: set[Fact], holds: set[Fact], engine: str) -> int:
    """Compare the triples, and ask for proofs of some that hold, and of some that do not; how many were asked for."""
    _same([_short(triple) for triple in answers.triples()], holds - facts, engine)
    known = sorted({name for fact in facts for name in (fact[0], fact[2])})
    wrong = [
        fact
        for fact in itertools.product(known, [p for _, p, _ in sorted(facts)][:2], known)
        if fact not in holds
    ]
    asked = [*sorted(holds - facts)[:_PROVED], *wrong[:_PROVED]]
    for fact in asked:
        if bool(answers.explain(*map(_full, fact))) != (fact in holds):
            raise WrongAnswerError(f"{engine}: explains {fact} as {fact not in holds}")
    return len(asked)


def _compare_violations(answers: Answers, expected: set[Pair], engine: str) -> int:
    found = {
        frozenset({_short(each.first.triple), _short(each.second.triple)}) for each in answers.violations()
    }
    if found != expected:
        raise WrongAnswerError(f"{engine}: violations {_told(found ^ expected)} wrongly or not")
    return len(expected)


def _by_duckdb(ontology: Path, data: Path, folder: Path) -> list[Fact]:
    command("infer", str(ontology), str(data), "--engine", "duckdb", "-o", str(folder / "out.tsv"))
    lines = (folder / "out.tsv").read_text("utf-8").splitlines()
    return [_short(line.split("\t")) for line in lines]


def _same(found: Sequence[Fact], expected: set[Fact], engine: str) -> None:
    if set(found) != expected or len(found) != len(expected):
        raise WrongAnswerError(f"{engine}: derived {_told(set(found) ^ expected)} wrongly or not, or twice")


def _told(items: set[Fact] | set[Pair]) -> str:
    return str(sorted(items if not isinstance(next(iter(items), ()), frozenset) else map(sorted, items))[:5])


def _short(triple: Sequence[str]) -> Fact:
    head, relation, tail = (name.rsplit("/", 1)[-1].rsplit("#", 1)[-1] for name in triple)
    return head, relation, tail


def _full(name: str) -> str:
    return "http://www.w3.org/1999/02/22-rdf-syntax-ns#type" if name == TYPE else f"http://x/{name}"


PARTS = (Ontologies(),)
