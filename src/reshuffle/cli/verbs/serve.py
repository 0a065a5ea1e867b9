"""Explore facts, rules and models in a browser: search, entities, reasons, rules, what if, training.

reshuffle serve                                   what there is to explore here
reshuffle serve families                          the built-in families with their rules, and the demo's models
reshuffle serve rules.txt facts.tsv more/         what rules say over facts
reshuffle serve model facts.tsv --labels names.tsv
reshuffle serve model                             the training, the rules and the settings of a model

Prints one line, the full address with its token, and serves until Ctrl-C. What you save goes under a new name into the
directory where this was started, and decisions about missing links go into the file --decisions. Links that
were found lie in your cache. Other machines are served only with --host and a token of your own.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import InputFile, InputModel, is_benchmark, refuse_skipping
from reshuffle.cli.options import add_facts
from reshuffle.cli.outputs import OutputFile
from reshuffle.errors import InputError
from reshuffle.packages import require

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.explorer.web.guard import Door

HELP = "explore facts, rules and models in a browser"
PORT = 8571
TOKEN_VARIABLE = "RESHUFFLE_TOKEN"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SHORTEST_TOKEN = 16


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name",
        type=InputModel,
        nargs="?",
        metavar="MODEL_OR_RULES_OR_BENCHMARK",
        help="a model directory, a rule file, or a benchmark's name; without it, what there is is listed",
    )
    add_facts(parser, more="; or a benchmark's name for its test graph", may_be_missing=True)
    parser.add_argument(
        "--port", type=int, metavar="P", help=f"the port (default {PORT}, or a free one where that is taken)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the address in a browser")
    parser.add_argument(
        "--labels",
        type=InputFile,
        metavar="FILE",
        help="names to show: lines with a name, a tab, a label; rdfs:label, as RDF inputs have them; or OBO",
    )
    parser.add_argument(
        "--prefixes",
        type=InputFile,
        metavar="FILE",
        help="more prefixes, as Turtle declares them; those of the inputs are known",
    )
    parser.add_argument(
        "--held-out", type=InputFile, metavar="FILE", help="true triples that are no facts, to try rules on"
    )
    parser.add_argument(
        "--decisions",
        type=OutputFile,
        metavar="FILE",
        help="where decisions about missing links are kept and read (default NAME.decisions.jsonl, in this directory)",
    )
    parser.add_argument(
        "--host", metavar="H", default="127.0.0.1", help="serve other machines; needs a token"
    )
    parser.add_argument(
        "--token", metavar="T", help=f"the token, for --host (or the environment variable {TOKEN_VARIABLE})"
    )
    parser.add_argument(
        "--engine", default="auto", metavar="auto|geometry|chase", help="how rules are answered"
    )
    parser.add_argument("--bound", type=int, metavar="M", help="only what follows in M steps")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, open, serve."""
    if arguments.name is None:
        return _list(console)
    require("starlette", "uvicorn")
    from reshuffle.explorer.opening import Wanted, opened

    token = _token(arguments)
    first, *more = arguments.facts or (None,)
    if first is None or (is_benchmark(first) and not more):
        refuse_skipping(arguments, "a benchmark")
    exhibits = opened(
        Wanted(
            str(arguments.name),
            first,
            arguments.labels,
            arguments.held_out,
            arguments.engine,
            arguments.bound,
            console.progress,
            console.message,
            arguments.prefixes,
            tuple(more),
            arguments.columns,
            arguments.format,
            tuple(path for given in arguments.facts for path in given.paths()),
            arguments.bad_rows,
            arguments.report,
            arguments.decisions,
        )
    )
    from reshuffle.explorer.web.app import Explorer
    from reshuffle.explorer.web.guard import Door
    from reshuffle.explorer.web.serving import bound_socket, serve

    listening = bound_socket(arguments.host, arguments.port, usual=PORT)
    door = Door(token, arguments.host, listening.getsockname()[1])
    explorer = Explorer(exhibits, folder=Path.cwd(), notes=console.message)
    serve(explorer, door, listening, ready=lambda: _announce(door, arguments, console))
    return 0


# --- what there is to serve -------------------------------------------------------------------------------------------

_RULE_ENDINGS = (".rules", ".dlog", ".pl", ".owl", ".ofn", ".obo")


def _list(console: Console) -> int:
    """The commands for what is in this directory and for the benchmarks whose files are here."""
    from reshuffle.data.finding import find_files
    from reshuffle.data.load import data_cards
    from reshuffle.explorer.views.training_page import has_training
    from reshuffle.theories.kinds import MODEL_RULES

    inside = sorted(path for path in Path.cwd().iterdir() if not path.name.startswith("."))
    folders = [path for path in inside if path.is_dir()]
    lists = [path.name for path in folders if (path / MODEL_RULES).is_file()]
    trained = [path.name for path in folders if has_training(path) and path.name not in lists]
    rules = [path.name for path in inside if path.is_file() and path.suffix in _RULE_ENDINGS]
    cards = sorted(data_cards().values(), key=lambda card: card.folder is not None)
    benchmarks = [card.name for card in cards if card.folder is None or find_files(card) is not None]
    found = {"rule models": lists, "models": trained, "rule files": rules, "benchmarks": benchmarks}
    console.result(_as_commands(found), found)
    return 0


def _as_commands(found: dict[str, list[str]]) -> str:
    *kinds, benchmarks = found
    parts = [
        "\n".join([f"{kind}:", *(f"  reshuffle serve {shlex.quote(name)} FACTS" for name in found[kind])])
        for kind in kinds
        if found[kind]
    ]
    first, *others = found[benchmarks]
    more = f"\n  or {', '.join(others)}" if others else ""
    parts.append(f"{benchmarks}:\n  reshuffle serve {first}{more}")
    if not found["rule models"] + found["models"]:
        own = ("train FACTS -o DIR --recipe rules", "serve DIR FACTS")
        parts.append("\n".join(["a model of your own:", *(f"  reshuffle {command}" for command in own)]))
    return "\n\n".join(parts)


def _token(arguments: argparse.Namespace) -> str:
    """The token: a new one, or where others are served the one that was given."""
    import secrets

    given = arguments.token or os.environ.get(TOKEN_VARIABLE)
    if arguments.host not in LOOPBACK and not given:
        raise InputError(
            f"--host {arguments.host} lets other machines in, and there is no token",
            hint=f"give --token, or set {TOKEN_VARIABLE}; at least {_SHORTEST_TOKEN} characters that nobody guesses",
        )
    if given and len(given) < _SHORTEST_TOKEN:
        raise InputError(
            f"the token has {len(given)} characters",
            hint=f"give at least {_SHORTEST_TOKEN} that nobody guesses",
        )
    return given or secrets.token_urlsafe(32)


def _announce(door: Door, arguments: argparse.Namespace, console: Console) -> None:
    """Print the one line, and open it where there is a screen."""
    import webbrowser
    from urllib.parse import quote

    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(door.host, door.host)
    address = f"http://{host}:{door.port}/?token={quote(door.token)}"
    console.result(address, {"address": address})
    sys.stdout.flush()
    console.message("Ctrl-C ends it")
    if not arguments.no_browser and _has_screen():
        webbrowser.open(address)


def _has_screen() -> bool:
    """Would a browser be seen? On Linux one without a display would take over the terminal."""
    return not sys.platform.startswith("linux") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
