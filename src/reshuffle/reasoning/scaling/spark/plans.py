"""The Spark engine: choose a plan, and open its session."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.reasoning.scaling.estimates import available_bytes, bytes_of_rows
from reshuffle.reasoning.scaling.spark.shares import ShareAnswers
from reshuffle.reasoning.scaling.spark.table_rounds import TableAnswers
from reshuffle.reasoning.sharing import spelled_bytes
from reshuffle.spark.spark_session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.scaling.engine_interface import Deduction, EngineAnswers, Options
    from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts


@contextmanager
def spark_answers(
    deduction: Deduction,
    facts: KnowledgeGraph | ParquetFacts,
    options: Options,
    folder: Path,
    *,
    progress: Progress,
    notes: Notes,
) -> Iterator[EngineAnswers]:
    """The answers of Spark, by the plan that was asked for or that fits; `notes` hears which one."""
    with spark_session(options.spark) as session:
        plan, reason = _plan(deduction, facts, options)
        notes(f"spark: the plan is {plan} ({reason})")
        if plan == "split":
            graph = facts if isinstance(facts, KnowledgeGraph) else facts.graph_with_helpers()
            yield ShareAnswers(deduction, graph, session, options, folder, progress=progress, notes=notes)
        else:
            yield TableAnswers(deduction, facts, session, options, folder, progress=progress, notes=notes)


def _plan(deduction: Deduction, facts: KnowledgeGraph | ParquetFacts, options: Options) -> tuple[str, str]:
    """The plan, and why."""
    if deduction.constraints is None:
        if options.plan == "split":
            raise InputError(
                "shares of the sources need geometry, and these rules have none",
                hint="leave out --plan split: the rules run as tables",
            )
        return "tables", "the rules have no exact geometry"
    if options.plan is not None:
        return options.plan, "as asked for"
    needed = bytes_of_rows(facts.num_rows if not isinstance(facts, KnowledgeGraph) else len(facts))
    there = options.bytes or available_bytes()
    fits = needed <= there
    told = f"the graph takes about {spelled_bytes(needed)} of a worker's {spelled_bytes(there)}"
    return ("split" if fits else "tables"), told
