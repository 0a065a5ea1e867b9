"""What recipes and the ranges of the paper's search hold."""

from __future__ import annotations

from reshuffle.learning.recipes import SEARCHED
from reshuffle.learning.settings import Settings


def test_the_ranges_are_the_papers() -> None:
    assert SEARCHED == {
        "num_layers": (3, 4, 5),
        "num_slots": (20, 25, 30),
        "num_channels": (40, 60, 80),
        "margin": (0.5, 1.0, 2.0),
        "learning_rate": (0.005, 0.01),
    }


def test_every_value_of_the_ranges_can_be_set() -> None:
    for name, values in SEARCHED.items():
        for value in values:
            assert Settings.of("paper").changed(**{name: value}).to_dict()[name] == value
