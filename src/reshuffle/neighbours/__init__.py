"""Import and export for other libraries; one module each, which loads its library on first use.

    networkx    directed graphs, whose edges have their relation as key or attribute
    rdflib      RDF graphs; literals are skipped
    pyg         PyTorch Geometric's `Data` with `edge_index` and `edge_type`
    pykeen      triples factories, inductive data sets, and our scorers as models for its evaluators

Data frames need no module: `KnowledgeGraph.from_table` takes whatever has Arrow's stream interface.
"""

from reshuffle.neighbours.networkx import from_networkx, to_networkx
from reshuffle.neighbours.pyg import from_pyg, to_pyg
from reshuffle.neighbours.pykeen import benchmark_from_pykeen, from_pykeen, to_pykeen, to_pykeen_model
from reshuffle.neighbours.rdflib import from_rdflib, to_rdflib

__all__ = [
    "benchmark_from_pykeen",
    "from_networkx",
    "from_pyg",
    "from_pykeen",
    "from_rdflib",
    "to_networkx",
    "to_pyg",
    "to_pykeen",
    "to_pykeen_model",
    "to_rdflib",
]
