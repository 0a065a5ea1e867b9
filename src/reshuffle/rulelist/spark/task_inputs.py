"""What tasks need beside their shares: arrays in the folder of the graph, and the graph made ready for walks."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.rulelist.features import FeatureGraph
from reshuffle.spark.graph_files import mapped_array, mapped_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.spark.workers import Workers


@dataclass(frozen=True)
class Inputs:
    """Arrays in the folder of a graph."""

    folder: str
    names: tuple[str, ...]

    def arrays(self) -> list[NDArray[Any]]:
        """The arrays, mapped."""
        return [mapped_array(self.folder, name) for name in self.names]


def saved(workers: Workers, *arrays: NDArray[Any]) -> Inputs:
    """The arrays in files with names of their own: a task of the job before may still be reading."""
    names = [f"input-{secrets.token_hex(4)}" for _ in arrays]
    for name, array in zip(names, arrays, strict=True):
        np.save(workers.folder / f"{name}.npy", array)
    return Inputs(str(workers.folder), tuple(names))


@lru_cache(maxsize=1)
def features_of(folder: str) -> FeatureGraph:
    """The graph of a folder, made ready for walks once in each process."""
    return FeatureGraph(mapped_graph(folder), cores=1)
