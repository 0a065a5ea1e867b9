"""Wrong candidates (negatives): drawn by seed, saved, and loaded.

Candidates are drawn from the entities that are not a known answer. They are numbered without being listed: if
x_0 < x_1 < ... are the excluded ids, the j-th entity left is j plus the number of i with x_i - i <= j. So a
query costs as much as it draws, independent of the number of entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reshuffle.errors import InputError, Place
from reshuffle.evaluation.queries import Queries
from reshuffle.evaluation.scorer import SIDES
from reshuffle.kg import written_whole
from reshuffle.kg.rows import starts_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reshuffle.evaluation.queries import KnownAnswers
    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph

ABSENT = -1
"""The entry of a query that has no wrong candidate at all."""

_PROTOCOL, _SEED = b"reshuffle.protocol", b"reshuffle.seed"


@dataclass(frozen=True)
class Sampling:
    """How wrong candidates are drawn.

    `replacement`: one may be drawn twice (GraIL). Without it, a pool smaller than `size` is repeated as often
    as needed (PyKEEN). `self_loops`: the query's own entity may be a candidate. `typed`: entities that have
    the relation on that side come first, others only to fill up; only when all are taken is any repeated.
    """

    size: int
    replacement: bool = False
    self_loops: bool = True
    typed: bool = False


@dataclass(frozen=True)
class Origin:
    """The protocol and the seed that candidates were drawn by."""

    protocol: str
    seed: int


@dataclass(frozen=True)
class Negatives:
    """The wrong candidates of each query and side, as ids of `graph`.

    `origin` is None where that is not known: files written before it was kept do not say.
    """

    graph: KnowledgeGraph
    queries: Queries
    candidates: dict[Side, NDArray[np.int32]]  # side: query candidate
    origin: Origin | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file with the columns head, relation, tail, side, candidates: names, since ids may change.

        The schema's metadata has the protocol and the seed.
        """
        table = pa.concat_tables([self._table(side) for side in SIDES])
        table = table.replace_schema_metadata(_notes_of(self.origin))
        with written_whole(path) as aside:
            pq.write_table(table, aside)

    def _table(self, side: Side) -> pa.Table:
        entities, relations = self.graph.entities, self.graph.relations
        candidates = self.candidates[side]
        present = candidates != ABSENT
        offsets = starts_of(present.sum(axis=1)).astype(np.int32)
        names = pa.array(entities[candidates[present]], pa.string())
        return pa.table(
            {
                "head": entities[self.queries.heads],
                "relation": relations[self.queries.relations],
                "tail": entities[self.queries.tails],
                "side": [side] * len(self.queries),
                "candidates": pa.ListArray.from_arrays(pa.array(offsets), names),
            }
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str], graph: KnowledgeGraph) -> Negatives:
        """Read a saved file, in the ids of `graph`."""
        try:
            table = pq.read_table(path, partitioning=None)  # no columns out of the path
            rows, origin = table.to_pylist(), _origin_of(table.schema.metadata or {})
            parts = {side: [row for row in rows if row["side"] == side] for side in SIDES}
            triples = [[(row["head"], row["relation"], row["tail"]) for row in parts[side]] for side in SIDES]
        except FileNotFoundError as error:
            raise InputError(
                "no such file",
                place=Place(str(path)),
                hint="check the path; Negatives.save (--save-negatives) writes one",
            ) from error
        except MemoryError:
            raise
        except Exception as error:  # whatever a damaged file makes the reader of Parquet raise
            raise _not_negatives(path) from error
        if triples[0] != triples[1]:
            raise _not_negatives(path)
        heads, relations, tails = zip(*triples[0], strict=True) if triples[0] else ((), (), ())
        queries = Queries(
            graph.entities.ids(heads), graph.relations.ids(relations), graph.entities.ids(tails)
        )
        return cls(graph, queries, {side: _padded(parts[side], graph) for side in SIDES}, origin)

    def __getitem__(self, rows: slice) -> Negatives:
        candidates = {side: self.candidates[side][rows] for side in SIDES}
        return Negatives(self.graph, self.queries[rows], candidates, self.origin)

    def of(self, queries: Queries) -> Negatives:
        """The same candidates in the order of `queries`, each of which must be among them."""
        places = {row: place for place, row in enumerate(_rows(self.queries))}
        order = [places.get(row) for row in _rows(queries)]
        if None in order:
            raise InputError(
                f"the negatives hold no candidates for {order.count(None):,} of {len(order):,} queries",
                hint="draw negatives for these queries, or evaluate the queries of these negatives",
            )
        chosen = np.array(order, dtype=np.int64)
        candidates = {side: self.candidates[side][chosen] for side in SIDES}
        return Negatives(self.graph, queries, candidates, self.origin)


def _notes_of(origin: Origin | None) -> dict[bytes, bytes]:
    if origin is None:
        return {}
    return {_PROTOCOL: origin.protocol.encode(), _SEED: str(origin.seed).encode()}


def _origin_of(notes: Mapping[bytes, bytes]) -> Origin | None:
    if not {_PROTOCOL, _SEED} <= notes.keys():
        return None
    return Origin(notes[_PROTOCOL].decode(), int(notes[_SEED]))


def _rows(queries: Queries) -> list[tuple[int, ...]]:
    columns = (queries.heads.tolist(), queries.relations.tolist(), queries.tails.tolist())
    return list(zip(*columns, strict=True))


def _padded(rows: list[dict[str, Any]], graph: KnowledgeGraph) -> NDArray[np.int32]:
    size = max((len(row["candidates"]) for row in rows), default=0)
    padded = np.full((len(rows), size), ABSENT, dtype=np.int32)
    for place, row in enumerate(rows):
        padded[place, : len(row["candidates"])] = graph.entities.ids(row["candidates"])
    return padded


def _not_negatives(path: str | os.PathLike[str]) -> InputError:
    return InputError(
        "not a file of negatives: expected Parquet with head, relation, tail, side and candidates",
        place=Place(str(path)),
        hint="write one with Negatives.save",
    )


def draw_negatives(
    graph: KnowledgeGraph, queries: Queries, known: KnownAnswers, sampling: Sampling, *, seed: int
) -> Negatives:
    """Wrong candidates for both sides of every query; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    drawn = {side: _drawn(graph.num_entities, queries, known, sampling, side, rng) for side in SIDES}
    return Negatives(graph, queries, drawn)


def _drawn(
    num_entities: int,
    queries: Queries,
    known: KnownAnswers,
    sampling: Sampling,
    side: Side,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    candidates = np.empty((len(queries), sampling.size), dtype=np.int32)
    holders = {relation: known.typed(relation, side) for relation in np.unique(queries.relations)}
    rows = zip(queries.anchors(side), queries.relations, queries.answers(side), strict=True)
    for place, (anchor, relation, answer) in enumerate(rows):
        excluded = known.of(anchor, relation, answer, side)
        if not sampling.self_loops:
            excluded = np.union1d(excluded, anchor)
        preferred = holders[relation] if sampling.typed else None
        candidates[place] = _draw(rng, sampling, excluded, preferred, num_entities)
    return candidates


def _draw(
    rng: np.random.Generator,
    sampling: Sampling,
    excluded: NDArray[np.int32],
    preferred: NDArray[np.int32] | None,
    num_entities: int,
) -> NDArray[np.int32]:
    if preferred is None:
        return _from_rest(rng, sampling.size, excluded, num_entities, replacement=sampling.replacement)
    first = np.setdiff1d(preferred, excluded, assume_unique=True)
    first = rng.permutation(first)[: sampling.size]
    lacking = sampling.size - len(first)
    if not lacking:
        return first
    either = np.union1d(excluded, preferred)
    rest = _from_rest(rng, lacking, either, num_entities, replacement=False)
    if num_entities - len(either) >= lacking:
        return np.concatenate([first, rest])
    pool = np.concatenate([first, np.setdiff1d(np.arange(num_entities, dtype=np.int32), either)])
    if not len(pool):
        return rest
    # `rest` is drawn all the same and repeats have a generator of their own: later queries draw as ever.
    more = _without_replacement(rng.spawn(1)[0], sampling.size - len(pool), len(pool))
    return np.concatenate([pool, pool[more]])


def _from_rest(
    rng: np.random.Generator, size: int, excluded: NDArray[np.int32], num_entities: int, *, replacement: bool
) -> NDArray[np.int32]:
    pool = num_entities - len(excluded)
    if pool == 0:
        return np.full(size, ABSENT, dtype=np.int32)
    places = rng.integers(0, pool, size) if replacement else _without_replacement(rng, size, pool)
    shifts = np.searchsorted(excluded - np.arange(len(excluded)), places, side="right")
    return (places + shifts).astype(np.int32)


def _without_replacement(rng: np.random.Generator, size: int, pool: int) -> NDArray[np.int64]:
    """Distinct places of the pool; a pool smaller than `size` is repeated as often as needed (PyKEEN)."""
    copies = -(-size // pool)
    return rng.choice(pool * copies, size, replace=False) % pool
