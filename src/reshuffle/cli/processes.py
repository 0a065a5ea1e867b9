"""Processes that torchrun starts for one command: the first one prints and writes, the others only compute."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.work_shares import WHOLE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from reshuffle.cli.console import Console
    from reshuffle.work_shares import Shares

VERBS = ("train", "evaluate", "predict")
"""What several processes can do together."""


def several() -> bool:
    """Is this one of several processes?"""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first() -> bool:
    """Is it the one that prints and writes?"""
    return not several() or int(os.environ.get("RANK", "0")) == 0


def silence_others() -> None:
    """Let only the first process print; on every other machine one process still tells of errors."""
    if is_first():
        return
    nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    sys.stdout = nowhere
    if int(os.environ.get("LOCAL_RANK", "0")):
        # Not what nobody foresaw: it may have happened here alone.
        sys.excepthook = lambda *error: traceback.print_exception(*error, file=sys.__stderr__)
        sys.stderr = nowhere


def as_one_of_several(options: argparse.Namespace, console: Console) -> Console:
    """The console of this process; refuses what every process would do alone, and write over the others' output."""
    verb = options.run.__module__.rpartition(".")[2]
    alone = (
        verb not in VERBS or getattr(options, "recipe", None) == "rules" or getattr(options, "quick", False)
    )
    if several() and alone:
        what = f"{verb} --recipe rules" if verb in VERBS else verb
        raise InputError(
            f"several processes cannot share the work of `{what}`",
            hint=f"run it without torchrun, which is for {', '.join(VERBS)} of soft models",
        )
    return console if is_first() else replace(console, verbosity=-1)


@contextmanager
def shared_work(device: str) -> Iterator[tuple[Shares, str]]:
    """This process's shares of the work, and its device; alone, nothing of torch is imported."""
    if not several():
        yield WHOLE, device
        return
    from reshuffle.learning.team import joined_team

    with joined_team(device) as joined:
        yield joined
