"""Graphs of rdflib: names are IRIs, and literals are skipped, as in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.io.rdf import to_term
from reshuffle.packages import package
from reshuffle.progress import UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.progress import Notes


def from_rdflib(graph: Any, *, notes: Notes = UNHEARD) -> KnowledgeGraph:
    """The triples between IRIs and blank nodes; `notes` hears how many literals were skipped."""
    literal = package("rdflib").Literal
    skipped = sum(isinstance(quad[0], literal) or isinstance(quad[2], literal) for quad in graph)
    if skipped:
        notes(f"{counted(skipped, 'triple')} with a literal skipped")
    return KnowledgeGraph(graph)


def to_rdflib(graph: KnowledgeGraph) -> Any:
    """An rdflib graph; names that are no IRIs stand behind `urn:reshuffle:`, as in files."""
    rdflib = package("rdflib")
    made = rdflib.Graph()
    for head, relation, tail in graph:
        subject, predicate = _term(rdflib, to_term(head)), _term(rdflib, to_term(relation, blank_nodes=False))
        made.add((subject, predicate, _term(rdflib, to_term(tail))))
    return made


def _term(rdflib: Any, text: str) -> Any:
    return rdflib.BNode(text[2:]) if text.startswith("_:") else rdflib.URIRef(text[1:-1])
