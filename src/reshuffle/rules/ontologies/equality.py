"""What follows from two names of one individual: each says all that the other says.

`owl:sameAs` is symmetric and transitive, and before and after each relation it leads to the same ends. So every name
keeps its triples, proofs name the equality that they use, and nothing is merged that an update would have to part. A
class of k names has k² pairs: it is what OWL 2 RL derives, too. That every name is the same as itself is never listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.kg.vocabulary import base_relation
from reshuffle.rules.class_axioms import SAME_AS
from reshuffle.rules.rule import SAME, PathRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.rules.rule import Rule, RuleBase

_OF_ITSELF: tuple[Rule, ...] = (
    PathRule((f"{SAME_AS}^-1",), SAME_AS),
    PathRule((SAME_AS, SAME_AS), SAME_AS),
)


def concludes_equality(rules: RuleBase) -> bool:
    """Does a rule say that two names are of one individual?"""
    heads = (*rules.head_relations, *(rule.head for rule in rules.by_instance))
    return SAME_AS in map(base_relation, heads)


def equality_rules(relations: Iterable[str]) -> tuple[Rule, ...]:
    """The rules by which names of one individual share what these relations say of them.

    >>> for rule in equality_rules(["knows"])[2:]:
    ...     print(rule.body, rule.head)
    ('http://www.w3.org/2002/07/owl#sameAs', 'knows') knows
    ('knows', 'http://www.w3.org/2002/07/owl#sameAs') knows
    """
    named = dict.fromkeys(map(base_relation, relations))
    others = (name for name in named if name not in (SAME, SAME_AS))
    replacing = (
        rule for name in others for rule in (PathRule((SAME_AS, name), name), PathRule((name, SAME_AS), name))
    )
    return (*_OF_ITSELF, *replacing)


def with_equality(rules: RuleBase, relations: Iterable[str] = ()) -> RuleBase:
    """The rules, and where two names can be of one individual those of equality, for all relations and these others."""
    of_instances = (name for rule in rules.by_instance for name in (*rule.body, rule.head))
    used = dict.fromkeys([*rules.relations, *of_instances, *relations])
    if not (concludes_equality(rules) or SAME_AS in used):
        return rules
    known = set(rules.given)
    more = tuple(rule for rule in equality_rules(used) if rule not in known)
    return replace(rules, given=(*rules.given, *more)) if more else rules
