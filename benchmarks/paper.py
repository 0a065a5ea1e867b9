"""The settings of the paper's experiments and the numbers it reports, from `paper.toml`; and what others published.

`python -m benchmarks.paper WN18RR-v1 no-loop` prints the settings of a cell as a file for `reshuffle train --config`;
`--recipe best` those of the best recipe.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from reshuffle.errors import InputError, Place, ReshuffleError
from reshuffle.kg.io.toml import read_toml
from reshuffle.learning.model_files import to_toml
from reshuffle.learning.settings import Settings, read_settings

FOLDER = Path(__file__).parent
NAME = "paper.toml"
_TABLE = read_toml(FOLDER / NAME)
DATASETS: tuple[str, ...] = tuple(_TABLE["paper"]["datasets"])
VARIANTS: dict[str, tuple[str, ...]] = {recipe: tuple(parts["variants"]) for recipe, parts in _TABLE.items()}
"""The variants of each recipe; those of `best-0.1` leave an ingredient out or replace it."""


def cell_settings(
    dataset: str, recipe: str = "paper", variant: str = "default", *, folder: Path = FOLDER
) -> Settings:
    """The settings of a cell: the paper's differ by data set, the best recipe's do not.

    `folder` holds a table like `paper.toml`, or is one itself; or it holds a file `DATASET.VARIANT.toml` for each cell
    (`best.VARIANT.toml` for the best recipe).
    """
    file = folder / f"{dataset if recipe == 'paper' else recipe}.{variant}.toml"
    if file.exists():
        return read_settings(file)
    table = folder if folder.is_file() else folder / NAME
    values = _expanded(read_toml(table), dataset, recipe, variant) if table.exists() else None
    if values is None:
        raise InputError(
            "there are no settings for this cell",
            place=Place(str(table if table.exists() else file)),
            hint=f"the variants of recipe '{recipe}' are {', '.join(VARIANTS[recipe])}; "
            "run from a checkout, or name the folder with --settings",
        )
    try:
        return Settings().changed(**values)
    except ReshuffleError as error:
        raise InputError(str(error), place=Place(str(table))) from error


def _expanded(table: dict[str, Any], dataset: str, recipe: str, variant: str) -> dict[str, Any] | None:
    """The settings of the recipe, changed by those of the data set, changed by those of the variant."""
    parts = table.get(recipe, {})
    datasets, variants = parts.get("datasets"), parts.get("variants", {})
    if variant not in variants or (datasets is not None and dataset not in datasets):
        return None
    return {**parts["settings"], **(datasets or {}).get(dataset, {}), **variants[variant]}


def reported(dataset: str, variant: str) -> dict[str, Any]:
    """What the paper reports: Hits@10, and that of each seed where it has them."""
    tables = _TABLE["paper"]["reported"]
    found: dict[str, Any] = tables.get(variant, tables["default"])[dataset]
    return found


def published(metric: str) -> dict[str, dict[str, float]]:
    """What other systems reach, from `published.toml`, by system and data set."""
    rows = read_toml(FOLDER / "published.toml")[metric]
    return {name: dict(zip(DATASETS, numbers, strict=True)) for name, numbers in rows.items()}


def settings_file(dataset: str, recipe: str, variant: str) -> str:
    """The settings of a cell as a file, with the numbers that the paper reports."""
    values = _expanded(_TABLE, dataset, recipe, variant)
    assert values is not None
    return to_toml(values, {"paper": reported(dataset, variant)} if recipe == "paper" else None)


def main() -> None:
    """Print the settings of a cell."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper", description="Print the settings of a cell."
    )
    parser.add_argument("dataset", choices=DATASETS, metavar="DATASET", help=", ".join(DATASETS))
    parser.add_argument("variant", nargs="?", default="default", help="default unless told")
    parser.add_argument("--recipe", default="paper", choices=list(VARIANTS), help="default paper")
    given = parser.parse_args()
    if given.variant not in VARIANTS[given.recipe]:
        parser.error(f"the variants of recipe '{given.recipe}' are {', '.join(VARIANTS[given.recipe])}")
    print(settings_file(given.dataset, given.recipe, given.variant), end="")


if __name__ == "__main__":
    main()
