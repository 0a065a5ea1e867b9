"""What follows: rules, their classes, and the slow, obvious meaning of entailment."""

from reshuffle.rules.base import RuleBase, Unread
from reshuffle.rules.parsing import parse_rules
from reshuffle.rules.rule import Disjointness, IntersectionRule, PathRule, Quality, Rule

__all__ = [
    "Disjointness",
    "IntersectionRule",
    "PathRule",
    "Quality",
    "Rule",
    "RuleBase",
    "Unread",
    "parse_rules",
]
