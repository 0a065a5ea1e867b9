"""The cells of the paper's experiments: their settings, their stored results, and what is reported of them.

Finished cells are the lines of `FOLDER/paper.jsonl`, sorted by name, each with settings, seed, hardware, versions, time
and all metrics. Files `DATASET.RECIPE.VARIANT.SEED.json` in the folder, one per cell, are read, too: results were kept
so before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from benchmarks.paper import cell_settings
from benchmarks.result_files import changed_results, numbered_lines

from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reshuffle.learning.settings import Settings

NAME = "paper.jsonl"
_NO_RESULT = "move it elsewhere, or remove it and run its cell again with `reshuffle bench paper`"
_ANOTHER = "name another folder with --results, or remove this {} to run the cell again"


@dataclass(frozen=True)
class Cell:
    """One training: a data set, a recipe, a variant and a seed."""

    dataset: str
    recipe: str
    variant: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.dataset}.{self.recipe}.{self.variant}.{self.seed}"


@dataclass(frozen=True)
class Bench:
    """Where settings are read from and results go to.

    `results` is a folder, or the result file itself, with or without its ending `.jsonl`.
    """

    settings: Path
    results: Path

    @property
    def file(self) -> Path:
        """The file of finished cells."""
        if self.results.suffix == ".jsonl":
            return self.results
        beside = self.results.parent / f"{self.results.name}.jsonl"
        return beside if beside.exists() and not self.results.exists() else self.results / NAME

    @property
    def exists(self) -> bool:
        """Whether there is a place with stored results."""
        return self.file.exists() or self.results.is_dir()

    def settings_of(self, cell: Cell) -> Settings:
        """The settings of a cell, with its seed."""
        found = cell_settings(cell.dataset, cell.recipe, cell.variant, folder=self.settings)
        return found.changed(seed=cell.seed)

    def checkpoint_path(self, cell: Cell) -> Path:
        """Where an unfinished cell rests; not kept in the repository."""
        return self.file.parent / "unfinished" / self.file.stem / f"{cell.name}.safetensors"

    def has(self, cell: Cell) -> bool:
        """Whether a cell is finished."""
        return self._found(cell) is not None

    def finished(self, cell: Cell) -> dict[str, Any] | None:
        """What is stored of a cell, or None; refused where it was run with other settings."""
        found = self._found(cell)
        if found is None:
            return None
        place, result = found
        check_same_settings(result, self.settings_of(cell), place)
        return result

    def stored(self) -> list[dict[str, Any]]:
        """All finished cells, by name."""
        # A hidden file is one that is being written.
        single = [_read_file(path) for path in self.results.glob("[!.]*.*.*.*.json")]
        return sorted([*(result for _, result in self._lines()), *single], key=_name)

    def _found(self, cell: Cell) -> tuple[Place, dict[str, Any]] | None:
        for place, result in self._lines():
            if _name(result) == cell.name:
                return place, result
        single = self.results / f"{cell.name}.json"
        return (Place(str(single)), _read_file(single)) if single.exists() else None

    def _lines(self) -> Iterator[tuple[Place, dict[str, Any]]]:
        for number, line in numbered_lines(self.file):
            place = Place(str(self.file), number)
            yield place, _checked(line, place)

    def store(self, result: dict[str, Any]) -> None:
        """Add a finished cell."""
        with changed_results(self.file) as stored:
            stored.rows = sorted([*stored.rows, result], key=_name)


def _name(result: dict[str, Any]) -> str:
    return Cell(result["dataset"], result["recipe"], result["variant"], result["seed"]).name


def _read_file(path: Path) -> dict[str, Any]:
    place = Place(str(path))
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"not JSON, or cut short: {error}", place=place, hint=_NO_RESULT) from error
    return _checked(found, place)


def _checked(found: Any, place: Place) -> dict[str, Any]:
    """A finished cell, with everything that is reported of it."""
    if not _is_result(found):
        raise InputError("not the result of a cell", place=place, hint=_NO_RESULT)
    return cast("dict[str, Any]", found)


def _is_result(found: Any) -> bool:
    """Whether it can be reported and compared."""
    try:
        rows = report_rows([found])
        metrics = [row[name].keys() for row in rows for name in ("metrics", "type_baseline")]
        has_settings = isinstance(found["settings"], dict)
    except (LookupError, TypeError, AttributeError):
        return False
    return bool(rows) and has_settings and all(map({"hits@10", "mrr"}.issubset, metrics))


def check_same_settings(found: dict[str, Any], settings: Settings, place: Place) -> None:
    """Refuse a result of other settings: its numbers must not pass for this cell's."""
    if other := settings.differences(found["settings"]):
        raise InputError(
            f"this cell was finished with other settings: {', '.join(other)}",
            place=place,
            hint=_ANOTHER.format("file" if place.line is None else "line"),
        )


def report_rows(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per stored cell and protocol, as `bench report --json` prints them."""
    return [
        {
            "dataset": cell["dataset"],
            "recipe": cell["recipe"],
            "variant": cell["variant"],
            "seed": cell["seed"],
            "protocol": result["protocol"],
            "metrics": result["metrics"],
            "tie_rate": result["tie_rate"],
            "type_baseline": result["type_baseline"] and result["type_baseline"]["metrics"],
            "seconds": cell["training"]["seconds"],
            "hardware": cell["hardware"],
        }
        for cell in stored
        for result in cell["results"]
    ]
