"""Output arguments of verbs; no output overwrites an input.

Verbs declare them as the `type` of an argument; `main` asks `refuse_inputs_as_outputs` before it runs a verb.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import InputFile
from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator


class OutputFile(str):
    """A file that is written."""

    __slots__ = ()

    def replaces(self, given: InputFile) -> str | None:
        """What is wrong with writing it, if anything is."""
        return f"the output would replace the input '{given}'" if _among(Path(self), given.files()) else None


class OutputDirectory(str):
    """A directory that several files are written to."""

    __slots__ = ()

    def replaces(self, given: InputFile) -> str | None:
        """What is wrong with writing there: the directory is an input, or one lies in it, by whatever name."""
        if not Path(self).is_dir():
            return None
        if Path(given).is_file() and _among(Path(self), [Path(given).parent.stat()]):
            return f"the output directory holds the input '{given}', which could be replaced"
        if any(_among(path, given.files()) for path in (Path(self), *Path(self).iterdir())):
            return f"the output directory holds the input '{given}', which could be replaced"
        return None


def refuse_inputs_as_outputs(arguments: argparse.Namespace) -> None:
    """Refuse an output that is no name, or an input, too: relative paths and links are names of the same file."""
    given = [*_values(arguments)]
    _refuse_same([value for value in given if isinstance(value, OutputFile)])
    for output in given:
        if isinstance(output, OutputFile | OutputDirectory):
            if output == "-":  # which stands for stdin elsewhere, so that somebody means stdout
                raise InputError(
                    "found '-' as the output, expected a name",
                    hint="results are printed without -o; ./- is a file of that name",
                )
            for read in given:
                if isinstance(read, InputFile) and (reason := output.replaces(read)):
                    raise InputError(reason, place=Place(output), hint="name another output")


def _refuse_same(outputs: Iterable[OutputFile]) -> None:
    """Refuse two outputs in one file."""
    places: set[str] = set()
    for output in outputs:
        place = os.path.realpath(output)
        if place in places and (not Path(place).exists() or Path(place).is_file()):
            raise InputError(
                "found one file for two outputs", place=Place(output), hint="give each a name of its own"
            )
        places.add(place)


def _values(arguments: argparse.Namespace) -> Iterator[object]:
    for value in vars(arguments).values():
        yield from value if isinstance(value, list) else [value]


def _among(path: Path, files: Iterable[os.stat_result]) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return any(os.path.samestat(found, file) for file in files)
