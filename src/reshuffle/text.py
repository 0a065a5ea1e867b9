"""Numbers with their nouns, and tables, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts.

    >>> counted(1, "rule"), counted(1200, "rule"), counted(0, "entity", "entities")
    ('1 rule', '1,200 rules', '0 entities')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns padded to equal width; numbers to the right.

    >>> print(table(["name", "triples"], [["family", 17615], ["WN18RR", 86835]]))
    name    triples
    family   17,615
    WN18RR   86,835
    """
    cells = [list(header), *[[_cell(value) for value in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    numeric = [
        bool(rows) and all(isinstance(row[column], int | float) for row in rows)
        for column in range(len(header))
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
