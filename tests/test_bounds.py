"""The tests of the kernels once more, with every index checked: a kernel that leaves its arrays fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PARTS = ("reasoning", "kg", "rules", "extraction", "rulelist", "model")


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_kernels_stay_within_their_arrays(part: str, tmp_path: Path) -> None:
    """Compiled anew into a folder of their own: machine code on disk does not say whether it checks."""
    checking = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "HYPOTHESIS_PROFILE": "few"}
    command = [sys.executable, "-m", "pytest", str(TESTS / part), "-m", "not slow", "-n", "2", "-q"]
    ran = subprocess.run(
        command, cwd=TESTS.parent, env=os.environ | checking, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-1_000:]


def test_an_index_beyond_the_end_is_found(tmp_path: Path) -> None:
    program = (
        "import numpy as np\nfrom reshuffle.kg.row_kernels import lower_bound\n"
        "lower_bound(np.arange(4, dtype=np.int32), 0, 1_000, 7)\n"
    )
    checking = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | checking,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "IndexError" in ran.stderr
