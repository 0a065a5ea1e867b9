"""Choose an engine behind one interface: DuckDB, or Spark with shares of the sources or with tables."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.io.files import is_device, work_folder
from reshuffle.kg.io.writing import check_triples_writable
from reshuffle.kg.unfinished_work import WorkFolder, add_graph, folder_beside
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.scaling.data_sets import check_folder_writable, is_data_set
from reshuffle.reasoning.scaling.duckdb_database import database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.scaling.engine_interface import Deduction, EngineAnswers, Options
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
    from reshuffle.rules import RuleBase

_FORMAT = 2  # of what engines keep; one more where the next version cannot go on with it


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

        with spark_answers(
            deduction, facts, options, work.path, progress=progress, notes=notes
        ) as answers_of_spark:
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


def digest_of(deduction: Deduction, facts: KnowledgeGraph | ParquetFacts, engine: str) -> str:
    """What work is about: rules and facts. Of Parquet files their names, sizes and times are taken for the content."""
    digest = hashlib.sha256(repr((_FORMAT, engine, deduction.node_budget)).encode())
    if deduction.constraints is not None:
        digest.update(deduction.constraints.to_bytes())
    if deduction.rules is not None:
        digest.update(_told(deduction.rules).encode())
    if isinstance(facts, KnowledgeGraph):
        add_graph(digest, facts)
    else:
        stats = ((str(file.resolve()), file.stat()) for file in facts.files)
        digest.update(repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]).encode())
    return digest.hexdigest()


def _told(rules: RuleBase) -> str:
    said = rules.source or rules
    return repr(([*map(str, said.given)], [*map(str, rules.disjointness)], sorted(rules.fresh)))


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    (check_folder_writable if is_data_set(path) else check_triples_writable)(path)
