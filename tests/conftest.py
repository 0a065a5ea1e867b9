"""Settings shared by all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples in every run, so that a red test is red for everyone; `HYPOTHESIS_PROFILE=explore` looks
# further, and what it finds belongs into a test of its own. No deadline: the first call may compile a kernel.
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
