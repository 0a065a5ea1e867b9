"""Tests beside other systems: browsers, clusters, other libraries, notebooks, the site (`make test-integrations`).

A test that needs a program which is not installed skips, and says what to install. Under RESHUFFLE_REQUIRE_SYSTEMS=1
it fails instead, so that a set-up without a browser or Java cannot pass for a tested one. At the end, the time of each
file is printed: all of them together have 25 minutes on two cores.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # random rule bases, which both use

REQUIRE_VARIABLE = "RESHUFFLE_REQUIRE_SYSTEMS"
_SECONDS: Counter[str] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Let a skipped test fail where systems are required."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(REQUIRE_VARIABLE) == "1":
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"{item.nodeid}\n{reason} ({REQUIRE_VARIABLE}=1 asks for it)"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of a file."""
    _SECONDS[report.location[0]] += report.duration


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the time of each file, the longest first."""
    terminalreporter.section("seconds by file")
    for name, seconds in _SECONDS.most_common():
        terminalreporter.write_line(f"{seconds:7.1f}  {name}")
