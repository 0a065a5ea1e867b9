"""What is known: knowledge graphs, their vocabularies, and how they come in and go out."""

from reshuffle.kg.completion import IDENTITY, CompletedGraph, identity_name, inverse_name
from reshuffle.kg.graph import Adjacency, KnowledgeGraph, Triple
from reshuffle.kg.vocabulary import Vocabulary

__all__ = [
    "IDENTITY",
    "Adjacency",
    "CompletedGraph",
    "KnowledgeGraph",
    "Triple",
    "Vocabulary",
    "identity_name",
    "inverse_name",
]
