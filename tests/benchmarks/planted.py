"""Defects that are planted in the library, to see that the attack finds them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from benchmarks.attack.worker import outcome

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def found(part: str, case: dict[str, Any]) -> str:
    """What a part of the attack says about a case; it must find something."""
    failure = outcome(part, case).failure
    assert failure is not None, "the attack has not seen the defect"
    return failure


def plant(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    """Run this code at the start of every Python that is started from now on."""
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", path)
