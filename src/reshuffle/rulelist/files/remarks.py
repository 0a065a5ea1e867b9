"""What a person wrote into `model.rules` beside its lines: comments, and lines that are struck out.

They stay before the line that they stood before, where it is still there, else before the next one that is; at the end
of a section behind its last line. What stands behind a rule stays there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reshuffle.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator

    Key = tuple[str, Hashable]

_FRONT = ""  # before the first section
_RULES = "[rules]"  # the one section in whose lines a comment may stand behind


@dataclass
class _Remarks:
    before: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    after: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Behind a line, or for the key None at the beginning of its section."""
    beside: dict[Key, str] = field(default_factory=dict)


def with_remarks(
    new: str, old: str, *, generated: Container[str], key_of: Callable[[str, str], Hashable]
) -> str:
    """The new text of a model with the remarks of the old one.

    `generated` holds the comments that every model has. `key_of` says of a line of a section what it is about, and
    raises `InputError` where it is none.
    """
    lines = list(_keyed(new, key_of))
    known = {key for key, _ in lines if key is not None}
    remarks = _found(old, known, generated, key_of)
    return "".join(f"{line}\n" for line in _merged(lines, remarks))


def _keyed(text: str, key_of: Callable[[str, str], Hashable]) -> Iterator[tuple[Key | None, str]]:
    """The lines with their keys: None for comments and blank lines; the names of sections are keys, too."""
    section = _FRONT
    for line in text.removesuffix("\n").split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            yield None, line
        elif stripped.startswith("["):
            section = stripped
            yield (section, None), line
        else:
            yield (section, key_of(section, line)), line


def _found(
    old: str, known: Container[Key], generated: Container[str], key_of: Callable[[str, str], Hashable]
) -> _Remarks:
    remarks, waiting = _Remarks(), []
    last: Key = (_FRONT, None)
    for key, line in _keyed(old, key_of):
        if key is None:
            if line.strip() and line.rstrip() not in generated:
                waiting.append(line.rstrip())
            continue
        if key in known:
            place = remarks.after[last] if key[1] is None else remarks.before[key]
            place += waiting
            waiting, last = [], key
        if key[0] == _RULES and (beside := _beside(key, line, key_of)):
            remarks.beside[key] = beside
    remarks.after[last] += waiting
    return remarks


def _beside(key: Key, line: str, key_of: Callable[[str, str], Hashable]) -> str:
    """The comment behind what a line says: what it can do without."""
    at = line.find("#")
    while at >= 0:
        try:
            if key_of(key[0], line[:at]) == key[1]:
                return line[at:].rstrip()
        except InputError:  # the mark belongs to a name
            pass
        at = line.find("#", at + 1)
    return ""


def _merged(lines: list[tuple[Key | None, str]], remarks: _Remarks) -> Iterator[str]:
    """The lines with remarks around them; those at the beginning of a section stand behind its own comments."""
    behind: list[str] = remarks.after.get((_FRONT, None), [])
    for key, line in lines:
        if key is None and line.strip():
            yield line
            continue
        yield from behind  # a line, or the blank one before the next section
        behind = []
        if key is None:
            yield line
            continue
        yield from remarks.before.get(key, ())
        yield f"{line}  {remarks.beside[key]}" if key in remarks.beside else line
        behind = remarks.after.get(key, [])
    yield from behind
