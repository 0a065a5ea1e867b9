"""A fast reader for TSV and plain CSV: blocks of bytes in, ids and names out.

While one thread interns the entities of a block, another reads, splits and hashes the next one. If
anything is unusual (a wrong column count, a quote in CSV, bytes that are not UTF-8, the name of an inverse),
`read_fast` gives up, and the slow reader in `reading` reports it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from reshuffle.kg import name_kernels as kernels
from reshuffle.kg.guards.limits import LONGEST_LINE
from reshuffle.kg.rows import TripleColumns
from reshuffle.kg.vocabulary import Vocabulary, is_inverse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

BLOCK = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SHORTEST_LINE = 6  # a, tab, r, tab, b, line feed
_SMALLEST_TABLE = 1 << 12


class OddInput(Exception):  # noqa: N818 - not an error yet: the careful reader decides
    """Something the fast reader leaves to the careful one."""


def read_fast(
    stream: BinaryIO,
    *,
    separator: bytes,
    size: int,
    header: Callable[[str], bool] | None = None,
    block: int = BLOCK,
    clean: Callable[[bytes, int], bytes | None] | None = None,
) -> TripleColumns | None:
    """The triples, or None where the careful reader must look.

    `size` is the expected number of bytes, used only to make room. `header` says of the first line whether it names
    head, relation and tail in this order; without it the header of CSV is `head,relation,tail`, and TSV has none.
    `clean` takes the bad lines out of an odd block, and is told the number of its first line.
    """
    try:
        scanner = _Scanner(stream, separator=separator, header=header, block=block, clean=clean)
        return _read(scanner, size=size)
    except OddInput:
        return None


def _read(scanner: _Scanner, *, size: int) -> TripleColumns:
    names = NameTable(size // 32, size // 16)
    entity_ids, relation_ids = _Column(size // 10), _Column(size // 20)
    with ThreadPoolExecutor(1) as ahead:
        blocks, turn = (_Block(), _Block()), 0
        pending = ahead.submit(scanner.fill, blocks[turn])
        while pending.result():
            current, turn = blocks[turn], 1 - turn
            pending = ahead.submit(scanner.fill, blocks[turn])
            names.intern(current.entities, 2 * current.rows, entity_ids.room(2 * current.rows))
            relation_ids.room(current.rows)[:] = current.relation_ids[: current.rows]
    rows = relation_ids.filled()
    if not len(rows):
        raise OddInput
    pairs = entity_ids.filled()
    entities, relations = names.vocabulary("entity"), scanner.relations.vocabulary("relation")
    if any(is_inverse(name) for name in relations):
        raise OddInput
    return TripleColumns(pairs[0::2], rows, pairs[1::2], entities, relations)


class _Block:
    """Room for one block of lines and what was found in it; used again and again."""

    def __init__(self) -> None:
        self.rows = 0
        self._size = -1

    def make_room(self, size: int) -> None:
        """For `size` bytes of text."""
        if size <= self._size:
            return
        self._size, rows = size, size // _SHORTEST_LINE + 1
        self.text = np.zeros(size // 8 * 8 + 24, dtype=np.uint8)  # names are read in words, past their end
        self.entities = _scanned(2 * rows, size)
        self.relations = _scanned(rows, size)
        self.relation_ids = np.empty(rows, dtype=np.int32)


def _scanned(names: int, size: int) -> kernels.ScannedNames:
    return kernels.ScannedNames(
        np.empty(names + size // 8 + 1, dtype=np.uint64),
        np.empty(names, dtype=np.int32),
        np.empty(names, dtype=np.int32),
        np.empty(names, dtype=np.uint32),
    )


class _Scanner:
    """Reads blocks of whole lines and splits them; interns the relations, which are few, on the way."""

    def __init__(
        self,
        stream: BinaryIO,
        *,
        separator: bytes,
        header: Callable[[str], bool] | None,
        block: int,
        clean: Callable[[bytes, int], bytes | None] | None,
    ) -> None:
        self.relations = NameTable(0, 0)
        self._separator = separator
        self._texts = _line_blocks(stream, block)
        if header is None and separator == b",":
            header = "head,relation,tail".__eq__
        self._clean, self._line = clean, 1
        if header is not None:
            self._line = 2
            self._texts = _without_header(self._texts, header)

    def fill(self, block: _Block) -> bool:
        """Fill `block` with the next lines; False at the end."""
        text = next(self._texts, None)
        if text is None:
            return False
        if self._separator == b"," and (b'"' in text or text.count(b"\r") != text.count(b"\r\n")):
            raise OddInput
        self._scan(block, text)
        if block.rows == kernels.ODD_LINE:
            self._scan(block, self._cleaned(text))
        if block.rows == kernels.ODD_LINE:
            raise OddInput
        if self._clean is not None:
            self._line += text.count(b"\n")
        self.relations.intern(block.relations, block.rows, block.relation_ids)
        return True

    def _scan(self, block: _Block, text: bytes) -> None:
        block.make_room(len(text))
        block.text[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        block.rows = kernels.scan_rows(
            block.text, len(text), ord(self._separator), block.entities, block.relations
        )

    def _cleaned(self, text: bytes) -> bytes:
        cleaned = None if self._clean is None else self._clean(text, self._line)
        if cleaned is None:
            raise OddInput
        return cleaned


def _line_blocks(stream: BinaryIO, block: int) -> Iterator[bytes]:
    """The stream in pieces of whole lines, without its byte order mark."""
    rest = b""
    first = True
    while True:
        text = stream.read(block)
        if not text:
            break
        if first:
            text, first = text.removeprefix(_BYTE_ORDER_MARK), False
        cut = text.rfind(b"\n") + 1
        if not cut:
            rest += text
            if len(rest) >= LONGEST_LINE:
                raise OddInput
            continue
        yield rest + text[:cut] if rest else text[:cut]
        rest = text[cut:]
    if rest:
        yield rest


def _without_header(texts: Iterator[bytes], in_order: Callable[[str], bool]) -> Iterator[bytes]:
    header, _, first = next(texts, b"").partition(b"\n")
    try:
        if not in_order(header.decode().rstrip(" \t\r")):
            raise OddInput
    except UnicodeDecodeError as error:
        raise OddInput from error
    yield first
    yield from texts


class _Column:
    """An integer column that grows; its pages cost memory only once they are written."""

    def __init__(self, expected: int) -> None:
        self._values = np.empty(max(expected, 1024), dtype=np.int32)
        self._used = 0

    def room(self, count: int) -> NDArray[np.int32]:
        """The next `count` places, to be written to."""
        if self._used + count > len(self._values):
            grown = np.empty(2 * (self._used + count), dtype=np.int32)
            grown[: self._used] = self._values[: self._used]
            self._values = grown
        self._used += count
        return self._values[self._used - count : self._used]

    def filled(self) -> NDArray[np.int32]:
        """What has been written."""
        return self._values[: self._used]


class NameTable:
    """Names and their ids while they are being gathered; `name_kernels` describes the layout."""

    def __init__(self, expected_names: int, expected_words: int) -> None:
        slots = 1 << max(expected_names, _SMALLEST_TABLE).bit_length()
        self._slots = np.zeros(slots, dtype=np.uint64)
        self._arena = np.empty(max(expected_words, _SMALLEST_TABLE), dtype=np.uint64)
        self._arena[0] = 0  # where empty slots point
        self._used, self._known = 1, 0

    def intern(self, names: kernels.ScannedNames, count: int, ids: NDArray[np.int32]) -> None:
        """Write the ids of the first `count` names to `ids`."""
        self._make_room(count, len(names.words) + count)
        self._used, self._known = kernels.intern_names(
            names, count, self._slots, self._arena, self._used, self._known, ids
        )

    def _make_room(self, names: int, words: int) -> None:
        if 2 * (self._known + names) > len(self._slots):
            slots = np.zeros(1 << (2 * (self._known + names)).bit_length(), dtype=np.uint64)
            kernels.grow_slots(self._slots, slots)
            self._slots = slots
        if self._used + words > len(self._arena):
            arena = np.empty(3 * (self._used + words) // 2, dtype=np.uint64)
            arena[: self._used] = self._arena[: self._used]
            self._arena = arena

    def vocabulary(self, kind: str) -> Vocabulary:
        """The names in order of first appearance; raises `OddInput` unless all of them are UTF-8."""
        offsets = kernels.name_offsets(self._arena, self._known)
        text = kernels.name_text(self._arena, offsets)
        names = pa.LargeStringArray.from_buffers(self._known, pa.py_buffer(offsets), pa.py_buffer(text))
        try:
            names.validate(full=True)
        except pa.ArrowInvalid as error:
            raise OddInput from error
        return Vocabulary(names, kind=kind)
