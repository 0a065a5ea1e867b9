"""Turn what a caller passes into a graph or a list of triples, or raise one clear error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import InputError
from reshuffle.kg.graph import KnowledgeGraph
from reshuffle.kg.io.tables import is_table
from reshuffle.kg.records import refuse_others, triples_of
from reshuffle.kg.rows import name_of
from reshuffle.kg.splits import GraphSplit, InductiveBenchmark, TransductiveBenchmark
from reshuffle.kg.vocabulary import check_names

if TYPE_CHECKING:
    from collections.abc import Mapping

Triples: TypeAlias = KnowledgeGraph | Iterable[tuple[str, str, str]]

_TO_ANSWER_ON = {GraphSplit: "facts", InductiveBenchmark: "test.facts", TransductiveBenchmark: "facts"}


def as_graph(given: Triples, *, parts: Mapping[type, str] = _TO_ANSWER_ON) -> KnowledgeGraph:
    """A graph, of whatever `KnowledgeGraph(...)` takes; of a benchmark, `parts` names the part to give instead.

    >>> len(as_graph([("ada", "bornIn", "london")]))
    1
    """
    _refuse_others(given, parts)
    return given if isinstance(given, KnowledgeGraph) else KnowledgeGraph(given)


def as_triples(given: Triples) -> list[tuple[str, str, str]]:
    """A list of triples of names, all of them checked before the first one is used.

    >>> as_triples([["ada", "bornIn", "london"]])
    [('ada', 'bornIn', 'london')]
    """
    _refuse_others(given, _TO_ANSWER_ON)
    triples = [(name_of(h), name_of(r), name_of(t)) for h, r, t in triples_of(graph_of_others(given))]
    check_names([name for head, _, tail in triples for name in (head, tail)], kind="entity")
    check_names([relation for _, relation, _ in triples], kind="relation")
    return triples


def graph_of_others(given: Triples) -> Triples:
    """A table or a graph of another library as a graph, all else as it is."""
    return KnowledgeGraph(given) if is_table(given) or type(given).__module__.startswith("rdflib") else given


def _refuse_others(given: object, parts: Mapping[type, str]) -> None:
    """Raise for what holds no triples, such as a path, and for benchmarks."""
    for kind, part in parts.items():
        if isinstance(given, kind):
            raise InputError(f"found {kind.__name__}, expected a graph", hint=f"give its .{part}")
    refuse_others(given)
