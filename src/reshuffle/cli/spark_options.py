"""The options of verbs that run on Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.cli.processes import several
from reshuffle.errors import InputError
from reshuffle.spark.spark_session import SPARK

if TYPE_CHECKING:
    import argparse


def add_spark_engine(parser: argparse.ArgumentParser, *, help: str) -> None:
    """`--engine spark`, for verbs that have no other engine, and its options."""
    parser.add_argument("--engine", choices=(SPARK,), help=help)
    add_spark_options(parser)


def add_spark_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The options that each verb on Spark has."""
    group = parser.add_argument_group("Spark", "with --engine spark")
    group.add_argument("--master", metavar="URL", help="of the cluster (default: local[*])")
    group.add_argument("--partitions", type=int, metavar="N", help="shares of the work")
    return group


def _refuse_options(arguments: argparse.Namespace) -> None:
    """Refuse options of Spark where Spark is not asked for."""
    for name in ("master", "partitions"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} is for Spark", hint="add --engine spark, or leave it out")


def spark_choice(arguments: argparse.Namespace, *, beside: str | None) -> dict[str, Any]:
    """What functions of the library take to run on Spark; nothing where Spark is not asked for.

    What is stored meanwhile lies beside the output, which all workers see.
    """
    if arguments.engine != SPARK:
        _refuse_options(arguments)
        return {}
    if several():
        raise InputError(
            "Spark and torchrun both share the work", hint="leave out torchrun, or leave out --engine spark"
        )
    if arguments.device.startswith("cuda"):
        raise InputError("workers of Spark compute on CPUs", hint="leave out --device, or leave out --engine")
    folder = None if beside is None else Path(os.path.realpath(beside)).parent
    return {
        "engine": SPARK,
        "master": arguments.master,
        "partitions": arguments.partitions,
        "folder": folder,
    }
