"""One decorator compiles all kernels, also where nothing can be kept on disk."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import __version__ as version
from numba.core.errors import TypingError

import reshuffle
from reshuffle.compiled import INTERPRETING, SMALL, compiled
from reshuffle.kg.row_kernels import lower_bound
from reshuffle.locks import locked, released

RULES = "r(X, Y) & s(Y, Z) -> t(X, Z)\n"
FACTS = "a\tr\tb\nb\ts\tc\n"


def test_options_reach_the_compiler() -> None:
    @compiled(inline=True, fastmath={"nsz"})
    def twice(number: int) -> int:
        return 2 * number

    assert twice(4) == 8
    options = twice.dispatcher.targetoptions  # type: ignore[attr-defined]
    assert (options["nogil"], options["forceinline"], options["fastmath"]) == (True, True, {"nsz"})


def kernel_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel of a module that nobody has compiled yet."""
    (folder / "kernels.py").write_text(
        "from reshuffle.compiled import compiled\n@compiled\ndef twice(number):\n    return 2 * number\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(folder)
    sys.modules.pop("kernels", None)
    return import_module("kernels").twice


@pytest.mark.parametrize(
    "index",
    [b"", b"damaged", pickle.dumps(version) + b"creshuffle.not_there\nEdges\n."],
    ids=["empty", "cut", "old"],
)
def test_damaged_files_are_made_anew(index: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = kernel_in(tmp_path, monkeypatch)
    assert twice(4) == 8
    (stored,) = tmp_path.rglob("*.nbi")
    good = stored.read_bytes()
    stored.write_bytes(index)
    for hits in (0, 1):  # compiled anew and kept, then found
        del sys.modules["kernels"]
        twice = import_module("kernels").twice
        assert twice(4) == 8
        assert sum(twice.dispatcher.stats.cache_hits.values()) == hits
    assert stored.read_bytes() == good


def test_a_kernel_is_made_anew_where_one_that_it_calls_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of the called kernel is copied into that of the caller, whose own file stays as it is."""
    opening = "from reshuffle.compiled import compiled\n"
    (tmp_path / "outer.py").write_text(
        f"{opening}from inner import factor\n@compiled\ndef times(number):\n    return factor() * number\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    for factor in (2, 300):
        text = f"{opening}@compiled(inline=True)\ndef factor():\n    return {factor}\n"
        (tmp_path / "inner.py").write_text(text, "utf-8")
        for name in ("inner", "outer"):
            sys.modules.pop(name, None)
        assert import_module("outer").times(4) == 4 * factor


TOGETHER = """
import sys, time
from pathlib import Path
from kernels import much
Path(sys.argv[1]).touch()
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
assert much(1) == 300
print(sum(much.dispatcher.stats.cache_hits.values()))
"""


def test_of_two_processes_one_compiles_and_the_other_waits_for_it(tmp_path: Path) -> None:
    body = "".join(f"    if number == {n + 2}:\n        total += number // {n + 7}\n" for n in range(80))
    (tmp_path / "kernels.py").write_text(
        "from reshuffle.compiled import compiled\n"
        f"@compiled\ndef much(number):\n    total = 300\n{body}    return total\n",
        "utf-8",
    )
    paths = [str(tmp_path), *sys.path]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, str(tmp_path / mine), str(tmp_path / other)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for mine, other in (("a", "b"), ("b", "a"))
    ]
    assert sorted(process.communicate(timeout=120)[0] for process in running) == ["0\n", "1\n"]


def test_nobody_waits_for_ever_for_a_process_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = kernel_in(tmp_path, monkeypatch)
    monkeypatch.setattr("reshuffle.machine_code.LONGEST_WAIT", 1.5)
    holding = locked(Path(f"{twice.dispatcher._cache._cache_file._index_path}".removesuffix("nbi") + "lock"))
    assert holding is not None
    started = time.monotonic()
    with released(holding):
        assert twice(4) == 8
    assert 1.5 <= time.monotonic() - started < 30  # it did wait, and gave up
    assert twice.dispatcher._cache._turn is None


LOADED = """
import sys
from reshuffle.cli.main import main
status = main(["-q", "infer", "rules.txt", "facts.tsv"])
print(sorted({"numba", "pandas"} & sys.modules.keys()))
sys.exit(status)
"""


def test_few_facts_are_answered_before_numba_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text(RULES, encoding="utf-8")
    for count, loaded in ((1, "[]"), (3000, "['numba']")):
        lines = sorted(f"a\tt\tc{number}" for number in range(count))
        facts = "a\tr\tb\n" + "".join(f"b\ts\tc{number}\n" for number in range(count))
        (tmp_path / "facts.tsv").write_text(facts, encoding="utf-8")
        ran = subprocess.run(
            [sys.executable, "-c", LOADED], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.splitlines() == [*lines, loaded]


def test_a_kernel_is_compiled_where_arrays_are_large_or_time_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    @compiled(small_in_python=True)
    def first(values: Any) -> Any:
        seen.append(len(values))  # numba could not compile this
        return values[0]

    monkeypatch.setattr(INTERPRETING, "seconds_left", 1.0)
    assert type(first(np.arange(7))) is int
    for large in ((np.arange(SMALL + 1),), ((np.arange(SMALL), np.arange(1)),)):
        with pytest.raises(TypingError):
            first(*large)
    monkeypatch.setattr(INTERPRETING, "seconds_left", 0.0)
    with pytest.raises(TypingError):
        first(np.arange(7))
    assert seen == [7]


def test_what_runs_as_python_uses_time_up_also_where_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(INTERPRETING, "seconds_left", 1.0)

    @compiled(small_in_python=True)
    def slow(values: Any) -> Any:
        time.sleep(0.01)
        return values[7]

    with pytest.raises(IndexError):
        slow(np.arange(7))
    assert 0 < INTERPRETING.seconds_left < 0.99


def test_kernels_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(lower_bound)) is lower_bound  # noqa: S301 - written here


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
        [sys.executable, "-B", "-m", "reshuffle", "infer", "-q", "rules.txt", "facts.tsv"],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(tmp_path), "HOME": nowhere, "XDG_CACHE_HOME": nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "a\tt\tc\n", "")
