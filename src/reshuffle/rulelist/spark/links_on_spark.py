"""Missing links of a rule model on Spark: each task asks the questions of its share.

Shares are of the pieces into which one machine cuts its questions, so that every score is computed by the same call.
Each task gives its best links, and the best of these are those of one machine. A run that was cut off leaves the links
of its shares to the next one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.evaluation.questions import Question
from reshuffle.kg.unfinished_work import add_graph
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.rule_links import best, best_links
from reshuffle.spark.graph_files import mapped_graph
from reshuffle.spark.workers import workers_on

if TYPE_CHECKING:
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.rule_answers import RulesOnGraph
    from reshuffle.rulelist.rule_links import Link, LinkQuestions
    from reshuffle.rulelist.rule_model import RuleModel
    from reshuffle.spark.spark_session import Spark

_LINK = pa.schema(
    [("plausibility", pa.float64()), ("anchor", pa.int64()), ("relation", pa.int64()), ("answer", pa.int64())]
)


def links_on_spark(
    state: RulesOnGraph,
    asked: LinkQuestions,
    spark: Spark,
    *,
    top: int,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> list[Link]:
    """What `best_links` gives; the model travels with the tasks."""
    about = None if spark.beside is None else _digest(state, asked, top)
    with workers_on(state.graph, spark, about=about, progress=progress, notes=notes) as workers:
        place = _Place(type(state), state.model, str(workers.folder))
        tables = workers.tables(partial(_links_of, place, asked, top), work="links", shown="missing links")
        rows = [row for table in tables for row in zip(*table.to_pydict().values(), strict=True)]
    links = [
        (value, Question(anchor, relation, asked.side), answer) for value, anchor, relation, answer in rows
    ]
    return best(links, top)


def _digest(state: RulesOnGraph, asked: LinkQuestions, top: int) -> str:
    """What the links depend on: the model, the graph, and what is asked."""
    model, tables = state.model, state.model.tables
    rules = [(str(one.rule), one.weight, one.count_weight) for one in model.rules]
    loops = None if model.loops is None else sorted(model.loops)
    about = ("rule links", asked, top, rules, loops, sorted(model.both_ways), tables.relations)
    digest = hashlib.sha256(repr(about).encode())
    for table in (tables.distances, tables.types, tables.shares):
        digest.update(np.ascontiguousarray(table).data)
    add_graph(digest, state.graph)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Place:
    """A model, and the folder of its graph."""

    kind: type[RulesOnGraph]
    model: RuleModel
    folder: str


def _links_of(place: _Place, asked: LinkQuestions, top: int, share: slice) -> pa.Table:
    """A task: the best links of its share."""
    links = best_links(_state(place), asked, top=top, share=share)
    rows = [(value, question.anchor, question.relation, answer) for value, question, answer in links]
    return pa.Table.from_pylist([dict(zip(_LINK.names, row, strict=True)) for row in rows], schema=_LINK)


@lru_cache(maxsize=1)
def _state(place: _Place) -> RulesOnGraph:
    """The model on the graph, made ready once in each process."""
    return place.kind(place.model, mapped_graph(place.folder))
