"""Find the files of a benchmark in a user's directory by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.kg.io.files import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

INFERENCE_FOLDERS = ("inference", "ind")

_ROLES = {
    "train_facts": "the graph to learn from",
    "train_valid": "held-out triples of the training graph",
    "train_queries": "its test triples",
    "test_facts": "the graph given at test time",
    "test_valid": "more true triples of the test graph",
    "test_queries": "the triples of the test graph to predict",
    "facts": "the graph to learn from",
    "valid": "held-out triples for tuning",
    "queries": "the triples to predict",
}
_OPTIONAL = {"train_queries", "test_valid", "valid"}


def inductive_files(directory: Path) -> dict[str, Path]:
    """The files of GraIL's layouts, by the names of `InductiveBenchmark.from_files`."""
    inference = _inference_folder(directory)
    expected = {
        "train_facts": directory / "train",
        "train_valid": directory / "valid",
        "train_queries": directory / "test",
        "test_facts": inference / "train",
        "test_valid": inference / "valid",
        "test_queries": inference / "test",
    }
    return _found(directory, expected, what="an inductive benchmark", hint=_inductive_hint(directory))


def transductive_files(directory: Path) -> dict[str, Path]:
    """The files by the names of `TransductiveBenchmark.from_files`."""
    expected = {
        "facts": directory / "train",
        "valid": directory / "valid",
        "queries": directory / "test",
    }
    return _found(directory, expected, what="a benchmark", hint="give the files one by one with from_files")


def has_training_file(directory: Path) -> bool:
    """Is there a file `train`, of whatever ending?"""
    return _with_ending(directory / "train") is not None


def has_second_graph(directory: Path) -> bool:
    """Is there a folder for the test graph of an inductive benchmark, inside or beside?"""
    return _inference_folder(directory).is_dir()


def _sibling(directory: Path) -> Path:
    named = directory if directory.name not in {"", ".."} else directory.resolve()
    return named.with_name(f"{named.name}_ind")


def _inference_folder(directory: Path) -> Path:
    """Where the test graph lies; where nothing does, the sibling, for the error to name."""
    sibling = _sibling(directory)
    inside = [directory / name for name in (*INFERENCE_FOLDERS, sibling.name)]
    return next((folder for folder in inside if folder.is_dir()), sibling)


def _inductive_hint(directory: Path) -> str:
    return (
        f"the test graph may also lie in {directory / INFERENCE_FOLDERS[0]}; .tsv, .csv, .nt, .ttl, .parquet "
        "and .gz are read too; or give the files one by one with InductiveBenchmark.from_files"
    )


def _found(directory: Path, expected: dict[str, Path], *, what: str, hint: str) -> dict[str, Path]:
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory", hint=hint)
    files = {role: _with_ending(stem) for role, stem in expected.items()}
    missing = [role for role, file in files.items() if file is None and role not in _OPTIONAL]
    if missing:
        listing = "\n".join(_listed(role, expected[role], files[role]) for role in expected)
        raise InputError(
            f"{directory}: not {what}: {len(missing)} of the files below missing\n{listing}", hint=hint
        )
    return {role: file for role, file in files.items() if file is not None}


def _with_ending(stem: Path) -> Path | None:
    candidates: Iterable[Path] = (stem.with_name(stem.name + ending) for ending in ENDINGS)
    return next((file for file in candidates if file.is_file()), None)


def _listed(role: str, stem: Path, file: Path | None) -> str:
    state = "found" if file else "may be missing" if role in _OPTIONAL else "MISSING"
    return f"    {state:<14}  {file or f'{stem}.txt'}  ({role}: {_ROLES[role]})"
