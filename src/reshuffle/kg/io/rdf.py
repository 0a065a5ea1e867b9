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
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from reshuffle.errors import InputError, Place, install_line
from reshuffle.kg.io.files import GZIP_ERRORS, Format, broken_gzip, no_triples
from reshuffle.kg.rows import numbered
from reshuffle.kg.vocabulary import Vocabulary, refuse_inverse_names
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from reshuffle.kg.io.files import Source
    from reshuffle.kg.rows import TripleColumns
    from reshuffle.progress import Notes

OWN_NAMES = "urn:reshuffle:"
RDF = (Format.N_TRIPLES, Format.TURTLE, Format.RDF_XML, Format.N_QUADS, Format.TRIG, Format.JSON_LD)
"""The formats of RDF; pyoxigraph calls them by the same names."""
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BLANK_LABEL = re.compile(r"_:[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9_-])?")
# The label that pyoxigraph invents for `[]`: a random number, another one in every run.
_INVENTED_LABEL = re.compile(r"_:[0-9a-f]{20,32}")


def pyoxigraph(place: Place) -> Any:
    """The parser, which is an extra; `place` is the file that needs it."""
    try:
        return import_module("pyoxigraph")
    except ImportError as error:
        raise InputError(
            "RDF files need the package pyoxigraph, which is not installed",
            place=place,
            hint=install_line("rdf"),
        ) from error


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
        import_module("pyoxigraph").NamedNode(name)
    except ValueError:
        return False
    return True


def read_rdf(source: Source, syntax: Format, report: Callable[[int], None], notes: Notes) -> TripleColumns:
    """The triples between IRIs and blank nodes of a file; `notes` hears how many literals were left out."""
    reader = _Reader(source, syntax)
    triples = _blank_nodes_numbered(numbered(reader.triples(report)))
    literals = f"{counted(reader.literals, 'triple')}{{}} with a literal as tail"
    if reader.literals:
        notes(f"{source.name}: {literals.format('')} skipped")
    if not len(triples):
        skipped = f"; {literals.format(' in it')}" if reader.literals else ""
        raise no_triples(source, f"triples between IRIs or blank nodes{skipped}")
    refuse_inverse_names(triples.relations, place=source.place())
    return triples


def with_nodes_apart(triples: TripleColumns, taken: Container[str]) -> TripleColumns:
    """The triples of one more file: blank nodes whose labels are taken are others than those, and get other labels."""
    names = list(triples.entities)
    used, number = set(names), 0
    for place, name in enumerate(names):
        if name.startswith("_:") and name in taken:
            while (free := f"_:b{number}") in used or free in taken:
                number += 1
            names[place] = free
            used.add(free)
    return replace(triples, entities=Vocabulary(names, kind="entity"))


class _Reader:
    """Reads the triples between IRIs and blank nodes; `literals` counts the others."""

    def __init__(self, source: Source, syntax: Format) -> None:
        self._source, self._syntax = source, syntax
        self._library = pyoxigraph(source.place())
        self.literals = 0

    def triples(self, report: Callable[[int], None]) -> Iterator[tuple[str, str, str]]:
        """Named triples in the order of the file."""
        library, source = self._library, self._source
        form = getattr(library.RdfFormat, self._syntax.name)
        nodes = (library.NamedNode, library.BlankNode)
        try:
            with source.open(report) as stream:
                for found in library.parse(stream, form):
                    if isinstance(found.object, nodes) and isinstance(found.subject, nodes):
                        yield self._name(found.subject), self._name(found.predicate), self._name(found.object)
                    else:
                        self.literals += 1
        except SyntaxError as error:
            raise self._malformed(error) from error
        except GZIP_ERRORS as error:
            raise broken_gzip(source, error, line=1) from error

    def _name(self, node: Any) -> str:
        return from_iri(node.value) if isinstance(node, self._library.NamedNode) else str(node)

    def _malformed(self, error: SyntaxError) -> InputError:
        reason = re.sub(r"^Parser error (at|between) line.*?: ", "", error.msg)
        return InputError(
            f"{reason}, expected {self._syntax.value}",
            place=self._source.place(error.lineno),
            hint="an IRI stands in angle brackets, and a triple ends with a dot: <http://a> <http://r> <http://b> .",
        )


def _blank_nodes_numbered(triples: TripleColumns) -> TripleColumns:
    """The triples with numbers for anonymous blank nodes, so that every reading gives the same names."""
    names = list(triples.entities)
    invented = [position for position, name in enumerate(names) if _INVENTED_LABEL.fullmatch(name)]
    taken, number = set(names), 0
    for position in invented:
        number += 1
        while f"_:b{number}" in taken:
            number += 1
        names[position] = f"_:b{number}"
    return replace(triples, entities=Vocabulary(names, kind="entity")) if invented else triples
