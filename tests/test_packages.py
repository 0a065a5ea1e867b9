"""Optional packages are loaded in one place, which knows the extra that brings each."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import reshuffle
from reshuffle.errors import MissingPackageError
from reshuffle.packages import EXTRAS, package, require
from reshuffle.reasoning.scaling.duckdb_database import memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(reshuffle.__file__).parent
PROJECT = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "extra"), EXTRAS.items())
def test_the_extra_brings_the_package(name: str, extra: str) -> None:
    listed = re.search(rf"^{extra} = (\[.*?\])$", PROJECT, re.M | re.S)
    assert listed is not None
    assert name.replace("_", "-") in re.findall(r'"([\w-]+)', listed[1])


@pytest.mark.parametrize("name", EXTRAS)
def test_a_missing_package_is_one_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    for load in (package, require):
        with pytest.raises(MissingPackageError) as error:
            load(name)
        assert str(error.value).startswith(f"this needs {name}, which is not installed")
        assert f"[{EXTRAS[name]}]" in str(error.value)


def test_duckdb_without_its_companion_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(MissingPackageError, match="this needs psutil"):
        memory_limit(None)


def called_loaders(path: Path) -> Iterator[str]:
    """Imports by name that a module does itself, but for parts of this library."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "import_module",
            "find_spec",
            "__import__",
        ):
            given = ast.unparse(node.args[0])
            if "reshuffle." not in given and given != "_HOME[name]":
                yield f"{path.relative_to(SOURCE)}: {ast.unparse(node)}"


def test_nothing_else_loads_packages_by_name() -> None:
    found = [call for path in SOURCE.rglob("*.py") for call in called_loaders(path)]
    assert all(call.startswith("packages.py") for call in found)
    assert found
