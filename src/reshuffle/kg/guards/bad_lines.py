"""Errors for lines of TSV or CSV: what was found, what was expected, and how to fix it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.io.columns import by_role
from reshuffle.kg.rows import COLUMNS
from reshuffle.kg.vocabulary import named_like_an_inverse
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.kg.io.files import Source

_SHOWN = 120


@dataclass(frozen=True)
class Separator:
    """What stands between two columns, in a message and in a file."""

    plural: str
    text: str


TABS, COMMAS = Separator("tabs", "\t"), Separator("commas", ",")
_SEPARATORS = (
    TABS,
    COMMAS,
    Separator("semicolons", ";"),
    Separator("vertical bars", "|"),
    Separator("spaces", " "),
)


def bad_row(
    source: Source,
    number: int,
    line: str,
    separator: Separator,
    row: list[str] | None = None,
    *,
    expected: int = 3,
) -> InputError:
    """What is wrong with a line that does not hold three names."""
    columns = line.rstrip(" \r").split(separator.text) if row is None else row
    where = {"place": source.place(number), "source": shown_line(line)}
    if len(columns) == 3 == expected and "" in columns:
        empty = COLUMNS[columns.index("")]
        return InputError(
            f"the {empty} is empty, expected a name in each of the 3 columns (head, relation, tail)",
            hint="write the name, or delete the line",
            **where,  # type: ignore[arg-type]
        )
    found = f"found {counted(len(columns), 'column')}"
    if expected != 3:
        return InputError(
            f"{found}, expected {expected}, as in the header",
            hint="every line below the header has as many columns; in CSV a name with a comma stands in quotes",
            **where,  # type: ignore[arg-type]
        )
    message = f"{found}, expected 3 (head, relation, tail) separated by {separator.plural}"
    if number == 1 and (named := _as_header(columns)) is not None:
        hint = f"if this line names the columns, --columns {named} (columns=) reads them by name"
        return InputError(message, hint=hint, **where)  # type: ignore[arg-type]
    if separator == TABS and number == 1 and (form := _other_format(line)) is not None:
        hint = (
            f"this looks like {form}: --format {form} (format=) reads it, or a file name that ends in .{form}"
        )
        return InputError(message, hint=hint, **where)  # type: ignore[arg-type]
    other = _other_separator(line, separator)
    if other is not None:
        looks = "mixes them with" if separator.text in line else "looks separated by"
        message += f"; this line {looks} {other.plural}"
    return InputError(message, hint=_way_out(separator, other), **where)  # type: ignore[arg-type]


def _as_header(columns: list[str]) -> str | None:
    """The columns of triples as `--columns` takes them, where a line has common names for them."""
    try:
        return by_role(columns)
    except InputError:
        return None


def inverse_relation(source: Source, number: int, line: str, row: list[str]) -> InputError:
    """A line whose relation is named like an inverse."""
    return named_like_an_inverse(row[1], place=source.place(number), source=shown_line(line))


_OPENINGS = {
    "ttl": re.compile(r"\s*(@prefix|@base|prefix|base)\b.*<", re.IGNORECASE),
    "nt": re.compile(r"\s*(<[^>]*>|_:\S+)\s+<[^>]*>\s+(<[^>]*>|_:\S+|\".*)\s*\.\s*(#.*)?$"),
    "nq": re.compile(r"\s*(<[^>]*>|_:\S+)\s+<[^>]*>\s+\S.*\s(<[^>]*>|_:\S+)\s*\.\s*(#.*)?$"),
    "rdf": re.compile(r"\s*<(\?xml|rdf:RDF)\b"),
    "jsonld": re.compile(r'\s*(\[\s*)?\{\s*("@|$)|\s*\[\s*$'),
    "jsonl": re.compile(r'\s*\{.*\}\s*$|\s*\[\s*".*\]\s*$'),
}


def _other_format(line: str) -> str | None:
    """The format that a file with this first line seems to have, as users name it."""
    return next((name for name, opening in _OPENINGS.items() if opening.match(line)), None)


def one_column(source: Source, number: int, line: str, found: Separator) -> InputError:
    """A CSV file whose columns something else than commas separates."""
    return InputError(
        f"found columns separated by {found.plural}, expected commas",
        place=source.place(number),
        source=shown_line(line),
        hint="let the file name end in .tsv, and name its columns with --columns (columns=)"
        if found == TABS
        else "write it again with commas, or with tabs under a name that ends in .tsv",
    )


def separator_of(line: str) -> Separator | None:
    """What separates the columns of a header without a comma, if anything does."""
    return next((one for one in _SEPARATORS if one.text in line and len(line.split(one.text)) >= 3), None)


def _other_separator(line: str, separator: Separator) -> Separator | None:
    """The separator with which, in part or throughout, the line would have three columns."""
    for other in _SEPARATORS:
        if other != separator and other.text in line:
            columns = line.strip().replace(separator.text, other.text).split(other.text)
            if len([column for column in columns if column]) == 3:
                return other
    return None


def _way_out(separator: Separator, other: Separator | None) -> str:
    if separator == COMMAS:
        if other == TABS:
            return "put commas between the columns, or name the file .tsv and delete its header"
        return "every line after the header holds one triple: head,relation,tail; a name with a comma stands in quotes"
    if other == COMMAS:
        return "put tabs between the columns, or name the file .csv and begin it with the line head,relation,tail"
    return "every line holds one triple: head<TAB>relation<TAB>tail; other blanks belong to the names"


def bad_header(source: Source, number: int, line: str) -> InputError:
    """A CSV file that begins with a triple, or with columns of unknown names."""
    return InputError(
        "found no header, expected the first line head,relation,tail",
        place=source.place(number),
        source=shown_line(line),
        hint="if it is a triple, put the line head,relation,tail before all others; if it names the columns, "
        "--columns HEAD,RELATION,TAIL (columns=) says which of them hold the triples",
    )


def not_utf8(source: Source, number: int, raw: bytes, offset: int, error: UnicodeDecodeError) -> InputError:
    """A line, from this offset on, that is no text in UTF-8."""
    return InputError(
        f"byte 0x{raw[error.start]:02X} at offset {offset + error.start} is not UTF-8, expected text in UTF-8",
        place=source.place(number),
        hint=_encoding_hint(source, raw if number == 1 else b""),
    )


def _encoding_hint(source: Source, opening: bytes) -> str:
    if opening.startswith(b"\x1f\x8b"):
        return "this is gzip data: let the file name end in .gz"
    if opening.startswith(b"PAR1"):
        return "this is Parquet data: let the file name end in .parquet"
    encoding = "UTF-16" if opening.startswith((b"\xff\xfe", b"\xfe\xff")) else "LATIN1"
    return f"convert it, for example with iconv -f {encoding} -t UTF-8 {source.name}"


def shown_line(line: str) -> str:
    """A line as an error message shows it: tabs visible, and not too long."""
    visible = line.rstrip("\r").replace("\t", "<TAB>")
    return visible if len(visible) <= _SHOWN else visible[:_SHOWN] + " ..."
