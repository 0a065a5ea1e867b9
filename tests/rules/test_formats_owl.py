"""OWL 2 property axioms: which rule each one is, the round trip, and what is named but not read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.errors import InputError
from reshuffle.kg import read_graph
from reshuffle.rules import Disjointness, PathRule, RuleBase, format_rules, parse_rules, read_rules
from reshuffle.rules.class_axioms import TYPE, disjoint_classes, domain_of, member_of, sub_class_of, value_of
from reshuffle.rules.formats import owl
from reshuffle.rules.rule import Constant, ConstantRule

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyoxigraph")

PREFIXES = f"""
@prefix owl: <{owl.OWL}> .
@prefix rdf: <{owl.RDF}> .
@prefix rdfs: <{owl.RDFS}> .
@prefix : <urn:reshuffle:> .
"""


def ontology(folder: Path, text: str, *, name: str = "family.ttl") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read_turtle(folder: Path, text: str) -> RuleBase:
    return read_rules(ontology(folder, PREFIXES + text))


@pytest.mark.parametrize(
    ("axiom", "rules"),
    [
        (":p rdfs:subPropertyOf :q .", ["p(X, Y) -> q(X, Y)"]),
        ("[ owl:inverseOf :p ] rdfs:subPropertyOf :q .", ["p(Y, X) -> q(X, Y)"]),
        (":p rdfs:subPropertyOf [ owl:inverseOf :q ] .", ["p(Y, X) -> q(X, Y)"]),
        (":p owl:equivalentProperty :q .", ["p(X, Y) -> q(X, Y)", "q(X, Y) -> p(X, Y)"]),
        (":p owl:inverseOf :q .", ["q(Y, X) -> p(X, Y)", "p(Y, X) -> q(X, Y)"]),
        (":p a owl:SymmetricProperty .", ["p(Y, X) -> p(X, Y)"]),
        (":p a owl:TransitiveProperty .", ["p(X, Y) & p(Y, Z) -> p(X, Z)"]),
        (":p owl:propertyChainAxiom ( :q :r ) .", ["q(X, Y) & r(Y, Z) -> p(X, Z)"]),
        (
            ":p owl:propertyChainAxiom ( :q [ owl:inverseOf :r ] :q ) .",
            ["q(X, Y) & r(Z, Y) & q(Z, Z1) -> p(X, Z1)"],
        ),
        (
            "<http://x.org/p> rdfs:subPropertyOf <http://x.org/q> .",
            ["<http://x.org/p>(X,Y) -> <http://x.org/q>(X,Y)"],
        ),
        (":p owl:propertyDisjointWith :q .", ["p(X, Y) & q(X, Y) -> false"]),
        ("[ owl:inverseOf :p ] owl:propertyDisjointWith :q .", ["p(X, Y) & q(Y, X) -> false"]),
        (
            "[] a owl:AllDisjointProperties ; owl:members ( :p :q :r ) .",
            ["p(X, Y) & q(X, Y) -> false", "p(X, Y) & r(X, Y) -> false", "q(X, Y) & r(X, Y) -> false"],
        ),
    ],
)
def test_axioms_are_rules(tmp_path: Path, axiom: str, rules: list[str]):
    base = read_turtle(tmp_path, axiom)
    assert base == parse_rules("\n".join(rules))
    assert base.unread == ()


def test_everything_else_is_counted_and_named(tmp_path: Path):
    path = ontology(
        tmp_path,
        PREFIXES
        + """
        <http://x.org/family> a owl:Ontology ; owl:imports <http://x.org/other> .
        :p a owl:ObjectProperty, owl:FunctionalProperty, owl:TransitiveProperty ; rdfs:domain :Person .
        :q a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:subPropertyOf "a text" .
        :Person a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :Person ] .
        :ada a :Person ; :p :bob .
        :p rdfs:label "annotations say nothing" ; rdfs:comment "about triples" . :q owl:deprecated true .
        """,
    )
    heard: list[str] = []
    base = read_rules(path, notes=heard.append)
    assert PathRule(("p", "p"), "p") in base.path_rules
    assert base.constant_rules == (domain_of("p", "Person"),)
    assert {unread.what: unread.count for unread in base.unread} == {
        "rdfs:subPropertyOf axioms": 1,
        "rdfs:subClassOf axioms with owl:someValuesFrom": 1,
        "owl:imports axioms": 1,
    }
    assert f"owl:imports axioms not read: 1; the first: {path}: http://x.org/other" in heard


SOME = "a owl:Restriction ; owl:onProperty :p"


@pytest.mark.parametrize(
    ("axiom", "said"),
    [
        (":C rdfs:subClassOf :D .", [sub_class_of("C", "D")]),
        (":C rdfs:subClassOf :C .", []),
        (":C owl:equivalentClass :D .", [sub_class_of("C", "D"), sub_class_of("D", "C")]),
        (":p rdfs:domain :C .", [domain_of("p", "C")]),
        (":p rdfs:range :C .", [domain_of("p^-1", "C")]),
        ("[ owl:inverseOf :p ] rdfs:domain :C .", [domain_of("p^-1", "C")]),
        (":p rdfs:domain [ owl:intersectionOf ( :C :D ) ] .", [domain_of("p", "C"), domain_of("p", "D")]),
        (
            ":C rdfs:subClassOf [ owl:intersectionOf ( :D :E ) ] .",
            [sub_class_of("C", "D"), sub_class_of("C", "E")],
        ),
        ("[ owl:unionOf ( :C :D ) ] rdfs:subClassOf :E .", [sub_class_of("C", "E"), sub_class_of("D", "E")]),
        (":C owl:unionOf ( :D :E ) .", [sub_class_of("D", "C"), sub_class_of("E", "C")]),
        (":C owl:oneOf ( :a :b ) .", [member_of("a", "C"), member_of("b", "C")]),
        (
            ":C owl:unionOf ( :D :E ) , ( :F :G ) ; owl:oneOf ( :a :b ) .",  # each by itself
            [
                *(sub_class_of(part, "C") for part in "DEFG"),
                *(member_of(one, "C") for one in "ab"),
            ],
        ),
        (f"[ {SOME} ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :C .", [domain_of("p", "C")]),
        (f"[ {SOME} ; owl:hasValue :v ] rdfs:subClassOf :C .", [value_of("p", "v", "C")]),
        (":C owl:disjointWith :D .", [disjoint_classes("C", "D")]),
        (
            "[] a owl:AllDisjointClasses ; owl:members ( :C :D :E ) .",
            [disjoint_classes("C", "D"), disjoint_classes("C", "E"), disjoint_classes("D", "E")],
        ),
        (
            ":C owl:disjointUnionOf ( :D :E ) .",
            [sub_class_of("D", "C"), sub_class_of("E", "C"), disjoint_classes("D", "E")],
        ),
    ],
)
def test_class_axioms_are_read_and_written_back(tmp_path: Path, axiom: str, said: list):
    base = read_turtle(tmp_path, f":q rdfs:subPropertyOf :r . {axiom}")
    for one in base.unread:  # nobody is only a member of D, or of E
        assert (one.what[-9:], one.noun) == (", in part", "axiom part")
    assert [*base.constant_rules, *base.disjointness] == said
    back = read_rules(ontology(tmp_path, format_rules(base, "owl"), name="back.ttl"))
    assert (back.constant_rules, back.disjointness) == (base.constant_rules, base.disjointness)


@pytest.mark.parametrize(
    ("axiom", "kind"),
    [
        (f":C rdfs:subClassOf [ {SOME} ; owl:someValuesFrom :D ] .", "rdfs:subClassOf axioms with owl:someValuesFrom"),
        (f"[ {SOME} ; owl:allValuesFrom :D ] rdfs:subClassOf :C .", "rdfs:subClassOf axioms with owl:allValuesFrom"),
        (":C rdfs:subClassOf [ owl:unionOf ( :D :E ) ] .", "rdfs:subClassOf axioms with owl:unionOf"),
        (f":C rdfs:subClassOf [ {SOME} ; owl:maxCardinality 2 ] .", "rdfs:subClassOf axioms with owl:maxCardinality"),
        (f"[ {SOME} ; owl:hasValue 5 ] rdfs:subClassOf :C .", "rdfs:subClassOf axioms with owl:hasValue and a literal"),
        (":p rdfs:range <http://www.w3.org/2001/XMLSchema#string> .", "rdfs:range axioms with a datatype"),
        (":C rdfs:subClassOf [ ] .", "rdfs:subClassOf axioms"),
    ],
)  # fmt: skip
def test_class_axioms_that_are_not_read_are_counted_by_name(tmp_path: Path, axiom: str, kind: str):
    base = read_turtle(tmp_path, f":q rdfs:subPropertyOf :r . {axiom}")
    assert {unread.what: unread.count for unread in base.unread} == {kind: 1}
    assert "_:" not in base.unread[0].first  # a label that nobody wrote


def test_class_axioms_are_rules_with_constants_elsewhere(tmp_path: Path):
    base = read_turtle(tmp_path, ":q rdfs:subPropertyOf :r . :C rdfs:subClassOf :D . :p rdfs:range :C .")
    for kind in ("text", "anyburl", "amie"):
        assert parse_rules(format_rules(base, kind)).given == base.given


def test_a_value_on_the_right_is_a_conclusion(tmp_path: Path):
    value = "[ a owl:Restriction ; owl:onProperty :p ; owl:hasValue :v ]"
    base = read_turtle(
        tmp_path, f":C rdfs:subClassOf {value} . :q rdfs:domain {value} . :D owl:equivalentClass {value} ."
    )
    v = Constant("v")
    assert base.given == (
        ConstantRule.of([(TYPE, "X", Constant("C"))], ("p", "X", v)),
        ConstantRule.of([("q", "X", "Y")], ("p", "X", v)),
        ConstantRule.of([(TYPE, "X", Constant("D"))], ("p", "X", v)),
        ConstantRule.of([("p", "X", v)], (TYPE, "X", Constant("D"))),
    )
    back = read_rules(ontology(tmp_path, format_rules(base, "owl"), name="back.ttl"))
    assert back.constant_rules == base.constant_rules


def test_what_owl_cannot_say_with_constants_is_refused(tmp_path: Path):
    base = parse_rules('q(X, "a") & r(X, "b") -> p(X, "c")\nq(X, Y) -> p(X, Y)')
    with pytest.raises(InputError, match="1 of the rules cannot be written as owl"):
        format_rules(base, "owl")
    assert "rdfs:subPropertyOf" in format_rules(base, "owl", skip_unsupported=True)


@pytest.mark.parametrize(
    "axiom",
    [
        ":p owl:propertyChainAxiom _:circle . _:circle rdf:first :q ; rdf:rest _:circle .",
        ":p owl:propertyChainAxiom () .",
        ":p owl:propertyChainAxiom :q .",
        ":p owl:propertyChainAxiom ( 'q' ) .",
    ],
)
def test_broken_chains_are_counted(tmp_path: Path, axiom: str):
    base = read_turtle(tmp_path, f":p rdfs:subPropertyOf :q . {axiom}")
    assert base.given == (PathRule(("p",), "q"),)
    assert [unread.what for unread in base.unread] == ["owl:propertyChainAxiom axioms"]


def test_other_endings_and_serialisations(tmp_path: Path):
    rule = (PathRule(("http://x.org/p",), "http://x.org/q"),)
    triple = f"<http://x.org/p> <{owl.RDFS}subPropertyOf> <http://x.org/q> ."
    xml = (
        f'<?xml version="1.0"?><rdf:RDF xmlns:rdf="{owl.RDF}" xmlns:rdfs="{owl.RDFS}">'
        '<rdf:Description rdf:about="http://x.org/p"><rdfs:subPropertyOf rdf:resource="http://x.org/q"/>'
        "</rdf:Description></rdf:RDF>"
    )
    assert read_rules(ontology(tmp_path, triple, name="a.nt")).given == rule
    assert read_rules(ontology(tmp_path, triple, name="a.owl")).given == rule
    assert read_rules(ontology(tmp_path, xml, name="b.owl")).given == rule
    assert read_rules(ontology(tmp_path, xml, name="b.rdf")).given == rule
    assert read_rules(ontology(tmp_path, xml, name="b.xml"), format="owl").given == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<?xml version="1.0"?>\n<Ontology xmlns="x"/>', "OWL/XML is not read"),
        ("Prefix(:=<http://x.org/>)\nOntology()", "OWL functional syntax is not read"),
        ("Prefix: : <http://x.org/>", "Manchester syntax is not read"),
    ],
)
def test_other_syntaxes_are_named(tmp_path: Path, text: str, message: str):
    path = ontology(tmp_path, text, name="a.owl")
    with pytest.raises(InputError) as caught:
        read_rules(path)
    assert str(caught.value) == (
        f"{path}: {message}\n  hint: save the ontology as Turtle, RDF/XML or N-Triples"
    )


def test_a_mistake_in_the_ontology_is_placed(tmp_path: Path):
    path = ontology(tmp_path, "<http://x.org/p> a\n  <p> .")
    with pytest.raises(InputError) as caught:
        read_rules(path)
    assert str(caught.value) == (
        f"{path}:2:3: No scheme found in an absolute IRI\n"
        "  hint: Turtle, RDF/XML and N-Triples are read; relative names need a base in the file"
    )


def test_an_ontology_without_an_axiom_that_is_read(tmp_path: Path):
    heard: list[str] = []
    path = ontology(tmp_path, PREFIXES + "[ owl:complementOf :Person ] rdfs:subClassOf :Child .")
    base = read_rules(path, notes=heard.append)
    assert base.given == () and heard == [
        f"rdfs:subClassOf axioms with owl:complementOf not read: 1; the first: {path}: "
        "SubClassOf(ObjectComplementOf(Person) Child)"
    ]


def test_without_pyoxigraph_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    hint = (
        "RDF files need the package pyoxigraph, which is not installed\n"
        "  hint: in a checkout of reshuffle: pip install -e '.[rdf]'"
    )
    with pytest.raises(InputError) as caught:
        read_turtle(tmp_path, ":p a owl:SymmetricProperty .")
    assert str(caught.value) == f"{tmp_path / 'family.ttl'}: {hint}"
    with pytest.raises(InputError) as caught:
        format_rules(parse_rules("a(X, Y) -> b(X, Y)"), "owl")
    assert str(caught.value) == f"an ontology: {hint}"


# Writing


def relations(*, inverses: bool) -> st.SearchStrategy[str]:
    plain = st.sampled_from(
        [
            "r",
            "born in",
            "100%",
            "é<>",
            "http://example.org/a#b",
            "urn:reshuffle:r",
            "a:b c",
            "mailto:x",
        ]
    )
    return st.one_of(plain, plain.map(lambda name: f"{name}^-1")) if inverses else plain


def expressible() -> st.SearchStrategy[RuleBase]:
    bodies = st.lists(relations(inverses=True), min_size=1, max_size=4).map(tuple)
    rules = st.lists(st.builds(PathRule, bodies, relations(inverses=False)), min_size=1, max_size=5)
    pairs = st.lists(st.builds(Disjointness, relations(inverses=False), relations(inverses=True)), max_size=2)
    return st.builds(lambda given, apart: RuleBase(tuple(given), tuple(apart)), rules, pairs)


@given(base=expressible())
def test_what_owl_can_say_comes_back_the_same(tmp_path_factory: pytest.TempPathFactory, base: RuleBase):
    folder = tmp_path_factory.mktemp("owl")
    back = read_rules(ontology(folder, format_rules(base, "owl")))
    said = [[*dict.fromkeys(each)] for each in (base.given, base.disjointness)]  # an axiom is read once
    assert [[*back.given], [*back.disjointness]] == said
    assert back.unread == ()


def test_an_inverse_head_is_written_from_its_second_variable():
    base = RuleBase((PathRule(("a", "b"), "c^-1"),))
    assert "<urn:reshuffle:c> owl:propertyChainAxiom" in format_rules(base, "owl")


def test_owl_has_no_intersections():
    base = parse_rules("a(X, Y) & b(X, Y) -> c(X, Y)\na(X, Y) -> b(X, Y)")
    with pytest.raises(InputError) as caught:
        format_rules(base, "owl")
    assert str(caught.value) == (
        "1 of the rules cannot be written as owl, the first: a(X, Y) & b(X, Y) -> c(X, Y)\n"
        "  hint: leave them out with --skip-unsupported (skip_unsupported=True)"
    )
    assert "propertyChainAxiom" not in format_rules(base, "owl", skip_unsupported=True)


def test_an_axiom_of_very_many_disjoint_classes_is_counted(tmp_path: Path) -> None:
    """Their pairs would fill the memory."""
    members = " ".join(f"<http://x/c{number}>" for number in range(1_001))
    (tmp_path / "many.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        f"<http://x/p> rdfs:domain <http://x/c1> .\n[] a owl:AllDisjointClasses ; owl:members ( {members} ) .\n"
    )
    base = read_rules(tmp_path / "many.ttl", skip_unsupported=True)
    assert not base.disjointness and any("too many disjoint classes" in one.what for one in base.unread)


def test_the_turtle_part_of_n3_is_an_ontology_and_holds_facts(tmp_path: Path):
    (tmp_path / "a.n3").write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n<http://x/a> rdfs:subPropertyOf <http://x/b> .\n"
        "<http://x/1> <http://x/a> <http://x/2> .\n"
    )
    assert str(read_rules(tmp_path / "a.n3").rules[0]) == '"http://x/a"(X, Y) -> "http://x/b"(X, Y)'
    assert ("http://x/1", "http://x/a", "http://x/2") in read_graph(tmp_path / "a.n3")
