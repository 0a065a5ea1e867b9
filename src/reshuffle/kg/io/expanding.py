"""What users name when they name files of triples: files, folders and patterns."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import ENDINGS, STDIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.progress import Notes

_NAMED = 3  # files that a note names


def files_of(paths: Iterable[str | os.PathLike[str]], notes: Notes) -> list[str]:
    """The files that the paths stand for, in the order given, those of a folder by name; none of them twice."""
    return list(dict.fromkeys(file for path in paths for file in _files(os.fspath(path), notes)))


def _files(path: str, notes: Notes) -> Iterator[str]:
    if path != STDIN and Path(path).is_dir():
        yield from _folder(path, notes)
    elif path != STDIN and glob.has_magic(path) and not Path(path).exists():
        yield from _matching(path, notes)
    else:
        yield path  # what is wrong with it, its reader says


def _matching(pattern: str, notes: Notes) -> Iterator[str]:
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - takes absolute patterns, too
    if not found:
        raise InputError(
            "no file matches this pattern",
            place=Place(pattern),
            hint="* stands for any text, ** for any folders",
        )
    for path in found:
        if Path(path).is_dir():
            yield from _folder(path, notes)
        else:
            yield path


def _folder(folder: str, notes: Notes) -> Iterator[str]:
    """The files of triples of a folder, by their endings; hidden ones and markers (`_SUCCESS`) are none."""
    inside = sorted(entry for entry in Path(folder).iterdir() if not entry.name.startswith((".", "_")))
    chosen = [entry for entry in inside if entry.is_file() and entry.name.lower().endswith(ENDINGS)]
    if not chosen:
        names = ", ".join(entry.name for entry in inside[:_NAMED]) + (", ..." if len(inside) > _NAMED else "")
        raise InputError(
            f"found a directory without files of triples{f', but with {names}' if names else ''}",
            place=Place(folder),
            hint=f"files of triples end in {', '.join(ENDINGS[:3])} and the like; name others one by one",
        )
    others = [entry.name + "/" * entry.is_dir() for entry in inside if entry not in chosen]
    if others:
        more = ", ..." if len(others) > _NAMED else ""
        notes(f"{folder}: passed over: {', '.join(others[:_NAMED])}{more}")
    yield from (str(entry) for entry in chosen)
