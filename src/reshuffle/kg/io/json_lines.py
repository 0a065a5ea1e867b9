"""JSON lines: one object with the three names, or one array of them, in each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.kg.guards.bad_rows import REFUSED
from reshuffle.kg.io.files import no_triples
from reshuffle.kg.rows import COLUMNS, numbered
from reshuffle.kg.vocabulary import is_inverse, named_like_an_inverse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg.guards.bad_rows import BadRows
    from reshuffle.kg.io.columns import ChosenColumns, WantedColumns
    from reshuffle.kg.io.files import Source
    from reshuffle.kg.rows import TripleColumns

_SHOWN = 120
_HINT = 'every line holds one triple: {"head": "ada", "relation": "bornIn", "tail": "london"}, or an array of names'


def read_json_lines(
    source: Source, lines: Iterator[tuple[int, str]], columns: WantedColumns, bad: BadRows = REFUSED
) -> TripleColumns:
    """The triples of numbered lines; the keys of the first object say which of them hold triples."""
    triples = numbered(_rows(source, lines, columns, bad))
    if not len(triples):
        raise no_triples(source, "lines such as " + json.dumps(dict.fromkeys(COLUMNS, "...")))
    return triples


def _rows(
    source: Source, lines: Iterator[tuple[int, str]], columns: WantedColumns, bad: BadRows
) -> Iterator[list[str]]:
    chosen: ChosenColumns | None = None
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = _parsed(source, number, line)
            if isinstance(found, dict):
                if chosen is None or any(name not in found for name in chosen.names):
                    chosen = columns.chosen(list(found), source.place(number))
                found = [found[name] for name in chosen.names]
            names = _names(source, number, line, found)
        except InputError as error:
            bad.add(error, line)
        else:
            yield names


def _parsed(source: Source, number: int, line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise _wrong(source, number, line, f"found no JSON ({error})") from error


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, each of whose keys stands in it once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _names(source: Source, number: int, line: str, found: Any) -> list[str]:
    if not isinstance(found, list) or len(found) != 3:
        raise _wrong(source, number, line, "found something else than a triple")
    names = [str(name) if isinstance(name, int) and not isinstance(name, bool) else name for name in found]
    for column, name in zip(COLUMNS, names, strict=True):
        if not isinstance(name, str) or not name:
            raise _wrong(source, number, line, f"found {json.dumps(name)} as the {column}, expected a name")
    if is_inverse(names[1]):
        raise named_like_an_inverse(names[1], place=source.place(number), source=_shown(line))
    return names


def _wrong(source: Source, number: int, line: str, message: str) -> InputError:
    return InputError(message, place=source.place(number), source=_shown(line), hint=_HINT)


def _shown(line: str) -> str:
    return line if len(line) <= _SHOWN else line[:_SHOWN] + " ..."
