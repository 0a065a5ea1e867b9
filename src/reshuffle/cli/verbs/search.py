"""Search the paper's hyperparameter ranges, choosing by the training graph's validation triples.

reshuffle search WN18RR-v1 -o search --trials 20
reshuffle train WN18RR-v1 -o model --config search/best.toml

The same command again goes on where it was cut off, or with more trials; best.toml holds the best settings so far.
A setting that is given, by --set or in a file, is the same in all trials and is not searched.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import facts_of, settings_of
from reshuffle.cli.options import add_training_options
from reshuffle.cli.outputs import OutputDirectory
from reshuffle.text import table

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console

HELP = "search hyperparameters over the paper's ranges"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o",
        "--output",
        type=OutputDirectory,
        metavar="DIR",
        required=True,
        help="where journal and trainings go",
    )
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="trainings in all (default 20)")
    add_training_options(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Search, and print the trials, best first."""
    from reshuffle.learning.search import METRIC, Search  # noqa: PLC0415 - verbs import when they run

    if arguments.trials < 1:
        arguments.usage_error("--trials: at least one")
    settings = settings_of(arguments, recipe="paper")
    search = Search(
        facts_of(arguments, console),
        settings,
        Path(arguments.output),
        fixed=settings.given,
        device=arguments.device,
        notes=console.message,
    )
    try:
        trials = search.run(arguments.trials, progress=console.progress)
    except KeyboardInterrupt:
        console.message("the same command goes on with the trial that it was at")
        raise
    rows = [[*(trial.values[name] for name in search.ranges), trial.score] for trial in trials]
    best = f"{Path(arguments.output) / 'best.toml'} holds the best settings"
    console.result(
        f"{table([*search.ranges, METRIC], rows)}\n\n{best}",
        {"trials": [trial.to_dict() for trial in trials]},
    )
    return 0
