"""All named benchmarks: those in files, which the layer below knows, and `families`, which rules make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.data import card_of, file_cards, load_from_files
from reshuffle.data.families import NAME, families, families_card
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reshuffle.data import DataCard
    from reshuffle.kg.splits import Benchmark
    from reshuffle.progress import Progress


def data_cards() -> Mapping[str, DataCard]:
    """The card of every named benchmark."""
    return {**file_cards(), NAME: families_card()}


def inductive_names() -> list[str]:
    """The benchmarks of the paper's tables."""
    return [name for name, card in file_cards().items() if card.kind == "inductive"]


def load_benchmark(name: str, *, progress: Progress = SILENT) -> Benchmark:
    """A benchmark by name; its files are found or downloaded, and checked.

    >>> load_benchmark("families").test
    <GraphSplit: ... facts, ... valid, ... queries, ... entities>
    >>> load_benchmark("famlies")
    Traceback (most recent call last):
      ...
    reshuffle.errors.UnknownNameError: unknown data set 'famlies'; did you mean 'families' or 'family'?
    """
    if name == NAME:
        return families().benchmark
    card_of(name, data_cards())  # so that `families` is among the names an error suggests
    return load_from_files(name, progress=progress)
