"""Limits of missing links (types of their ends, ends that were seen, pairs that no fact joins), and what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph, Triple

TYPES = {"a": "one", "b": "one", "c": "two", "d": "two", "e": "one", "f": "two"}
LIMITS = (
    {"head_types": ["one"]},
    {"tail_types": "two"},
    {"head_types": ["one", "two"], "tail_types": ["one"]},
    {"seen_ends": True},
    {"not_linked": True},
    {"head_types": ["two"], "seen_ends": True, "not_linked": True},
)


def within(link: Triple, facts: KnowledgeGraph, limits: dict[str, object]) -> bool:
    """What the limits say, word for word."""
    heads, tails = limits.get("head_types", ()), limits.get("tail_types", ())
    ends = {link.head, link.tail}
    return (
        (not heads or TYPES.get(link.head, "no") in heads)
        and (not tails or TYPES.get(link.tail, "no") in tails)
        and (
            not limits.get("seen_ends")
            or (
                any(link.head == fact.head and link.relation == fact.relation for fact in facts)
                and any(link.tail == fact.tail and link.relation == fact.relation for fact in facts)
            )
        )
        and (not limits.get("not_linked") or not any({fact.head, fact.tail} == ends for fact in facts))
    )
