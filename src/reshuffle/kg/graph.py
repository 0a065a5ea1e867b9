"""The knowledge graph: an immutable set of named triples on integer arrays."""

from __future__ import annotations

import operator
import os
from collections.abc import Set as AbstractSet
from copy import copy
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reshuffle.errors import InputError
from reshuffle.kg.frames import ArrowFrames
from reshuffle.kg.guards.bad_rows import REFUSE, treated
from reshuffle.kg.io import tables
from reshuffle.kg.io.files import format_named
from reshuffle.kg.io.reading import read_all
from reshuffle.kg.io.writing import write_graph
from reshuffle.kg.records import columns_from
from reshuffle.kg.rows import (
    Adjacency,
    Triple,
    TripleColumns,
    fits_key,
    is_triple,
    numbered,
    row_keys,
    starts_in,
)
from reshuffle.kg.summary import relation_sizes
from reshuffle.kg.vocabulary import Vocabulary
from reshuffle.pictures.markup import SHOWN
from reshuffle.pictures.notebook import shown_rows
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from reshuffle.kg.guards.bad_rows import BadRows
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.progress import Notes, Progress

    Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


class KnowledgeGraph(AbstractSet[Triple], ArrowFrames):
    """A set of (head, relation, tail) triples: `in`, `len`, iteration and set operations go by name.

    >>> kg = KnowledgeGraph([("ada", "bornIn", "london"), ("london", "cityIn", "uk")])
    >>> ("ada", "bornIn", "london") in kg, len(kg), list(kg.relations)
    (True, 2, ['bornIn', 'cityIn'])
    >>> sorted(kg - KnowledgeGraph([("ada", "bornIn", "london")]))
    [Triple(head='london', relation='cityIn', tail='uk')]

    Kernels use the ids: `heads`, `relation_ids` and `tails` are sorted by (relation, head, tail), so that
    each relation is one contiguous slice, and `by_head` and `by_tail` are built once, when first asked for.
    """

    literals: KnowledgeGraph | None
    """Facts of RDF whose tail is a literal: no triples of the graph, but domains in an ontology say types by them."""

    def __init__(
        self, triples: Iterable[tuple[str, str, str]] = (), *, columns: Sequence[str] | None = None
    ) -> None:
        """Of triples of names; also of dictionaries with the three keys, of any table, and of an rdflib graph.

        `columns` are the keys, or the columns, that hold head, relation and tail; without them by common names.
        """
        given = isinstance(triples, KnowledgeGraph)
        self._hold((numbered(triples) if given else columns_from(triples, columns=columns)).distinct())
        if isinstance(triples, KnowledgeGraph):
            self.literals = triples.literals

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
        return cls.from_columns(TripleColumns(heads, relation_ids, tails, entities, relations).distinct())

    @classmethod
    def from_columns(cls, columns: TripleColumns) -> KnowledgeGraph:
        """A graph of distinct, sorted triples, which are not copied."""
        graph = cls.__new__(cls)
        graph._hold(columns)
        return graph

    def _hold(self, columns: TripleColumns) -> None:
        self.entities, self.relations = columns.entities, columns.relations
        self.heads, self.relation_ids, self.tails = columns.heads, columns.relation_ids, columns.tails
        self.num_entities = len(columns.entities)
        """|E|, isolated entities of the vocabulary included."""
        literals = columns.literals
        self.literals = None if literals is None else KnowledgeGraph.from_columns(literals)
        for column in (self.heads, self.relation_ids, self.tails):
            column.flags.writeable = False

    def with_literals(self, literals: KnowledgeGraph | None) -> KnowledgeGraph:
        """The same triples, with these facts beside them whose tails are literals."""
        if literals is self.literals:
            return self
        graph = copy(self)
        graph.literals = literals
        return graph

    def naming(self, relations: Sequence[str]) -> KnowledgeGraph:
        """The same facts, over a vocabulary that has these relations as well; the ids of the others stay."""
        names, _ = self.relations.extended_by(Vocabulary(relations, kind="relation"))
        if names is self.relations:
            return self
        columns = (self.heads, self.relation_ids, self.tails)
        return KnowledgeGraph.from_ids(*columns, entities=self.entities, relations=names)

    def part(self, rows: NDArray[np.bool_] | NDArray[np.integer[Any]]) -> KnowledgeGraph:
        """The graph of some rows, over the same vocabularies."""
        columns = self.heads[rows], self.relation_ids[rows], self.tails[rows]
        return type(self).from_ids(*columns, entities=self.entities, relations=self.relations)

    def without_gone(self, num_given: int) -> tuple[KnowledgeGraph, NDArray[np.int64]]:
        """The graph without the entities behind the given ones that have no fact, and the ids of those that it has."""
        there = np.zeros(self.num_entities, dtype=np.bool_)
        there[:num_given] = there[self.heads] = there[self.tails] = True
        kept = np.flatnonzero(there)
        if there.all():
            return self, kept
        places = np.cumsum(there, dtype=np.int32) - np.int32(1)
        names = Vocabulary(self.entities.to_arrow().filter(pa.array(there)), kind=self.entities.kind)
        heads, tails = places[self.heads], places[self.tails]
        left = KnowledgeGraph.from_ids(
            heads, self.relation_ids, tails, entities=names, relations=self.relations
        )
        return left, kept

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
        if not is_triple(triple):
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

    def _repr_html_(self) -> str:
        sizes = relation_sizes(self)
        rows = [{"relation": name, "triples": count} for name, count in islice(sizes.items(), SHOWN)]
        return shown_rows(repr(self)[1:-1], rows, total=len(sizes))

    @classmethod
    def _from_iterable(cls, triples: Iterable[Triple]) -> KnowledgeGraph:  # type: ignore[override]
        return cls(triples)

    # --- set operations: on arrays between graphs, by the collection's own loops with anything else ------
    #
    # Results keep the vocabulary of the left graph, so that ids stay comparable and no name is copied.

    def __and__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return self.part(_rows_in(self, other)).with_literals(_among_literals(operator.and_, self, other))
        return super().__and__(other)  # type: ignore[return-value]

    def __sub__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return self.part(~_rows_in(self, other)).with_literals(_among_literals(operator.sub, self, other))
        return super().__sub__(other)  # type: ignore[return-value]

    def __or__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return _union(self, other).with_literals(_among_literals(operator.or_, self, other))
        return super().__or__(other)  # type: ignore[return-value]

    def __xor__(self, other: AbstractSet[Any]) -> KnowledgeGraph:
        if isinstance(other, KnowledgeGraph):
            return (self - other) | (other - self)
        return super().__xor__(other)  # type: ignore[return-value]

    def __le__(self, other: AbstractSet[Any]) -> bool:
        if isinstance(other, KnowledgeGraph):
            return len(self) <= len(other) and bool(_rows_in(self, other).all())
        return super().__le__(other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, KnowledgeGraph):
            return self is other or (len(self) == len(other) and self <= other)
        return super().__eq__(other)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Do the two have no triple in common?"""
        if isinstance(other, KnowledgeGraph):
            return not _rows_in(self, other).any()
        return super().isdisjoint(other)

    # --- files and tables: `kg.io` gives and takes columns ------------------------------------------------

    @classmethod
    def read(
        cls,
        *paths: str | PathLike[str],
        columns: Sequence[str] | None = None,
        format: str | None = None,
        bad_rows: str = REFUSE,
        report: str | PathLike[str] | None = None,
        notes: Notes = UNHEARD,
    ) -> KnowledgeGraph:
        """The graph in one file or several, as `read_graph` reads them."""
        return read_graph(
            *paths, columns=columns, format=format, bad_rows=bad_rows, report=report, notes=notes
        )

    def write(self, path: str | PathLike[str], *, prefixes: Prefixes | None = None) -> None:
        """Write the triples to a file, in the format its ending names; Turtle with the prefixes that it uses."""
        write_graph(self, path, prefixes=prefixes)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        columns: Sequence[str] | None = None,
        bad_rows: str = REFUSE,
        report: str | PathLike[str] | None = None,
        notes: Notes = UNHEARD,
    ) -> KnowledgeGraph:
        """The graph of a table: a pandas, polars or DuckDB frame, also a lazy one, an Arrow table, reader or data set,
        anything with Arrow's stream interface, or a dictionary of columns.

        `columns` are the names of its head, relation and tail column. Without them common names are recognised, in any
        order: head, relation, tail; subject, predicate, object; source, type, target; s, p, o. With `bad_rows="skip"`,
        rows without a name in each column are skipped; `report` is a CSV file that lists them. `notes` hears of
        columns and rows that are skipped.

        >>> sorted(KnowledgeGraph.from_table({"o": ["london"], "p": ["bornIn"], "s": ["ada"]}))
        [Triple(head='ada', relation='bornIn', tail='london')]
        """
        with treated(bad_rows, report, notes) as bad:
            triples = tables.from_table(table, columns=columns, bad=bad, notes=notes)
        return cls.from_columns(triples.distinct())

    @classmethod
    def from_arrow(cls, table: Any, **options: Any) -> KnowledgeGraph:
        """The graph of an Arrow table; takes all that `from_table` takes."""
        return cls.from_table(table, **options)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The named triples for whatever reads Arrow streams, such as polars and DuckDB, block by block."""
        return tables.reader_of(self).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """The named triples as an Arrow table."""
        return tables.to_arrow(self)

    @classmethod
    def from_pandas(cls, frame: Any, **options: Any) -> KnowledgeGraph:
        """The graph of a pandas data frame; takes all that `from_table` takes."""
        return cls.from_table(frame, **options)

    @classmethod
    def from_polars(cls, frame: Any, **options: Any) -> KnowledgeGraph:
        """The graph of a polars data frame; takes all that `from_table` takes."""
        return cls.from_table(frame, **options)

    # --- ids, for the kernels -----------------------------------------------------------------------

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


def read_graph(  # noqa: PLR0913 - all are options by name
    *paths: str | PathLike[str],
    columns: Sequence[str] | None = None,
    format: str | None = None,
    may_be_empty: bool = False,
    literals_suffice: bool = False,
    bad_rows: str | BadRows = REFUSE,
    report: str | PathLike[str] | None = None,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> KnowledgeGraph:
    """The graph in files, in the files of folders (`facts/`) and patterns (`*.nt`), or on stdin for `-`.

    The ending of a file says its format, unless `format` does ("tsv", "csv", "nt", "ttl", "rdf", "nq", "trig",
    "jsonld", "jsonl" or "parquet"); where one of several files is `-`, it is the format of that one. `columns` are the
    names of the head, relation and tail column; without them CSV, JSON lines and Parquet have theirs by common names,
    in any order. With `columns` TSV has a header, too.

    With `bad_rows="skip"`, rows that hold no triple are skipped and counted: an empty or missing name, another
    number of columns, text that is not UTF-8, a line of N-Triples with an error. `report` is a CSV file that lists
    them: file, line, reason, content. The other formats of RDF have no rows; an error in them stays one.

    `notes` hears what was left out although nothing was wrong: duplicates, RDF literals; and of a first line that
    looks like a header, which TSV does not have. Whatever is wrong raises one `InputError` with the file, the line,
    and a way out. So does a file without triples, which mostly comes from a program that failed, unless it
    `may_be_empty`; or unless its literals suffice, as they may where an ontology says the domains of properties.
    """
    if not paths:
        raise InputError("found no file to read", hint="give the path of at least one")
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise InputError(
                f"found {path!r}, expected a path",
                hint="read_graph(*paths) takes several, one after the other",
            )
    form = None if format is None else format_named(format)
    with treated(bad_rows, report, notes) as bad:
        triples = read_all(
            paths,
            columns=columns,
            form=form,
            may_be_empty=may_be_empty,
            literals_suffice=literals_suffice,
            bad=bad,
            progress=progress,
            notes=notes,
        )
    return KnowledgeGraph.from_columns(triples)


# --- set operations by name but on arrays: one graph's ids are mapped to the other's ---------------------


def _rows_in(graph: KnowledgeGraph, other: KnowledgeGraph) -> NDArray[np.bool_]:
    """For each row of `graph`: is its triple in `other`?"""
    entities = other.entities.positions_of(graph.entities)
    relations = other.relations.positions_of(graph.relations)
    heads, tails = entities[graph.heads], entities[graph.tails]
    relation_ids = relations[graph.relation_ids]
    found = (heads >= 0) & (relation_ids >= 0) & (tails >= 0)
    found[found] = _has_rows(other, (heads[found], relation_ids[found], tails[found]))
    return found


def _has_rows(graph: KnowledgeGraph, columns: Columns) -> NDArray[np.bool_]:
    if not fits_key(graph.num_entities, len(graph.relations)):
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return np.fromiter((graph.has_ids(*row) for row in rows), dtype=np.bool_, count=len(columns[0]))
    bits = graph.num_entities.bit_length()
    wanted = row_keys(*columns, bits=bits)
    present = row_keys(graph.heads, graph.relation_ids, graph.tails, bits=bits)
    # Searching in order touches memory in order, which on millions of keys outweighs the sort.
    order = None if np.all(wanted[1:] >= wanted[:-1]) else np.argsort(wanted)
    ordered = wanted if order is None else wanted[order]
    places = np.searchsorted(present, ordered)
    hits = places < len(present)
    hits[hits] = present[places[hits]] == ordered[hits]
    if order is None:
        return hits
    result = np.empty_like(hits)
    result[order] = hits
    return result


def _among_literals(
    operation: Callable[[KnowledgeGraph, KnowledgeGraph], KnowledgeGraph],
    one: KnowledgeGraph,
    other: KnowledgeGraph,
) -> KnowledgeGraph | None:
    """A set operation on the facts with literals of two graphs."""
    if one.literals is None and other.literals is None:
        return None
    return operation(one.literals or KnowledgeGraph(), other.literals or KnowledgeGraph())


def _union(graph: KnowledgeGraph, other: KnowledgeGraph) -> KnowledgeGraph:
    """All triples of both, over the names of `graph` followed by the new ones of `other`."""
    entities, entity_ids = graph.entities.extended_by(other.entities)
    relations, relation_ids = graph.relations.extended_by(other.relations)
    return type(graph).from_ids(
        np.concatenate([graph.heads, entity_ids[other.heads]]),
        np.concatenate([graph.relation_ids, relation_ids[other.relation_ids]]),
        np.concatenate([graph.tails, entity_ids[other.tails]]),
        entities=entities,
        relations=relations,
    )
