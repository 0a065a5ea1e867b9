"""Links that somebody has rejected, in a fit: each counts as several wrong answers.

A fit takes every link that is no fact for wrong, and each wrong answer of a question counts once in its softmax. A
rejected link is known to be wrong, so it counts `weight` times: the same candidate stands `weight` times among the
wrong answers, and the rules that lead to it lose so much more. With weight 1 a rejection changes no fit. A rejected
link changes weights where a fact asks the same question, from its head or from its tail, and a rule leads to it there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.rulelist.features import Questions
    from reshuffle.rulelist.training_rows import TrainingRows


@dataclass(frozen=True)
class RejectedLinks:
    """Rejected answers by question."""

    answers: dict[tuple[int, int], NDArray[np.int32]] = field(default_factory=dict)
    """By the entity that is asked about and the directed relation."""
    weight: int = 1
    """As how many wrong answers each counts."""

    @classmethod
    def of(cls, links: Iterable[Triple], graph: KnowledgeGraph, *, weight: int) -> RejectedLinks:
        """Those of links that are no facts, as far as their names are known."""
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        for head, relation, tail in links:
            ids = graph.entities.find(head), graph.relations.find(relation), graph.entities.find(tail)
            if None in ids or graph.has_ids(*ids):  # type: ignore[arg-type] # none of them is None
                continue
            one, over, other = ids
            found[one, over].append(other)  # type: ignore[index, arg-type]
            found[other, over + len(graph.relations)].append(one)  # type: ignore[index, operator, arg-type]
        return cls({key: np.unique(np.array(some, np.int32)) for key, some in found.items()}, weight)

    def counted(self, rows: TrainingRows, asked: Questions) -> TrainingRows:
        """The rows, with the rejected candidates that rules lead to as often as they count."""
        if self.weight == 1 or not self.answers:
            return rows
        copies = [self._copies(rows, asked, question) for question in range(len(rows))]
        numbers = np.array([len(some) for some in copies], np.int64)
        return rows if not numbers.any() else _with_copies(rows, copies, numbers)

    def _copies(self, rows: TrainingRows, asked: Questions, question: int) -> NDArray[np.int64]:
        """The places of the candidates of a question that stand in it again, as often as they do."""
        key = int(asked.anchors[question]), int(asked.relations[question])
        if key not in self.answers:
            return np.zeros(0, np.int64)
        first = int(rows.starts[question])
        reached = rows.entities[first : first + int(rows.reached[question])]
        found = np.flatnonzero(np.isin(reached[1:], self.answers[key])) + 1  # the first one is the answer
        return np.repeat(found, self.weight - 1)


def _with_copies(
    rows: TrainingRows, copies: list[NDArray[np.int64]], numbers: NDArray[np.int64]
) -> TrainingRows:
    """Copies stand behind the candidates that rules reach: those of the window keep what they stand for."""
    shifts = np.concatenate([[0], np.cumsum(numbers)])
    behind = rows.starts[:-1] + rows.reached
    again = np.concatenate(
        [rows.entities[first + some] for first, some in zip(rows.starts, copies, strict=False)]
    )
    entities = np.insert(rows.entities, np.repeat(behind, numbers), again)
    entries, places = _entries_of(rows, copies)
    counts = np.array([len(some) for some in entries], np.int64)
    ends = np.repeat(rows.entry_starts[1:], counts)
    taken = np.concatenate(entries)
    return replace(
        rows,
        starts=rows.starts + shifts,
        reached=(rows.reached + numbers).astype(rows.reached.dtype),
        entities=entities,
        entry_starts=rows.entry_starts + np.concatenate([[0], np.cumsum(counts)]),
        places=np.insert(rows.places, ends, np.concatenate(places).astype(rows.places.dtype)),
        rules=np.insert(rows.rules, ends, rows.rules[taken]),
        logs=np.insert(rows.logs, ends, rows.logs[taken]),
    )


def _entries_of(
    rows: TrainingRows, copies: list[NDArray[np.int64]]
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """For each question the entries that are there again, and the places of the candidates that they are for."""
    entries, places = [], []
    for question, some in enumerate(copies):
        first, last = int(rows.entry_starts[question]), int(rows.entry_starts[question + 1])
        own = rows.places[first:last]
        found = [first + np.flatnonzero(own == place) for place in some]
        new = [np.full(len(one), int(rows.reached[question]) + number) for number, one in enumerate(found)]
        nothing = np.zeros(0, np.int64)
        entries.append(np.concatenate([nothing, *found]))
        places.append(np.concatenate([nothing, *new]))
    return entries, places
