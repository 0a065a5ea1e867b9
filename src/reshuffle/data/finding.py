"""Finding the files of a benchmark on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.errors import ReshuffleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reshuffle.data.cards import DataCard, FileCard

DATA_VARIABLE = "RESHUFFLE_DATA"
_BESIDE = Path("..") / "shared" / "datasets"


class DataNotFoundError(ReshuffleError):
    """A benchmark whose files are nowhere; says where to put them."""


@dataclass(frozen=True)
class FoundFiles:
    """The directory that holds a benchmark, and the path of each of its files."""

    directory: Path
    paths: Mapping[FileCard, Path]


def data_directories() -> list[Path]:
    """Where benchmarks are looked for, first to last; the last is the cache for downloads.

    `$RESHUFFLE_DATA`, then `../shared/datasets` beside the current directory or beside the checkout that
    this package runs from, then `$XDG_CACHE_HOME/reshuffle/datasets` (`~/.cache/reshuffle/datasets`).
    """
    named = os.environ.get(DATA_VARIABLE)
    places = [Path(named)] if named else []
    places.append(Path.cwd() / _BESIDE)
    checkout = _checkout()
    if checkout is not None:
        places.append(checkout / _BESIDE)
    return list(dict.fromkeys(Path(os.path.normpath(place)) for place in (*places, cache_directory())))


def cache_directory() -> Path:
    """The directory into which benchmarks are downloaded."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "reshuffle" / "datasets"


def demo_directory() -> Path:
    """Where the demo leaves what it learned, for the explorer: a model in `model`, a rule list in `rules`."""
    return cache_directory().parent / "demo"


def _checkout() -> Path | None:
    """The repository this file lies in, if it does not lie among installed packages."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "pyproject.toml").is_file() else None


def find_files(card: DataCard) -> FoundFiles | None:
    """The first directory that holds every file of the benchmark, plain or gzipped."""
    for directory in data_directories():
        paths = {file: _present(file_path(card, file, directory)) for file in card.files}
        present = {file: path for file, path in paths.items() if path is not None}
        if len(present) == len(paths):
            return FoundFiles(directory / str(card.folder), present)
    return None


def file_path(card: DataCard, file: FileCard, directory: Path) -> Path:
    """Where a file belongs below a data directory."""
    return directory / str(card.folder) / file.path


def _present(path: Path) -> Path | None:
    gzipped = path.with_name(path.name + ".gz")
    return next((candidate for candidate in (path, gzipped) if candidate.is_file()), None)


def not_found(card: DataCard, reason: str) -> DataNotFoundError:
    """The error for a benchmark that is neither here nor can be downloaded."""
    searched = "\n".join(f"    {directory / str(card.folder)}" for directory in data_directories())
    wanted = ", ".join(file.path for file in card.files)
    return DataNotFoundError(
        f"the files of '{card.name}' are not here, and {reason}\n  looked in\n{searched}\n  for {wanted}",
        hint=f"put the files from {card.url} into one of these directories, "
        f"or set {DATA_VARIABLE} to the directory that holds {card.folder}/",
    )
