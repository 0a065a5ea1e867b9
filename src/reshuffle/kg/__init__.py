"""What is known: knowledge graphs, their vocabularies, and how they come in and go out."""

from reshuffle.kg.completion import CompletedGraph
from reshuffle.kg.graph import KnowledgeGraph, read_graph
from reshuffle.kg.inverses import IDENTITY, identity_name, inverse_name, refuse_inverse_names
from reshuffle.kg.io.files import written_whole
from reshuffle.kg.io.writing import write_graph, write_triples
from reshuffle.kg.rows import Adjacency, Rows
from reshuffle.kg.triples import Triple
from reshuffle.kg.vocabulary import Vocabulary

__all__ = [
    "IDENTITY",
    "Adjacency",
    "CompletedGraph",
    "KnowledgeGraph",
    "Rows",
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
