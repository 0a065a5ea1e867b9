"""Settings shared by all tests."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings

import reshuffle.compiled
import reshuffle.progress

# Slow machines are no news: a test that waits for progress says how soon it comes.
reshuffle.progress.SHORT = float("inf")

# Which kernels run as Python, for a while, would depend on the order of the tests; those of small graphs let them.
reshuffle.compiled.INTERPRETING.seconds_left = 0.0

# The same examples in every run, so that a red test is red for everyone. A quick run takes half of those that a test
# asks for, `make test-slow` all of them; `HYPOTHESIS_PROFILE=explore` looks further, and what it finds belongs into a
# test of its own. No deadline: the first call may compile a kernel.
EXAMPLES = 200  # where a test does not say
SHARES = {"few": 0.1, "quick": 0.5, "full": 1, "explore": 10}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
for name, share in SHARES.items():
    settings.register_profile(
        name,
        max_examples=round(share * EXAMPLES),
        deadline=None,
        derandomize=name != "explore",
        print_blob=True,
    )
settings.load_profile(PROFILE)


def share_examples(test: Any) -> None:
    """Give a property test the share of this profile of the examples that it asks for."""
    asked = test._hypothesis_internal_use_settings
    if asked is not settings.default and not hasattr(
        test, "asked"
    ):  # a test with parameters comes several times
        test.asked = asked.max_examples
        fewer = max(1, round(SHARES[PROFILE] * asked.max_examples))
        test._hypothesis_internal_use_settings = settings(asked, max_examples=fewer)


# With torch and numba loaded there are a million objects that live as long as the process, and going through all of
# them for cyclic garbage took a twentieth of the time of the tests. So full collections are rare, and leave out what is
# there before the first test; collections of young objects are cheap, and as frequent as ever.
gc.set_threshold(700, 10, 100)


# Tests of ten seconds and more. They come first: begun last, one of them keeps one core busy while the others wait.
LONGEST = (
    "test_a_short_tour_as_data",
    "review-rules.md",
    "accuracy.md",
    "predict.md",
    "test_infer_where_no_cache_can_be_written",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests in front; the others stay in their random order."""
    for item in items:
        if isinstance(item, pytest.Function) and item.cls is None and is_hypothesis_test(item.obj):
            share_examples(item.obj)
    items.sort(key=lambda item: not item.nodeid.endswith(LONGEST))


def pytest_collection_finish() -> None:
    """Leave out of garbage collection what the imports of all tests have made."""
    gc.collect()
    gc.freeze()
