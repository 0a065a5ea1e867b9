"""The ways past one process, behind one interface: DuckDB, or Spark with shares of the sources or with tables."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.kg.io.files import is_device, work_folder
from reshuffle.kg.io.writing import check_triples_writable
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.scaling.data_sets import check_folder_writable, is_data_set
from reshuffle.reasoning.scaling.duckdb_database import database
from reshuffle.reasoning.scaling.unfinished_work import WorkFolder, digest_of, folder_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.scaling.engine_interface import Deduction, EngineAnswers, Options
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts


@contextmanager
def opened(
    deduction: Deduction,
    facts: KnowledgeGraph | ParquetFacts,
    options: Options,
    *,
    beside: str | os.PathLike[str] | None = None,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> Iterator[EngineAnswers]:
    """The answers of an engine over facts; `notes` hears which way it goes.

    What it stores meanwhile lies beside the output, where the next run finds it if this one is cut off; without an
    output, where temporary files lie.
    """
    with _work_folder(deduction, facts, options, beside, notes) as work:
        if options.engine == "duckdb":
            from reshuffle.reasoning.scaling.duckdb_engine import DuckDBAnswers  # noqa: PLC0415

            with database(work.path, options.bytes, notes=notes) as connection:
                answers = DuckDBAnswers(connection, deduction, work.path, progress=progress, notes=notes)
                answers.load(facts, options.bytes)
                work.keep()
                yield answers
            return
        from reshuffle.reasoning.scaling.spark.plans import spark_answers  # noqa: PLC0415

        with spark_answers(deduction, facts, options, work.path, notes=notes) as answers_of_spark:
            work.keep()
            yield answers_of_spark


@contextmanager
def _work_folder(
    deduction: Deduction,
    facts: KnowledgeGraph | ParquetFacts,
    options: Options,
    beside: str | os.PathLike[str] | None,
    notes: Notes,
) -> Iterator[WorkFolder]:
    if beside is None or is_device(Path(os.path.realpath(beside))):
        with work_folder() as path:
            yield WorkFolder(path)
    else:
        with folder_beside(beside, digest_of(deduction, facts, options.engine), notes=notes) as work:
            yield work


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    (check_folder_writable if is_data_set(path) else check_triples_writable)(path)
