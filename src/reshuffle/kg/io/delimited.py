"""TSV and CSV line by line: slow, obvious, and able to say exactly what is wrong and where."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.io.columns import by_role, columns_of, looks_like_header
from reshuffle.kg.io.files import GZIP_ERRORS, LONGEST_LINE, broken_gzip, no_triples
from reshuffle.kg.rows import COLUMNS, numbered
from reshuffle.kg.vocabulary import INVERSE_SUFFIX, named_like_an_inverse
from reshuffle.progress import UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reshuffle.errors import Place
    from reshuffle.kg.io.columns import ChosenColumns
    from reshuffle.kg.io.files import Source
    from reshuffle.kg.rows import TripleColumns
    from reshuffle.progress import Notes

_HEADERS = ([*COLUMNS], ["subject", "predicate", "object"])
_HEADER_NOTE = "{}: the first line looks like a header and was read as a triple; delete it if it is one"

BLANKS = " \t\r"
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
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

_NUL = "\udc00"  # stands for NUL, which the csv module of Python 3.10 refuses; no UTF-8 decodes to it


@dataclass(frozen=True)
class WantedColumns:
    """Which columns hold triples, as far as the user says it."""

    wanted: Sequence[str] | None
    notes: Notes

    def chosen(self, header: list[str], place: Place) -> ChosenColumns:
        """The columns of a header; a note names those that are passed over."""
        chosen = columns_of(header, self.wanted, place=place)
        if chosen.passed_over is not None:
            self.notes(f"{place.file}: {chosen.passed_over}")
        return chosen

    def in_order(self, header: list[str]) -> bool:
        """Does a header name head, relation and tail in this order, and nothing else?"""
        try:
            return columns_of(header, self.wanted).in_order
        except InputError:
            return False


BY_COMMON_NAMES = WantedColumns(None, UNHEARD)


def read_tsv(
    source: Source,
    report: Callable[[int], None],
    columns: WantedColumns = BY_COMMON_NAMES,
    notes: Notes = UNHEARD,
) -> TripleColumns:
    """The triples of a TSV file; raises at the first line that is wrong. It has a header where columns are wanted."""
    has_header = columns.wanted is not None
    rows = _named_tsv_rows(source, report, columns) if has_header else _tsv_rows(source, report)
    first = next(rows, None)
    if first is None:
        raise no_triples(source, "lines such as head<TAB>relation<TAB>tail")
    if not has_header:
        check_first(source, first, notes)
    return numbered(chain([first], rows))


def check_first(source: Source, first: list[str], notes: Notes) -> None:
    """Say that the first triple looks like a header; refuse it where that names the columns in another order."""
    if not looks_like_header(first) or min(map(len, first)) == 1:  # letters are names of facts, too
        return
    if not BY_COMMON_NAMES.in_order(first):
        raise InputError(
            f"the first line names the columns {', '.join(first)}, expected them in the order head, relation, tail",
            place=source.place(1),
            hint=f"--columns {by_role(first)} (columns=) reads them by name; if it is a triple, put another first",
        )
    if [name.casefold() for name in first] in _HEADERS:
        notes(_HEADER_NOTE.format(source.name))


def read_csv(
    source: Source, report: Callable[[int], None], columns: WantedColumns = BY_COMMON_NAMES
) -> TripleColumns:
    """The triples of a CSV file; raises at the first line that is wrong."""
    triples = numbered(_csv_rows(source, report, columns))
    if not len(triples):
        raise no_triples(source, "lines such as head,relation,tail")
    return triples


def _tsv_rows(source: Source, report: Callable[[int], None]) -> Iterator[list[str]]:
    """The lines of a TSV file: no quotes, no comments, blanks at the end of a line dropped."""
    for number, line in numbered_lines(source, report):
        kept = line.rstrip(BLANKS)
        if kept:
            row = kept.split("\t")
            if len(row) != 3 or "" in row:
                raise _bad_row(source, number, line, TABS)
            if row[1].endswith(INVERSE_SUFFIX):
                raise _inverse(source, number, line, row)
            yield row


def _named_tsv_rows(
    source: Source, report: Callable[[int], None], columns: WantedColumns
) -> Iterator[list[str]]:
    """The lines of a TSV file below its header, of which the named columns are kept."""
    chosen, width = None, 3
    for number, line in numbered_lines(source, report):
        if not line.rstrip(BLANKS):
            continue
        row = line.rstrip("\r").split("\t")
        if chosen is None:
            row = [name.strip() for name in row]
            chosen, width = columns.chosen(row, source.place(number)), len(row)
            continue
        row[-1] = row[-1].rstrip(BLANKS)
        yield _kept(source, number, line, TABS, row, chosen, width)


def _kept(
    source: Source,
    number: int,
    line: str,
    separator: Separator,
    row: list[str],
    chosen: ChosenColumns,
    width: int,
) -> list[str]:
    """Head, relation and tail of a row below a header."""
    if len(row) != width:
        raise _bad_row(source, number, line, separator, row, expected=width)
    head, relation, tail = chosen.places
    kept = [row[head], row[relation], row[tail]]
    if "" in kept:
        raise _bad_row(source, number, line, separator, kept)
    if kept[1].endswith(INVERSE_SUFFIX):
        raise _inverse(source, number, line, kept)
    return kept


def _csv_rows(source: Source, report: Callable[[int], None], columns: WantedColumns) -> Iterator[list[str]]:
    """The records of a CSV file: RFC 4180, with a header that names the columns."""
    lines = _CsvLines(source, report)
    chosen, width = None, 3
    try:
        for row in csv.reader(lines, strict=True):
            if not row:
                continue
            if chosen is None:
                chosen, width = _csv_header(source, lines, row, columns), len(row)
                continue
            kept = _kept(source, lines.number, lines.last, COMMAS, row, chosen, width)
            yield [name.replace(_NUL, "\0") for name in kept] if lines.has_nul else kept
    except csv.Error as error:
        raise InputError(
            f"found quotes that do not pair up ({error}), expected CSV as in RFC 4180",
            place=source.place(lines.number),
            source=_shown(lines.last),
            hint='a name with commas, quotes or line breaks stands in quotes, and quotes in it are doubled: "a ""b"""',
        ) from error


def _csv_header(source: Source, lines: _CsvLines, row: list[str], columns: WantedColumns) -> ChosenColumns:
    try:
        return columns.chosen(row, source.place(lines.number))
    except InputError:
        if columns.wanted is None and not looks_like_header(row[:3]) and len(row) == 3:
            raise _bad_header(source, lines) from None
        raise


class _CsvLines:
    """Lines for `csv.reader`, without the blanks at their end unless these belong to a quoted name."""

    def __init__(self, source: Source, report: Callable[[int], None]) -> None:
        self._lines = numbered_lines(source, report)
        self.number, self.last = 0, ""
        self.has_nul = False

    def __iter__(self) -> Iterator[str]:
        inside_quotes = False
        for number, line in self._lines:
            self.number, self.last = number, line
            inside_quotes ^= line.count('"') % 2 == 1
            kept = line + "\n" if inside_quotes else line.rstrip(BLANKS)
            if "\0" in kept:
                self.has_nul, kept = True, kept.replace("\0", _NUL)
            yield kept


def numbered_lines(source: Source, report: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    """Line numbers and lines without their line feed; a byte order mark is dropped."""
    offset = number = 0
    try:
        with source.open(report) as stream:
            for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), start=1):
                if len(raw) == LONGEST_LINE:
                    raise _too_long(source, number)
                try:
                    line = raw.decode()
                except UnicodeDecodeError as error:
                    raise _not_utf8(source, number, raw, offset, error) from error
                offset += len(raw)
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                yield number, line.removesuffix("\n")
    except GZIP_ERRORS as error:
        raise broken_gzip(source, error, line=number + 1) from error


def _too_long(source: Source, number: int) -> InputError:
    return InputError(
        f"this line has {LONGEST_LINE:,} bytes or more, expected one triple in it",
        place=source.place(number),
        hint="check that the file has line breaks, and that it unpacks to triples",
    )


def _bad_row(
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
    where = {"place": source.place(number), "source": _shown(line)}
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
    other = _other_separator(line, separator)
    if other is not None:
        looks = "mixes them with" if separator.text in line else "looks separated by"
        message += f"; this line {looks} {other.plural}"
    return InputError(message, hint=_way_out(separator, other), **where)  # type: ignore[arg-type]


def _inverse(source: Source, number: int, line: str, row: list[str]) -> InputError:
    return named_like_an_inverse(row[1], place=source.place(number), source=_shown(line))


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


def _bad_header(source: Source, lines: _CsvLines) -> InputError:
    return InputError(
        "found no header, expected the first line head,relation,tail",
        place=source.place(lines.number),
        source=_shown(lines.last),
        hint="if it is a triple, put the line head,relation,tail before all others; if it names the columns, "
        "--columns HEAD,RELATION,TAIL (columns=) says which of them hold the triples",
    )


def _not_utf8(source: Source, number: int, raw: bytes, offset: int, error: UnicodeDecodeError) -> InputError:
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


def _shown(line: str) -> str:
    """A line as an error message shows it: tabs visible, and not too long."""
    visible = line.rstrip("\r").replace("\t", "<TAB>")
    return visible if len(visible) <= _SHOWN else visible[:_SHOWN] + " ..."
