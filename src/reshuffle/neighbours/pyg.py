"""PyTorch Geometric: `Data` with `edge_index` [2, edge] and `edge_type` [edge], and the names beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.packages import package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Column = NDArray[np.int32]


def from_pyg(
    data: Any, *, entities: Sequence[str] | None = None, relations: Sequence[str] | None = None
) -> KnowledgeGraph:
    """The triples of a `Data`; names are those given, those that the data holds (`to_pyg` leaves them), or numbers."""
    ends, kinds = getattr(data, "edge_index", None), getattr(data, "edge_type", None)
    if ends is None or kinds is None:
        raise InputError(
            "found data without edge_index or edge_type, expected both: the ends and the relation of every edge",
            hint="a graph of one relation gets data.edge_type = torch.zeros(data.num_edges, dtype=torch.long); "
            "a HeteroData gets both from data.to_homogeneous()",
        )
    heads, tails, types = _edges(np.asarray(ends.cpu()), np.asarray(kinds.cpu()))
    nodes, most = int(data.num_nodes), int(types.max()) + 1 if len(types) else 0
    return KnowledgeGraph.from_ids(
        heads,
        types,
        tails,
        entities=_names(getattr(data, "entities", None) if entities is None else entities, nodes, "entity"),
        relations=_names(
            getattr(data, "relations", None) if relations is None else relations, most, "relation"
        ),
    )


def _edges(ends: NDArray[Any], kinds: NDArray[Any]) -> tuple[Column, Column, Column]:
    whole = np.issubdtype(ends.dtype, np.integer) and np.issubdtype(kinds.dtype, np.integer)
    if not whole or ends.ndim != 2 or len(ends) != 2 or kinds.shape != ends.shape[1:]:
        raise InputError(
            f"found edge_index of the shape {ends.shape} and edge_type of the shape {kinds.shape}, expected whole "
            "numbers of the shapes (2, edges) and (edges,)",
            hint="edge_type holds the number of one relation for each edge",
        )
    heads, tails = ends.astype(np.int32)
    return heads, tails, kinds.astype(np.int32)


def _names(given: Sequence[str] | None, count: int, kind: str) -> Vocabulary:
    if isinstance(given, Mapping):
        raise InputError(
            f"found a dictionary as names of {kind}, expected a sequence: the names by number",
            hint="sorted(numbers, key=numbers.get) gives the names of a dictionary from name to number",
        )
    names = [str(number) for number in range(count)] if given is None else list(given)
    if len(names) < count:
        raise InputError(
            f"found {len(names):,} names for {count:,} numbers of {kind}", hint="give a name for each of them"
        )
    return Vocabulary(names, kind=kind)


def to_pyg(graph: KnowledgeGraph) -> Any:
    """A `Data` with an edge per triple; `data.entities` and `data.relations` are the names by number."""
    torch, data = package("torch", extra="neighbours"), package("torch_geometric.data").Data
    ends = torch.from_numpy(np.stack([graph.heads, graph.tails]).astype(np.int64))
    made = data(
        edge_index=ends,
        edge_type=torch.from_numpy(graph.relation_ids.astype(np.int64)),
        num_nodes=graph.num_entities,
    )
    made.entities, made.relations = list(graph.entities), list(graph.relations)
    return made
