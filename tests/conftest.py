"""Settings shared by all tests."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import settings

import reshuffle.progress

# Slow machines are no news: a test that waits for progress says how soon it comes.
reshuffle.progress.SHORT = float("inf")

# The same examples in every run, so that a red test is red for everyone; `HYPOTHESIS_PROFILE=explore` looks
# further, and what it finds belongs into a test of its own. No deadline: the first call may compile a kernel.
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", max_examples=2_000, deadline=None, print_blob=True)
settings.register_profile("few", max_examples=20, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# With torch and numba loaded there are a million objects that live as long as the process, and going through all of
# them for cyclic garbage took a twentieth of the time of the tests. So full collections are rare, and leave out what is
# there before the first test; collections of young objects are cheap, and as frequent as ever.
gc.set_threshold(700, 10, 100)


# Tests of half a minute and more. They come first: begun last, one of them keeps one core busy while the others wait.
LONGEST = ("test_proofs[34]", "test_the_tour_as_data", "tutorial-learning.md")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests in front; the others stay in their random order."""
    items.sort(key=lambda item: not item.nodeid.endswith(LONGEST))


def pytest_collection_finish() -> None:
    """Leave out of garbage collection what the imports of all tests have made."""
    gc.collect()
    gc.freeze()
