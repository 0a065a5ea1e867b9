"""Datalog programs as people have them: comments, rules over several lines, facts in the file."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from reshuffle.errors import InputError
from reshuffle.rules import format_rules, parse_rules, read_rules
from reshuffle.rules.entailment import closure
from reshuffle.rules.parsing import parse_program

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = """% a family
parent(ann, bob). parent(bob, "Cleo B.").  // two facts on a line
/* not read: parent(x, y).
   nor this */
ancestor(X, Y) :- parent(X, Y).
ancestor(Person, Z) :-
    parent(Person, Y),   % the first step
    ancestor(Y, Z).
"""


def test_a_program_is_rules_and_facts(tmp_path: Path):
    (tmp_path / "family.dl").write_text(FAMILY)
    base = read_rules(tmp_path / "family.dl")
    assert base == parse_rules(
        "parent(X, Y) -> ancestor(X, Y)\nparent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)"
    )
    assert base.facts == (("ann", "parent", "bob"), ("bob", "parent", "Cleo B."))
    assert base.unread == ()


def test_declarations_make_every_bare_word_a_variable():
    base = parse_program(
        '.decl p(x: symbol,\n  y: symbol)\n.input p\nq(x, z) :- p(x, y), p(y, z).\np("a", "x").'
    )
    assert base == parse_rules("p(X, Y) & p(Y, Z) -> q(X, Z)")
    assert base.facts == (("a", "p", "x"),)
    assert [(unread.what, unread.count) for unread in base.unread] == [("declarations and imports", 2)]


def test_what_souffle_is_written_comes_back(tmp_path: Path):
    rules = parse_rules('"/film/x y"(X, Y) & b(Z, Y) -> Person(X, Z)\nPerson(X, Y) -> contains(X, Y)')
    (tmp_path / "rules.dl").write_text(format_rules(rules, "souffle"))
    assert read_rules(tmp_path / "rules.dl") == rules


def test_nemo_programs_with_full_stops_are_programs(tmp_path: Path):
    text = (
        "@prefix ex: <http://ex.org/> .\nex:q(?x, ?y) :-\n  ex:p(?x, ?y) . % nemo\nex:p(ex:a, <http://b>) .\n"
    )
    (tmp_path / "rules.rls").write_text(text)
    base = read_rules(tmp_path / "rules.rls")
    assert base == parse_rules('"http://ex.org/p"(X, Y) -> "http://ex.org/q"(X, Y)')
    assert base.facts == (("http://ex.org/a", "http://ex.org/p", "http://b"),)


def test_questions_and_directives_are_counted():
    base = parse_program("q(X, Y) :- p(X, Y).\n?- q(a, X).\n:- table q/2.\nq(X, b)?")
    assert {unread.what: unread.count for unread in base.unread} == {
        "questions": 2,
        "declarations and imports": 1,
    }


@pytest.mark.parametrize(
    ("text", "message", "kind"),
    [
        (
            "p(X, Y) :- q(X, Y), X != Y.",
            "<text>:1:23: '!=' in the body",
            "rules with negation or comparisons",
        ),
        ("p(X, Y) :- !q(X, Y).", "<text>:1:12: '!' in the body", "rules with negation or comparisons"),
        ("p(X, Y) :- not q(X, Y).", "<text>:1:12: 'not' in the body", "rules with negation or comparisons"),
        (
            "p(X, Y) :- q(X, Z),\n  r(Z, Y, Y).",
            "<text>:2:3: wrong arity",
            "rules with relations that are not binary",
        ),
        (
            "p(X, Y) :-\n  q(X, london).",
            "<text>:1:1: a variable of the head",
            "rules with a variable in the head alone",
        ),
        ("p(X, Y) :- q(X, Y), r(Y, _).", "<text>:1:21: ", "rules that are not closed paths"),
        ("p(a, b, c).", "<text>:1:1: wrong arity: p has 3 arguments here", "facts that are not pairs"),
        ("p(a, X).", "<text>:1:3: a fact with a variable", "facts with variables"),
    ],
)
def test_what_is_outside_the_class_has_its_place_or_is_counted(text: str, message: str, kind: str):
    with pytest.raises(InputError) as caught:
        parse_program(text)
    assert str(caught.value).startswith(message)
    base = parse_program(f"a(X, Y) :- b(X, Y).\n{text}", skip_unsupported=True)
    assert len(base) == 1
    assert {unread.what: unread.count for unread in base.unread} == {kind: 1}


def test_names_in_single_quotes_are_those_of_prolog():
    base = parse_program(
        "'is parent'('Ann', \"it's\"). p('O''Hara', 'a % b'). % 'not' a name\nq(X, Y) :- 'is parent'(X, Y)."
    )
    assert base.facts == (("Ann", "is parent", "it's"), ("O'Hara", "p", "a % b"))
    assert base.rules[0].body == ("is parent",)


def test_packed_programs_are_programs(tmp_path):
    (tmp_path / "family.dl.gz").write_bytes(gzip.compress(b"p(a, b). % a fact\nq(X, Y) :-\n  p(X, Y).\n"))
    assert read_rules(tmp_path / "family.dl.gz").facts == (("a", "p", "b"),)


def test_an_error_shows_the_line_that_it_is_on():
    with pytest.raises(InputError) as caught:
        parse_program("a(X, Y) :- b(X, Y).\np(X, Y) :-\n  q(X, Z),\n  r(X, Y).")
    assert str(caught.value).splitlines()[:3] == [
        "<text>:4:5: not a closed path: expected Z here, found X",
        "      r(X, Y)",
        "        ^",
    ]


@pytest.mark.parametrize("text", ["p(a, b", "nonsense", "p(a, b) q(c, d)."])
def test_what_is_no_clause_is_an_error(text: str):
    with pytest.raises(InputError, match="expected a fact or a rule here"):
        parse_program(f"a(X, Y) :- b(X, Y).\n{text}", skip_unsupported=True)


# --- prefixes


def test_prefixes_are_expanded_where_they_are_declared():
    rules = parse_rules(
        "@prefix ex: <http://ex.org/> .\nPREFIX : <http://here.org/>\n"
        "ex:a(X, Y) & ex:b(Z, Y) -> rdf:type(X, Z)  # nothing declares rdf\n"
        'ex:c(X, Y) <= ex:d(Y, X)\n<ex:a>(X, Y) -> "ex:b"(X, Y)'
    )
    assert rules == parse_rules(
        '"http://ex.org/a"(X, Y) & "http://ex.org/b"(Z, Y) -> "rdf:type"(X, Z)\n'
        '"http://ex.org/d"(Y, X) -> "http://ex.org/c"(X, Y)\n"ex:a"(X, Y) -> "ex:b"(X, Y)'
    )


# --- which words are variables


def test_an_equivalence_of_souffle_is_symmetric_transitive_and_reflexive_on_its_members():
    base = parse_program(".decl same(x: symbol, y: symbol) eqrel\n.input same\nsame(x, y) :- alias(x, y).")
    found = closure(base, [("a", "alias", "b"), ("b", "alias", "c")])
    pairs = {(head, tail) for head, relation, tail in found if relation == "same"}
    assert pairs == {(one, other) for one in "abc" for other in "abc"}
    assert [unread.count for unread in base.unread] == [1]  # .input alone


def test_a_kind_on_the_next_line_belongs_to_its_declaration():
    base = parse_program(".decl same(x: symbol, y: symbol)\n  eqrel\nsame(x, y) :- alias(x, y).")
    assert len(base) == 3


def test_a_choice_domain_is_refused_for_what_it_is():
    text = ".decl boss(x: symbol, y: symbol) choice-domain x\n.decl b(x: symbol, y: symbol)\nboss(x, y) :- b(x, y)."
    with pytest.raises(InputError, match="boss is declared with a choice-domain") as caught:
        parse_program(text)
    assert str(caught.value).startswith("<text>:3:1: ")
    base = parse_program(f'{text}\na(x, y) :- b(x, y).\nboss("u", "v").', skip_unsupported=True)
    counted = {unread.what: unread.count for unread in base.unread}
    assert counted["clauses about relations with a choice-domain"] == 2


def test_each_dialect_says_what_a_variable_is():
    prolog = parse_program("q(X, Q30) :- p(X, Q30).")
    nemo = parse_program("<q>(?x, ?Q30) :- <p>(?x, ?Q30) .")
    souffle = parse_program(".decl p(x: symbol, y: symbol)\nq(x, q30) :- p(x, q30).")
    assert prolog == nemo == souffle == parse_rules("p(X, Y) -> q(X, Y)")


def test_three_arguments_are_no_long_constant():
    with pytest.raises(InputError, match=r"wrong arity: p has 3 arguments here, and needs 2"):
        parse_rules("h(X,Y) <= p(X,Y,Z)")
    for text in ("<q>(?X, ?Y) :- <p>(?X, ?Y, ?Z) .", "q(?X, ?Y) :- p(?X, ?Y, london)."):
        base = parse_program(f"a(?X, ?Y) :- b(?X, ?Y).\n{text}", skip_unsupported=True)
        assert [unread.what for unread in base.unread] == ["rules with relations that are not binary"]
