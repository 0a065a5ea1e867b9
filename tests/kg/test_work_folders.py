"""Folders to work in and to write to: made alone, never through a link, and nothing of others is removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reshuffle.errors import InputError
from reshuffle.kg.io.files import written_whole
from reshuffle.kg.unfinished_work import folder_beside
from reshuffle.locks import alone_in
from reshuffle.progress import UNHEARD
from reshuffle.reasoning.scaling import data_sets
from reshuffle.reasoning.scaling.data_sets import written_folder

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = hasattr(os, "getuid") and os.getuid() == 0
HEX = "0123abcd"


def run_beside(output: Path) -> None:
    with folder_beside(output, "digest", notes=UNHEARD):
        pass


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    (tmp_path / "precious" / "inner").mkdir(parents=True)
    for name in ("thesis.tex", "run.lock", "inputs.sha256", "inner/data.parquet"):
        (tmp_path / "precious" / name).write_text("mine")
    return tmp_path / "precious"


def content(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


# --- the folder of an unfinished run ------------------------------------------------------------------------------


def _link(work: Path, precious: Path) -> None:
    work.symlink_to(precious)


def _file(work: Path, precious: Path) -> None:
    del precious
    work.write_text("mine")


def _open_to_all(work: Path, precious: Path) -> None:
    del precious
    work.mkdir()
    (work / "run.lock").touch()
    work.chmod(0o777)


def _of_another_user(work: Path, precious: Path) -> None:
    del precious
    if not ROOT:
        pytest.skip("needs the rights to give a folder away")
    work.mkdir(mode=0o755)
    (work / "run.lock").touch()
    os.chown(work, 12345, 12345)


def _not_ours(work: Path, precious: Path) -> None:
    del precious
    work.mkdir(mode=0o755)
    (work / "thesis.tex").write_text("mine")


def _with_a_link(work: Path, precious: Path) -> None:
    work.mkdir(mode=0o755)
    (work / "run.lock").touch()
    (work / "written").symlink_to(precious)


def _with_a_linked_lock(work: Path, precious: Path) -> None:
    work.mkdir(mode=0o755)
    (work / "run.lock").symlink_to(precious / "thesis.tex")


PREPARED: dict[str, Callable[[Path, Path], None]] = {
    "a link": _link,
    "a file": _file,
    "a folder that others may write to": _open_to_all,
    "a folder of another user": _of_another_user,
    "a folder with other things in it": _not_ours,
    "a folder with links in it": _with_a_link,
}


@pytest.mark.parametrize("found", PREPARED)
def test_a_prepared_work_folder_is_refused(found: str, tmp_path: Path, precious: Path) -> None:
    work, before = tmp_path / ".out.unfinished", content(precious)
    PREPARED[found](work, precious)
    there = None if work.is_file() else sorted(os.listdir(work))  # noqa: PTH208 - through a link
    with pytest.raises(InputError, match=f"found {found}, expected a work folder of an unfinished run"):
        run_beside(tmp_path / "out")
    assert content(precious) == before
    assert os.path.lexists(work)
    assert there is None or sorted(os.listdir(work)) == there  # noqa: PTH208


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path, precious: Path) -> None:
    _with_a_linked_lock(tmp_path / ".out.unfinished", precious)
    with pytest.raises(InputError, match="found a folder with links in it"):
        run_beside(tmp_path / "out")
    (precious / "training.lock").symlink_to(tmp_path / "made-by-a-link")
    with (
        pytest.raises(InputError, match=r"training\.lock: found a link, expected a file"),
        alone_in(precious, "training"),
    ):
        pass
    assert not (tmp_path / "made-by-a-link").exists()


def test_the_folder_of_a_run_that_was_cut_off_is_taken_up_and_removed(tmp_path: Path) -> None:
    with pytest.raises(KeyError), folder_beside(tmp_path / "out", "digest", notes=UNHEARD) as work:
        work.keep()
        (work.path / "done").write_text("half")
        raise KeyError
    with folder_beside(tmp_path / "out", "digest", notes=UNHEARD) as work:
        assert (work.path / "done").read_text() == "half"
    assert [*tmp_path.iterdir()] == []


# --- data sets that are replaced ----------------------------------------------------------------------------------


def put(path: Path, text: str) -> None:
    with written_folder(path) as aside:
        (aside / "part-0.parquet").write_text(text)


KILLED = """
import os, sys
from pathlib import Path
from reshuffle.reasoning.scaling import data_sets
if sys.argv[2] == "elsewhere":  # a system that cannot exchange two names
    data_sets.exchanged = lambda one, other: False
rename, seen = Path.rename, []
def second_kills(self, target):
    seen.append(self)
    if len(seen) == 2:
        os._exit(9)
    return rename(self, target)
Path.rename = second_kills
with data_sets.written_folder(sys.argv[1]) as aside:
    (aside / "part-0.parquet").write_text("new")
    if sys.argv[2] == "early":
        os._exit(9)
"""


def kill(path: Path, when: str) -> int:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(path), when]
    return subprocess.run(command, env=environment, check=False).returncode


@pytest.mark.skipif(sys.platform != "linux", reason="no other system exchanges two names")
def test_a_data_set_is_replaced_in_one_step(tmp_path: Path) -> None:
    put(tmp_path / "out", "old")
    assert kill(tmp_path / "out", "here") == 0  # there is no second renaming
    assert (tmp_path / "out" / "part-0.parquet").read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_after_a_kill_between_two_renames_the_old_data_set_comes_back(tmp_path: Path) -> None:
    put(tmp_path / "out", "old")
    assert kill(tmp_path / "out", "elsewhere") == 9
    assert not (tmp_path / "out").exists()
    with pytest.raises(KeyError), written_folder(tmp_path / "out"):
        raise KeyError
    assert (tmp_path / "out" / "part-0.parquet").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_a_data_set_that_is_being_replaced_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else comes between the two renames."""
    put(tmp_path / "out", "old")
    rename, seen = Path.rename, []

    def look(self: Path, target: Path) -> Path:
        seen.append(self.name)
        if len(seen) == 2:
            data_sets._put_back(tmp_path / "out")
        return rename(self, target)

    monkeypatch.setattr(data_sets, "exchanged", lambda _one, _other: False)
    monkeypatch.setattr(Path, "rename", look)
    put(tmp_path / "out", "new")
    assert len(seen) == 2
    assert (tmp_path / "out" / "part-0.parquet").read_text() == "new"


def test_what_a_killed_writer_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path) -> None:
    assert kill(tmp_path / "out", "early") == 9
    (left,) = tmp_path.iterdir()
    with written_folder(tmp_path / "out") as aside:
        (aside / "part-0.parquet").write_text("first")
        assert not left.exists()
        put(tmp_path / "out", "second")
        assert (aside / "part-0.parquet").read_text() == "first"
    assert (tmp_path / "out" / "part-0.parquet").read_text() == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("ending", ["part", "part.old"])
def test_what_others_put_beside_a_data_set_stays(ending: str, tmp_path: Path, precious: Path) -> None:
    before = content(precious)
    (tmp_path / f".out.{HEX}.{ending}").symlink_to(precious / "inner")
    (tmp_path / f".out.{HEX[::-1]}.{ending}").mkdir()
    (tmp_path / f".out.{HEX[::-1]}.{ending}" / "thesis.tex").write_text("mine")
    put(tmp_path / "out", "new")
    assert content(precious) == before
    assert (tmp_path / f".out.{HEX[::-1]}.{ending}" / "thesis.tex").read_text() == "mine"
    assert os.path.islink(tmp_path / f".out.{HEX}.{ending}")  # noqa: PTH114


def test_what_lies_at_the_name_of_a_file_aside_is_not_written_over(
    tmp_path: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where somebody guesses the name."""
    monkeypatch.setattr("secrets.token_hex", lambda _: HEX)
    (tmp_path / f".out.{HEX}.part.tsv").symlink_to(precious / "thesis.tex")
    with pytest.raises(InputError, match="found a link"), written_whole(tmp_path / "out.tsv") as aside:
        aside.write_text("new")
    assert (precious / "thesis.tex").read_text() == "mine"
