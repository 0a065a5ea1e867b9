"""The width of a text, and its line breaks. Fonts differ, so widths are those of a wide one (DejaVu Sans)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from reshuffle.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_NARROW, _BROAD = frozenset("iljtfrI.,:;'|!()[]{}\"/\\- "), frozenset("mwMW@%&→⇒")
_PIECES = re.compile(r".+?(?:[\s,/_.:;\-]+|(?<=[a-z])(?=[A-Z])|$)")
ELLIPSIS = "…"


def width_of(text: str, size: float) -> float:
    """About how wide a text is, in the unit of `size`, and rather more than less.

    >>> width_of("mmm", 10) > width_of("abc", 10) > width_of("il.", 10)
    True
    """
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.42
    if character in _BROAD:
        return 1.0
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    return 0.72 if character.isupper() else 0.64


def lines_of(text: str, *, size: float, width: float, most: int) -> list[str]:
    """The text in at most `most` lines of that width; what does not fit ends in an ellipsis.

    Lines break behind blanks and signs and before capitals; a piece that is too long for a line is cut.

    >>> lines_of("a long name of a relation", size=10, width=80, most=2)
    ['a long name', 'of a relation']
    >>> lines_of("x" * 100, size=10, width=80, most=1)
    ['xxxxxxxxxxx…']
    """
    lines = [""]
    for piece in _pieces(visible(text), size, width):
        if lines[-1] and width_of(lines[-1] + piece.rstrip(), size) > width:
            lines.append("")
        lines[-1] += piece
    lines = [line.strip() for line in lines]
    return lines if len(lines) <= most else [*lines[: most - 1], _cut(lines[most - 1], size, width)]


def _pieces(text: str, size: float, width: float) -> Iterator[str]:
    """What stays together: words, and parts of words that are longer than a line."""
    for word in _PIECES.findall(text):
        piece, room = "", width
        for character in word:
            room -= width_of(character, size)
            if room < 0 and piece:
                yield piece
                piece, room = "", width - width_of(character, size)
            piece += character
        yield piece


def _cut(line: str, size: float, width: float) -> str:
    while line and width_of(line + ELLIPSIS, size) > width:
        line = line[:-1]
    return line + ELLIPSIS
