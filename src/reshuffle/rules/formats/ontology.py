"""Load an ontology as triples, and find the names of its nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from reshuffle.errors import InputError, Place
from reshuffle.kg import inverse_name
from reshuffle.kg.guards.limits import NameBudget
from reshuffle.kg.io.files import Format, Source
from reshuffle.kg.io.rdf import from_iri, pyoxigraph, quads_of

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


@dataclass(frozen=True)
class Ontology:
    """The triples in the order of the document, and what is said of each anonymous node."""

    triples: list[tuple[Any, str, Any]]
    anonymous: dict[Any, dict[str, Any]]
    named_node: type

    def relation(self, node: Any) -> str:
        """The relation a node names: an IRI, or an anonymous inverse of one."""
        inverted = self.anonymous.get(node, {}).get(f"{OWL}inverseOf")
        if inverted is not None:
            return inverse_name(self.named(inverted))
        return self.named(node)

    def named(self, node: Any) -> str:
        """The name of a node that is an IRI."""
        if not isinstance(node, self.named_node):
            raise UnreadableError
        iri: Any = node
        return from_iri(iri.value)

    def entity(self, node: Any) -> str:
        """The name of an entity; literals are none."""
        if isinstance(node, self.named_node):
            return self.named(node)
        raise UnreadableError("a literal or a blank node")

    def members(self, node: Any) -> list[Any]:
        """The nodes of an RDF list."""
        nodes: list[Any] = []
        while node in self.anonymous and len(nodes) <= len(self.triples):  # a list may be a circle
            cell = self.anonymous[node]
            nodes.append(cell.get(f"{RDF}first"))
            node = cell.get(f"{RDF}rest")
        if not nodes or getattr(node, "value", "") != f"{RDF}nil":
            raise UnreadableError
        return nodes

    def relations(self, node: Any) -> tuple[str, ...]:
        """The relations of an RDF list."""
        return tuple(map(self.relation, self.members(node)))


def load(content: bytes, file: str) -> Ontology:
    """The ontology in a file's content; whatever is no RDF raises `InputError`."""
    library = pyoxigraph(Place(file))
    source, budget = Source(file, len(content), content=content), NameBudget(Place(file), len(content))
    triples = []
    try:
        for quad in quads_of(source, Format[_serialisation(content, file)]):
            if (length := len(str(quad))) > NameBudget.LONG:
                budget.spend(length)
            triples.append((quad.subject, quad.predicate.value, quad.object))
    except SyntaxError as error:
        raise _malformed(error, file) from None
    anonymous: dict[Any, dict[str, Any]] = {}
    for subject, predicate, target in triples:
        if isinstance(subject, library.BlankNode):
            anonymous.setdefault(subject, {})[predicate] = target
    return Ontology(triples, anonymous, library.NamedNode)


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
