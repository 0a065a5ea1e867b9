"""Rules as data: reading and writing them, their classes, mining, and the reference meaning of entailment."""

from reshuffle.rules.parsing import parse_rules, read_rules
from reshuffle.rules.rule import Disjointness, IntersectionRule, PathRule, Quality, Rule, RuleBase, Unread
from reshuffle.rules.writing import format_rules, write_rules

__all__ = [
    "Disjointness",
    "IntersectionRule",
    "PathRule",
    "Quality",
    "Rule",
    "RuleBase",
    "Unread",
    "format_rules",
    "parse_rules",
    "read_rules",
    "write_rules",
]
