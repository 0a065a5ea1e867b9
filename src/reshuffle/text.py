"""Numbers with their nouns, as messages say them."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts.

    >>> counted(1, "rule"), counted(1200, "rule"), counted(0, "entity", "entities")
    ('1 rule', '1,200 rules', '0 entities')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
