"""The ways past one process, behind one interface: DuckDB, or Spark with shares of the sources or with tables."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.kg.io.files import work_folder
from reshuffle.kg.io.writing import check_triples_writable
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.scaling.data_sets import check_folder_writable, is_data_set

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

    What it stores meanwhile lies beside the output, or where temporary files lie.
    """
    with work_folder(None if beside is None else Path(os.path.realpath(beside)).parent) as folder:
        if options.engine == "duckdb":
            from reshuffle.reasoning.scaling.duckdb_engine import DuckDBAnswers, database  # noqa: PLC0415

            with database(folder, options.bytes) as connection:
                answers = DuckDBAnswers(connection, deduction, progress=progress)
                answers.load(facts, options.bytes)
                yield answers
            return
        from reshuffle.reasoning.scaling.spark.plans import spark_answers  # noqa: PLC0415

        with spark_answers(deduction, facts, options, folder, notes=notes) as answers_of_spark:
            yield answers_of_spark


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    (check_folder_writable if is_data_set(path) else check_triples_writable)(path)
