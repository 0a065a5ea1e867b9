"""Entry point: finds the verb, runs it, and turns what happens into an exit status.

0 yes or done · 1 a negative answer · 2 bad usage or bad data · 130 interrupted · 143 terminated.
"""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from reshuffle import __version__
from reshuffle.cli.console import Console, common_options
from reshuffle.cli.outputs import refuse_inputs_as_outputs
from reshuffle.cli.processes import as_one_of_several, silence_others
from reshuffle.cli.verb_parser import VerbParser
from reshuffle.errors import ReshuffleError, Terminated, with_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS: tuple[str, ...] = (
    "demo",
    "check",
    "compile",
    "draw",
    "infer",
    "explain",
    "train",
    "evaluate",
    "predict",
    "rules",
    "distil",
    "serve",
    "data",
    "bench",
)

GONE = {
    "search": "`reshuffle search` went with release 0.3: docs/how-to/train.md does the same with ten lines of optuna"
}
"""Verbs of earlier releases, and what does their work now."""

DESCRIPTION = """\
Reasoning over knowledge graphs with rules you can trust.

Facts are triples (head, relation, tail), one per line, tab-separated; also .csv, .nt, .ttl, .parquet, .gz.
Rules are lines such as  bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
"""

EPILOG = """\
`reshuffle VERB --help` explains a verb. Results go to stdout, messages to stderr.
Exit status: 0 yes or done, 1 a negative answer, 2 bad usage or bad data, 130 interrupted.
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser with all verbs; every verb gets the common options."""
    common = common_options()
    parser = argparse.ArgumentParser(
        prog="reshuffle",
        description=DESCRIPTION,
        epilog=EPILOG,
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"reshuffle {__version__}")
    verbs: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        title="verbs", metavar="VERB", required=True, parser_class=VerbParser
    )
    for name in VERBS:
        verb = import_module(f"reshuffle.cli.verbs.{name}")
        subparser = verbs.add_parser(
            name,
            help=verb.HELP,
            description=verb.__doc__,
            parents=[common],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.configure(subparser)
        subparser.set_defaults(run=verb.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    try:
        return _run(arguments)
    except KeyboardInterrupt as request:
        return _interrupted(request)
    except SystemError as error:
        # What compiled code makes of an interrupt that arrives as it returns.
        if isinstance(error.__cause__, KeyboardInterrupt):
            return _interrupted(error.__cause__)
        raise


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit status, also when its output cannot be written."""
    status = 0
    try:
        try:
            given = sys.argv[1:] if arguments is None else arguments
            _refuse_gone(given)
            options = build_parser().parse_args(arguments)
            options.command = shlex.join(["reshuffle", *given])
            status = _answered(options)
        except (Exception, KeyboardInterrupt):
            _flush_or_drop()  # that output does not arrive either must not hide this
            raise
        finally:
            sys.stdout.flush()  # not left to Python, which does so at exit and complains in its own way
    except BrokenPipeError:
        _drop_output()  # the reader (`| head`) has what it wanted
    except (MemoryError, RecursionError, UnicodeEncodeError) as error:
        # None of them is an answer, and status 1 would be taken for one.
        Console().error(_too_much(error))
        return 2
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # as torch says it
            raise
        Console().error(_too_much(MemoryError()))
        return 2
    except OSError as error:
        # A full disk, above all: what can be known before is refused before, with a better message.
        Console().error(_failed_access(error))
        _drop_output()
        return 2
    return status


def _refuse_gone(given: Sequence[str]) -> None:
    """Refuse verbs of earlier releases with a way out."""
    verb = next((word for word in given if not word.startswith("-")), None)
    if verb in GONE:
        Console().error(GONE[verb])
        raise SystemExit(2)


def _answered(options: argparse.Namespace) -> int:
    console = Console(
        json=getattr(options, "json", False),
        verbosity=-1 if getattr(options, "quiet", False) else int(getattr(options, "verbose", False)),
    )
    try:
        if "WORLD_SIZE" in os.environ:  # of torchrun
            console = as_one_of_several(options, console)
        refuse_inputs_as_outputs(options)
        return int(options.run(options, console))
    except ReshuffleError as error:
        console.error(str(error))
        return error.exit_status


def _too_much(error: MemoryError | RecursionError | UnicodeEncodeError) -> str:
    if isinstance(error, MemoryError):
        return with_hint(
            "there is not enough memory for this",
            "allow the process more, take smaller inputs, or limit answering with --memory where a verb has it",
        )
    if isinstance(error, RecursionError):
        return with_hint(
            "something in the input is nested too deeply", "check that reshuffle wrote this file"
        )
    found = error.object[error.start : error.end][:1]
    return with_hint(
        f"the output holds {found!a}, which the encoding {error.encoding} cannot write",
        "set PYTHONIOENCODING=utf-8, print with --json, or write to a file with -o where a verb has it",
    )


def _failed_access(error: OSError) -> str:
    what = "the results cannot be written" if error.filename is None else f"{error.filename}: no access"
    hint = "make room on the disk" if error.errno == errno.ENOSPC else "check the path and its permissions"
    return with_hint(f"{what}: {error.strerror or error}", f"{hint}, and run it again")


def _flush_or_drop() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Send further output nowhere: Python would complain once more when it flushes at exit."""
    with suppress(OSError):  # a stream without a file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupted(request: KeyboardInterrupt) -> int:
    terminated = isinstance(request, Terminated)
    Console().error("terminated" if terminated else "interrupted")
    return 143 if terminated else 130


def entry_point() -> None:
    """The console script."""
    silence_others()
    sys.exit(main())
