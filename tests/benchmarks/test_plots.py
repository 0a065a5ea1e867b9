"""The pictures of the documentation are drawn from the stored results."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from benchmarks import charts, plots

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", plots.PICTURES, ids=lambda path: path.stem)
def test_a_picture_shows_what_is_stored(path: Path) -> None:
    """If not: python -m benchmarks.plots."""
    assert path.read_text(encoding="utf-8") == plots.PICTURES[path]()


@pytest.mark.parametrize("path", plots.PICTURES, ids=lambda path: path.stem)
def test_nothing_is_drawn_outside_of_a_picture(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    for mark in root.iter():
        place = {
            name: float(mark.get(name, 0)) for name in ("x", "y", "cx", "cy") if "%" not in mark.get(name, "")
        }
        assert 0 <= place["x"] <= wide and 0 <= place["y"] <= high
        assert 0 <= place["cx"] <= wide and 0 <= place["cy"] <= high


def test_ticks_are_round_numbers_within_the_axis() -> None:
    assert charts.Axis("x", 0, 0.8).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert charts.Axis("x", 0, 8).ticks() == [0, 2, 4, 6, 8]
    assert charts.Axis("x", 0.05, 100, logarithmic=True).ticks() == pytest.approx([0.1, 1, 10, 100])


def test_a_place_is_the_share_of_the_way() -> None:
    assert charts.Axis("x", 1, 100, logarithmic=True).place(10) == pytest.approx(0.5)
    assert charts.Axis("x", 0, 4).place(1) == 0.25
