"""Run and report experiments.

`bench paper` trains the paper's cells (a data set, a variant, a seed) and stores each as data; a cell that is stored is
not run again, and one whose time is up goes on where it was when the command is given again. `bench report` prints what
is stored. `bench speed` runs the side-by-side timings. All of them need a checkout.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentTypeError
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from reshuffle.cli.console import common_options
from reshuffle.errors import InputError, Place, with_hint
from reshuffle.text import counted, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from benchmarks.cells import Bench, Cell

    from reshuffle.cli.console import Console

HELP = "run and report the paper's experiments and the timings"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = parser.add_subparsers(dest="kind", metavar="WHAT", required=True)
    common = common_options()
    paper = kinds.add_parser("paper", parents=[common], help="train and evaluate cells of the paper's tables")
    paper.add_argument(
        "--dataset", action="append", metavar="NAME", help="may be repeated; all twelve unless told"
    )
    paper.add_argument("--seeds", type=_seeds, default=[1, 2, 3], help="comma-separated (default 1,2,3)")
    paper.add_argument(
        "--recipe",
        default="paper",
        choices=["paper", "best", "best-0.1"],
        help="which recipe (default paper)",
    )
    paper.add_argument(
        "--variant",
        default="default",
        help="which model: of the paper's recipe default, no-loop, squared, official-code or paper-text "
        "(docs/explanation/reproduction.md); of the best one default or an ablation (docs/explanation/accuracy.md)",
    )
    paper.add_argument(
        "--minutes",
        type=float,
        help="stop the command after this long, for all cells together, and leave checkpoints",
    )
    paper.add_argument(
        "--jobs", type=_at_least_one, default=1, metavar="N", help="cells at a time (several fill one GPU)"
    )
    paper.add_argument("--device", default="auto", help="cpu, cuda, or auto (default)")
    paper.add_argument("--models", type=Path, metavar="DIR", help="keep the trained models there")
    _add_folders(paper)
    report = kinds.add_parser("report", parents=[common], help="print the stored results")
    _add_folders(report)
    speed = kinds.add_parser("speed", parents=[common], help="the side-by-side timings, as ratios")
    speed.add_argument("name", nargs="?", help="one of them; all unless told")


def _seeds(text: str) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError as error:
        raise ArgumentTypeError(f"'{text}' is not a list of seeds, such as 1,2,3") from error


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"'{text}' is not a number of cells, 1 or more")
    return int(text)


def _add_folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--settings", type=Path, help="folder of settings files")
    parser.add_argument("--results", type=Path, help="folder of results")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run experiments, report them, or run the timings."""
    return {"paper": _paper, "report": _report, "speed": _speed}[arguments.kind](arguments, console)


def _bench(arguments: argparse.Namespace) -> Bench:
    """Where settings and results lie; from here on, `benchmarks` can be imported."""
    folders = [Path(__file__).parents[4], Path.cwd(), *Path.cwd().parents]  # the package's own checkout first
    root = _first_with("benchmarks/experiments.py", folders)
    if root is None:
        raise InputError(
            "the experiments are not part of the installed package",
            hint="run this from a checkout of the project",
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))
    from benchmarks.cells import Bench

    here = root / "benchmarks"
    return Bench(arguments.settings or here, arguments.results or here / "results")


def _first_with(file: str, folders: Iterable[Path]) -> Path | None:
    return next((folder for folder in folders if (folder / file).exists()), None)


def _paper(arguments: argparse.Namespace, console: Console) -> int:
    # First of all, since torch takes its time, too.
    end = None if arguments.minutes is None else monotonic() + 60 * arguments.minutes
    bench = _bench(arguments)
    from benchmarks.cells import Cell
    from benchmarks.scheduling import Schedule

    from reshuffle.data.load import inductive_names

    cells = [
        Cell(dataset, arguments.recipe, arguments.variant, seed)
        for dataset in arguments.dataset or inductive_names()
        for seed in arguments.seeds
    ]
    schedule = Schedule(bench, console, arguments.device, arguments.jobs, end, arguments.models)
    try:
        outcomes = schedule.run(cells)
    except KeyboardInterrupt:
        console.message("the same command goes on with the cell that it was at")
        raise
    _tell({cell: outcome.state for cell, outcome in zip(cells, outcomes, strict=True)}, console)
    return max(outcome.status for outcome in outcomes)


def _tell(states: dict[Cell, str], console: Console) -> None:
    not_started = list(states.values()).count("not started")
    if not_started:
        console.message(
            f"{counted(not_started, 'cell')} not started, since the time is up; run again to go on"
        )
    if console.json:
        told = [{**asdict(cell), "state": state} for cell, state in states.items()]
        console.result("", {"cells": told, "not_started": not_started})


def _report(arguments: argparse.Namespace, console: Console) -> int:
    bench = _bench(arguments)
    from benchmarks.cells import report_rows

    if not bench.exists:
        raise InputError(
            "there is no such directory, expected one with stored results",
            place=Place(str(bench.results)),
            hint="run this from a checkout of the project, or name the directory with --results",
        )
    rows = report_rows(bench.stored())
    header = [
        "dataset",
        "recipe",
        "variant",
        "seed",
        "protocol",
        "hits@10",
        "mrr",
        "tie rate",
        "type hits@10",
        "seconds",
    ]
    cells = [
        [
            *(row[key] for key in ("dataset", "recipe", "variant", "seed", "protocol")),
            row["metrics"]["hits@10"],
            row["metrics"]["mrr"],
            row["tie_rate"],
            row["type_baseline"]["hits@10"],
            row["seconds"],
        ]
        for row in rows
    ]
    console.result(table(header, cells), rows)
    return 0


def _speed(arguments: argparse.Namespace, console: Console) -> int:
    root = _first_with("benchmarks/speed", [Path.cwd(), *Path.cwd().parents])
    if root is None:
        console.error(
            with_hint("there is no benchmarks/speed here", "run this from a checkout of the project")
        )
        return 2
    command = [sys.executable, "-m", "benchmarks.speed", *([arguments.name] if arguments.name else [])]
    return subprocess.run(command, check=False, cwd=root).returncode
