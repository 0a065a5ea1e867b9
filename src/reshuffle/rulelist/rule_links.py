"""The most plausible links of many questions, without ever holding the scores of all pairs.

Links of different questions are compared by

    plausibility = score + log(share),

where the share is the softmax of the scores over all answers of the question, known ones included: a question that has
its answers already leaves little for new ones. Only who is found by a rule is proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation.questions import Question
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from reshuffle.evaluation.scorer import Side
    from reshuffle.progress import Progress
    from reshuffle.rulelist.rule_answers import RulesOnGraph

Link = tuple[float, Question, int]
_SCORES_AT_ONCE = 1 << 21


@dataclass(frozen=True)
class LinkQuestions:
    """Questions about one entity or all, over some relations, numbered entity after entity."""

    relations: tuple[int, ...]
    anchor: int | None
    side: Side

    def pieces(self, num_entities: int) -> list[range]:
        """The numbers of the questions, as many at a time as there is room for scores."""
        count = len(self.relations) * (num_entities if self.anchor is None else 1)
        step = max(1, _SCORES_AT_ONCE // max(1, num_entities))
        return [range(start, min(start + step, count)) for start in range(0, count, step)]

    def of(self, numbers: range) -> list[Question]:
        """The questions of these numbers."""
        places = (divmod(number, len(self.relations)) for number in numbers)
        return [
            Question(entity if self.anchor is None else self.anchor, self.relations[place], self.side)
            for entity, place in places
        ]


def best_links(
    state: RulesOnGraph,
    asked: LinkQuestions,
    *,
    top: int,
    share: slice = slice(None),
    progress: Progress = SILENT,
) -> list[Link]:
    """The best new answers to all questions, or to those of a share of the pieces."""
    kept: list[Link] = []
    pieces = asked.pieces(state.graph.num_entities)[share]
    with progress("missing links", total=sum(map(len, pieces)), unit=" questions") as report:
        for numbers in pieces:
            kept = best([*kept, *_links(state, asked.of(numbers), asked.side)], top)
            report(len(numbers))
    return kept


def best(links: list[Link], top: int) -> list[Link]:
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
