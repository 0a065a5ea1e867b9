"""Read triples from tuples and lists, dictionaries, tables, and graphs of other libraries.

Ambiguous input is refused: sets have no order, and a networkx graph, or its edges, does not say where the relation is
(`reshuffle.neighbours` reads it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg.io.columns import columns_of
from reshuffle.kg.io.rdf import LiteralFacts, from_iri
from reshuffle.kg.io.tables import from_table, is_table
from reshuffle.kg.rows import checked_triple, numbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.kg.rows import TripleColumns

_HINTS = {
    "networkx": "reshuffle.neighbours.from_networkx(graph) reads it; the relation is an edge's key or attribute",
    "torch_geometric": "reshuffle.neighbours.from_pyg(data) reads it",
    "pykeen": "reshuffle.neighbours.from_pykeen(factory) reads it",
}


def columns_from(given: Iterable[Any], *, columns: Sequence[str] | None = None) -> TripleColumns:
    """The triples of whatever `KnowledgeGraph(...)` takes, as columns; `columns` are those of tables and records."""
    library = type(given).__module__.partition(".")[0]
    if library in _HINTS:
        raise InputError(
            f"found {type(given).__name__} of {library}, expected triples of names: (head, relation, tail)",
            hint=_HINTS[library],
        )
    if library == "rdflib":
        return _of_rdf(given)
    refuse_others(given)
    if is_table(given):
        return from_table(given, columns=columns)
    rows = iter(given)
    first = next(rows, None)
    given = rows if first is None else chain([first], rows)
    if isinstance(first, tuple) and any(type(term).__module__.startswith("rdflib") for term in first):
        return _of_rdf(given)
    return numbered(triples_of(given, columns=columns))


def refuse_others(given: object) -> None:
    """Raise for what holds no triples, such as a path."""
    if isinstance(given, str | bytes | PathLike) or not (isinstance(given, Iterable) or is_table(given)):
        raise InputError(
            f"found {given!r}, expected a graph or triples of names: (head, relation, tail)",
            hint="reshuffle.read_graph(path) reads a file",
        )


def triples_of(given: Iterable[Any], *, columns: Sequence[str] | None = None) -> Iterator[Sequence[str]]:
    """Triples one by one; of dictionaries the three keys that name head, relation and tail."""
    names: tuple[str, str, str] | None = None
    for triple in given:
        if type(triple) is tuple and len(triple) == 3:
            yield triple
        elif isinstance(triple, Mapping):
            if names is None or any(name not in triple for name in names):
                names = columns_of([str(key) for key in triple], columns).names
            yield [triple[name] for name in names]
        else:
            yield _in_order(triple)


def _in_order(triple: Any) -> Sequence[str]:
    if isinstance(triple, Set):
        raise InputError(
            f"found the set {triple!r}, which is unordered; expected a triple of names: (head, relation, tail)",
            hint="give tuples or lists",
        )
    return checked_triple(triple.tolist() if isinstance(triple, np.ndarray) else triple)


def _of_rdf(graph: Iterable[Any]) -> TripleColumns:
    """The triples of an rdflib graph between IRIs and blank nodes; literals stand beside them, as in files."""
    literals = LiteralFacts()
    triples = numbered(_rdf_rows(graph, literals))
    return replace(triples, literals=literals.columns())


def _rdf_rows(graph: Iterable[Any], literals: LiteralFacts) -> Iterator[tuple[str, str, str]]:
    for quad in graph:
        head, relation, tail = quad[:3]
        if type(head).__name__ == "Literal":
            continue
        if type(tail).__name__ == "Literal":
            literals.add(_name(head), _name(relation))
        else:
            yield _name(head), _name(relation), _name(tail)


def _name(term: Any) -> str:
    return f"_:{term}" if type(term).__name__ == "BNode" else from_iri(str(term))
