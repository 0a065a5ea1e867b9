"""Finished cells of the paper's experiments, as they lie in files and as they are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.learning.settings import Settings

_NO_RESULT = "move it elsewhere, or remove it and run its cell again with `reshuffle bench paper`"


def read_result(path: Path) -> dict[str, Any]:
    """A finished cell, with everything that is reported of it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"not JSON, or cut short: {error}", place=Place(str(path)), hint=_NO_RESULT
        ) from error
    if not _is_result(found):
        raise InputError("not the result of a cell", place=Place(str(path)), hint=_NO_RESULT)
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
    """A number of other settings must not pass for this cell's."""
    if other := settings.differences(found["settings"]):
        raise InputError(
            f"this cell was finished with other settings: {', '.join(other)}",
            place=place,
            hint="name another folder with --results, or remove this file to run the cell again",
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
