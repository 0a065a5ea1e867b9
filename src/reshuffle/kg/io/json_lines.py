"""JSON lines: one object with the three names, or one array of them, in each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.kg.io.files import no_triples
from reshuffle.kg.rows import COLUMNS, numbered
from reshuffle.kg.vocabulary import refuse_inverse_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg.io.columns import ChosenColumns, WantedColumns
    from reshuffle.kg.io.files import Source
    from reshuffle.kg.rows import TripleColumns

_SHOWN = 120
_HINT = 'every line holds one triple: {"head": "ada", "relation": "bornIn", "tail": "london"}, or an array of names'


def read_json_lines(
    source: Source, lines: Iterator[tuple[int, str]], columns: WantedColumns
) -> TripleColumns:
    """The triples of numbered lines; the keys of the first object say which of them hold triples."""
    triples = numbered(_rows(source, lines, columns))
    if not len(triples):
        raise no_triples(source, "lines such as " + json.dumps(dict.fromkeys(COLUMNS, "...")))
    refuse_inverse_names(triples.relations, place=source.place())
    return triples


def _rows(source: Source, lines: Iterator[tuple[int, str]], columns: WantedColumns) -> Iterator[list[str]]:
    chosen: ChosenColumns | None = None
    for number, line in lines:
        if not line.strip():
            continue
        found = _parsed(source, number, line)
        if isinstance(found, dict):
            if chosen is None or any(name not in found for name in chosen.names):
                chosen = columns.chosen(list(found), source.place(number))
            found = [found[name] for name in chosen.names]
        yield _names(source, number, line, found)


def _parsed(source: Source, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _wrong(source, number, line, f"found no JSON ({error})") from error


def _names(source: Source, number: int, line: str, found: Any) -> list[str]:
    if not isinstance(found, list) or len(found) != 3:
        raise _wrong(source, number, line, "found something else than a triple")
    names = [str(name) if isinstance(name, int) and not isinstance(name, bool) else name for name in found]
    for column, name in zip(COLUMNS, names, strict=True):
        if not isinstance(name, str) or not name:
            raise _wrong(source, number, line, f"found {json.dumps(name)} as the {column}, expected a name")
    return names


def _wrong(source: Source, number: int, line: str, message: str) -> InputError:
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + " ..."
    return InputError(message, place=source.place(number), source=shown, hint=_HINT)
