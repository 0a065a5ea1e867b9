"""Limits that are checked before a parser reads a file, so that a small file cannot fill the memory or end the process.

RDF streams are checked while they are read: a parser gets only checked bytes. The checks by format:

    JSON-LD                        objects and arrays inside each other, and long strings
    RDF/XML                        elements inside each other, what entities expand to, and long texts
    Turtle, N-Triples, and so on   triple terms inside each other; their parser limits the length of a term

>>> quoting = b'{"a": "[[[[[", "b": [[1]]}'
>>> Depth(Place("a.jsonld"), most=2).look(quoting)
Traceback (most recent call last):
  ...
reshuffle.errors.InputError: a.jsonld: found objects and arrays more than 2 deep inside each other
  hint: flatten it; no triples need such a depth
"""

from __future__ import annotations

import io
import os
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.errors import InputError, Place
from reshuffle.kg.guards import depth_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from typing_extensions import Buffer

LONGEST_LINE = 1 << 24
"""Bytes; a packed file of a few kilobytes may hold a line that fills the memory."""
DEEPEST_JSON = 256
"""Objects and arrays inside each other; the parser of JSON-LD ends the process at some thousands."""
DEEPEST_XML = 5_000
"""Elements inside each other; a list may be written so, and the parser takes quadratic time."""
DEEPEST_TERMS = 256
"""Triple terms inside each other."""
LONGEST_ENTITY = 1 << 16
"""Bytes that an entity of XML may stand for."""
_SHORT_ENTITY = 256  # bytes; references to such ones need no counting
_FREE = 1 << 24  # bytes that entities of a file, or its names, may expand to in any case
_TIMES = 20  # and for each byte that was read
_LONGEST_REFERENCE = 64  # bytes that may be cut at the end of a block
_BLOCK = 1 << 20
_SHARE_OF_MEMORY = 4
_ROWS_FREE, _ROWS_PER_BYTE = 10_000_000, 20  # of a Parquet file
_TABLE_FREE = 1 << 30
_LARGE = 1 << 18  # bytes; below, kernels run as they are
_UNPACKED_FREE = 1 << 28  # bytes that a packed file may have in any case
_MOST_PACKED = 200  # and for each byte of the packed file


class Watch(Protocol):
    """Looks through the bytes of a file, in order."""

    def look(self, block: bytes) -> bytes:
        """The bytes that may be passed on; what is unfinished is kept for the next block. Nothing follows `b""`."""


class Looked(io.RawIOBase):
    """A stream whose bytes are looked through before anybody gets them."""

    def __init__(self, stream: Any, watch: Watch) -> None:
        self._stream, self._watch = stream, watch
        self._ready, self._ended = memoryview(b""), False

    def readable(self) -> bool:  # noqa: D102 - of the class
        return True

    def readinto(self, buffer: Buffer, /) -> int:  # noqa: D102 - of the class
        while not self._ready and not self._ended:
            block = self._stream.read1(_BLOCK)  # what there is, before an error behind it
            self._ended = not block
            self._ready = memoryview(self._watch.look(block))
        into = memoryview(buffer).cast("B")
        count = min(len(into), len(self._ready))
        into[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def looked_through(stream: BinaryIO, watch: Watch) -> BinaryIO:
    """The stream, buffered, of which the watch sees everything first."""
    return io.BufferedReader(Looked(stream, watch), _BLOCK)


class Unpacking:
    """Counts what a packed file gives."""

    def __init__(self, place: Place, packed: int) -> None:
        self._place, self._most, self._given = place, max(_UNPACKED_FREE, _MOST_PACKED * packed), 0

    def look(self, block: bytes) -> bytes:
        """The block, unless there is too much of it all."""
        self._given += len(block)
        if self._given > self._most:
            raise InputError(
                f"found more than {self._most:,} bytes in it, {_MOST_PACKED} times what the packed file has",
                place=self._place,
                hint="check what it unpacks to; if that is right, unpack it with gunzip and give the plain file",
            )
        return block


class _Kernel:
    """A kernel of `depth_kernels` with its state, which is compiled once a file turns out to be large."""

    def __init__(self, kernel: Callable[..., int], deepest: int) -> None:
        self._kernel, self._deepest, self._seen = kernel, deepest, 0
        self.state = np.zeros(depth_kernels.STOPPED + 1, dtype=np.int64)

    def run(self, block: bytes, start: int = 0) -> int:
        """What the kernel finds from a place of the block on; 0 at its end."""
        self._seen += len(block) - start
        if self._seen < _LARGE:
            state = self.state.tolist()  # faster, where nothing is compiled
            found = self._kernel(block, start, len(block), state, self._deepest, LONGEST_LINE)
            self.state[:] = state
            return found
        text = np.frombuffer(block, dtype=np.uint8)
        return int(_compiled(self._kernel)(text, start, len(block), self.state, self._deepest, LONGEST_LINE))


@cache
def _compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    return compiled(kernel)


class Depth:
    """The depth of JSON, whatever stands in its strings."""

    def __init__(self, place: Place, most: int = DEEPEST_JSON) -> None:
        self._place, self._most = place, most
        self._kernel = _Kernel(depth_kernels.json_depth, most)

    def look(self, block: bytes) -> bytes:
        """The block, unless it is too deep."""
        found = self._kernel.run(block)
        if found == depth_kernels.TOO_LONG:
            raise too_long_text(self._place, "a text in quotes")
        if found == depth_kernels.TOO_DEEP:
            raise InputError(
                f"found objects and arrays more than {self._most:,} deep inside each other",
                place=self._place,
                hint="flatten it; no triples need such a depth",
            )
        return block


class Elements:
    """The depth of XML, and what its entities stand for.

    It is stricter than the parser behind it: where the two could differ on what is a tag, it is an error.
    """

    _TYPE = re.compile(
        rb"<!D[^<>\[\]\"']*(?:(?:\"[^\"<>]*\"|'[^'<>]*')[^<>\[\]\"']*)*"
        rb"(?:\[(?:[^<>\[\]\"']|<!--[^<>]*-->|<![A-Z][^<>\"']*(?:(?:\"[^\"<>]*\"|'[^'<>]*')[^<>\"']*)*>)*\]\s*)?>"
    )
    _ENTITY = re.compile(rb"<!ENTITY\s+([^\s%\"'<>&;]+)\s+(?:\"([^\"]*)\"|'([^']*)'|(?:SYSTEM|PUBLIC)\s)")
    _REFERENCE = re.compile(rb"&([^;&<\s]+);")

    def __init__(self, place: Place) -> None:
        self._place, self._kernel = place, _Kernel(depth_kernels.xml_depth, DEEPEST_XML)
        self._type: bytes | None = None  # the document type, while it is read
        self._entities: dict[bytes, int] = {}
        self._seen, self._expanded, self._lines, self._last = 0, 0, 1, b""

    def look(self, block: bytes) -> bytes:
        """The block, unless something in it is too deep, too long, or no tag."""
        self._seen += len(block)
        at = 0
        while at < len(block):
            found = self._kernel.run(block, at)
            start, at = at, int(self._kernel.state[depth_kernels.STOPPED])
            if self._type is not None:
                self._type += block[start:at]
            if found == depth_kernels.TYPE_BEGINS:
                self._type = b"<!D"
            elif found == depth_kernels.TYPE_ENDS:
                self._declare(self._type or b"")
                self._type = None
            elif found:
                raise self._wrong(found, block, at)
        self._count_references(block)
        self._lines += block.count(b"\n")
        return block

    def _wrong(self, found: int, block: bytes, at: int) -> InputError:
        place = Place(self._place.file, self._lines + block.count(b"\n", 0, at))
        if found == depth_kernels.TOO_LONG:
            return too_long_text(place, "a tag, a comment or a text")
        if found == depth_kernels.TOO_DEEP:
            return InputError(
                f"found elements more than {DEEPEST_XML:,} deep inside each other",
                place=place,
                hint="write the nodes one after the other, with rdf:about or rdf:nodeID",
            )
        return InputError(
            "found a < that does not begin a tag, expected RDF/XML",
            place=place,
            hint="< in a text or a value is written &lt;, and a tag ends with >",
        )

    def _declare(self, doctype: bytes) -> None:
        """Take in what a document type declares, in the order in which the parser expands it."""
        found = self._ENTITY.findall(doctype)
        known = self._TYPE.fullmatch(doctype) and len(found) == len(
            re.findall(rb"<!\s*ENTITY", doctype, re.I)
        )
        if not known or self._entities or self._kernel.state[depth_kernels.ELEMENTS]:
            raise InputError(
                "found a document type that is not read: with entities of parameters, with < or > in a value, or not "
                "at the beginning",
                place=self._place,
                hint='plain entities are supported, as in <!ENTITY owl "http://www.w3.org/2002/07/owl#">; '
                "xmllint --noent writes a file without them",
            )
        for name, one, other in found:
            self._entities[name] = max(self._entities.get(name, 0), self._length(one or other))
            if self._entities[name] > LONGEST_ENTITY:
                raise self._too_much(
                    f"the entity {name.decode(errors='replace')} stands for more than {LONGEST_ENTITY:,} bytes"
                )

    def _length(self, value: bytes) -> int:
        return len(value) + sum(self._entities.get(name, 0) for name in self._REFERENCE.findall(value))

    def _count_references(self, block: bytes) -> None:
        if max(self._entities.values(), default=0) <= _SHORT_ENTITY:
            return
        last, self._last = self._last + block, block[-_LONGEST_REFERENCE:]
        self._expanded += self._length(last) - len(last)
        if self._expanded > _FREE + _TIMES * self._seen:
            raise self._too_much(f"the entities stand for more than {self._expanded:,} bytes")

    def _too_much(self, found: str) -> InputError:
        return InputError(
            found, place=self._place, hint="write the texts themselves; entities are for namespaces"
        )


class TripleTerms:
    """The depth of triple terms, `<<( s p o )>>`, in Turtle and its kin.

    Few files have any. Where one is found, the file is looked through from its beginning, strings and comments apart.
    """

    _TOKEN = re.compile(
        rb'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|<[^<>"\s]*>|#[^\n\r]*|\\.|<<\(|\)>>'
    )
    _ENDS: ClassVar = {mark: re.compile(rb"\\.|" + mark, re.DOTALL) for mark in (b'"""', b"'''")}

    def __init__(self, place: Place, again: Callable[[], AbstractContextManager[BinaryIO]]) -> None:
        self._place, self._again = place, again
        self._last, self._checked = b"", False

    def look(self, block: bytes) -> bytes:
        """The block; at the first triple term the whole file is looked through."""
        if not self._checked and (b"<<(" in block or b"<<(" in self._last + block[:2]):
            self._checked = True
            self._check_all()
        self._last = block[-2:]
        return block

    def _check_all(self) -> None:
        depth = 0
        for token in self._tokens():
            depth += 1 if token == b"<<(" else -1 if token == b")>>" else 0
            if depth > DEEPEST_TERMS:
                raise InputError(
                    f"found triple terms more than {DEEPEST_TERMS:,} deep inside each other",
                    place=self._place,
                    hint="name the inner ones with rdf:reifies",
                )

    def _tokens(self) -> Iterator[bytes]:
        """What stands outside of strings, IRIs and comments. Only long strings go over several lines."""
        ends: re.Pattern[bytes] | None = None
        with self._again() as stream:
            for line in iter(partial(stream.readline, LONGEST_LINE), b""):
                if len(line) == LONGEST_LINE:
                    raise too_long_text(self._place, "a line")
                at = 0
                while found := (ends or self._TOKEN).search(line, at):
                    at, token = found.end(), found.group()
                    if token in self._ENDS:
                        ends = None if ends else self._ENDS[token]
                    yield token


class NameBudget:
    """How long the names of a file may be together: a short file may give one long prefix to thousands of names."""

    LONG = 1024
    """Characters; shorter names need no counting."""

    def __init__(self, place: Place, size: int) -> None:
        self._place, self._left = place, _FREE + _TIMES * size

    def spend(self, length: int) -> None:
        """Take one long name from what is left."""
        self._left -= length
        if self._left < 0:
            raise InputError(
                "its names are far longer than the file",
                place=self._place,
                hint="a prefix, a base or an entity stands for a very long text; shorten it",
            )


def check_table_size(rows: int, size: int, *, packed: int, place: Place) -> None:
    """Refuse a packed table with far more in it than packed triples have."""
    most_rows, most_bytes = _ROWS_FREE + _ROWS_PER_BYTE * packed, _TABLE_FREE + _MOST_PACKED * packed
    if rows > most_rows or size > most_bytes:
        raise InputError(
            f"found {rows:,} rows with {size:,} bytes of names in a file of {packed:,} bytes, "
            f"expected at most {most_rows:,} rows and {most_bytes:,} bytes",
            place=place,
            hint="drop repeated rows, and write the file again",
        )


def piped(stream: BinaryIO, place: Place) -> bytes:
    """All that comes out of a pipe, unless it would not fit into the memory."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _SHARE_OF_MEMORY
    blocks, size = [], 0
    while block := stream.read(_BLOCK):
        size += len(block)
        if size > most:
            raise InputError(
                f"found more than {most:,} bytes in a pipe, which is read as a whole",
                place=place,
                hint="store them in a file first, and give that",
            )
        blocks.append(block)
    return b"".join(blocks)


def too_long_text(place: Place, what: str, most: int = LONGEST_LINE) -> InputError:
    """A piece of a file that fills the memory."""
    return InputError(
        f"found {what} of more than {most:,} bytes",
        place=place,
        hint="check that the file is whole, that it has line breaks, and what it unpacks to",
    )
