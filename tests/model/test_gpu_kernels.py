"""The Triton kernels against the numba ones: on a GPU where there is one, else in Triton's interpreter."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from reshuffle.model.kernels import cpu

SCRIPT = Path(__file__).with_name("gpu_against_cpu.py")


def outcome(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since Triton decides at import whether it interprets."""
    return subprocess.run(
        [sys.executable, str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_triton_and_numba_agree() -> None:
    if find_spec("triton") is None:
        pytest.skip("triton is not installed; it comes with torch's CUDA builds")
    found = outcome({} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"})
    if (
        "only integer scalar arrays can be converted" in found.stderr
        or "can only be converted" in found.stderr
    ):
        pytest.skip("this Triton's interpreter does not work with this numpy: range() over a tensor")
    assert (found.returncode, found.stdout) == (0, "agree\n"), found.stderr


def functions_of(path: Path) -> set[str]:
    """Those that a module defines or takes from a neighbour; without Triton it cannot be imported."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reshuffle.model.kernels."):
            neighbour = path.with_name(f"{(node.module or '').rpartition('.')[2]}.py")
            found |= {alias.name for alias in node.names} & functions_of(neighbour)
    return found


def test_both_have_the_same_functions() -> None:
    public = [
        name for name, value in vars(cpu).items() if callable(value) and value.__module__ == cpu.__name__
    ]
    shared = {name for name in public if not name.startswith("_")}
    assert len(shared) == 9
    assert shared <= functions_of(Path(cpu.__file__).with_name("gpu.py"))
