"""Missing links of a soft model on Spark: each task answers the questions of its share.

The model is saved to a folder that all workers see, and each process loads it once. The last bits of a score depend on
the other queries of its batch, so tasks use the same batches as one machine. Scores and best links are therefore those
of one machine. An interrupted run leaves the links of finished shares to the next run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import torch

from reshuffle.errors import InputError
from reshuffle.kg.io.files import work_folder
from reshuffle.kg.unfinished_work import add_files, add_graph
from reshuffle.model.answers.link_candidates import candidates
from reshuffle.model.answers.missing_links import NUMBERS, Links, best_links, questions_about
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.spark.graph_files import mapped_graph
from reshuffle.spark.workers import workers_on

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.answers.missing_links import LinkSearch
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.model.channels.registry import Kind
    from reshuffle.progress import Notes, Progress
    from reshuffle.spark.spark_session import Spark

_IDS = ("anchor", "relation", "answer")
_MODEL = "model"


class SavableModel(Protocol):
    """A model that goes to another process by way of files."""

    def save(self, directory: str | Path) -> None:
        """Write it."""

    @classmethod
    def load(cls, directory: str | Path, *, device: str) -> SavableModel:
        """Read it."""
        ...

    def on(self, graph: KnowledgeGraph, *, seed: int | None, initial: Kind | None) -> ModelAnswers:
        """Its answers about a graph."""
        ...


def links_on_spark(
    source: SavableModel | None,
    answers: ModelAnswers,
    search: LinkSearch,
    spark: Spark,
    *,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> Links | None:
    """What `best_links` gives for all questions about the ids that are asked.

    Which questions a rule list leaves is found here, before workers begin.
    """
    if source is None:
        raise InputError(
            "these answers are detached from their model, so other processes cannot load it",
            hint="use the answers of a Reshuffle, model.on(facts)",
        )
    model = answers.on_graph
    about = None if spark.beside is None else _digest(source, model, search)
    chosen = candidates(model, search, progress=progress)
    if chosen is not None:
        questions_about(answers, model, search.asked, chosen, notes=notes)
    with workers_on(model.graph, spark, about=about, progress=progress, notes=notes) as workers:
        source.save(workers.folder / _MODEL)
        place = _Place(type(source), str(workers.folder), model.seed, model.initial)
        task = partial(_links_of, place, search, chosen)
        tables = workers.tables(task, work="links", shown="missing links")
        found = [links for table in tables if (links := _links(table)) is not None]
    if not found:
        return None
    first, *more = found
    for links in more:
        first = first.and_also(links)
    return first.best(search.wanted)


def _digest(source: SavableModel, model: ModelOnGraph, search: LinkSearch) -> str:
    """What the links depend on: the model, by what it saves, the graph, and what is asked."""
    digest = hashlib.sha256(repr(("links", search, model.seed, model.initial)).encode())
    with work_folder() as folder:
        source.save(folder)
        add_files(digest, folder)
    add_graph(digest, model.graph)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Place:
    """Where a model lies, and how it is put on the graph beside it."""

    kind: type[SavableModel]
    folder: str
    seed: int
    initial: Kind


def _links_of(
    place: _Place, search: LinkSearch, chosen: Mapping[int, NDArray[np.int64]] | None, share: slice
) -> pa.Table:
    """A task: the best links of its share."""
    answers = _answers(place)
    model = answers.on_graph
    pieces = questions_about(answers, model, search.asked, chosen).pieces()[share]
    return _table(best_links(model, pieces, search, calibration=answers.calibration))


@lru_cache(maxsize=1)
def _answers(place: _Place) -> ModelAnswers:
    """The model on the graph, loaded once in each process."""
    torch.set_num_threads(1)  # a task has one core
    model = place.kind.load(f"{place.folder}/{_MODEL}", device="cpu")
    return model.on(mapped_graph(place.folder), seed=place.seed, initial=place.initial)


def _table(links: Links | None) -> pa.Table:
    """Links as a table; one without columns where there was no question."""
    if links is None:
        return pa.table({})
    names, columns = [*_IDS, *NUMBERS, *links.kinds], [*links.ids.T, *links.numbers.T]
    return pa.table([pa.array(column.copy()) for column in columns], names=names)


def _links(table: pa.Table) -> Links | None:
    if not table.num_columns:
        return None
    columns = [column.to_numpy() for column in table.columns]
    ids, numbers = (np.column_stack(part) for part in (columns[: len(_IDS)], columns[len(_IDS) :]))
    return Links(ids, numbers, tuple(table.column_names[len(_IDS) + len(NUMBERS) :]))
