"""The bounds on the number of channels, verified by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from reshuffle.reasoning.sketch.channels import (
    best_density,
    channels_for_mean,
    channels_for_paper_bits,
    channels_for_sparse_bits,
    channels_for_values,
    density_for,
    fewest_bits,
    mean_false_positives,
    separation_of_bits,
    separation_of_values,
)

TRIALS = 4000


def false_positives(draw, fan_in: int, channels: int) -> float:
    """How often p arriving values cover an unrelated one in every channel."""
    wrong = 0
    for _ in range(TRIALS):
        wrong += bool(np.all(draw(channels) <= draw((fan_in, channels)).max(axis=0, initial=0)))
    return wrong / TRIALS


@pytest.mark.parametrize("fan_in", [1, 4, 8])
def test_the_papers_bits_with_probability_one_half(fan_in):
    random = np.random.default_rng(1)
    channels = channels_for_paper_bits(fan_in, 0.05)
    rate = false_positives(lambda size: random.random(size) < 0.5, fan_in, channels)
    assert rate < 0.05


@pytest.mark.parametrize("fan_in", [1, 4, 20])
def test_sparse_bits(fan_in):
    random = np.random.default_rng(2)
    density = best_density(fan_in)
    channels = channels_for_sparse_bits(fan_in, 0.05)
    rate = false_positives(lambda size: random.random(size) < density, fan_in, channels)
    assert rate < 0.05
    # The bound is not idle: a quarter of the channels is too few.
    assert false_positives(lambda size: random.random(size) < density, fan_in, channels // 4) > 0.05


@pytest.mark.parametrize("fan_in", [1, 4, 20])
def test_continuous_values(fan_in):
    random = np.random.default_rng(3)
    channels = channels_for_values(fan_in, 0.05)
    assert false_positives(random.random, fan_in, channels) < 0.05
    assert false_positives(random.random, fan_in, channels // 2) > 0.05


def test_bits_grow_exponentially_and_the_others_linearly():
    assert channels_for_paper_bits(20, 0.01) / channels_for_paper_bits(10, 0.01) > 1000
    assert channels_for_values(20, 0.01) < 2 * channels_for_values(10, 0.01)
    assert channels_for_sparse_bits(20, 0.01) < 2 * channels_for_sparse_bits(10, 0.01)


def test_the_mean_over_different_fan_ins():
    separations = separation_of_values(np.array([0.0, 10.0, 1000.0]))
    channels = channels_for_mean(separations, 0.01)
    assert mean_false_positives(separations, channels) <= 0.01
    assert mean_false_positives(separations, channels - 1) > 0.01


def test_the_density_of_bits_suits_the_fan_in():
    assert density_for(np.full(10, 100.0), 1000) == pytest.approx(best_density(100), rel=0.5)
    density, channels = fewest_bits(np.full(10, 100.0), 0.01)
    assert channels <= 1.1 * channels_for_sparse_bits(100, 0.01)
    assert mean_false_positives(separation_of_bits(np.full(10, 100.0), density), channels) <= 0.01
