"""Reading RDF, and how names become IRIs and come back.

An entity or relation of an RDF file is named by its IRI, a blank node by `_:` and its label. In the other
direction a name that is an absolute IRI is written as it is, and an entity such as `_:b1` as a blank node.
Every other name is percent-encoded behind `urn:reshuffle:`, and reading takes that off again, so that
writing and reading give back every name:

>>> to_term("born in"), from_iri("urn:reshuffle:born%20in")
('<urn:reshuffle:born%20in>', 'born in')
>>> to_term("http://example.org/ada"), to_term("_:b1"), to_term("_:b1", blank_nodes=False)
('<http://example.org/ada>', '_:b1', '<urn:reshuffle:_%3Ab1>')
"""

from __future__ import annotations

import re
from array import array
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote, unquote

import numpy as np

from reshuffle.errors import InputError, Place
from reshuffle.kg.guards.bad_lines import shown_line
from reshuffle.kg.guards.bad_rows import REFUSED
from reshuffle.kg.guards.limits import (
    LONGEST_LINE,
    Depth,
    Elements,
    NameBudget,
    TripleTerms,
    looked_through,
    too_long_text,
)
from reshuffle.kg.io.files import GZIP_ERRORS, Format, broken_gzip, no_triples
from reshuffle.kg.rows import LITERAL, TripleColumns, numbered
from reshuffle.kg.vocabulary import Vocabulary, refuse_inverse_names
from reshuffle.packages import how_to_install, is_installed, package
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from reshuffle.kg.guards.bad_rows import BadRows
    from reshuffle.kg.guards.limits import Watch
    from reshuffle.kg.io.files import Source
    from reshuffle.progress import Notes

OWN_NAMES = "urn:reshuffle:"
RDF = (Format.N_TRIPLES, Format.TURTLE, Format.RDF_XML, Format.N_QUADS, Format.TRIG, Format.JSON_LD)
"""The formats of RDF; pyoxigraph calls them by the same names."""
_LINE_BY_LINE = (Format.N_TRIPLES, Format.N_QUADS)
_BLOCK = 1 << 20  # bytes of lines that are parsed together
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BLANK_LABEL = re.compile(r"_:[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9_-])?")
# The label that pyoxigraph invents for `[]`: a random number, another one in every run.
_INVENTED_LABEL = re.compile(r"_:[0-9a-f]{20,32}")


def pyoxigraph(place: Place) -> Any:
    """The parser, which is an extra; `place` is the file that needs it."""
    if not is_installed("pyoxigraph"):
        raise InputError(
            "RDF files need the package pyoxigraph, which is not installed",
            place=place,
            hint=how_to_install("pyoxigraph"),
        )
    return package("pyoxigraph")


def to_term(name: str, *, blank_nodes: bool = True) -> str:
    """The name as N-Triples writes it; relations cannot be blank nodes."""
    if blank_nodes and _BLANK_LABEL.fullmatch(name):
        return name
    if _ABSOLUTE.match(name) and not name.startswith(OWN_NAMES) and _is_iri(name):
        return f"<{name}>"
    return f"<{OWN_NAMES}{quote(name, safe='')}>"


def from_iri(iri: str) -> str:
    """The name an IRI stands for: itself, unless `to_term` made it."""
    if not iri.startswith(OWN_NAMES) or iri == OWN_NAMES:
        return iri
    try:
        return unquote(iri[len(OWN_NAMES) :], errors="strict")
    except UnicodeDecodeError:  # someone else's
        return iri


def _is_iri(name: str) -> bool:
    try:
        package("pyoxigraph").NamedNode(name)
    except ValueError:
        return False
    return True


def read_rdf(
    source: Source, syntax: Format, report: Callable[[int], None], notes: Notes, bad: BadRows = REFUSED
) -> TripleColumns:
    """The triples between IRIs and blank nodes of a file; `notes` hears how many literals were left out."""
    reader = _Reader(source, syntax, bad)
    between_nodes = numbered(reader.triples(report))  # which reads the literals, too
    triples = _blank_nodes_numbered(replace(between_nodes, literals=reader.literals.columns()))
    literals = f"{counted(reader.skipped, 'triple')}{{}} with a literal as tail"
    if reader.skipped:
        notes(f"{source.name}: {literals.format('')} skipped")
    for columns in filter(None, (triples, triples.literals)):
        refuse_inverse_names(columns.relations, place=source.place())
    if not len(triples):
        skipped = f"; {literals.format(' in it')}" if reader.skipped else ""
        error = no_triples(source, f"triples between IRIs or blank nodes{skipped}")
        error.literals = triples.literals
        raise error
    return triples


_HINT = "an IRI stands in angle brackets, and a triple ends with a dot: <http://a> <http://r> <http://b> ."
_HINTS = {
    Format.RDF_XML: "check that it is RDF in XML, and whole; XML of another kind holds no triples",
    Format.JSON_LD: "check that it is JSON-LD, and whole; a context has to be in the file itself",
}


class LiteralFacts:
    """Collects who has which property with a literal: no triple of a graph, but what the property's domain is about."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {LITERAL: 0}
        self._properties: dict[str, int] = {}
        self._rows = array("i")

    def add(self, subject: str, predicate: str) -> None:
        """One more such fact; which literal it was is not kept."""
        self._rows.append(self._names.setdefault(subject, len(self._names)))
        self._rows.append(self._properties.setdefault(predicate, len(self._properties)))

    def columns(self) -> TripleColumns | None:
        """All of them as triples whose tail is `LITERAL`, or None where there are none."""
        rows = np.array(self._rows, dtype=np.int32).reshape(-1, 2)
        names = Vocabulary(self._names, kind="entity")
        properties = Vocabulary(self._properties, kind="relation")
        columns = TripleColumns(rows[:, 0], rows[:, 1], np.zeros(len(rows), np.int32), names, properties)
        return columns.distinct() if len(rows) else None


def blank_nodes(triples: TripleColumns) -> list[str]:
    """The names of blank nodes, of those with literals alone, too."""
    parts = filter(None, (triples, triples.literals))
    return list(dict.fromkeys(name for part in parts for name in part.entities if name.startswith("_:")))


def with_nodes_apart(triples: TripleColumns, taken: Container[str]) -> TripleColumns:
    """The triples of one more file: blank nodes whose labels are taken are others than those, and get other labels."""
    names = blank_nodes(triples)
    used, number, renamed = set(names), 0, {}
    for name in names:
        if name in taken:
            while (free := f"_:b{number}") in used or free in taken:
                number += 1
            renamed[name] = free
            used.add(free)
    return _renamed(triples, renamed)


def _renamed(triples: TripleColumns, names: Mapping[str, str]) -> TripleColumns:
    """The triples with other names for some blank nodes."""
    if not names:
        return triples
    entities = Vocabulary([names.get(name, name) for name in triples.entities], kind="entity")
    literals = None if triples.literals is None else _renamed(triples.literals, names)
    return replace(triples, entities=entities, literals=literals)


def unreported(count: int) -> None:
    """Nobody hears how many bytes were read."""


def quads_of(source: Source, syntax: Format, report: Callable[[int], None] = unreported) -> Iterator[Any]:
    """What the parser finds in a file of RDF that keeps to the limits; what is malformed raises its `SyntaxError`."""
    library, place = pyoxigraph(source.place()), source.place()
    try:
        with source.open(report) as stream:
            watched = looked_through(stream, _watch(source, syntax))
            yield from library.parse(watched, getattr(library.RdfFormat, syntax.name))
    except MemoryError as error:  # a term that is longer than the parser takes
        raise too_long_text(place, "a term") from error


def _by_lines(source: Source, syntax: Format, report: Callable[[int], None], bad: BadRows) -> Iterator[Any]:
    """The same of a format with a triple in each line, where lines that hold none may be skipped.

    The parser takes many lines together; those of a block with an error it takes one by one.
    """
    library = pyoxigraph(source.place())
    form = getattr(library.RdfFormat, syntax.name)
    number = 1
    with source.open(report) as stream:
        watched = looked_through(stream, _watch(source, syntax))
        for lines in _blocks_of_lines(source, watched):
            try:
                found = list(library.parse(b"".join(lines), form))
            except SyntaxError:
                yield from _one_by_one(source, lines, number, lambda line: library.parse(line, form), bad)
            else:
                yield from found
            number += len(lines)


def _blocks_of_lines(source: Source, stream: BinaryIO) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    size = 0
    for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), start=1):
        if len(line) == LONGEST_LINE:
            raise too_long_text(source.place(number), "a line")
        lines.append(line)
        size += len(line)
        if size >= _BLOCK:
            yield lines
            lines, size = [], 0
    yield lines


def _one_by_one(
    source: Source, lines: list[bytes], first: int, parse: Callable[[bytes], Iterator[Any]], bad: BadRows
) -> Iterator[Any]:
    for number, line in enumerate(lines, first):
        try:
            yield from list(parse(line))
        except SyntaxError as error:  # noqa: PERF203 - each line for itself
            text = line.rstrip(b"\r\n").decode(errors="backslashreplace")
            place = source.place(number)
            bad.add(InputError(_reason(error), place=place, source=shown_line(text), hint=_HINT), text)


def _watch(source: Source, syntax: Format) -> Watch:
    if syntax is Format.RDF_XML:
        return Elements(source.place())
    if syntax is Format.JSON_LD:
        return Depth(source.place())
    return TripleTerms(source.place(), lambda: source.open(unreported))


class _Reader:
    """Reads the triples between IRIs and blank nodes; `skipped` counts the others, `literals` knows what they say."""

    def __init__(self, source: Source, syntax: Format, bad: BadRows) -> None:
        self._source, self._syntax, self._bad = source, syntax, bad
        self._library = pyoxigraph(source.place())
        self._budget = NameBudget(source.place(), source.size)
        self.literals, self.skipped = LiteralFacts(), 0

    def triples(self, report: Callable[[int], None]) -> Iterator[tuple[str, str, str]]:
        """Named triples in the order of the file."""
        library, source = self._library, self._source
        nodes = (library.NamedNode, library.BlankNode)
        try:
            for found in self._quads(report):
                if isinstance(found.object, nodes) and isinstance(found.subject, nodes):
                    yield self._name(found.subject), self._name(found.predicate), self._name(found.object)
                else:
                    self.skipped += 1
                    if isinstance(found.object, library.Literal) and isinstance(found.subject, nodes):
                        self.literals.add(self._name(found.subject), self._name(found.predicate))
        except SyntaxError as error:
            raise self._malformed(error) from error
        except GZIP_ERRORS as error:
            raise broken_gzip(source, error, line=1) from error

    def _quads(self, report: Callable[[int], None]) -> Iterator[Any]:
        if self._bad.skips and self._syntax in _LINE_BY_LINE:
            return _by_lines(self._source, self._syntax, report, self._bad)
        return quads_of(self._source, self._syntax, report)

    def _name(self, node: Any) -> str:
        if not isinstance(node, self._library.NamedNode):
            return str(node)
        iri: str = node.value
        if len(iri) > NameBudget.LONG:
            self._budget.spend(len(iri))
        return from_iri(iri)

    def _malformed(self, error: SyntaxError) -> InputError:
        reason = _reason(error)
        if "remote context" in reason:
            reason = "found a context at another address, which is not fetched"
        hint = _HINTS.get(self._syntax, _HINT)
        if self._bad.skips:
            hint = f"a triple of {self._syntax.value} has no line of its own, so that none can be skipped; {hint}"
        return InputError(
            f"{reason}, expected {self._syntax.value}", place=self._source.place(error.lineno), hint=hint
        )


def _reason(error: SyntaxError) -> str:
    return re.sub(r"^Parser error (at|between) line.*?: ", "", error.msg)


def _blank_nodes_numbered(triples: TripleColumns) -> TripleColumns:
    """The triples with numbers for anonymous blank nodes, so that every reading gives the same names."""
    taken, number = set(names := blank_nodes(triples)), 0
    renamed = {}
    for name in filter(_INVENTED_LABEL.fullmatch, names):
        number += 1
        while f"_:b{number}" in taken:
            number += 1
        renamed[name] = f"_:b{number}"
    return _renamed(triples, renamed)
