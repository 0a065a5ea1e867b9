"""The questions about a whole graph that are worth asking a model with a rule list: those to which its rules have the
best answers.

The list finds its own best links, several times as many as are asked for, which takes seconds where asking every
question takes hours. The model then answers the questions of these links, and scores all their answers. The list
compares its links by plausibility, as the model does, and not by probability: that misses fewer. What is missed
are links of questions to which the list has no answer among its best ones; docs/how-to/predict.md says how many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation.questions import other_side
from reshuffle.progress import SILENT
from reshuffle.rulelist.links.rule_links import Wanted, best_links

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.model.answers.missing_links import LinkSearch
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.progress import Progress
    from reshuffle.rulelist.links.rule_links import LinkQuestions

_TIMES = 10
_LEAST = 5_000
"""Links of the list for each that is asked for, and the least number of them."""
_LEAST_PER_RELATION = 500
_WORTH = 4
"""Where there are not that many times more questions than links of the list, all are asked."""


def candidates(
    model: ModelOnGraph, search: LinkSearch, *, progress: Progress = SILENT
) -> dict[int, NDArray[np.int64]] | None:  # relation: its anchors
    """For each relation about whom to ask; all questions are asked of a relation that is not there, or where this is
    None: the list does not know it, or has fewer links of it than are wanted.
    """
    rules, wanted = model.rules_on_graph, _more(search.wanted)
    if rules is None or search.all_questions or wanted is None:
        return None
    if _count(model, search.asked) <= _WORTH * _most(wanted, len(search.asked.relations)):
        return None
    known = tuple(one for one in search.asked.relations if rules.numbers[one] >= 0)
    found = best_links(rules, replace(search.asked, relations=known), wanted, progress=progress).ids[:, :2]
    counts = np.bincount(found[:, 0], minlength=len(model.graph.relations))
    if len(found) < (search.wanted.top or 0):
        return None
    least = 0 if search.wanted.top is not None else search.wanted.per_relation
    ids = np.concatenate([found, _captured(model)])
    return {one: np.unique(ids[ids[:, 0] == one, 1]) for one in known if counts[one] >= (least or 0)}


def _more(wanted: Wanted) -> Wanted | None:
    """The links of the list to look at; None where their number has no bound."""
    top, each = wanted.top, wanted.per_relation
    if top is None and each is None:
        return None
    return Wanted(
        None if top is None else max(_TIMES * top, _LEAST),
        None if each is None else max(_TIMES * each, _LEAST_PER_RELATION),
        by_plausibility=True,
    )


def _most(wanted: Wanted, relations: int) -> float:
    of_all = float("inf") if wanted.per_relation is None else wanted.per_relation * relations
    return of_all if wanted.top is None else min(wanted.top, of_all)


def _count(model: ModelOnGraph, asked: LinkQuestions) -> int:
    """How many questions there may be, whatever the types in training say."""
    typed = asked.limits.typed(model.graph, other_side(asked.side))
    everyone = model.graph.num_entities if typed is None else int(typed.sum())
    return len(asked.relations) * (everyone if asked.anchors is None else len(asked.anchors))


def _captured(model: ModelOnGraph) -> NDArray[np.int64]:  # question (relation anchor)
    """The questions that injected rules answer."""
    found = [] if model.rule_answers is None else list(model.rule_answers.triples())
    graph = model.graph
    ids = [(graph.relations.id(one.relation), graph.entities.id(one.head)) for one in found]
    return np.array(ids, np.int64).reshape(-1, 2)
