"""Data cards: title, origin, licence and expected counts of a named benchmark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reshuffle.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind: TypeAlias = Literal["inductive", "transductive"]
SPLITS = ("facts", "valid", "queries")


@dataclass(frozen=True)
class FileCard:
    """One file of a benchmark.

    `sha256` is that of its lines joined by newlines, so that a copy with other line ends, or a gzipped one,
    is still the same file.
    """

    path: str
    triples: int
    sha256: str


@dataclass(frozen=True)
class GraphCard:
    """The counts of one graph, over its facts, validation triples and queries together."""

    relations: int
    entities: int
    triples: int
    splits: Mapping[str, int]  # triples per split
    files: Mapping[str, tuple[FileCard, ...]]  # files per split; none for data that is generated

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the counts, without the files."""
        counts = {"relations": self.relations, "entities": self.entities, "triples": self.triples}
        return counts | dict(self.splits)


@dataclass(frozen=True)
class DataCard:
    """A named benchmark. `graphs` holds `train` and `test`, or one `graph` when it is transductive."""

    name: str
    title: str
    kind: Kind
    origin: str
    licence: str
    graphs: Mapping[str, GraphCard]
    notes: tuple[str, ...] = ()
    folder: str | None = None  # below a data directory; None for data that is generated
    url: str | None = None  # the public address of that folder

    @property
    def files(self) -> Iterator[FileCard]:
        """All files of the benchmark, of each graph the facts first."""
        for graph in self.graphs.values():
            for split in SPLITS:
                yield from graph.files.get(split, ())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "origin": self.origin,
            "licence": self.licence,
            "notes": list(self.notes),
            "url": self.url,
            "graphs": {role: graph.to_dict() for role, graph in self.graphs.items()},
        }


@cache
def file_cards() -> Mapping[str, DataCard]:
    """The cards of the benchmarks that lie in files, by name."""
    text = files(__package__).joinpath("cards.json").read_text(encoding="utf-8")
    return {name: _card(name, data) for name, data in json.loads(text).items()}


def card_of(name: str, cards: Mapping[str, DataCard]) -> DataCard:
    """The card of a benchmark; an unknown name raises with the nearest ones."""
    if name not in cards:
        raise UnknownNameError("data set", name, cards)
    return cards[name]


def _card(name: str, data: dict[str, Any]) -> DataCard:
    graphs = {role: _graph_card(graph) for role, graph in data["graphs"].items()}
    return DataCard(name=name, **(data | {"graphs": graphs, "notes": tuple(data["notes"])}))


def _graph_card(data: dict[str, Any]) -> GraphCard:
    files_of = {split: tuple(FileCard(**file) for file in data["files"][split]) for split in SPLITS}
    splits = {split: sum(file.triples for file in group) for split, group in files_of.items()}
    return GraphCard(data["relations"], data["entities"], data["triples"], splits, files_of)
