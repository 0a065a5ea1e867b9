"""The most plausible links of many questions, without ever holding the scores of all pairs.

Links of different questions are compared by

    plausibility = score + log(share),

where the share is the softmax of the scores over all answers of the question, known ones included: a question that has
its answers already leaves little for new ones. Only who is found by a rule is proposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation.questions import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.progress import Progress
    from reshuffle.rulelist.rule_answers import RulesOnGraph

Link = tuple[float, Question, int]
_SCORES_AT_ONCE = 1 << 21


def best_links(
    state: RulesOnGraph,
    anchors: NDArray[np.int64],
    relations: NDArray[np.int64],
    side: Side,
    *,
    top: int,
    progress: Progress,
) -> list[Link]:
    """The best new answers to all questions of an anchor and a relation."""
    asked = [
        Question(anchor, relation, side) for anchor in anchors.tolist() for relation in relations.tolist()
    ]
    kept: list[Link] = []
    step = max(1, _SCORES_AT_ONCE // max(1, state.graph.num_entities))
    with progress("missing links", total=len(asked), unit=" questions") as report:
        for start in range(0, len(asked), step):
            kept = _best([*kept, *_links(state, asked[start : start + step], side)], top)
            report(len(asked[start : start + step]))
    return kept


def _best(links: list[Link], top: int) -> list[Link]:
    """The most plausible ones; equal ones by id, so that the order of the questions does not matter."""
    return sorted(links, key=lambda link: (-link[0], link[1].relation, *link[1].ends(link[2])))[:top]


def _links(state: RulesOnGraph, asked: list[Question], side: Side) -> list[Link]:
    anchors = np.array([question.anchor for question in asked])
    relations = np.array([question.relation for question in asked])
    scores, walks = state.scored(state.questions(anchors, relations, side))
    highest = scores.max(axis=1, keepdims=True)
    sums = highest + np.log(np.exp(scores - highest).sum(axis=1, keepdims=True))
    links: list[Link] = []
    for place, question in enumerate(asked):
        found = np.unique(walks.ends[walks.starts[place] : walks.starts[place + 1]])
        new = found[~question.known(state.graph)[found]]
        links += [
            (float(2 * scores[place, answer] - sums[place, 0]), question, answer) for answer in new.tolist()
        ]
    return links
