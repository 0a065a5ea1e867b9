"""Missing links of a rule model on Spark: each task answers the questions of its share.

Shares are of the pieces into which one machine cuts its questions, so that every score is computed by the same call.
Each task gives its best links, and the best of these are those of one machine. A run that was cut off leaves the links
of its shares to the next one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.kg.unfinished_work import add_graph
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.links.rule_links import Links, best_links
from reshuffle.spark.graph_files import mapped_graph
from reshuffle.spark.workers import workers_on

if TYPE_CHECKING:
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.links.rule_links import LinkQuestions, Wanted
    from reshuffle.rulelist.rule_answers import RulesOnGraph
    from reshuffle.rulelist.rule_model import RuleModel
    from reshuffle.spark.spark_session import Spark

_LINK = pa.schema(
    [("relation", pa.int64()), ("head", pa.int64()), ("tail", pa.int64()), ("value", pa.float64())]
)


def links_on_spark(
    state: RulesOnGraph,
    asked: LinkQuestions,
    spark: Spark,
    wanted: Wanted,
    *,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> Links:
    """What `best_links` gives; the model travels with the tasks."""
    about = None if spark.beside is None else digest_of(state, asked, wanted)
    with workers_on(state.graph, spark, about=about, progress=progress, notes=notes) as workers:
        place = _Place(type(state), state.model, str(workers.folder))
        tables = workers.tables(partial(_links_of, place, asked, wanted), work="links", shown="missing links")
        parts = [_read(table) for table in tables]
    return wanted.best(Links.joined([Links.none(), *parts]))


def digest_of(state: RulesOnGraph, asked: LinkQuestions, wanted: Wanted) -> str:
    """What the links depend on: the model, the graph, and what is asked."""
    model, tables = state.model, state.model.tables
    rules = [(str(one.rule), one.weight, one.count_weight) for one in model.rules]
    loops = None if model.loops is None else sorted(model.loops)
    about = (
        "rule links, the most worth first",
        asked,
        wanted,
        rules,
        loops,
        sorted(model.both_ways),
        tables.relations,
        model.likelihood,
        model.constants.likelihood,
    )
    digest = hashlib.sha256(repr(about).encode())
    constants = model.constants
    digest.update(repr((constants.relations, constants.entities)).encode())
    columns = (constants.bodies, constants.heads, constants.weights)
    for table in (tables.distances, tables.types, tables.shares, *columns):
        digest.update(np.ascontiguousarray(table).data)
    add_graph(digest, state.graph)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Place:
    """A model, and the folder of its graph."""

    kind: type[RulesOnGraph]
    model: RuleModel
    folder: str


def _links_of(place: _Place, asked: LinkQuestions, wanted: Wanted, share: slice) -> pa.Table:
    """A task: the best links of its share."""
    links = best_links(_state(place), asked, wanted, share=share)
    return pa.table([*links.ids.T, links.values], schema=_LINK)


def _read(table: pa.Table) -> Links:
    columns = [table.column(name).to_numpy() for name in _LINK.names]
    return Links(np.column_stack(columns[:3]), columns[3])


@lru_cache(maxsize=1)
def _state(place: _Place) -> RulesOnGraph:
    """The model on the graph, made ready once in each process; Spark has a process for each core."""
    state = place.kind(place.model, mapped_graph(place.folder))
    state.features = replace(state.features, cores=1)
    return state
