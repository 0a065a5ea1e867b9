"""How long `train --quick` takes on generated graphs of different sizes, what it finds, and how much memory it takes.

Each graph (`benchmarks.typed_graphs`) is learned in a process of its own, after a small one, so that kernels are
compiled. What counts is the wall time, which `--quick` limits, and the processor time where others use the machine.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.result_files import read_document
from benchmarks.speed import measure
from benchmarks.speed.measure import run_fresh, write_result

from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.progress import Progress, Report

SIZES = {"280000": 60, "1200000": 150, "4800000": 600}
"""Facts asked for, and the processor seconds that are allowed."""
SEED = 1


def run(*, only: str | None = None) -> None:
    """Measure all sizes, or the one that is named; each is stored as soon as it is there."""
    target = measure.RESULTS / "learning_at_size.json"
    rows = {row["asked"]: row for row in (read_document(target)["runs"] if target.exists() else [])}
    for asked, allowed in SIZES.items():
        if only in (None, asked):
            found = run_fresh("benchmarks.speed.learning_at_size:learned", asked)
            size = found.value["facts"]
            memory = {"bytes_per_fact": round(found.peak_megabytes * 2**20 / size)}
            rows[int(asked)] = {"asked": int(asked), **found.value, **memory, "allowed_seconds": allowed}
            print(f"  {rows[int(asked)]}", file=sys.stderr)
            write_result("learning_at_size", _document(rows))


def _document(rows: dict[int, dict[str, Any]]) -> dict[str, Any]:
    return {
        "what": "seconds for a rule list within the time of --quick, of typed graphs with hubs and planted rules",
        "command": f"python -m benchmarks.speed learning_at_size; graphs of benchmarks.typed_graphs, seed {SEED}",
        **describe(["reshuffle", "numpy", "numba"]),
        "runs": [rows[size] for size in sorted(rows)],
    }


def learned(facts: str) -> dict[str, Any]:
    """Contender: learn a graph of about so many facts; how many well supported planted rules are in the list."""
    from benchmarks.typed_graphs import Shape, typed_graph

    from reshuffle.cli.rule_training import quick_minutes
    from reshuffle.rulelist import RuleSettings, learn_rules

    learn_rules(typed_graph(Shape(2_000)).graph, settings=RuleSettings().changed(steps=2))
    made, notes = typed_graph(Shape(int(facts), seed=SEED)), list[str]()
    parts: dict[str, float] = defaultdict(float)
    started, clock = time.perf_counter(), time.process_time()
    minutes = quick_minutes(len(made.graph))
    model = learn_rules(made.graph, minutes=minutes, notes=notes.append, progress=_timed(parts))
    seconds, processor = time.perf_counter() - started, time.process_time() - clock
    there, missing = made.found(one.rule for one in model.rules)
    planted = {
        f"planted_{atoms}": [sum(len(one.rule.body) == atoms for one in some) for some in (there, missing)]
        for atoms in (1, 2, 3)
    }
    return {
        "facts": len(made.graph),
        "rules": len(model),
        "constants": len(model.constants),
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "processor_seconds_of_parts": {name: round(each, 1) for name, each in parts.items()},
        **{name: f"{hit} of {hit + lost}" for name, (hit, lost) in planted.items()},
        "notes": notes,
    }


def _timed(parts: dict[str, float]) -> Progress:
    """A `Progress` that shows nothing, and adds up the processor seconds of each piece of work by its name."""

    @contextmanager
    def progress(description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        begun = time.process_time()
        with SILENT(description, total=total, unit=unit) as report:
            yield report
        parts[description] += time.process_time() - begun

    return progress
