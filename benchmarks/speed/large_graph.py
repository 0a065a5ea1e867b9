"""Facts by the million, made of random numbers and written as Parquet files, one piece after the other.

Ends and relations follow power laws, as those of large public graphs do: half of the ends are drawn evenly by the
logarithm of their rank, half by its square root. One fact in 51 is of a tree of classes, in which the parent of each
class is one of those before it. No piece is ever a list of Python's, and the seed makes every file the same again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED, RELATIONS = 1, 100
PIECE = 5_000_000  # facts of a file
_TREE = 51  # one fact in so many is of the tree
_PER_ENTITY = 4  # facts
RULES = """subclass(X, Y) & subclass(Y, Z) -> subclass(X, Z)
P40(X, Y) -> isa(X, Y)
P40(X, Y) & subclass(Y, Z) -> isa(X, Z)
P44(X, Y) -> P44(Y, X)
P44(X, Y) & P40(X, Y) -> both(X, Y)
"""


def store(folder: str, facts: str) -> None:
    """Write so many facts, duplicates among them, to files in a folder."""
    count = int(facts)
    classes = count // _TREE
    random = np.random.default_rng(SEED)
    entities = random.permutation(max(2, (count - classes) // _PER_ENTITY))
    Path(folder).mkdir(parents=True)
    _write(folder, "tree", *_tree(random, classes))
    for number, start in enumerate(range(0, count - classes, PIECE)):
        size = min(PIECE, count - classes - start)
        heads, tails = (_drawn(random, entities, size) for _ in range(2))
        relations = _named("P", (RELATIONS * random.random(size) ** 3).astype(np.int32))
        _write(folder, str(number), heads, relations, tails)
        print(f"  {start + size:,} of {count - classes:,} facts", file=sys.stderr, flush=True)


def _tree(random: np.random.Generator, size: int) -> tuple[NDArray[Any], pa.Array, NDArray[Any]]:
    children = np.arange(1, size + 1)
    parents = (random.random(size) * children).astype(np.int64)
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), ["subclass"])
    return children, names.cast(pa.string()), parents


def _drawn(random: np.random.Generator, entities: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Ends of facts: some entities have very many, most have a few."""
    most = len(entities)
    steep = np.minimum(np.exp(random.random(size) * np.log(most)), most - 1)
    flat = most * random.random(size) ** 2
    drawn: NDArray[np.int64] = entities[np.where(random.random(size) < 0.5, steep, flat).astype(np.int64)]
    return drawn


def _named(letter: str, ids: NDArray[Any]) -> pa.Array:
    return pc.binary_join_element_wise(letter, pa.array(ids).cast(pa.string()), "")


def _write(folder: str, name: str, heads: NDArray[Any], relations: pa.Array, tails: NDArray[Any]) -> None:
    columns = {"head": _named("Q", heads), "relation": relations, "tail": _named("Q", tails)}
    pq.write_table(pa.table(columns), f"{folder}/part-{name}.parquet")
