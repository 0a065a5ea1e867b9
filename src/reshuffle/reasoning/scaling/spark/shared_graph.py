"""A graph and its constraints as files; the processes of a machine share them by memory mapping."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.constraints import OrderingConstraints
from reshuffle.reasoning.geometry.all_pairs import AllPairs
from reshuffle.reasoning.geometry.changing_graph import LiveGraph, both_directions
from reshuffle.reasoning.geometry.relation_automata import assemble
from reshuffle.reasoning.scaling.data_sets import RelationFolders, named
from reshuffle.reasoning.sharing import budget
from reshuffle.spark.graph_files import mapped_array, mapped_graph, write_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph

_ROWS = ("starts", "labels", "neighbours")


def share_graph(folder: Path, graph: KnowledgeGraph, constraints: OrderingConstraints) -> None:
    """Write the files: the graph, its rows in both directions, the constraints."""
    write_graph(folder, graph)
    rows = both_directions(graph.heads, graph.relation_ids, graph.tails, graph.num_entities)
    arrays: list[NDArray[Any]] = [*rows]
    for name, array in zip(_ROWS, arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
    (folder / "constraints.json").write_bytes(constraints.to_bytes())


@dataclass(frozen=True)
class SharedGraph:
    """The searches over a shared graph, in one process with one thread."""

    live: LiveGraph
    relations: tuple[str, ...]
    everything: AllPairs

    def counts(self, share: slice, without_loops: str | None) -> Iterator[tuple[str, int]]:
        """How many pairs of each relation hold with a share of the sources; of one, only facts lead to themselves."""
        for relation in self.relations:
            loops = self._loops(relation, share) if relation == without_loops else 0
            yield relation, self.everything.total(relation, share) - loops

    def _loops(self, relation: str, share: slice) -> int:
        """How many entities a relation leads to themselves by what is no fact."""
        blocks = (
            self.live.without_facts(relation, *pairs) for pairs in self.everything.blocks(relation, share)
        )
        return sum(int(np.count_nonzero(heads == tails)) for heads, tails in blocks)

    def write(
        self, share: slice, folder: Path, name: str, without_loops: str | None
    ) -> Iterator[tuple[str, Path, int]]:
        """Write what follows with a share of the sources; gives each relation, file and number of triples."""
        names = self.live.entities.vocabulary().to_arrow()
        for relation in self.relations:
            written = 0
            with RelationFolders(folder, name=name) as folders:
                for pairs in self.everything.blocks(relation, share):
                    heads, tails = self.live.without_facts(relation, *pairs)
                    if relation == without_loops:
                        heads, tails = heads[heads != tails], tails[heads != tails]
                    if len(heads):
                        folders.write_ends(relation, named(heads, names), named(tails, names))
                        written += len(heads)
            if written:
                yield relation, folders.files[0], written


@lru_cache(maxsize=1)
def shared_graph(folder: str, memory: int | None) -> SharedGraph:
    """The graph of a folder, mapped and made ready once in each process."""
    graph = mapped_graph(folder)
    live = LiveGraph(graph, tuple(mapped_array(folder, name) for name in _ROWS))  # type: ignore[arg-type]
    constraints = OrderingConstraints.load(Path(folder) / "constraints.json")
    machine = assemble(constraints, live.labels)
    share = budget(memory, num_entities=graph.num_entities, words=machine.most_words, cores=1)
    return SharedGraph(live, tuple(machine.clauses_of), AllPairs(live, machine, share))
