"""Open input files of all formats, and write output files completely or not at all."""

from __future__ import annotations

import enum
import errno
import glob
import gzip
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO

from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.kg.guards.limits import LONGEST_LINE, Unpacking, looked_through, piped, too_long_text
from reshuffle.locks import left_over, locked, released

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from typing_extensions import Buffer

    from reshuffle.kg.rows import TripleColumns

STDIN = "-"
_BUFFER = 1 << 20
_GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_NAMES_SHOWN = 5
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Format(enum.Enum):
    """How triples are written in a file."""

    TSV = "TSV"
    CSV = "CSV"
    N_TRIPLES = "N-Triples"
    TURTLE = "Turtle"
    RDF_XML = "RDF/XML"
    N_QUADS = "N-Quads"
    TRIG = "TriG"
    JSON_LD = "JSON-LD"
    JSON_LINES = "JSON lines"
    PARQUET = "Parquet"


_FORMATS = {
    ".csv": Format.CSV,
    ".nt": Format.N_TRIPLES,
    ".ttl": Format.TURTLE,
    ".rdf": Format.RDF_XML,
    ".nq": Format.N_QUADS,
    ".trig": Format.TRIG,
    ".jsonld": Format.JSON_LD,
    ".jsonl": Format.JSON_LINES,
    ".parquet": Format.PARQUET,
}
_ALSO_READ = {".owl": Format.RDF_XML, ".n3": Format.TURTLE, ".ndjson": Format.JSON_LINES}
_PLAIN = ("", ".txt", ".tsv")  # endings of tab-separated files
_TEXT = (*_PLAIN[1:], *(ending for ending in (*_FORMATS, *_ALSO_READ) if ending != ".parquet"))
ENDINGS = (*(ending + packing for ending in _TEXT for packing in ("", ".gz")), ".parquet")
"""Of the files that hold triples, where nobody names them one by one."""
FORMATS = ("tsv", *(ending[1:] for ending in _FORMATS))
"""How users name formats."""


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format a file name stands for; TSV unless the ending says otherwise.

    >>> format_of("facts.csv.gz"), format_of("train.txt")
    (<Format.CSV: 'CSV'>, <Format.TSV: 'TSV'>)
    """
    name = PurePath(path)
    chosen = (_FORMATS | _ALSO_READ).get(_ending(name), Format.TSV)
    if chosen is Format.PARQUET and name.suffix.lower() == ".gz":
        raise InputError(
            "found a compressed Parquet file, expected a plain one: Parquet has its own compression",
            place=Place(os.fspath(path)),
            hint="gunzip it",
        )
    return chosen


def format_named(name: str) -> Format:
    """The format that a user names as endings do.

    >>> format_named("csv")
    <Format.CSV: 'CSV'>
    """
    if name not in FORMATS:
        raise InputError(
            f"unknown format {name!r}{did_you_mean(name, FORMATS)}",
            hint=f"the formats are {', '.join(FORMATS)}",
        )
    return _FORMATS.get(f".{name}", Format.TSV)


def written_format(path: str | os.PathLike[str]) -> Format:
    """The format in which triples are written to a file; an ending that names none is refused.

    >>> written_format("answers"), written_format("answers.rdf")
    (<Format.TSV: 'TSV'>, <Format.RDF_XML: 'RDF/XML'>)
    """
    ending = _ending(PurePath(path))
    if ending not in (*_FORMATS, *_PLAIN) and not is_device(Path(os.path.realpath(path))):
        raise InputError(
            f"cannot write triples with the unknown file ending '{ending}'",
            place=Place(os.fspath(path)),
            hint=f"the endings are {', '.join((*_PLAIN[1:], *_FORMATS))}, also with .gz; "
            "without one it is tab-separated",
        )
    return format_of(path)


def _ending(name: PurePath) -> str:
    return (PurePath(name.stem).suffix if name.suffix.lower() == ".gz" else name.suffix).lower()


@dataclass(frozen=True)
class Source:
    """Bytes that can be read more than once: a file, or what came from a pipe.

    `size` counts the bytes on disk, so that progress has a total for compressed files too.
    """

    name: str
    size: int
    path: Path | None = None
    content: bytes = b""

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Source:
        """The file at a path, whatever it holds; raises `OSError` where there is none."""
        return cls(os.fspath(path), Path(path).stat().st_size, Path(path))

    @property
    def is_compressed(self) -> bool:
        """Does the name of the file end in .gz, or what came from a pipe begin as such files do?"""
        return self.content.startswith(_GZIP) if self.path is None else self.path.suffix.lower() == ".gz"

    @contextmanager
    def open(self, report: Callable[[int], None]) -> Iterator[BinaryIO]:
        """The uncompressed bytes; `report` hears of every byte taken from the disk."""
        raw = io.BytesIO(self.content) if self.path is None else self.path.open("rb", buffering=0)
        with raw, io.BufferedReader(_Reporting(raw, report), _BUFFER) as stream:
            if self.is_compressed:
                unpacked = gzip.GzipFile(fileobj=stream)
                yield looked_through(unpacked, Unpacking(self.place(), self.size))  # type: ignore[arg-type]
            else:
                yield stream

    def read_text(self, *, most: int, longest: int = LONGEST_LINE) -> bytes:
        """All of a file that people write, such as rules; one that is larger, or has longer lines, is refused."""
        large = self.size > most and not self.is_compressed
        try:
            with self.open(lambda _: None) as stream:
                content = b"" if large else stream.read(most + 1)
        except GZIP_ERRORS as error:
            raise broken_gzip(self, error, line=1) from error
        if large or len(content) > most:
            raise InputError(
                f"found more than {most:,} bytes, expected a file of normal size",
                place=self.place(),
                hint="split the file, or check its unpacked size",
            )
        if (number := _long_line(content, longest)) is not None:
            raise too_long_text(self.place(number), "a line", longest)
        return content

    def place(self, line: int | None = None) -> Place:
        """The place of a line, for an error message."""
        return Place(self.name, line)


def _long_line(content: bytes, longest: int) -> int | None:
    """The number of the first line that is too long."""
    start = 0
    while len(content) - start > longest:
        end = content.rfind(b"\n", start, start + longest)
        if end < 0:
            return content.count(b"\n", 0, start) + 1
        start = end + 1
    return None


_ARCHIVES = {
    b"PK\x03\x04": (
        "a zip archive",
        "unzip it; or `unzip -p facts.zip | reshuffle ... -` reads it from stdin "
        "(with --format, unless it is tab-separated)",
    ),
    b"BZh": (
        "data packed by bzip2",
        "bunzip2 it; or `bzcat facts.bz2 | reshuffle ... -` reads it from stdin",
    ),
    b"\xfd7zXZ": ("data packed by xz", "unxz it; or `xzcat facts.xz | reshuffle ... -` reads it from stdin"),
    b"\x28\xb5\x2f\xfd": ("data packed by zstd", "unpack it with zstd -d"),
}


def refuse_archive(source: Source) -> None:
    """Refuse packed data that is not read, with what unpacks it."""
    opening = source.content[:6]
    if source.path is not None:
        with source.path.open("rb") as file:
            opening = file.read(6)
    for magic, (found, hint) in _ARCHIVES.items():
        if opening.startswith(magic):
            raise InputError(
                f"found {found}, expected a file with triples, plain or packed by gzip",
                place=source.place(),
                hint=hint,
            )


def broken_gzip(source: Source, error: Exception, *, line: int) -> InputError:
    """The error for compressed data that cannot be unpacked from some line on."""
    if isinstance(error, EOFError):
        return InputError(
            "the compressed data ends too early, expected a complete gzip file",
            place=source.place(line),
            hint="copy or download it again; gzip -t tests whether a file is complete",
        )
    return InputError(
        "found bytes that are not gzip data, expected a file made by gzip",
        place=source.place(line),
        hint="if the file is not compressed, take the .gz off its name; if it is, copy or download it again",
    )


class NoTriplesError(InputError):
    """A source without a single triple; where that is a meaningful answer, `read_graph` gives an empty graph."""

    literals: TripleColumns | None = None
    """The facts with literals that it has; see `TripleColumns.literals`."""


def no_triples(source: Source, expected: str) -> NoTriplesError:
    """The error for a source without a single triple."""
    found = "the file is empty" if source.size == 0 else "found no triples"
    return NoTriplesError(
        f"{found}, expected {expected}",
        place=source.place(),
        hint="check that the program that wrote it finished",
    )


class _Reporting(io.RawIOBase):
    """A stream that reports how many bytes were read from it."""

    def __init__(self, raw: io.RawIOBase | io.BytesIO, report: Callable[[int], None]) -> None:
        self._raw, self._report = raw, report

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        count = self._raw.readinto(buffer) or 0
        self._report(count)
        return count


def find_source(path: str | os.PathLike[str]) -> Source:
    """The source a user named; `-` is stdin. Raises `InputError` when there is nothing to read."""
    if path == STDIN:
        content = piped(sys.stdin.buffer, Place("<stdin>"))
        return Source("<stdin>", len(content), content=content)
    place, file = Place(os.fspath(path)), Path(path)
    if file.is_dir():
        raise InputError(
            "found a directory, expected a file with triples", place=place, hint=files_inside(file)
        )
    if not file.exists():
        raise _missing(file, place)
    if not os.access(file, os.R_OK):
        raise InputError(
            "permission denied, expected a readable file", place=place, hint="chmod u+r makes it readable"
        )
    if not file.is_file():  # a named pipe gives its bytes only once
        with file.open("rb") as pipe:
            content = piped(pipe, place)
        return Source(place.file, len(content), content=content)
    return Source(place.file, file.stat().st_size, file)


def files_inside(folder: Path) -> str:
    """The hint for a directory where a file was expected."""
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
def work_folder(parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A folder for what is stored meanwhile, in the parent or where temporary files lie; it is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=".reshuffle-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; what lies there becomes `path` at the end, and vanishes if anything fails.

    It has reached the disk before it gets its name, and the name before this ends, so that a power cut leaves the old
    file or the new one. What a killed process left beside `path` is removed. A file that is replaced hands on its
    permissions; a new one gets those of any new file.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with written_whole(target) as aside:
    ...     _ = aside.write_text("done")
    >>> target.read_text(), [file.name for file in target.parent.iterdir()]
    ('done', ['notes.txt'])
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    check_writable(path)
    if is_device(target):  # nothing to put in its place
        with full_disk_told(path):
            yield target
        return
    _remove_abandoned(target)
    with full_disk_told(path):
        aside, lock = _new_aside(target)
        with released(lock):
            mode = stat.S_IMODE((target if target.exists() else aside).stat().st_mode)
            try:
                yield aside
                aside.chmod(mode)  # some writers make files that nobody else may read
                flush_to_disk(aside)
                aside.replace(target)
                flush_to_disk(target.parent)
            finally:
                aside.unlink(missing_ok=True)


def _new_aside(target: Path) -> tuple[Path, int]:
    """A new file beside the target, and its lock, which says that this process is alive."""
    while True:
        # The ending is kept, since many writers go by it.
        aside = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")
        if (lock := locked(aside, new=True)) is not None:
            return aside, lock


@contextmanager
def full_disk_told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Where there is no room to write to a path, the error says so and names it."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise InputError(
            f"cannot be written: {os.strerror(error.errno)}",
            place=Place(os.fspath(path)),
            hint="free some disk space, and run it again; existing output is unchanged",
        ) from error


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk, where the file system can tell."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if path.is_file() and error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _remove_abandoned(target: Path) -> None:
    """Remove what killed processes left when they wrote the same file."""
    name = re.compile(rf"\.{re.escape(target.stem)}\.[0-9a-f]{{8}}\.part{re.escape(target.suffix)}")
    pattern = f".{glob.escape(target.stem)}.*.part{glob.escape(target.suffix)}"
    for left in target.parent.glob(pattern):
        if name.fullmatch(left.name):
            with left_over(left) as may_go, suppress(OSError):
                if may_go:
                    left.unlink()


def check_writable(path: str | os.PathLike[str], *, endings: Collection[str] = ()) -> None:
    """Can a file be written there? To be asked before work whose result would be lost otherwise.

    Where `endings` are given, the name must have one of them.
    """
    target, place = Path(os.path.realpath(path)), Place(os.fspath(path))
    folder = Path(place.file).parent
    if target.is_dir():
        raise InputError(
            "found a directory, expected the name of a file to write",
            place=place,
            hint="add a file name to the path",
        )
    if endings and Path(path).suffix not in endings and not is_device(target):
        listed = ", ".join(filter(None, endings)) + (" or none" if "" in endings else "")
        gone = "; PNG files went with 0.3: convert an .svg" if Path(path).suffix == ".png" else ""
        raise InputError(
            f"found the ending '{Path(path).suffix}', expected one of {listed}",
            place=place,
            hint=f"the ending names the format{gone}",
        )
    if not target.parent.is_dir():
        raise InputError(
            f"cannot be written: the directory '{folder}' does not exist",
            place=place,
            hint="make the directory first, or name another",
        )
    if not os.access(target if is_device(target) else target.parent, os.W_OK):
        raise InputError(
            f"cannot be written: no permission to write in '{folder}'",
            place=place,
            hint="name another directory",
        )


def is_device(target: Path) -> bool:
    """Is this a device or a named pipe, such as /dev/null, which cannot be replaced by another file?"""
    return target.exists() and not target.is_file() and not target.is_dir()
