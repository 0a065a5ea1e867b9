"""The features of questions on Spark: tasks compute pieces of the questions, with the code of one machine.

Questions are drawn and cut in the process that asks, so the rows are those of one machine. Pieces are handed out in
rounds. A round is kept by who goes on after a stop, and a deadline is looked at between rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.kg.rows import starts_of
from reshuffle.rulelist.features import Questions
from reshuffle.rulelist.programs import Program, Walks
from reshuffle.rulelist.spark.task_inputs import features_of, saved
from reshuffle.rulelist.spark.task_rounds import Rounds
from reshuffle.rulelist.training_rows import RowsOfQuestions, TrainingRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.rulelist.rejected_links import RejectedLinks
    from reshuffle.rulelist.spark.task_inputs import Inputs
    from reshuffle.spark.workers import Workers

_PER_CORE = 16  # pieces of a round, at most: what is not kept is computed again after a stop


@dataclass(frozen=True)
class FeaturesOnSpark:
    """Computes rows on the workers of Spark (`training_rows.FeatureCounter`)."""

    workers: Workers

    def pieces(
        self, rows: RowsOfQuestions, questions: Questions, begins: NDArray[np.int64], deadline: Deadline
    ) -> Iterator[TrainingRows]:
        """As `FeatureCounter.pieces`, in rounds; with a deadline as many of them as fit, but one."""
        walks, order = rows.program.walks, rows.order
        task = _Task(
            saved(self.workers, order, *walks, *questions, begins),
            rows.window,
            rows.most_reached,
            rows.rejected,
        )
        pieces, cores = rows.pieces(len(begins)), self.workers.cores
        rounds = Rounds(len(pieces), cores, most=_PER_CORE * cores)
        while span := rounds.following(deadline):
            workers = replace(self.workers, shares=min(self.workers.shares, span.stop - span.start))
            for table in workers.tables(partial(_rows_of, task, pieces[span]), shown="features on Spark"):
                yield from _rows(table)
            rounds.count(span.stop - span.start)


@dataclass(frozen=True)
class _Task:
    """What the rows of all pieces need."""

    inputs: Inputs
    window: int
    most_reached: int
    rejected: RejectedLinks

    def read(self) -> tuple[RowsOfQuestions, Questions, NDArray[np.int64]]:
        """Rows over the graph of this process, the questions, and where the window of each begins."""
        order, *arrays = self.inputs.arrays()
        features, walks = features_of(self.inputs.folder), Walks(*arrays[: len(Walks._fields)])
        *questions, begins = arrays[len(Walks._fields) :]
        program = Program(walks, features.num_relations)
        rows = RowsOfQuestions(features, program, order, self.window, self.most_reached, self.rejected)
        return rows, Questions(*questions), begins


def _rows_of(task: _Task, pieces: list[slice], share: slice) -> pa.Table:
    """A task: its share of the pieces, a row for each."""
    rows, questions, begins = task.read()
    first, last = (len(pieces) * number // share.step for number in (share.start, share.start + 1))
    found = [rows.of(questions.part(piece), begins[piece]) for piece in pieces[first:last]]
    return pa.table({name: _lists([vars(one)[name] for one in found]) for name in vars(found[0])})


def _lists(arrays: list[NDArray[np.generic]]) -> pa.Array:
    return pa.LargeListArray.from_arrays(starts_of([len(one) for one in arrays]), np.concatenate(arrays))


def _rows(table: pa.Table) -> Iterator[TrainingRows]:
    """The pieces of a task, copied out of its file, which goes with its folder."""
    for number in range(len(table)):
        yield TrainingRows(*(np.array(column[number].values) for column in table.columns))
