"""How deep RDF/XML and JSON-LD are nested, byte by byte.

Plain functions over bytes, which `limits` calls as they are for small files and compiles for large ones. Each takes the
state in which the block before it ended, writes the one in which this block ends, and gives 0 or what is wrong.
Invariant: nothing but `state` is written, and only bytes of `text` are read. Cost: one step per byte.
"""

from __future__ import annotations

# One machine of states each: in pieces it would be slower, and no clearer.
# ruff: noqa: C901, PLR0912, PLR0915, PLR1714, SIM109
# Types would say "array" and "integer" throughout, and numba infers them.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False

MODE, DEPTH, RUN, BEFORE, LEVEL, ELEMENTS, STOPPED = range(7)
"""Of a state: what the place is in; elements around it; bytes of the text or tag so far; the last bytes; brackets of a
document type; were there elements; where the kernel stopped."""
FINE, TOO_DEEP, TOO_LONG, NO_TAG, TYPE_BEGINS, TYPE_ENDS = range(6)

TEXT, BEGUN, TAG, DOUBLE, SINGLE, CLOSING, DECLARED, COMMENT, CDATA, INSTRUCTION, TYPE, DASH = range(12)
_LT, _GT, _SLASH, _BANG, _QUERY, _DOUBLE, _SINGLE = 60, 62, 47, 33, 63, 34, 39
_DASH, _OPEN, _CLOSE, _D, _BACKSLASH = 45, 91, 93, 68, 92
_CURLY, _CURLY_END, _BLANK = 123, 125, 32
_THREE = 0xFFFFFF


def xml_depth(text, start, end, state, deepest, longest):
    """Look through RDF/XML; stops behind `<!D` and behind the end of a document type, whose place is in the state."""
    mode, depth, run, before, level = state[MODE], state[DEPTH], state[RUN], state[BEFORE], state[LEVEL]
    found, at = FINE, start
    while at < end and found == FINE:
        byte = text[at]
        at += 1
        run += 1
        if run > longest:
            found = TOO_LONG
        if mode == TEXT:
            while byte != _LT and at < end and run <= longest:
                byte = text[at]
                at += 1
                run += 1
            if byte == _LT:
                mode, run = BEGUN, 0
        elif mode == BEGUN:
            if byte == _SLASH:
                mode = CLOSING
            elif byte == _BANG:
                mode = DECLARED
            elif byte == _QUERY:
                mode, run = INSTRUCTION, 0
            elif byte <= _BLANK or byte == _LT or byte == _GT or byte == _DOUBLE or byte == _SINGLE:
                found = NO_TAG
            else:
                mode = TAG
                state[ELEMENTS] = 1
        elif mode == TAG:
            while byte > _LT + 2 and at < end:
                before = byte
                byte = text[at]
                at += 1
                run += 1
            if byte == _GT:
                mode, run = TEXT, 0
                if before & 0xFF != _SLASH:
                    depth += 1
                    if depth > deepest:
                        found = TOO_DEEP
            elif byte == _DOUBLE:
                mode = DOUBLE
            elif byte == _SINGLE:
                mode = SINGLE
            elif byte == _LT:
                found = NO_TAG
        elif mode == DOUBLE or mode == SINGLE:
            while byte > _SINGLE and byte != _LT and at < end:
                byte = text[at]
                at += 1
                run += 1
            if byte == _LT:
                found = NO_TAG
            elif byte == (_DOUBLE if mode == DOUBLE else _SINGLE):
                mode = TAG
        elif mode == CLOSING:
            while byte > _LT + 2 and at < end:
                byte = text[at]
                at += 1
                run += 1
            if byte == _GT:
                mode, run = TEXT, 0
                depth -= 1
            elif byte == _LT or byte == _DOUBLE or byte == _SINGLE:
                found = NO_TAG
        elif mode == DECLARED:
            if byte == _DASH:
                mode = DASH
            elif byte == _OPEN:
                mode, run = CDATA, 0
            elif byte == _D:
                mode, level, found = TYPE, 1, TYPE_BEGINS
            else:
                found = NO_TAG
        elif mode == DASH:
            mode, run = COMMENT, 0
            if byte != _DASH:
                found = NO_TAG
        elif mode == COMMENT:
            if byte == _GT:
                if run <= 2 and (
                    run == 1 or before & 0xFF == _DASH
                ):  # <!--> and <!---> may be read in two ways
                    found = NO_TAG
                elif before & 0xFFFF == (_DASH << 8 | _DASH) and run > 2:
                    mode, run = TEXT, 0
        elif mode == CDATA:
            if byte == _GT and before & 0xFFFF == (_CLOSE << 8 | _CLOSE):
                mode, run = TEXT, 0
        elif mode == INSTRUCTION:
            if byte == _GT and before & 0xFF == _QUERY:
                mode, found = TEXT, (NO_TAG if run == 1 else FINE)
                run = 0
        elif mode == TYPE:
            if byte == _LT:
                level += 1
            elif byte == _GT:
                level -= 1
                if level == 0:
                    mode, run, found = TEXT, 0, TYPE_ENDS
        before = (before << 8 | byte) & _THREE
    state[MODE], state[DEPTH], state[RUN], state[BEFORE], state[LEVEL] = mode, depth, run, before, level
    state[STOPPED] = at
    return found


def json_depth(text, start, end, state, deepest, longest):
    """Look through JSON."""
    mode, depth, run = state[MODE], state[DEPTH], state[RUN]
    found, at, escaped = FINE, start, state[BEFORE]
    while at < end and found == FINE:
        byte = text[at]
        at += 1
        run += 1
        if mode == DOUBLE:
            if escaped:
                escaped = 0
            elif byte == _BACKSLASH:
                escaped = 1
            elif byte == _DOUBLE:
                mode = TEXT
            elif run > longest:
                found = TOO_LONG
        elif byte == _DOUBLE:
            mode, run = DOUBLE, 0
        elif byte == _CURLY or byte == _OPEN:
            depth += 1
            if depth > deepest:
                found = TOO_DEEP
        elif byte == _CURLY_END or byte == _CLOSE:
            depth -= 1
    state[MODE], state[DEPTH], state[RUN], state[BEFORE], state[STOPPED] = mode, depth, run, escaped, at
    return found
