"""One decorator compiles all kernels, also where nothing can be kept on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import reshuffle
from reshuffle.compiled import compiled

RULES = "r(X, Y) & s(Y, Z) -> t(X, Z)\n"
FACTS = "a\tr\tb\nb\ts\tc\n"


def test_options_reach_the_compiler() -> None:
    @compiled(inline=True, fastmath={"nsz"})
    def twice(number: int) -> int:
        return 2 * number

    assert twice(4) == 8
    options = twice.targetoptions  # type: ignore[attr-defined]
    assert (options["nogil"], options["forceinline"], options["fastmath"]) == (True, True, {"nsz"})


def test_infer_where_no_cache_can_be_written(tmp_path: Path) -> None:
    """`__pycache__` is a file in the copy and the home is none, so that numba finds no place even for root."""
    package = tmp_path / "reshuffle"
    shutil.copytree(
        Path(reshuffle.__file__).parent,
        package,
        ignore=shutil.ignore_patterns("__pycache__", "model", "learning"),
    )
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    (tmp_path / "rules.txt").write_text(RULES, encoding="utf-8")
    (tmp_path / "facts.tsv").write_text(FACTS, encoding="utf-8")
    nowhere = str(tmp_path / "rules.txt" / "home")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ran = subprocess.run(
        [sys.executable, "-B", "-m", "reshuffle", "infer", "rules.txt", "facts.tsv"],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(tmp_path), "HOME": nowhere, "XDG_CACHE_HOME": nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "a\tt\tc\n", "")
