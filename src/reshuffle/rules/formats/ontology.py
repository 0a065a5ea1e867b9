"""Load an ontology as triples."""

from __future__ import annotations

import re
from typing import Any

from reshuffle.errors import InputError, Place
from reshuffle.kg.guards.limits import NameBudget
from reshuffle.kg.io.files import Format, Source
from reshuffle.kg.io.rdf import quads_of

OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

_SHORT = {OWL: "owl:", RDF: "rdf:", RDFS: "rdfs:"}


def shortened(iri: str) -> str:
    """The IRI with its usual prefix, where it is of OWL, RDF or RDFS; otherwise empty."""
    for namespace, prefix in _SHORT.items():
        if iri.startswith(namespace):
            return prefix + iri.removeprefix(namespace)
    return ""


class UnreadableError(Exception):
    """An expression that is not read; its text names the construct, where it has a name."""


def load(content: bytes, file: str) -> list[tuple[Any, str, Any]]:
    """The triples in a file's content, in the order of the document; whatever is no RDF raises `InputError`."""
    source, budget = Source(file, len(content), content=content), NameBudget(Place(file), len(content))
    triples = []
    try:
        for quad in quads_of(source, Format[_serialisation(content, file)]):
            if (length := len(str(quad))) > NameBudget.LONG:
                budget.spend(length)
            triples.append((quad.subject, quad.predicate.value, quad.object))
    except SyntaxError as error:
        raise _malformed(error, file) from None
    return triples


def _malformed(error: SyntaxError, file: str) -> InputError:
    reason = re.sub(r"^Parser error (at|between) line.*?: ", "", error.msg)  # the place says it already
    return InputError(
        reason,
        place=Place(file, error.lineno, error.offset),
        hint="Turtle, RDF/XML and N-Triples are read; relative names need a base in the file",
    )


def _serialisation(content: bytes, file: str) -> str:
    start = content[:2000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.search(rb"<Ontology\b", start):
        raise _other_syntax(file, "OWL/XML")
    if re.match(rb"(Prefix|Ontology)\s*\(", start):
        raise _other_syntax(file, "OWL functional syntax")
    if re.match(rb"(Prefix|Ontology):\s", start):
        raise _other_syntax(file, "Manchester syntax")
    # N-Triples is a part of Turtle; a comment in XML starts with <!, an IRI does not.
    return "RDF_XML" if re.match(rb"<(\?xml|!|rdf:)", start) else "TURTLE"


def _other_syntax(file: str, syntax: str) -> InputError:
    return InputError(
        f"{syntax} is not read", place=Place(file), hint="save the ontology as Turtle, RDF/XML or N-Triples"
    )
