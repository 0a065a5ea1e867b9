"""What is known: knowledge graphs, their vocabularies, and how they come in and go out."""

from reshuffle.kg.completion import (
    IDENTITY,
    CompletedGraph,
    identity_name,
    inverse_name,
    refuse_inverse_names,
)
from reshuffle.kg.files import written_whole
from reshuffle.kg.graph import Adjacency, KnowledgeGraph, Triple
from reshuffle.kg.reading import read_graph
from reshuffle.kg.vocabulary import Vocabulary
from reshuffle.kg.writing import write_graph, write_triples

__all__ = [
    "IDENTITY",
    "Adjacency",
    "CompletedGraph",
    "KnowledgeGraph",
    "Triple",
    "Vocabulary",
    "identity_name",
    "inverse_name",
    "read_graph",
    "refuse_inverse_names",
    "write_graph",
    "write_triples",
    "written_whole",
]
