"""Files as they come in, and files that are written whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from reshuffle.errors import InputError, Place, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Buffer

STDIN = "-"
_BUFFER = 1 << 20
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Source:
    """Bytes that can be read more than once: a file, or what came from a pipe.

    `size` counts the bytes on disk, so that progress has a total for compressed files too.
    """

    name: str
    size: int
    path: Path | None = None
    content: bytes = b""

    @property
    def is_compressed(self) -> bool:
        """Only files have an ending that says so."""
        return self.path is not None and self.path.suffix.lower() == ".gz"

    @contextmanager
    def open(self, report: Callable[[int], None]) -> Iterator[BinaryIO]:
        """The uncompressed bytes; `report` hears of every byte taken from the disk."""
        raw = io.BytesIO(self.content) if self.path is None else self.path.open("rb", buffering=0)
        with io.BufferedReader(_Reporting(raw, report), _BUFFER) as stream:
            yield gzip.GzipFile(fileobj=stream) if self.is_compressed else stream  # type: ignore[misc]

    def place(self, line: int | None = None) -> Place:
        """Where an error message points."""
        return Place(self.name, line)


class _Reporting(io.RawIOBase):
    """Passes bytes on and tells how many."""

    def __init__(self, raw: io.RawIOBase | io.BytesIO, report: Callable[[int], None]) -> None:
        self._raw, self._report = raw, report

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        count = self._raw.readinto(buffer) or 0
        self._report(count)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def find_source(path: str | os.PathLike[str]) -> Source:
    """The source a user named; `-` is stdin. Raises `InputError` when there is nothing to read."""
    if path == STDIN:
        content = sys.stdin.buffer.read()
        return Source("<stdin>", len(content), content=content)
    place, file = Place(os.fspath(path)), Path(path)
    if file.is_dir():
        raise InputError(
            "found a directory, expected a file with triples", place=place, hint=_files_inside(file)
        )
    if not file.exists():
        raise _missing(file, place)
    if not os.access(file, os.R_OK):
        raise InputError(
            "permission denied, expected a readable file", place=place, hint="chmod u+r makes it readable"
        )
    if not file.is_file():  # a named pipe gives its bytes only once
        content = file.read_bytes()
        return Source(place.file, len(content), content=content)
    return Source(place.file, file.stat().st_size, file)


def _files_inside(folder: Path) -> str:
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    if not names:
        return "name one file; this directory holds none"
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    return f"name one of its files: {shown}"


def _missing(file: Path, place: Place) -> InputError:
    if not file.parent.is_dir():
        return InputError(
            f"no such file: the directory '{file.parent}' does not exist",
            place=place,
            hint="check the path; - reads from stdin",
        )
    neighbours = sorted(entry.name for entry in file.parent.iterdir())
    return InputError(
        f"no such file{did_you_mean(file.name, neighbours)}",
        place=place,
        hint="check the path; - reads from stdin",
    )


def made_directory(directory: str | Path) -> Path:
    """A directory to write to, made if need be."""
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be made a directory: {error.strerror}", place=Place(str(directory)), hint="name another"
        ) from error
    return Path(directory)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; what lies there becomes `path` at the end, and vanishes if anything fails.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with written_whole(target) as aside:
    ...     _ = aside.write_text("done")
    >>> target.read_text(), [file.name for file in target.parent.iterdir()]
    ('done', ['notes.txt'])
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    _check_writable(target, Place(os.fspath(path)))
    if target.exists() and not target.is_file():  # /dev/null, a named pipe: nothing to put in its place
        yield target
        return
    # The ending is kept, since many writers go by it.
    aside = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")
    try:
        yield aside
        aside.replace(target)
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()


def _check_writable(target: Path, place: Place) -> None:
    if target.is_dir():
        raise InputError(
            "found a directory, expected the name of a file to write",
            place=place,
            hint="add a file name to the path",
        )
    if not target.parent.is_dir():
        raise InputError(
            f"cannot be written: the directory '{Path(place.file).parent}' does not exist",
            place=place,
            hint="make the directory first, or name another",
        )
    if not os.access(target.parent, os.W_OK) and not target.exists():
        raise InputError(
            f"cannot be written: no permission to write in '{Path(place.file).parent}'",
            place=place,
            hint="name another directory",
        )
