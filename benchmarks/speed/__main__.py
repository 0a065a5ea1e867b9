"""`python -m benchmarks.speed [NAME] [--only TEXT]`."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path


def names() -> list[str]:
    """The modules beside this one that define `run()`; they are not imported to find out."""
    return sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py") if _has_run(file))


def _has_run(file: Path) -> bool:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body)


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or list them all."""
    known, options = names(), {}
    if "--only" in arguments[:-1]:  # some rows, of benchmarks that have rows
        place = arguments.index("--only")
        options["only"] = arguments[place + 1]
        arguments = [*arguments[:place], *arguments[place + 2 :]]
    unknown = [name for name in arguments if name not in known]
    if unknown or not arguments:
        wrong = f"unknown: {', '.join(unknown)}\n" if unknown else ""
        usage = "usage: python -m benchmarks.speed NAME... [--only TEXT]"
        print(f"{wrong}{usage}\nnames: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in arguments:
        import_module(f"benchmarks.speed.{name}").run(**options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
