"""The environment of these tests has every extra."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement


def test_every_extra_is_installed() -> None:
    wanted = [Requirement(line) for line in requires("reshuffle") or []]
    for requirement in wanted:
        if requirement.marker is None or requirement.marker.evaluate({"extra": "all"}):
            assert distribution(requirement.name), requirement


CASE = "import pytest\n\n\ndef test_with_a_browser():\n    pytest.skip('there is no Chromium')\n"


@pytest.mark.parametrize(("required", "status", "told"), [("0", 0, "1 skipped"), ("1", 1, "1 failed")])
def test_a_skipped_test_fails_where_systems_are_required(
    required: str, status: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "test_case.py").write_text(CASE)
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "-rs",
        str(tmp_path),
    ]
    given = {**os.environ, "RESHUFFLE_REQUIRE_SYSTEMS": required}
    found = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert found.returncode == status
    assert told in found.stdout
    assert "there is no Chromium" in found.stdout
    assert "test_case.py" in found.stdout.partition("seconds by file")[2]
