"""A graph as files; the processes of a machine share them by memory mapping."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.kg.rows import TripleColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLUMNS = ("heads", "relation_ids", "tails")


def write_graph(folder: Path, graph: KnowledgeGraph) -> None:
    """Write the files: columns of ids, and the names in the order of their ids."""
    for name in _COLUMNS:
        np.save(folder / f"{name}.npy", getattr(graph, name))
    for name in ("entities", "relations"):
        names = getattr(graph, name).to_arrow()
        with pa.ipc.new_file(folder / f"{name}.arrow", pa.schema([("name", names.type)])) as writer:
            writer.write_batch(pa.record_batch([names], names=["name"]))


def mapped_graph(folder: str) -> KnowledgeGraph:
    """The graph of a folder, with the same ids; its columns are mapped and not copied."""
    heads, relation_ids, tails = (mapped_array(folder, name) for name in _COLUMNS)
    entities = Vocabulary(_names(folder, "entities"), kind="entity")
    relations = Vocabulary(_names(folder, "relations"), kind="relation")
    return KnowledgeGraph.from_columns(TripleColumns(heads, relation_ids, tails, entities, relations))


def mapped_array(folder: str, name: str) -> NDArray[Any]:
    """An array that was saved in the folder."""
    # Copies on write: kernels are compiled for arrays that may be written, and nothing is.
    return np.asarray(np.load(Path(folder) / f"{name}.npy", mmap_mode="c"))


def _names(folder: str, name: str) -> pa.Array:
    table = pa.ipc.open_file(pa.memory_map(f"{folder}/{name}.arrow")).read_all()
    return table["name"].chunk(0) if table["name"].num_chunks else pa.array([], pa.large_string())
