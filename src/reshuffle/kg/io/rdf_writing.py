"""Triples as Turtle, RDF/XML, N-Quads, TriG and JSON-LD, as pyoxigraph writes them.

Triples of one head that follow each other are grouped. N-Quads, TriG and JSON-LD may have the facts in one named graph
and what was derived in another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from reshuffle.errors import InputError
from reshuffle.kg.io.files import Format
from reshuffle.kg.io.rdf import pyoxigraph, to_term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from reshuffle.errors import Place

_NAMES = {
    Format.TURTLE: "TURTLE",
    Format.RDF_XML: "RDF_XML",
    Format.N_QUADS: "N_QUADS",
    Format.TRIG: "TRIG",
    Format.JSON_LD: "JSON_LD",
}
WITH_GRAPHS = (Format.N_QUADS, Format.TRIG, Format.JSON_LD)
"""The formats that have named graphs."""
_GRAPHS = "urn:reshuffle-graph:"
# RDF/XML writes a relation as an element, whose name must be what ends its IRI.
_ELEMENT = re.compile(r"[^\W\d][\w.-]*\Z")
_NUMBERED = re.compile("_:[0-9]")
_WITH_PREFIXES = (Format.TURTLE, Format.TRIG, Format.RDF_XML)


def write_rdf(
    rows: Iterable[tuple[str, str, str, str | None]],
    stream: BinaryIO,
    form: Format,
    place: Place,
    prefixes: Mapping[str, str],
) -> None:
    """Write rows (head, relation, tail, graph), with these prefixes; `graph` is None for the default graph."""
    library = pyoxigraph(place)
    chosen = getattr(library.RdfFormat, _NAMES[form])
    statements = _statements(rows, _terms(library), library, form, place)
    known = dict(prefixes) if form in _WITH_PREFIXES else None
    library.serialize(statements, stream, format=chosen, prefixes=known)


def _statements(
    rows: Iterable[tuple[str, str, str, str | None]],
    term: Callable[[str, bool], Any],
    library: Any,
    form: Format,
    place: Place,
) -> Iterator[Any]:
    with_graphs = form in WITH_GRAPHS
    checked: set[str] = set()
    for head, relation, tail, graph in rows:
        if form is Format.RDF_XML:
            _check_xml(head, relation, tail, checked, place)
        triple = library.Triple(term(head, True), term(relation, False), term(tail, True))
        if not with_graphs:
            yield triple
        elif graph is None:
            yield library.Quad(*triple)
        else:
            yield library.Quad(*triple, library.NamedNode(_GRAPHS + graph))


def _terms(library: Any) -> Callable[[str, bool], Any]:
    """From a name, and whether it may be a blank node, to a node of the library; each is made once."""
    made: dict[tuple[str, bool], Any] = {}

    def term(name: str, blank: bool) -> Any:
        if (name, blank) not in made:
            written = to_term(name, blank_nodes=blank)
            node = library.NamedNode(written[1:-1]) if written[0] == "<" else library.BlankNode(written[2:])
            made[name, blank] = node
        return made[name, blank]

    return term


def _check_xml(head: str, relation: str, tail: str, checked: set[str], place: Place) -> None:
    """Refuse what RDF/XML cannot hold; `checked` are names that it can."""
    if relation not in checked and not _ELEMENT.search(to_term(relation, blank_nodes=False)[1:-1]):
        raise _unfit(f"the relation '{relation}'", "its name must end in a word", place)
    checked.add(relation)
    for name in (head, tail):
        if _NUMBERED.match(name):
            raise _unfit(f"the blank node '{name}'", "its label must begin with a letter", place)


def _unfit(what: str, why: str, place: Place) -> InputError:
    return InputError(
        f"{what} cannot be written as RDF/XML, where {why}",
        place=place,
        hint="let the file name end in .ttl, .nt or .jsonld",
    )
