"""Benchmark files for tests: a test that needs them skips where they are not, and says why.

Under RESHUFFLE_REQUIRE_DATA=1 it fails instead, so that a set-up without data cannot pass for a tested one.
Nothing is downloaded.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reshuffle.data import card_of, file_cards, find_files, load_from_files

if TYPE_CHECKING:
    from reshuffle.kg.splits import Benchmark

REQUIRE_VARIABLE = "RESHUFFLE_REQUIRE_DATA"


def data_folder(name: str) -> Path:
    """The folder that holds the files of a named benchmark."""
    found = find_files(card_of(name, file_cards()))
    if found is not None:
        return found.directory
    reason = f"the files of '{name}' are not here; set RESHUFFLE_DATA to the directory that holds them"
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{reason} ({REQUIRE_VARIABLE}=1 asks for them)", pytrace=False)
    pytest.skip(reason)


def shared_folder(path: str) -> Path:
    """A folder of files for tests, beside those of benchmarks."""
    places = [os.environ.get("RESHUFFLE_DATA", ""), str(Path(__file__).parents[2] / "shared" / "datasets")]
    for place in filter(None, places):
        if (Path(place) / path).is_dir():
            return Path(place) / path
    reason = f"the files of '{path}' are not here; set RESHUFFLE_DATA to the directory that holds them"
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{reason} ({REQUIRE_VARIABLE}=1 asks for them)", pytrace=False)
    pytest.skip(reason)


def benchmark(name: str) -> Benchmark:
    """A named benchmark, from files that are already here."""
    data_folder(name)
    return load_from_files(name)
