"""How a call goes through the library: `python -m benchmarks.flows [-o FILE]`.

Six commands run on four facts, and the explorer makes the page of an entity. Of each are counted the modules and
functions of the library that it visits, and its returns: go through the functions in the order in which they are first
entered; a return is a step to a module that had
been left before. Left out are the reading of the command line, which all verbs share, code that runs while modules are
imported (each command runs once before it is watched), and comprehensions and lambdas, which are parts of functions.
A kernel counts where Python calls it; what it calls in turn is compiled and cannot be watched.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reshuffle
from reshuffle.cli.console import Console
from reshuffle.cli.main import build_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

FACTS = "ada\tbornIn\tlondon\nlondon\tcityIn\tuk\nuk\thasLanguage\tenglish\nbob\tbornIn\tlondon\n"
RULES = """\
bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)
"""
SOURCE = str(Path(reshuffle.__file__).parent)


def flows(folder: Path) -> dict[str, list[str]]:
    """The arguments of each command; `predict` asks the model that `train` has left."""
    facts, rules, model = (str(folder / name) for name in ("facts.tsv", "rules.txt", "model"))
    Path(facts).write_text(FACTS, encoding="utf-8")
    Path(rules).write_text(RULES, encoding="utf-8")
    small = [word for setting in ("max_epochs=1", "num_slots=4") for word in ("--set", setting)]
    return {
        "infer": ["infer", rules, facts],
        "explain": ["explain", rules, facts, "ada", "speaks", "english"],
        "train": ["train", facts, "-o", model, "--valid", facts, *small],
        "predict": ["predict", model, facts, "--head", "bob", "--relation", "bornIn"],
        "train rules": ["train", facts, "-o", f"{model}-of-rules", "--recipe", "rules"],
        "predict by rules": [
            "predict", f"{model}-of-rules", facts, "--head", "bob", "--relation", "bornIn",
        ],
    }  # fmt: skip


def entity_page(rules: str, facts: str) -> Callable[[], object]:
    """The question that the explorer's page of an entity asks, once what it is about has been loaded."""
    from reshuffle.explorer.opening import Wanted, opened
    from reshuffle.explorer.views.entity_page import entity_page

    world = opened(Wanted(rules, facts))[0].subject().as_given
    return lambda: entity_page(world, "ada")


def watched(call: Callable[[], object]) -> list[tuple[str, str]]:
    """(module, function) in the order in which they are first entered."""
    entered: dict[tuple[str, str], None] = {}

    def hear(frame: FrameType, event: str, argument: Any) -> None:
        del argument
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<"):
            module = Path(code.co_filename).relative_to(SOURCE).with_suffix("")
            entered.setdefault((".".join(module.parts), f"{code.co_qualname}:{code.co_firstlineno}"))

    sys.setprofile(hear)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


def measured(steps: list[tuple[str, str]]) -> dict[str, Any]:
    """How many modules, functions and returns."""
    modules = [module for module, _ in steps]
    seen: set[str] = set()
    returns, last = 0, None
    for module in modules:
        returns += module != last and module in seen
        seen.add(module)
        last = module
    return {"modules": len(seen), "functions": len(steps), "returns": returns}


@contextlib.contextmanager
def silent() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def run(options: argparse.Namespace) -> None:
    status = options.run(options, Console(verbosity=-1))
    assert status == 0, options


def measure(*, traces: bool = False) -> dict[str, dict[str, Any]]:
    """All flows."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for verb, arguments in flows(Path(folder)).items():
            options = build_parser().parse_args(arguments)
            with silent():
                run(options)
            if "-o" in arguments:  # training overwrites nothing
                shutil.rmtree(arguments[arguments.index("-o") + 1])
            with silent():
                steps = watched(functools.partial(run, options))
            found[verb] = _counted(steps, traces=traces)
        page = entity_page(*(str(Path(folder) / name) for name in ("rules.txt", "facts.tsv")))
        page()
        found["entity page"] = _counted(watched(page), traces=traces)
    return found


def _counted(steps: list[tuple[str, str]], *, traces: bool) -> dict[str, Any]:
    return measured(steps) | ({"trace": [" ".join(step) for step in steps]} if traces else {})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, help="a JSON file for the result")
    parser.add_argument("--traces", action="store_true", help="with every step, to read")
    options = parser.parse_args()
    result = measure(traces=options.traces)
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for verb, counts in result.items():
        print(
            f"{verb:16} {counts['modules']:4} modules {counts['functions']:4} functions {counts['returns']:4} returns"
        )
