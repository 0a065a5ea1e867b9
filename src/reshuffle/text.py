"""Text output: numbers with nouns, names without hidden characters, and tables."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


# What moves the cursor, colours or turns around what a terminal shows, or shows as nothing.
HIDDEN = "\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
_HIDDEN = re.compile(f"[{HIDDEN}]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str, *, but: str = "") -> str:
    """The text with control characters written as escapes, all but those of `but`, so that no name can forge a line.

    >>> print(visible("two\\nlines"), visible("\\x1b[31mred"))
    two\\nlines \\u001b[31mred
    """
    return _HIDDEN.sub(lambda found: found[0] if found[0] in but else _escape(found[0]), text)


def _escape(character: str) -> str:
    return _SHORT.get(character, f"\\u{ord(character):04x}")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts.

    >>> counted(1, "rule"), counted(1200, "rule"), counted(0, "entity", "entities")
    ('1 rule', '1,200 rules', '0 entities')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """A time as people say it, in two units at most.

    >>> duration(0.4), duration(75), duration(4000), duration(200_000)
    ('0 s', '1 min 15 s', '1 h 6 min', '2 d 7 h')
    """
    whole = round(seconds)
    for size, unit, smaller, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // smaller} {part}"
    return f"{whole} s"


def table(header: Sequence[str], rows: Sequence[Sequence[object]], *, align: str | None = None) -> str:
    """The rows under their header as lines of text, columns two blanks apart.

    `align` has "l" or "r" for each column; without it, columns of numbers go to the right. A last column that goes to
    the left is not padded. A missing number (None) is shown as `-`.

    >>> print(table(["name", "triples"], [["family", 17615], ["WN18RR", 86835]]))
    name    triples
    family   17,615
    WN18RR   86,835
    """
    cells = [list(header), *[[_cell(value) for value in row] for row in rows]]
    sides = align or _alignment(len(header), rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if sides[-1] == "l":
        widths[-1] = 0
    # An empty last cell would leave the blanks before it.
    return "\n".join("  ".join(map(_justified, row, widths, sides)).rstrip() for row in cells)


def _alignment(columns: int, rows: Sequence[Sequence[object]]) -> str:
    """For each column "r" where all values are numbers or missing, else "l"."""
    numeric = (
        bool(rows) and all(row[column] is None or isinstance(row[column], int | float) for row in rows)
        for column in range(columns)
    )
    return "".join("r" if right else "l" for right in numeric)


def _justified(cell: str, width: int, side: str) -> str:
    return cell.rjust(width) if side == "r" else cell.ljust(width)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else visible(str(value))


def json_text(data: Any, *, only_ascii: bool = False) -> str:
    """The data as one JSON document, with null for infinities and NaN, which JSON does not have.

    >>> json_text({"best": float("inf"), "name": "Zoë"})
    '{"best": null, "name": "Zoë"}'
    """
    try:
        return json.dumps(data, ensure_ascii=only_ascii, allow_nan=False)
    except ValueError:
        return json.dumps(_with_null(data), ensure_ascii=only_ascii)


def _with_null(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _with_null(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_with_null(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
