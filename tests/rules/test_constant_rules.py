"""Rules with constants as data: what is read, printed, refused, and what they mean."""

from __future__ import annotations

import pytest

from reshuffle.errors import InputError
from reshuffle.rules import parse_rules
from reshuffle.rules.encoding import encoding_of
from reshuffle.rules.entailment import closure, fewest_steps
from reshuffle.rules.formats.statement import OutsideClassError
from reshuffle.rules.parsing import parse_program
from reshuffle.rules.rule import Constant, ConstantRule, DisjointEnds


def test_a_quoted_name_is_a_constant_and_prints_as_one():
    base = parse_rules('3\t2\t0.5\tbornIn(X, "london") -> speaks(X, "english")')
    (rule,) = base.constant_rules
    assert str(rule) == 'bornIn(X, "london") -> speaks(X, "english")'
    assert rule.quality is not None and rule.quality.confidence == 0.5
    assert rule == ConstantRule.of(
        [("bornIn", "Who", Constant("london"))], ("speaks", "Who", Constant("english"))
    )
    assert (rule.body, rule.head, rule.constants) == (("bornIn",), "speaks", ("london", "english"))
    assert rule.shape == (("bornIn", 0, ""), ("speaks", 0, ""))


def test_a_constant_is_not_a_variable_of_the_same_name():
    named, variable = parse_rules('a(X, "Y") -> b(X, "k")\na(X, Y) -> b(X, "k")').given
    assert named != variable
    assert closure(parse_rules('a(X, "Y") -> b(X, "k")'), [("u", "a", "v")]) == {("u", "a", "v")}


def test_one_argument_is_short_for_true():
    base = parse_rules('big(X) -> huge(X)\nbig("x")')
    assert str(base) == 'big(X, "true") -> huge(X, "true")'
    assert base.facts == (("x", "big", "true"),)
    program = parse_program("huge(X) :- big(X).\nbig(x).")
    assert (program.given, program.facts) == (base.given, base.facts)


def test_facts_stand_in_rule_files():
    base = parse_rules('bornIn("ada", "london")  # a fact\nbornIn(X, "london") -> speaks(X, "english")')
    assert base.facts == (("ada", "bornIn", "london"),)
    assert len(base) == 1


def test_a_rule_without_a_body_speaks_of_every_entity_that_is_named():
    base = parse_rules('-> knows(X, "k")\na(X, "d") -> b(X, "e")')
    found = closure(base, [("u", "a", "v")])
    assert {head for head, relation, _ in found if relation == "knows"} == {"u", "v", "k", "d", "e"}


def test_ends_that_exclude_each_other_are_a_constraint():
    base = parse_rules('is(X, "a") & of("b", X) -> false')
    assert base.disjointness == (DisjointEnds("is", "a", "of^-1", "b"),)
    assert parse_rules(str(base)).disjointness == base.disjointness


def test_steps_of_rules_with_constants():
    base = parse_rules('a(X, A) & b(A, "d") -> h(X, "c")\nh(X, "c") -> k(X, "e")')
    steps = fewest_steps(base, [("u", "a", "v"), ("v", "b", "d")])
    assert (steps["u", "h", "c"], steps["u", "k", "e"]) == (1, 1)


def test_the_number_of_paths_does_not_grow_with_the_number_of_constants():
    text = "\n".join(
        f'a(X, "d{n}") & b(X, "e{n}") -> h(X, "c{n}")\na(X, "d{n}") -> k(X, "c{n}")' for n in range(50)
    )
    few, many = (encoding_of(parse_rules("\n".join(text.splitlines()[:end]))) for end in (2, 100))
    assert few is not None and many is not None
    assert len(few.base) == len(many.base)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('a(X, X) & b(X, "d") -> h(X, "c")', "X occurs twice in one atom"),
        ('a(X, A) & b(A, B) & c(A, C) -> h(X, "c")', "the body branches"),
        ('a(X, A) & b(A, B) & c(B, X) -> h(X, "c")', "the body branches"),
        ('a(X, "d") -> h(X, Y)', "a variable of the head does not occur in the body"),
        ('a(A, "d") -> h(X, "c")', "a variable of the head does not occur in the body"),
        ('a(X, Y) & b(Y, "d") -> h(X, Y)', "has a condition with a constant"),
        ("-> h(X, Y)", "missing body"),
        ('a(X, "d") & b(Y, "e") -> false', "not a disjointness"),
    ],
)
def test_what_is_outside_is_refused_with_its_reason(text: str, reason: str):
    with pytest.raises(InputError, match=reason):
        parse_rules(text)


@pytest.mark.parametrize(
    "line",
    [
        "23\t11\t0.47\tP530(X,Q822) <= P530(X,Q115)",
        "9\t6\t0.6\tP530(Q148,Y) <= P530(Y,Q783)",
        "9\t6\t2.0E-4\tP530(Q148,Y) <= P27(A,Y)",
        "7221:5563\t164\t0.03\tP530(Q183,Y) <= ",
        "9\t6\t0.6\tP530(Q148,Q2) <= P27(Q1,Q1)",
        "9\t6\t0.6\tP530(Q148,X) <= P27(A,Q1)",
        "9\t6\t0.6\tP530(X,Q1) <= P27(X,X)",
        "9\t6\t0.6\tP530(X,Y) <= P27(Y,X)",
        "9\t6\t0.6\tP530(X,Q1) <= P27(X,Q1), P30(X,Q2)",
        "9\t6\t0.6\t/film/x(X,/m/01) <= /film/y(/m/02,X)",
    ],
)
def test_what_is_read_at_once_is_what_is_read_with_care(line: str):
    """The quick way over lines of AnyBURL gives the same rules, qualities and refusals."""

    def read(text: str) -> object:
        try:
            base = parse_rules(text)
        except InputError as error:
            return error.message
        return [(rule, rule.quality) for rule in base.given]

    with_care = f"@prefix never: <http://used> .\n{line}"  # what declares prefixes is read line by line
    assert read(line) == read(with_care)


def test_half_a_million_rules_need_no_more_paths_than_they_have_shapes():
    lines = [f"9\t6\t0.6\th(X,c{number % 7}) <= b(X,d{number})" for number in range(20_000)]
    encoding = encoding_of(parse_rules("\n".join(lines)))
    assert encoding is not None
    assert (len(encoding.base), len(encoding.by_helper)) == (1, 20_000)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "not p(X, Y) & q(X, Y) -> h(X, Y)",
            "'not' in the body: rules have neither negation nor comparisons",
        ),
        ("q(X, Y) & !p(X, Y) -> h(X, Y)", "'!' in the body: rules have neither negation nor comparisons"),
        ("q(X, Y) & X < 3 -> h(X, Y)", "'<' in the body: rules have neither negation nor comparisons"),
        ("h(X,Y) :- q(X,Y), !p(X,Y).", "'!' in the body: rules have neither negation nor comparisons"),
        ("h(?x,?y) :- q(?x,?y), ~p(?x,?y) .", "'~' in the body: rules have neither negation nor comparisons"),
        ("h(X,Y) :- q(X,Y), \\+ p(X,Y).", r"'\+' in the body: rules have neither negation nor comparisons"),
        ("p(f(X), Y) -> h(X, Y)", "'f' is a function symbol: arguments are variables and names"),
        ("p(X, Y) -> h(X, f(Y, X))", "'f' is a function symbol: arguments are variables and names"),
    ],
)
def test_what_rules_cannot_say_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(OutsideClassError) as error:
        parse_rules(text)
    assert error.value.message == reason


def test_triples_of_programs_are_pairs_of_their_relation() -> None:
    program = (
        "triple(?s, <http://e/h>, ?u) :- triple(?s, <http://e/p>, ?o), triple(?o, ex:q, ?u) .\n"
        "triple(ada, <http://e/p>, bob) .\n"
    )
    base = parse_program(program)
    assert [str(rule) for rule in base.rules] == ['"http://e/p"(X, Y) & ex:q(Y, Z) -> "http://e/h"(X, Z)']
    assert base.facts == (("ada", "http://e/p", "bob"),)
    with pytest.raises(OutsideClassError, match="wrong arity: triple has 3 arguments"):
        parse_program("h(?s, ?o) :- triple(?s, ?p, ?o) .")
