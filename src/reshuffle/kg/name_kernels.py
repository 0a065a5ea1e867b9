"""Splitting lines into names and giving each name its id.

A name travels as 64-bit words: its bytes, eight to a word, the last word padded with zeros. Interned names
lie one after another in an arena of words, each behind a header word `length << 32 | id`, so that one look
into memory settles whether a name is the one sought, and which id it has. The hash table over the arena
holds `tag << 32 | place in the arena`; the tag is the upper half of the name's hash, and its leading bits
are the name's home in the table. Loading twenty million triples is bound by cache misses: this layout costs
two for a name, and `intern_names` asks for many at once, so that they overlap.
"""

from __future__ import annotations

# Types would say "array" and "integer" forty times, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

TAB, NEWLINE, CARRIAGE_RETURN, SPACE = 9, 10, 13, 32
ODD_LINE = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_BATCH = 256  # names whose memory is asked for together


class ScannedNames(NamedTuple):
    """Names of one block: where each begins in `words`, its length in bytes, and the tag of its hash."""

    words: NDArray[np.uint64]
    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    tags: NDArray[np.uint32]


@compiled
def _name_end(text, position, stop, separator):
    while position < stop and text[position] != separator and text[position] != NEWLINE:
        position += 1
    return position


@compiled
def _pack_name(aligned, start, end, words, used):
    """Copy the bytes `start : end` into `words[used:]`; returns the words now used, and the name's tag.

    Words are read where they are aligned, and each packed word is put together from two of them.
    """
    right = np.uint64((start & 7) << 3)
    left = np.uint64(63) - right  # a shift by 64 is undefined, hence by `left` and then by one
    place = start >> 3
    mixed = np.uint64(end - start)
    low = aligned[place]
    remaining = end - start
    while remaining > 0:
        place += 1
        high = aligned[place]
        word = (low >> right) | (high << left << np.uint64(1))
        if remaining < 8:
            word &= (np.uint64(1) << np.uint64(remaining << 3)) - np.uint64(1)
        words[used] = word
        used += 1
        mixed = (mixed ^ word) * _MIX
        mixed ^= mixed >> _HALF
        low = high
        remaining -= 8
    return used, np.uint32((mixed * _MIX) >> _HALF)


@compiled
def _is_blank(byte):
    return byte in (SPACE, TAB, CARRIAGE_RETURN)


@compiled
def _after_blanks(text, position, size):
    """Where the line goes on after blanks: at its newline, at the end of the text, or at something else."""
    while position < size and _is_blank(text[position]):
        position += 1
    return position


@compiled
def scan_rows(text, size, separator, entities, relations):
    """Split `text[:size]` into rows: heads and tails alternate in `entities`, see `ScannedNames`.

    Returns the number of rows, or ODD_LINE at the first line that needs the careful reader.
    """
    aligned = text.view(np.uint64)
    rows = entities_used = relations_used = position = 0
    while position < size:
        head = position
        head_end = _name_end(text, head, size, separator)
        if head_end == size or text[head_end] == NEWLINE:  # one column: fine only in a blank line
            if _after_blanks(text, head, head_end) != head_end:
                return ODD_LINE
            position = head_end + 1
            continue
        relation = head_end + 1
        relation_end = _name_end(text, relation, size, separator)
        if relation_end == size or text[relation_end] == NEWLINE:
            return ODD_LINE
        tail = relation_end + 1
        tail_end = _name_end(text, tail, size, separator)
        position = _after_blanks(text, tail_end, size)
        if position < size and text[position] != NEWLINE:
            return ODD_LINE
        while tail_end > tail and _is_blank(text[tail_end - 1]):
            tail_end -= 1
        if head_end == head or relation_end == relation or tail_end == tail:
            return ODD_LINE
        entities_used = _note_name(entities, 2 * rows, aligned, head, head_end, entities_used)
        relations_used = _note_name(relations, rows, aligned, relation, relation_end, relations_used)
        entities_used = _note_name(entities, 2 * rows + 1, aligned, tail, tail_end, entities_used)
        rows += 1
        position += 1
    return rows


@compiled
def _note_name(names, number, aligned, start, end, used):
    names.starts[number], names.lengths[number] = used, end - start
    used, names.tags[number] = _pack_name(aligned, start, end, names.words, used)
    return used


@compiled
def _is_same(arena, place, words, start, length):
    if arena[place] >> _HALF != length:
        return False
    for offset in range((length + 7) >> 3):  # noqa: SIM110 - numba compiles the loop, not `all`
        if arena[place + 1 + offset] != words[start + offset]:
            return False
    return True


@compiled
def _find_or_add(names, number, slots, shift, arena, used, known):
    """The header word of one scanned name; `header & _LOW == known` says that it was added."""
    start, length, tag = names.starts[number], names.lengths[number], names.tags[number]
    mask = len(slots) - 1
    slot = np.int64(tag >> shift)
    while slots[slot]:
        entry = slots[slot]
        place = np.int64(entry & _LOW)
        if entry >> _HALF == tag and _is_same(arena, place, names.words, start, length):
            return arena[place]
        slot = (slot + 1) & mask
    slots[slot] = np.uint64(tag) << _HALF | np.uint64(used)
    arena[used] = np.uint64(length) << _HALF | np.uint64(known)
    for offset in range((length + 7) >> 3):
        arena[used + 1 + offset] = names.words[start + offset]
    return arena[used]


@compiled
def intern_names(names, count, slots, arena, used, known, ids):
    """Write the id of each of `count` scanned names to `ids`; new names join `arena` in order.

    Returns the words of `arena` now used and the number of names now known.
    """
    shift = _home_shift(slots)
    entries = np.empty(_BATCH, np.uint64)
    headers = np.empty(_BATCH, np.uint64)
    first_words = np.empty(_BATCH, np.uint64)
    last_words = np.empty(_BATCH, np.uint64)
    for first in range(0, count, _BATCH):
        batch = min(_BATCH, count - first)
        # These two loops only wait for memory, for the whole batch at once: a record may lie across two
        # cache lines, hence its last word. Unsigned places spare numba the test for negative ones.
        for k in range(batch):
            entries[k] = slots[np.uint64(names.tags[first + k] >> shift)]
        for k in range(batch):
            place = np.uint64(entries[k] & _LOW)
            headers[k] = arena[place]
            first_words[k] = arena[place + np.uint64(1)]
            last_words[k] = arena[place + np.uint64((names.lengths[first + k] + 7) >> 3)]
        for k in range(batch):
            number = first + k
            start, length, header = names.starts[number], names.lengths[number], headers[k]
            # Most names have one or two words: compared without a branch, since none could be foretold.
            agree = (
                (header >> _HALF == length)
                & (first_words[k] == names.words[start])
                & (last_words[k] == names.words[start + ((length - 1) >> 3)])
            )
            if not agree or (
                length > 16 and not _is_same(arena, np.int64(entries[k] & _LOW), names.words, start, length)
            ):
                header = _find_or_add(names, number, slots, shift, arena, used, known)
                if header & _LOW == known:
                    used += 1 + ((length + 7) >> 3)
                    known += 1
            ids[number] = np.int32(header & _LOW)
    return used, known


@compiled
def _home_shift(slots):
    """By how much a 32-bit tag is shifted to give its home slot; the table's size is a power of two."""
    shift, size = 32, len(slots)
    while size > 1:
        size >>= 1
        shift -= 1
    return np.uint32(shift)


@compiled
def grow_slots(old, new):
    """Enter all of `old` into the empty, larger `new`."""
    mask, shift = len(new) - 1, np.uint64(_home_shift(new)) + _HALF
    for entry in old:
        if entry:
            slot = np.int64(entry >> shift)
            while new[slot]:
                slot = (slot + 1) & mask
            new[slot] = entry


@compiled
def name_offsets(arena, known):
    """Where each interned name would begin in one text, and at last the length of that text."""
    offsets = np.empty(known + 1, np.int64)
    offsets[0], place = 0, 1
    for number in range(known):
        length = np.int64(arena[place] >> _HALF)
        offsets[number + 1] = offsets[number] + length
        place += 1 + ((length + 7) >> 3)
    return offsets


@compiled
def name_text(arena, offsets):
    """The interned names as one text."""
    text = np.empty(offsets[-1], np.uint8)
    place = 1
    for number in range(len(offsets) - 1):
        start, length = offsets[number], offsets[number + 1] - offsets[number]
        for byte in range(length):
            word = arena[place + 1 + (byte >> 3)]
            text[start + byte] = np.uint8(word >> np.uint64((byte & 7) << 3) & np.uint64(255))
        place += 1 + ((length + 7) >> 3)
    return text


@compiled
def _tag_of_bytes(text, start, end):
    mixed = np.uint64(end - start)
    for position in range(start, end):
        mixed = (mixed ^ np.uint64(text[position])) * _MIX
        mixed ^= mixed >> _HALF
    return np.uint32((mixed * _MIX) >> _HALF)


@compiled
def index_names(offsets, text, slots):
    """Enter every name into `slots`, which hold a name's number + 1, at its home or in the next free slot."""
    mask, shift = len(slots) - 1, _home_shift(slots)
    for number in range(len(offsets) - 1):
        slot = np.int64(_tag_of_bytes(text, offsets[number], offsets[number + 1]) >> shift)
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = number + 1


@compiled
def find_name(offsets, text, slots, name):
    """The number of the name with the bytes `name`, or -1."""
    mask = len(slots) - 1
    slot = np.int64(_tag_of_bytes(name, 0, len(name)) >> _home_shift(slots))
    while slots[slot]:
        number = slots[slot] - 1
        start = offsets[number]
        if offsets[number + 1] - start == len(name):
            same = True
            for position in range(len(name)):
                same &= text[start + position] == name[position]
            if same:
                return number
        slot = (slot + 1) & mask
    return -1
