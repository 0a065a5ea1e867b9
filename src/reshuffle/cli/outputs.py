"""Which arguments of a verb are read and which are written, so that no output replaces an input.

Verbs declare them as the `type` of an argument; `main` asks `refuse_inputs_as_outputs` before it runs a verb.
"""

from __future__ import annotations

import glob
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

MODEL_FILES = ("model.safetensors", "settings.toml", "injected.json", "injected.rules", "model.rules")
"""The files that make a model of a directory; `learning.model_files` and `rulelist.model_text` write them."""


class InputFile(str):
    """A file that is read. A directory of that name is something else: a benchmark may have the same name."""

    __slots__ = ()

    def files(self) -> Iterator[os.stat_result]:
        """What is read, as the file system knows it."""
        with suppress(OSError, ValueError):  # nothing there, or a stream without a file behind it
            found = os.fstat(sys.stdin.fileno()) if self == "-" else Path(self).stat()
            if stat.S_ISREG(found.st_mode):
                yield found


class InputFacts(InputFile):
    """Facts that are read: a file, the files of a folder, or those that match a pattern."""

    __slots__ = ()

    def files(self) -> Iterator[os.stat_result]:
        """All of these files."""
        yield from super().files()
        for file in self.paths():
            yield from InputFile(file).files()

    def paths(self) -> list[str]:
        """The paths of these files, as far as they are there."""
        if Path(self).is_file():
            return [str(self)]
        if not Path(self).is_dir():
            return glob.glob(self, recursive=True)  # noqa: PTH207 - takes absolute patterns
        return [] if _is_benchmark(self) else [str(file) for file in Path(self).iterdir()]


def _is_benchmark(name: str) -> bool:
    """Is it a benchmark's name, which wins over a directory's? Models are often called by what they were trained on."""
    from reshuffle.data.load import benchmark_names  # noqa: PLC0415 - slow to import

    return name in benchmark_names()


class InputModel(InputFile):
    """A model directory that is read, or a file in its place."""

    __slots__ = ()

    def files(self) -> Iterator[os.stat_result]:
        """The directory itself, too."""
        yield from super().files()
        if Path(self).is_dir():
            yield Path(self).stat()
            for name in MODEL_FILES:
                yield from InputFile(Path(self) / name).files()


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
    """Refuse an output that is an input, too: relative paths and links are names of the same file."""
    given = [*_values(arguments)]
    for output in given:
        if isinstance(output, OutputFile | OutputDirectory):
            for read in given:
                if isinstance(read, InputFile) and (reason := output.replaces(read)):
                    raise InputError(reason, place=Place(output), hint="name another output")


def _values(arguments: argparse.Namespace) -> Iterator[object]:
    for value in vars(arguments).values():
        yield from value if isinstance(value, list) else [value]


def _among(path: Path, files: Iterable[os.stat_result]) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return any(os.path.samestat(found, file) for file in files)
