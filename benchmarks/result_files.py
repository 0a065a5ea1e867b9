"""Result files: JSON lines with one row each, after a first line that tells how the rows were made.

    {"about": {"command": "...", "date": "...", "hardware": {...}, "versions": {...}}}
    {"dataset": "WN18RR-v1", "hits@10": 0.91}

A file is always written whole, so a run that is killed leaves no half line. Rows are changed under a lock, so several
processes may add to one file.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reshuffle.errors import InputError, Place
from reshuffle.kg import written_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_BROKEN = "remove the line, and run again the command that made the file"


@dataclass
class Results:
    """The content of a result file: how its rows were made, and the rows."""

    about: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)


def read_results(path: Path) -> Results:
    """The content of a result file; nothing where there is none yet."""
    found = Results()
    for _, line in numbered_lines(path):
        if set(line) == {"about"}:
            found.about = line["about"]
        else:
            found.rows.append(line)
    return found


def numbered_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a result file, each with the number of its line."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        place = Place(str(path), number)
        try:
            found = json.loads(line)
        except ValueError as error:
            raise InputError(f"not JSON, or cut short: {error}", place=place, hint=_BROKEN) from error
        if not isinstance(found, dict):
            raise InputError("not a row of results", place=place, hint=_BROKEN)
        yield number, cast("dict[str, Any]", found)


def write_results(path: Path, results: Results) -> None:
    """Replace a result file by another content, at once."""
    lines = [{"about": results.about}, *results.rows] if results.about else results.rows
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as aside:
        aside.write_text(text, encoding="utf-8")


@contextmanager
def changed_results(path: Path) -> Iterator[Results]:
    """The content of a result file, to be changed; it is written at the end. Nobody else changes it meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        found = read_results(path)
        yield found
        write_results(path, found)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A lock on a folder: unlike one on the file, it outlives that the file is replaced, and leaves nothing behind."""
    try:
        import fcntl
    except ImportError:  # Windows has none; there, do not run several at a time
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # releases the lock


def read_document(path: Path) -> dict[str, Any]:
    """A result that is one JSON object and no list of rows."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write a result that is one JSON object, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as aside:
        aside.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
