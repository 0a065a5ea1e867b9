"""The rules that made the data come back from the weights of a model that was told none."""

from __future__ import annotations

import pytest

from reshuffle import extract_rules
from reshuffle.cli.verbs.demo import SETTINGS
from reshuffle.data.families import families

pytest.importorskip("torch")

from reshuffle.learning.estimator import Reshuffle


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_nine_tenths_of_the_rules_are_among_the_first_thirty(seed: int) -> None:
    """Seed 0 is that of the demo, which `tests/cli/test_demo.py` asks for the same in every run."""
    demo = families(seed)
    model = Reshuffle(device="cpu", seed=seed, **SETTINGS).fit(demo.benchmark.train)
    found = extract_rules(model, on=demo.benchmark.train.triples, max_length=2)
    recovered = {one.rule for one in found.top(30)} & set(demo.rules)
    assert len(recovered) >= 0.9 * len(demo.rules)


def test_without_training_they_do_not_come_back() -> None:
    """Measuring alone does not do it: what is not learned is not told."""
    demo = families(0)
    untrained = Reshuffle(device="cpu", **{**SETTINGS, "max_epochs": 1}, epoch_steps=1)
    found = extract_rules(untrained.fit(demo.benchmark.train), on=demo.benchmark.train.triples, max_length=2)
    assert len({one.rule for one in found} & set(demo.rules)) < 0.6 * len(demo.rules)
