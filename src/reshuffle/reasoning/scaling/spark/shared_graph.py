"""A graph and its constraints as files, which any number of processes on a machine map into their memory once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reshuffle.constraints import OrderingConstraints
from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.kg.rows import TripleColumns
from reshuffle.reasoning.geometry.all_pairs import AllPairs
from reshuffle.reasoning.geometry.changing_graph import LiveGraph, both_directions
from reshuffle.reasoning.geometry.relation_automata import assemble
from reshuffle.reasoning.scaling.data_sets import RelationFolders, named
from reshuffle.reasoning.sharing import budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_COLUMNS = ("heads", "relation_ids", "tails")
_ROWS = ("starts", "labels", "neighbours")


def share_graph(folder: Path, graph: KnowledgeGraph, constraints: OrderingConstraints) -> None:
    """Write the files: columns of ids, rows in both directions, names, constraints."""
    rows = both_directions(graph.heads, graph.relation_ids, graph.tails, graph.num_entities)
    arrays: list[NDArray[Any]] = [*rows, graph.heads, graph.relation_ids, graph.tails]
    for name, array in zip((*_ROWS, *_COLUMNS), arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
    for name in ("entities", "relations"):
        names = getattr(graph, name).to_arrow()
        with pa.ipc.new_file(folder / f"{name}.arrow", pa.schema([("name", names.type)])) as writer:
            writer.write_batch(pa.record_batch([names], names=["name"]))
    (folder / "constraints.json").write_bytes(constraints.to_bytes())


@dataclass(frozen=True)
class SharedGraph:
    """The searches over a shared graph, in one process with one thread."""

    live: LiveGraph
    relations: tuple[str, ...]
    everything: AllPairs

    def counts(self, share: slice) -> Iterator[tuple[str, int]]:
        """How many pairs of each relation hold with a share of the sources."""
        for relation in self.relations:
            yield relation, self.everything.total(relation, share)

    def write(self, share: slice, folder: Path, name: str) -> Iterator[tuple[str, Path, int]]:
        """Write what follows with a share of the sources; gives each relation, file and number of triples."""
        names = self.live.entities.vocabulary().to_arrow()
        for relation in self.relations:
            written = 0
            with RelationFolders(folder, name=name) as folders:
                for pairs in self.everything.blocks(relation, share):
                    heads, tails = self.live.without_facts(relation, *pairs)
                    if len(heads):
                        folders.write_ends(relation, named(heads, names), named(tails, names))
                        written += len(heads)
            if written:
                yield relation, folders.files[0], written


@lru_cache(maxsize=1)
def shared_graph(folder: str, memory: int | None) -> SharedGraph:
    """The graph of a folder, mapped and made ready once in each process."""
    heads, relation_ids, tails = (_mapped(folder, name) for name in _COLUMNS)
    entities = Vocabulary(_names(folder, "entities"), kind="entity")
    relations = Vocabulary(_names(folder, "relations"), kind="relation")
    graph = KnowledgeGraph.from_columns(TripleColumns(heads, relation_ids, tails, entities, relations))
    live = LiveGraph(graph, tuple(_mapped(folder, name) for name in _ROWS))  # type: ignore[arg-type]
    constraints = OrderingConstraints.load(Path(folder) / "constraints.json")
    machine = assemble(constraints, live.labels)
    share = budget(memory, num_entities=graph.num_entities, words=machine.most_words, cores=1)
    return SharedGraph(live, tuple(machine.clauses_of), AllPairs(live, machine, share))


def _mapped(folder: str, name: str) -> NDArray[Any]:
    # Copies on write: kernels are compiled for arrays that may be written, and nothing is.
    return np.asarray(np.load(Path(folder) / f"{name}.npy", mmap_mode="c"))


def _names(folder: str, name: str) -> pa.Array:
    table = pa.ipc.open_file(pa.memory_map(f"{folder}/{name}.arrow")).read_all()
    return table["name"].chunk(0) if table["name"].num_chunks else pa.array([], pa.large_string())
