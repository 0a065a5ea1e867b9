"""The knowledge graph: an immutable set of named triples on integer arrays."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import algebra
from reshuffle.kg.rows import Adjacency, sorted_distinct, starts_in
from reshuffle.kg.vocabulary import Vocabulary
from reshuffle.progress import UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    import pyarrow as pa
    from numpy.typing import NDArray

    from reshuffle.progress import Notes

COLUMNS = ("head", "relation", "tail")


class Triple(NamedTuple):
    """(e, r, f) of the paper, with names."""

    head: str
    relation: str
    tail: str


def checked_triple(triple: Sequence[str]) -> Sequence[str]:
    """The triple, if it is one; raises `InputError` otherwise."""
    try:
        fits = len(triple) == 3 and not isinstance(triple, str)
    except TypeError:
        fits = False
    if not fits:
        raise InputError(
            f"found {triple!r}, expected a triple of names: (head, relation, tail)",
            hint="give an iterable of such triples; read_graph(path) reads a file",
        )
    return triple


class KnowledgeGraph(AbstractSet[Triple]):
    """A set of (head, relation, tail) triples: `in`, `len`, iteration and set operations go by name.

    >>> kg = KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")])
    >>> ("ada", "bornIn", "london") in kg, len(kg), list(kg.relations)
    (True, 2, ['bornIn', 'cityIn'])
    >>> sorted(kg - KnowledgeGraph([("ada", "bornIn", "london")]))
    [Triple(head='london', relation='cityIn', tail='uk')]

    Kernels use the ids: `heads`, `relation_ids` and `tails` are sorted by (relation, head, tail), so that
    each relation is one contiguous slice, and `by_head` and `by_tail` are built once, when first asked for.
    """

    def __init__(self, triples: Iterable[tuple[str, str, str]] = ()) -> None:
        entities: dict[str, int] = {}
        relations: dict[str, int] = {}
        numbers = (
            number
            for head, relation, tail in map(checked_triple, triples)
            for number in (
                entities.setdefault(head, len(entities)),
                relations.setdefault(relation, len(relations)),
                entities.setdefault(tail, len(entities)),
            )
        )
        try:
            flat = np.fromiter(numbers, dtype=np.int32)
        except TypeError as error:  # such as a list in place of a name
            raise InputError(f"found a name that is no text: {error}", hint="give names as str") from error
        self._set_up(
            Vocabulary(entities, kind="entity"),
            Vocabulary(relations, kind="relation"),
            *sorted_distinct(flat[0::3], flat[1::3], flat[2::3], len(entities)),
        )

    @classmethod
    def from_ids(
        cls,
        heads: NDArray[np.int32],
        relation_ids: NDArray[np.int32],
        tails: NDArray[np.int32],
        *,
        entities: Vocabulary,
        relations: Vocabulary,
    ) -> KnowledgeGraph:
        """A graph over given vocabularies, which may hold more names than the triples use."""
        graph = cls.__new__(cls)
        graph._set_up(entities, relations, *sorted_distinct(heads, relation_ids, tails, len(entities)))
        return graph

    def _set_up(
        self,
        entities: Vocabulary,
        relations: Vocabulary,
        heads: NDArray[np.int32],
        relation_ids: NDArray[np.int32],
        tails: NDArray[np.int32],
    ) -> None:
        self.entities, self.relations = entities, relations
        self.heads, self.relation_ids, self.tails = heads, relation_ids, tails
        for column in (heads, relation_ids, tails):
            column.flags.writeable = False

    # --- a Python collection of named triples -------------------------------------------------------

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[Triple]:
        block = 100_000  # names are made in blocks, so iterating a large graph stays small
        for start in range(0, len(self), block):
            piece = slice(start, start + block)
            yield from map(
                Triple._make,
                zip(
                    self.entities[self.heads[piece]],
                    self.relations[self.relation_ids[piece]],
                    self.entities[self.tails[piece]],
                    strict=True,
                ),
            )

    def __contains__(self, triple: object) -> bool:
        if not (
            isinstance(triple, tuple) and len(triple) == 3 and all(isinstance(name, str) for name in triple)
        ):
            return False
        head, relation, tail = triple
        ids = (self.entities.find(head), self.relations.find(relation), self.entities.find(tail))
        return None not in ids and self.has_ids(*ids)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(len(self))

    def __repr__(self) -> str:
        return (
            f"<KnowledgeGraph: {counted(len(self), 'triple')}, {counted(len(self.entities), 'entity', 'entities')}, "
            f"{counted(len(self.relations), 'relation')}>"
        )

    @classmethod
    def _from_iterable(cls, triples: Iterable[Triple]) -> KnowledgeGraph:  # type: ignore[override]
        return cls(triples)

    # --- set operations: on arrays between graphs, by the collection's own loops with anything else ------
    #
    # Results keep the vocabulary of the left graph, so that ids stay comparable and no name is copied.

    def __and__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return algebra.selected(self, algebra.rows_in(self, other))
        return super().__and__(other)  # type: ignore[return-value]

    def __sub__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return algebra.selected(self, ~algebra.rows_in(self, other))
        return super().__sub__(other)  # type: ignore[return-value]

    def __or__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return algebra.union(self, other)
        return super().__or__(other)  # type: ignore[return-value]

    def __xor__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return algebra.union(self - other, other - self)
        return super().__xor__(other)  # type: ignore[return-value]

    def __le__(self, other: AbstractSet[Any]) -> bool:
        if isinstance(other, KnowledgeGraph):
            return len(self) <= len(other) and bool(algebra.rows_in(self, other).all())
        return super().__le__(other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, KnowledgeGraph):
            return self is other or (len(self) == len(other) and self <= other)
        return super().__eq__(other)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Do the two have no triple in common?"""
        if isinstance(other, KnowledgeGraph):
            return not algebra.rows_in(self, other).any()
        return super().isdisjoint(other)

    # --- files and tables (details in `reading`, `writing`, `tables`) --------------------------------

    @classmethod
    def read(cls, path: str | PathLike[str], *, notes: Notes = UNHEARD) -> KnowledgeGraph:
        """The graph in a file: TSV, CSV, N-Triples, Turtle or Parquet, by its ending; `-` is stdin.

        `notes` hears of duplicates, of what was left out, and of a first line that looks like a header.
        """
        from reshuffle.kg.io.reading import read_graph  # noqa: PLC0415 - `reading` stands above this module

        return read_graph(path, notes=notes)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the triples to a file, in the format its ending names."""
        from reshuffle.kg.io.writing import write_graph  # noqa: PLC0415 - `writing` stands above this module

        write_graph(self, path)

    @classmethod
    def from_arrow(cls, table: pa.Table, *, columns: Sequence[str] = COLUMNS) -> KnowledgeGraph:
        """The graph of an Arrow table; `columns` are the names of its head, relation and tail column."""
        from reshuffle.kg.io.tables import from_arrow  # noqa: PLC0415 - `tables` stands above this module

        return from_arrow(table, columns=columns)

    def to_arrow(self) -> pa.Table:
        """The named triples as an Arrow table."""
        from reshuffle.kg.io.tables import to_arrow  # noqa: PLC0415 - `tables` stands above this module

        return to_arrow(self)

    @classmethod
    def from_pandas(cls, frame: Any, *, columns: Sequence[str] = COLUMNS) -> KnowledgeGraph:
        """The graph of a pandas data frame."""
        from reshuffle.kg.io.tables import from_pandas  # noqa: PLC0415 - `tables` stands above this module

        return from_pandas(frame, columns=columns)

    def to_pandas(self) -> Any:
        """The named triples as a pandas data frame."""
        return self.to_arrow().to_pandas()

    @classmethod
    def from_polars(cls, frame: Any, *, columns: Sequence[str] = COLUMNS) -> KnowledgeGraph:
        """The graph of a polars data frame."""
        from reshuffle.kg.io.tables import from_polars  # noqa: PLC0415 - `tables` stands above this module

        return from_polars(frame, columns=columns)

    def to_polars(self) -> Any:
        """The named triples as a polars data frame."""
        from reshuffle.kg.io.tables import to_polars  # noqa: PLC0415 - `tables` stands above this module

        return to_polars(self)

    # --- ids, for the kernels -----------------------------------------------------------------------

    @property
    def num_entities(self) -> int:
        """|E|, isolated entities of the vocabulary included."""
        return len(self.entities)

    def has_ids(self, head: int, relation: int, tail: int) -> bool:
        """Is the triple of these ids in the graph?"""
        heads, tails = self.edges(relation)
        first, last = np.searchsorted(heads, [head, head + 1])
        position = first + np.searchsorted(tails[first:last], tail)
        return bool(position < last and tails[position] == tail)

    def edges(self, relation: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Heads and tails of one relation, sorted by (head, tail): views, not copies."""
        start, end = self._relation_starts[relation], self._relation_starts[relation + 1]
        return self.heads[start:end], self.tails[start:end]

    @cached_property
    def _relation_starts(self) -> NDArray[np.int64]:
        return starts_in(self.relation_ids, num_rows=len(self.relations))

    @cached_property
    def by_head(self) -> Adjacency:
        """Out-edges of every entity."""
        # Triples come sorted by (relation, head, tail), as the rows need them.
        return Adjacency.grouped(self.heads, self.relation_ids, self.tails, num_rows=self.num_entities)

    @cached_property
    def by_tail(self) -> Adjacency:
        """In-edges of every entity."""
        return Adjacency.grouped(self.tails, self.relation_ids, self.heads, num_rows=self.num_entities)
