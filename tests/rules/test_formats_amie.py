"""AMIE's output as it comes from the program: rules in eight columns between log lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.rules import IntersectionRule, PathRule, Quality, parse_rules, read_rules

if TYPE_CHECKING:
    from pathlib import Path

HEADER = (
    "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\t"
    "Positive Examples\tBody size\tPCA Body size\tFunctional variable"
)
OUTPUT = f"""\
Loading files...
  Starting family.tsv
Using HeadCoverage as pruning metric with minimum threshold 0.01
{HEADER}
?b  <isMarriedTo>  ?a   => ?a  <isMarriedTo>  ?b\t0.9\t0.75\t0.8\t12\t16\t15\t?a
?g  <born in>  ?b  ?a  <parentOf>  ?g   => ?a  <lives in>  ?b\t0,1\t0,5\t0,6\t3.0\t6.0\t5\t?a
?a  <livesIn>  ?b  ?b  <worksIn>  ?a   => ?a  <localTo>  ?b\t0.1\t0.5\t0.6\t3\t6\t5\t?b
Mining done in 0.31 s
3 rules mined.
"""


def test_rules_and_qualities_between_the_log_lines():
    base = parse_rules(OUTPUT)
    assert base.given == (
        PathRule(("isMarriedTo^-1",), "isMarriedTo"),
        PathRule(("parentOf", "born in"), "lives in"),
        IntersectionRule(("livesIn", "worksIn^-1"), "localTo"),
    )
    assert [rule.quality for rule in base.given] == [
        Quality(predictions=16, support=12, confidence=0.75),
        Quality(predictions=6, support=3, confidence=0.5),
        Quality(predictions=6, support=3, confidence=0.5),
    ]


def test_log_lines_are_counted_and_the_header_is_none():
    (log,) = parse_rules(OUTPUT, file="amie.tsv").unread
    assert str(log) == "log lines not read: 5; the first: amie.tsv:1: Loading files..."


def test_constants_are_read_and_rules_that_are_no_paths_are_counted(tmp_path: Path):
    path = tmp_path / "amie.tsv"
    triangle = "?a  <p>  ?b  ?a  <q>  ?c  ?b  <r>  ?c   => ?a  <s>  ?b"
    constant = "?a  <p>  <London>   => ?a  <q>  <UK>"
    path.write_text(f"?a  <p>  ?b   => ?a  <q>  ?b\n{triangle}\n{constant}\n", encoding="utf-8")
    base = read_rules(path, skip_unsupported=True)
    assert [str(rule) for rule in base.given] == ["p(X, Y) -> q(X, Y)", 'p(X, "London") -> q(X, "UK")']
    assert [(unread.what, unread.count) for unread in base.unread] == [("rules that are not closed paths", 1)]
