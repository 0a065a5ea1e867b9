"""The rule syntaxes, and every error word for word: the messages are user interface."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import reshuffle
from reshuffle.errors import InputError
from reshuffle.rules import Disjointness, IntersectionRule, PathRule, Quality, parse_rules, read_rules

if TYPE_CHECKING:
    from pathlib import Path


def only_rule(text: str) -> PathRule | IntersectionRule:
    base = parse_rules(text)
    assert len(base.given) == 1
    return base.given[0]


def error_of(text: str, *, file: str = "f") -> str:
    with pytest.raises(InputError) as caught:
        parse_rules(text, file=file)
    return str(caught.value)


# The syntax


def test_the_public_name():
    assert reshuffle.parse_rules is parse_rules


@pytest.mark.parametrize(
    "text",
    [
        "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)",
        "bornIn(X,Y),cityIn(Y,Z)->citizenOf(X,Z)",
        "\t bornIn ( X , Y ) &\tcityIn( Y,Z )  ->  citizenOf(X, Z)\r",
        "cityIn(Y, Z) & bornIn(X, Y) -> citizenOf(X, Z)",
        "bornIn(?who, A1) & cityIn(A1, ?where) -> citizenOf(?who, ?where)",
        '"bornIn"(X, Y) & <cityIn>(Y, Z) -> citizenOf(X, Z)',
        "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z) # by birth (X, Y) -> z",
        "citizenOf(X, Z) <= bornIn(X, Y), cityIn(Y, Z)",
        "citizenOf(X,Y) <= cityIn(A,Y), bornIn(X,A)",
        "citizenOf(X,Y)<=bornIn(X,A),cityIn(A,Y)  # by birth",
        "?a  bornIn  ?b  ?b  <cityIn>  ?c   => ?a  <citizenOf>  ?c",
        "?a bornIn ?b ?b cityIn ?c => ?a citizenOf ?c",
        "bornIn^-1(Y, X) & cityIn(Y, Z) -> citizenOf^-1(Z, X)",
        "bornIn^-1^-1(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)",
        "cityIn(Y, Z) & bornIn(X, Y) -> citizenOf^-1(Z, X)",
        '"bornIn"^-1(Y, X) & <cityIn>(Y, Z) -> "citizenOf^-1"(Z, X)',
    ],
)
def test_ways_to_write_one_rule(text: str):
    assert only_rule(text) == PathRule(("bornIn", "cityIn"), "citizenOf")


def test_atoms_that_run_backwards_use_the_inverse():
    assert only_rule("a(Y, X) & b(Z, Y) & c(Z, W) -> r(X, W)") == PathRule(("a^-1", "b^-1", "c"), "r")
    assert only_rule("a(X, Y) -> r(Y, X)") == PathRule(("a^-1",), "r")


def test_an_inverse_head_reverses_the_whole_rule():
    assert only_rule("a(X, Y) & b(Y, Z) -> r^-1(X, Z)") == PathRule(("b^-1", "a^-1"), "r")
    assert only_rule("a(X, Y) & b(X, Y) -> r^-1(X, Y)") == IntersectionRule(("a^-1", "b^-1"), "r")


def test_intersections_of_two_and_more():
    assert only_rule("a(X, Y) & b(X, Y) -> r(X, Y)") == IntersectionRule(("a", "b"), "r")
    assert only_rule("a(X,Y), b(Y,X), c^-1(X,Y) -> r(X,Y)") == IntersectionRule(("a", "b^-1", "c^-1"), "r")


def test_the_same_condition_twice_says_it_once():
    assert only_rule("a(X, Y) & a(X, Y) -> r(X, Y)") == PathRule(("a",), "r")
    assert only_rule("a(X, Y) & a(Y, X) -> r(X, Y)") == IntersectionRule(("a", "a^-1"), "r")


def test_disjointness_is_kept_apart_from_the_rules():
    base = parse_rules("a(X, Y) & b(X, Y) -> false\nfalse <= a(X,Y), b(Y,X)\na^-1(X, Y), b(X, Y) -> false")
    assert base.given == ()
    assert base.disjointness == (
        Disjointness("a", "b"),
        Disjointness("a", "b^-1"),
        Disjointness("a", "b^-1"),
    )


def test_false_with_arguments_is_a_relation():
    assert only_rule("a(X, Y) -> false(X, Y)").head == "false"


def test_names_that_are_not_plain_words():
    base = parse_rules(
        '"/film/film/genre"(X, Y) -> <http://example.org/x#y>(X, Y)\n'
        r'"say \"hi\" # \\ there"(X, Y) -> "two\nlines"(X, Y)'
    )
    assert base.relations == (
        "/film/film/genre",
        "http://example.org/x#y",
        'say "hi" # \\ there',
        "two\nlines",
    )


@pytest.mark.parametrize(
    "name",
    [
        "/film/film/genre./a",
        "http://x.org/a#b",
        "born in",
        "genre(s)",
        "a:b",
        "X",
        "Ünïcode-wörd",
        "1st",
        "city->country",
        "a<=b",
    ],
)
def test_anyburl_names_run_to_their_parenthesis(name: str):
    assert only_rule(f"h(X,Y) <= {name}(X,A), {name}(A,Y)  # twice") == PathRule((name, name), "h")
    assert only_rule(f"{name}(X,Y) <= h(X,Y)") == PathRule(("h",), name)


def test_anyburl_columns_are_kept():
    base = parse_rules("25\t10\t0.4\th(X,Y) <= a(X,A), b(A,Y)\n7\t7\t1.0\ta(X, Y) -> h(X, Y)")
    assert [rule.quality for rule in base.given] == [Quality(25, 10, 0.4), Quality(7, 7, 1.0)]


def test_confidence_is_the_files_unless_recomputed():
    text = "15\t10\t0.66\th(X,Y) <= a(X,Y)\na(X, Y) -> b(X, Y)"
    kept, recomputed = (parse_rules(text, confidence=way).given for way in ("file", "recomputed"))
    assert kept[0].quality == Quality(15, 10, 0.66)
    assert recomputed[0].quality == Quality(15, 10, 0.5)
    assert recomputed[1].quality is None


def test_comments_blank_lines_and_both_syntaxes_in_one_text():
    base = parse_rules("# head\n\n  # indented\na(X, Y) -> b(X, Y)\n3\t2\t0.5\tb(X,Y) <= c(X,Y)\n")
    assert base.given == (PathRule(("a",), "b"), PathRule(("c",), "b"))


def test_duplicates_and_tautologies_are_accepted_and_reported():
    base = parse_rules("a(X,Y) -> b(X,Y)\nb(X,Y) <= a(X,Y)\na(X,Y) -> a(X,Y)")
    assert base.rules == (PathRule(("a",), "b"),)
    assert base.duplicates == (PathRule(("a",), "b"),)
    assert base.tautologies == (PathRule(("a",), "a"),)


# What is outside the class

OUTSIDE = """\
a(X, Y) -> b(X, Y)
5\t3\t0.6\th(X,london) <= a(X,uk)
5\t3\t0.6\th(X,Foo_(bar, baz)) <= a(X,A)
h(X,Y) <= a(X,X), b(X,Y)
h(X,Y) <=
h(X,english) <= a(X,A), b(A,B), c(A,uk), d(A,D)
h(X,Y) <= a(X,Y), b(X,uk)
h(X,english) <= a(A,uk)
h(X,Y) <= a(X,A), b(A,B), c(A,Y)
a(X, Y) & b(Y, Z) -> false
"""


def test_skip_unsupported_counts_and_names_what_is_not_read():
    base = parse_rules(OUTSIDE, file="mined.txt", skip_unsupported=True)
    assert [str(rule) for rule in base.given] == [
        "a(X, Y) -> b(X, Y)",
        'a(X, "uk") -> h(X, "london")',
        'a(X, Y) -> h(X, "Foo_(bar, baz)")',
    ]
    assert [str(unread) for unread in base.unread] == [
        "rules with the same variable twice in an atom not read: 1; the first: "
        "mined.txt:4: h(X,Y) <= a(X,X), b(X,Y)",
        "rules without a body not read: 1; the first: mined.txt:5: h(X,Y) <=",
        "rules with bodies that branch not read: 1; the first: "
        "mined.txt:6: h(X,english) <= a(X,A), b(A,B), c(A,uk), d(A,D)",
        "rules with conditions on a path between two variables not read: 1; the first: "
        "mined.txt:7: h(X,Y) <= a(X,Y), b(X,uk)",
        "rules with a variable in the head alone not read: 1; the first: mined.txt:8: h(X,english) <= a(A,uk)",
        "rules that are not closed paths not read: 1; the first: mined.txt:9: h(X,Y) <= a(X,A), b(A,B), c(A,Y)",
        "constraints that are not two atoms over the same variables not read: 1; the first: "
        "mined.txt:10: a(X, Y) & b(Y, Z) -> false",
    ]


def test_skip_unsupported_does_not_excuse_mistakes_in_the_text():
    with pytest.raises(InputError, match="wrong arity"):
        parse_rules("a(X, Y) -> b(X, Y)\nh(X) <= a(X,Y)", skip_unsupported=True)


def test_a_file_of_unsupported_rules_only_is_an_error():
    with pytest.raises(InputError) as caught:
        parse_rules("h(X,Y) <=", file="mined.txt", skip_unsupported=True)
    assert (
        str(caught.value) == "mined.txt: no rules found, only unsupported statements: 1 rules without a body"
    )


# The errors


def test_the_example_of_the_interface():
    text = "\n\ncitizenOf(X, Y) & hasLanguage(X, Z) -> speaks(X, Z)"
    assert error_of(text, file="family.rules") == (
        "family.rules:3:31: not a closed path: expected Y here, found X\n"
        "    citizenOf(X, Y) & hasLanguage(X, Z) -> speaks(X, Z)\n"
        "                                  ^\n"
        "  hint: the body must lead from X to Z, each atom starting where another ends"
    )


def test_columns_count_in_the_source_line_and_the_caret_follows():
    assert error_of("\ta(X, Y) -> b(X, Z)") == (
        "f:1:18: head variable Z does not occur in the body\n"
        "     a(X, Y) -> b(X, Z)\n"
        "                     ^\n"
        "  hint: the body must lead from X to Z"
    )


SKIP_HINT = "--skip-unsupported (skip_unsupported=True) reads on and counts them"
BARE_HINT = f"for the entity; a variable is one upper-case letter with optional digits, or ?name; {SKIP_HINT}"
PATH_HINT = "the body must lead from X to Z, each atom starting where another ends"
LOOP_HINT = (
    "a loop on one entity is not a path between two; "
    "--skip-unsupported (skip_unsupported=True) reads on and counts them"
)
COLUMNS_HINT = "the columns are AnyBURL's: predictions, support and confidence, each followed by a tab"
AMIE_COLUMNS_HINT = (
    "after the rule AMIE writes head coverage, confidence, PCA confidence, positive examples, body size,"
    " PCA body size and the functional variable"
)
ARROW_HINT = "a rule is written body -> head"
ANYBURL_HINT = "an AnyBURL rule is written head <= body"
ATOM_HINT = "an atom is written relation(X, Y)"
TO_PARENTHESIS_HINT = "an atom is written relation(X,Y); a name runs to its parenthesis"
EXTRA_HINT = "remove it, or add the missing '('"
BARE = "is neither a variable nor a name in quotes"
UNARY_HINT = 'relations are binary: relation(X, Y); kind(X) says the same as kind(X, "true")'

ERRORS = [
    # parentheses
    ("a(X, Y -> b(X, Y)", 2, "unbalanced parentheses: this '(' is not closed", "add the missing ')'"),
    ("a(X, Y) & b(Y, Z", 12, "unbalanced parentheses: this '(' is not closed", "add the missing ')'"),
    ("a(X, Y)) -> b(X, Y)", 8, "unbalanced parentheses: this ')' closes nothing", EXTRA_HINT),
    ("a(X, Y) -> b(X, Y))", 19, "unbalanced parentheses: this ')' closes nothing", EXTRA_HINT),
    (
        "a X, Y) -> b(X, Y)",
        7,
        "unbalanced parentheses: this ')' closes nothing",
        "add the missing '(' after the relation name",
    ),
    ("b(X,Y) <= a(X,Y", 12, "unbalanced parentheses: this '(' is not closed", "add the missing ')'"),
    ("b(X,Y) <= a(X,Y))", 17, "unbalanced parentheses: this ')' closes nothing", EXTRA_HINT),
    ("((X, Y) -> b(X, Y)", 1, "expected a relation name here, found '('", ATOM_HINT),
    # arity
    (
        "a(X) -> b(X, Y)",
        9,
        "a variable of the head does not occur in the body",
        SKIP_HINT,
    ),
    (
        "a(X, Y) -> b(X, Y, Z)",
        12,
        "wrong arity: b has 3 arguments here, and needs 1 or 2",
        UNARY_HINT,
    ),
    (
        "a() -> b(X, Y)",
        1,
        "wrong arity: a has 0 arguments here, and needs 1 or 2",
        UNARY_HINT,
    ),
    (
        "h(X,Y) <= b(X), c(X,Y)",
        11,
        "wrong arity: b has 1 argument here, and needs 2",
        "relations are binary: relation(X,Y)",
    ),
    ("a(X, ) -> b(X, Y)", 2, "an argument of a is empty", ATOM_HINT),
    # not a path
    ("a(X, Y) & b(W, Z) -> c(X, Z)", 13, "disconnected body: expected Y here, found W", PATH_HINT),
    (
        "a(X, Y) & d(V, W) & b(Y, Z) -> c(X, Z)",
        11,
        "disconnected body: this atom shares no variable with the path from X to Z",
        PATH_HINT,
    ),
    (
        "a(X, Y) & b(Y, Z) & d(X, Z) -> c(X, Z)",
        21,
        "not a closed path: the path from X to Z is complete without this atom",
        PATH_HINT,
    ),
    (
        "a(X, Y) & b(Y, X) & d(X, Z) -> c(X, Z)",
        16,
        "not a closed path: the path comes back to X here",
        PATH_HINT,
    ),
    ("a(X, Y) & b(Z, X) -> c(X, Z)", 16, "not a closed path: expected Y here, found X", PATH_HINT),
    (
        "a(X, Y) -> b(Z, Y)",
        14,
        "head variable Z does not occur in the body",
        "the body must lead from Z to Y",
    ),
    (
        "a(X, X) & b(X, Z) -> c(X, Z)",
        6,
        "X occurs twice in one atom: the two arguments must differ",
        LOOP_HINT,
    ),
    ("a(X, Y) -> b(X, X)", 17, "X occurs twice in one atom: the two arguments must differ", LOOP_HINT),
    (
        "a(X, Y) -> false",
        1,
        "not a disjointness: '-> false' takes two atoms over the same two variables",
        "write r1(X, Y) & r2(X, Y) -> false",
    ),
    # constants
    ("a(X, london) -> b(X, london)", 6, f"london {BARE}", f'write "london" {BARE_HINT}'),
    ("a(x, Y) -> b(x, Y)", 3, f"x {BARE}", f'write "x" {BARE_HINT}'),
    ("a(ann, bob)", 3, f"ann {BARE}", f'write "ann" {BARE_HINT}'),
    ('a(X, "new york") -> b(X, Y)', 21, "a variable of the head does not occur in the body", SKIP_HINT),
    (
        'a(X, "d") & b(X, Y) -> c(X, Y)',
        24,
        "a path between two variables of the head has a condition with a constant",
        SKIP_HINT,
    ),
    (
        'a(X, Y) & b(Y, Z) & c(Z, X) & d(X, "e") -> h(X, "k")',
        44,
        "the body branches: atoms between variables must form paths",
        SKIP_HINT,
    ),
    # columns
    (
        "5\ta(X, Y) -> b(X, Y)",
        1,
        "unknown columns: expected three numbers before the rule, found 1",
        COLUMNS_HINT,
    ),
    (
        "5\tx\t0.5\tb(X,Y) <= a(X,Y)",
        1,
        "unknown columns: expected three numbers before the rule, found '5', 'x', '0.5'",
        COLUMNS_HINT,
    ),
    (
        "?a  r  ?b   => ?a  s  ?b\t0.5\t0.5",
        25,
        "unknown columns: expected 8 with the rule, found 3",
        AMIE_COLUMNS_HINT,
    ),
    (
        "?a  r  ?b   => ?a  s  ?b\t1\tx\t1\t1\t1\t1\t?a",
        25,
        "unknown columns: expected a number, found 'x'",
        AMIE_COLUMNS_HINT,
    ),
    # names
    ('"a(X, Y) -> b(X, Y)', 1, "unterminated quote", 'close the name with "; a " inside it is written \\"'),
    ("a(X, Y) -> <b(X, Y)", 12, "unterminated angle bracket", "close the name with >"),
    (
        "X(X, Y) -> b(X, Y)",
        1,
        "X is used as a relation and as a variable",
        'rename the variable, or write the relation as "X"',
    ),
    (
        "/film/genre(X, Y) -> b(X, Y)",
        1,
        "'/film/genre' is not a plain word",
        'names with other characters are quoted: "/film/genre"(X, Y)',
    ),
    ('""(X, Y) -> b(X, Y)', 1, "empty name: a relation needs at least one character", ATOM_HINT),
    # arrows and what stands around them
    ("a(X, Y)", 8, "missing arrow: expected -> and a head", ARROW_HINT),
    ("a(X, Y) # -> b(X, Y)", 9, "missing arrow: expected -> and a head", ARROW_HINT),
    ("a(X, Y) ->", 11, "missing head", ARROW_HINT),
    ("-> b(X, Y)", 4, "missing body", SKIP_HINT),
    ("a(X, Y) & -> b(X, Y)", 11, "missing atom after '&'", ARROW_HINT),
    ("a(X, Y) b(X, Y) -> c(X, Y)", 9, "expected '&', ',' or '->' here, found 'b'", ARROW_HINT),
    (":- a(X, Y).", 1, "expected an atom here, found ':-'", ATOM_HINT),
    (
        "b(X, Y) c(X, Y) :- a(X, Y)",
        9,
        "expected ':-' here, found 'c(X, Y)'",
        "a rule has one head; a Datalog rule is written head :- body",
    ),
    ("b(X, Y) :- a(X, Y), .", 21, "expected an atom here, found '.'", TO_PARENTHESIS_HINT),
    (
        "b(X, Y) :- a(X, Y) & c(Y, Z) d(X, Z)",
        30,
        "expected ',' here, found 'd'",
        "atoms are separated by commas",
    ),
    ("hello world", 1, "expected an atom here, found 'hello'", ATOM_HINT),
    (
        "a(X, Y) -> b(X, Y) & c(X, Y)",
        20,
        "expected the end of the rule here, found '&'",
        "a rule has one head; write one rule per head",
    ),
    (
        "a(X, Y) -> b(X, Y).",
        19,
        "expected the end of the rule here, found '.'",
        "one rule per line; # starts a comment",
    ),
    ("<= a(X,Y)", 1, "missing head", ANYBURL_HINT),
    (
        "b(X,Y) c(X,Y) <= a(X,Y)",
        8,
        "expected '<=' here, found 'c(X,Y)'",
        f"a rule has one head; {ANYBURL_HINT}",
    ),
    ("b(X,Y) <=", 1, "missing body", SKIP_HINT),
    ("b(X,Y) <= a(X,Y),", 18, "missing atom", TO_PARENTHESIS_HINT),
    ("b(X,Y) <= a(X,c)d", 13, "the arguments of a cannot be read", TO_PARENTHESIS_HINT),
    ("b(X,Y) <= a", 11, "expected an atom here, found 'a'", TO_PARENTHESIS_HINT),
    ("b(X,Y) <= a(X,Y) c", 18, "expected ',' here, found 'c'", "atoms are separated by commas"),
    (
        "?a  r  ?b  ?b   => ?a  s  ?b",
        1,
        "wrong arity: 4 parts in the body, and three make an atom",
        "an atom of AMIE is written ?a  relation  ?b",
    ),
    ("?a  r  ?b   =>", 15, "missing head", "an atom of AMIE is written ?a  relation  ?b"),
    ("?a  r  ?b   => ?a  s  ?b  ?b  t  ?a", 27, "a rule has one head", "write one rule per head"),
]


@pytest.mark.parametrize(("text", "column", "message", "hint"), ERRORS, ids=[case[0] for case in ERRORS])
def test_errors_word_for_word(text: str, column: int, message: str, hint: str):
    shown = text.replace("\t", " ")
    caret = " " * (column - 1) + "^"
    expected = f"f:2:{column}: {message}\n    {shown}\n    {caret}\n  hint: {hint}"
    assert error_of(f"# the second line is wrong\n{text}") == expected


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing but comments\n"])
def test_a_text_without_rules(text: str):
    assert error_of(text) == (
        "f: no rules found\n  hint: one rule per line, such as bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"
    )


# Files


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_file_with_windows_line_ends_and_a_byte_order_mark(tmp_path: Path):
    path = written(tmp_path, "mined.txt", b"\xef\xbb\xbfa(X, Y) -> b(X, Y)\r\nb(X, Y) -> c(X, Y)\r\n")
    assert read_rules(path).given == (PathRule(("a",), "b"), PathRule(("b",), "c"))


def test_notes_hear_what_is_not_read(tmp_path: Path):
    path = written(tmp_path, "mined.txt", "a(X, Y) -> b(X, Y)\nh(X,london) <= a(Y,uk)\n")
    heard: list[str] = []
    base = read_rules(str(path), skip_unsupported=True, notes=heard.append)
    assert heard == [
        f"rules with a variable in the head alone not read: 1; the first: {path}:2: h(X,london) <= a(Y,uk)"
    ]
    assert [unread.count for unread in base.unread] == [1]


EXAMPLE = "one rule per line, such as bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"
NO_RULE_FILES = [
    ("a.rules", b"a(X, Y) -> b(X, Y)\na(X, \xff)", ":2:6: not UTF-8: byte 0xff", "save the file as UTF-8"),
    (
        "a.npz",
        b"PK\x03\x04\x00",
        ": not a rule file, but binary data",
        "give the rules themselves: one per line, body -> head",
    ),
    ("a.json", b"{}", ": not a rule file, but JSON", "give the rules themselves, not what they compile to"),
    (
        "a.pl",
        b"",
        ": Prolog programs are written, not read",
        "write the rules as body -> head, one per line",
    ),
    ("a.rules", b"", ": no rules found", EXAMPLE),
]


@pytest.mark.parametrize(("name", "content", "message", "hint"), NO_RULE_FILES)
def test_files_that_are_no_rule_files(tmp_path: Path, name: str, content: bytes, message: str, hint: str):
    path = written(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        read_rules(path)
    assert str(caught.value) == f"{path}{message}\n  hint: {hint}"


@pytest.mark.parametrize(
    "content",
    [
        "ada\tbornIn\tlondon\n",
        "\n# people\nada\tbornIn\tlondon\r\n" + "bob\tknows\tada\r\n" * 9,
        "head,relation,tail\nada,bornIn,london\n",
        "ada\tbornIn\tlondon\n" * 5 + "bob\tlivesIn\tLondon_(Ontario)\n",
    ],
)
def test_triples_instead_of_rules(tmp_path: Path, content: str):
    path = written(tmp_path, "facts.tsv", content)
    for skip in (False, True):
        with pytest.raises(InputError) as caught:
            read_rules(path, skip_unsupported=skip)
        assert str(caught.value) == (
            f"{path}: this looks like triples, not rules\n"
            "  hint: rules are lines such as bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z); infer and explain take "
            "the rules first, then the facts"
        )


@pytest.mark.parametrize("line", ["a\tb\tc(X, Y)", "a\tb", "a\tb\tc\td", "a\t\tc"])
def test_other_lines_are_no_triples(line: str):
    assert "this looks like triples" not in error_of(line)
    assert "this looks like triples" not in error_of(f"a(X, Y) -> b(X, Y)\n{line}")


def test_a_missing_file_and_a_directory(tmp_path: Path):
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'none.rules'}: no such file")):
        read_rules(tmp_path / "none.rules")
    with pytest.raises(InputError) as caught:
        read_rules(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: a directory, not a rule file\n  hint: name one file; this directory holds none"
    )
    written(tmp_path, "med.rules", "a(X, Y) -> b(X, Y)\n")
    with pytest.raises(InputError, match=r"\n  hint: name one of its files: med\.rules$"):
        read_rules(tmp_path)


def test_an_unknown_format(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        read_rules(tmp_path / "x", format="anybrul")
    assert str(caught.value) == (
        "'anybrul' is not a format rules are read from; did you mean 'anyburl'?\n"
        "  hint: the formats are text, anyburl, amie, nemo, datalog, owl; without one, the file's ending and content "
        "decide"
    )


def test_datalog_rules_are_read_with_and_without_a_full_stop():
    expected = parse_rules("a(X, Y) & b(Z, Y) -> c(X, Z)")
    for line in (
        "c(X, Z) :- a(X, Y), b(Z, Y).",
        "c(X,Z) :- a(X,Y), b(Z,Y)",
        "<c>(?X, ?Z) :- <%61>(?X, ?Y), <b>(?Z, ?Y) .  # as nemo has it",
    ):
        assert parse_rules(line) == expected
    assert parse_rules("a:-b(X, Y) -> c(X, Y)").rules[0].body == ("a:-b",)


def test_datalog_outside_the_class_is_counted():
    some = parse_rules("c(X, Y) :- a(X, Y).\nc(X, london) :- a(Y, london).", skip_unsupported=True)
    assert (len(some), [unread.count for unread in some.unread]) == (1, [1])


@pytest.mark.parametrize("given", [None, 3, ["a(X, Y) -> b(X, Y)"]])
def test_what_is_no_text_and_no_path_is_refused(given: object):
    with pytest.raises(InputError, match="expected rules as text"):
        parse_rules(given)
    with pytest.raises(InputError, match="expected the path of a rule file"):
        read_rules(given)


@pytest.mark.parametrize(
    "line",
    [
        "P27(X,Q30) <= P19(X,Q30)",
        "10\t5\t0.5\tP27(X,Q30) <= P19(X,Q30)",
        "?a  <P19>  Q30   => ?a  <P27>  Q30",
        "<P27>(?x, Q30) :- <P19>(?x, Q30) .",
    ],
)
def test_a_name_is_not_taken_for_a_variable(line: str):
    assert parse_rules(line) == parse_rules('"P19"(X, "Q30") -> "P27"(X, "Q30")')


def test_counts_of_rules_without_a_body_are_read():
    base = parse_rules("7221:5563\t164\t0.03\th(X,Y) <= b(X,Y)")
    assert base.rules[0].quality == Quality(7221, 164, 0.03)
