"""Output files are written whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import threading

import pytest

from reshuffle.errors import InputError
from reshuffle.kg import written_whole
from reshuffle.kg.io.files import check_writable, find_source


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path, failure):
    target = tmp_path / "out.tsv"
    target.write_text("before")
    with pytest.raises(failure), written_whole(target) as aside:
        aside.write_text("half")
        raise failure
    assert target.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["out.tsv"]


def test_it_appears_at_the_end(tmp_path):
    target = tmp_path / "out.tsv"
    with written_whole(target) as aside:
        aside.write_text("whole")
        assert aside.suffix == ".tsv"
        assert not target.exists()
    assert target.read_text() == "whole"


def test_links_and_devices_stay(tmp_path):
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with written_whole(tmp_path / "link.txt") as aside:
        aside.write_text("after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "after"
    with written_whole(os.devnull) as aside:
        aside.write_text("gone")
    assert not os.path.isfile(os.devnull)  # noqa: PTH113 - a device, not a file


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path, expected in {
        ".": ".: found a directory, expected the name of a file to write\n  hint: add a file name to the path",
        "no/out.tsv": "no/out.tsv: cannot be written: the directory 'no' does not exist\n"
        "  hint: make the directory first, or name another",
    }.items():
        with pytest.raises(InputError) as caught, written_whole(path):
            pass
        assert str(caught.value) == expected


def test_a_named_pipe_can_be_read_again(tmp_path):
    pipe = tmp_path / "pipe.tsv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a\tr\tb\n",), daemon=True)
    writer.start()
    source = find_source(pipe)
    writer.join(timeout=120)
    assert not writer.is_alive()
    for _ in range(2):
        with source.open(lambda _bytes: None) as stream:
            assert stream.read() == b"a\tr\tb\n"


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_new_file_gets_what_the_umask_allows(tmp_path, umask):
    with written_whole(tmp_path / "new") as aside:
        aside.touch(mode=0o600)  # as some libraries make theirs
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_replaced_hands_on_its_mode(tmp_path, umask):
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(0o664)
    with written_whole(tmp_path / "old") as aside:
        aside.touch(mode=0o600)
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o664


def test_asking_whether_a_file_can_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_writable("new.csv", endings=(".csv", ".tsv"))
    check_writable(os.devnull)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError) as caught:
        check_writable("new.xls", endings=(".csv", ".tsv"))
    assert str(caught.value) == (
        "new.xls: found the ending '.xls', expected one of .csv, .tsv\n  hint: the ending names the format"
    )
    # Root may write anywhere, so that the system's answer is made up.
    monkeypatch.setattr(os, "access", lambda *_: False)
    (tmp_path / "old.csv").touch()
    for name in ("new.csv", "old.csv"):  # what is replaced is not written to: its directory is
        with pytest.raises(InputError, match=f"{name}: cannot be written: no permission to write in '.'"):
            check_writable(name)


KILLED = """
import os, signal, sys
from reshuffle.kg import written_whole
with written_whole(sys.argv[1]) as aside:
    aside.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path):
    target = tmp_path / "out.tsv"
    target.write_text("before")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = set(tmp_path.iterdir()) - {target}
    assert (left.read_text(), target.read_text()) == ("half", "before")
    others = [".out.12345678.part.csv", ".out.notes.part.tsv", ".outer.12345678.part.tsv"]
    for name in others:
        (tmp_path / name).touch()
    with written_whole(target) as aside:
        aside.write_text("after")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*others, "out.tsv"])


def test_what_a_living_process_writes_stays(tmp_path):
    target = tmp_path / "out.tsv"
    with written_whole(target) as slow:
        slow.write_text("slow")
        with written_whole(target) as quick:
            quick.write_text("quick")
        assert target.read_text() == "quick"
    assert target.read_text() == "slow"
    assert [file.name for file in tmp_path.iterdir()] == ["out.tsv"]


def test_a_file_is_on_the_disk_before_it_has_its_name_and_the_name_after(tmp_path, monkeypatch):
    target, seen, real = tmp_path / "out.tsv", [], os.fsync

    def watched(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append((kind, target.exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    with written_whole(target) as aside:
        aside.write_text("whole")
        assert not seen
    assert seen == [("file", False), ("folder", True)]


@pytest.fixture
def small_files():
    """No file may grow beyond some bytes: a full disk, for those who write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_without_room_the_error_names_the_file_and_the_old_one_stays(tmp_path, small_files):
    target = tmp_path / "out.tsv"
    target.write_text("before")
    small_files(1000)
    with pytest.raises(InputError) as caught, written_whole(target) as aside:
        aside.write_bytes(bytes(2000))
    assert str(caught.value) == (
        f"{target}: cannot be written: File too large\n"
        "  hint: free some disk space, and run it again; existing output is unchanged"
    )
    assert target.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["out.tsv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")  # noqa: PTH110
def test_a_full_device_is_told(capsys):
    with (
        pytest.raises(
            InputError, match=r"^/dev/full: cannot be written: No space left on device\n  hint: free"
        ),
        written_whole("/dev/full") as full,
    ):
        full.write_bytes(bytes(10_000))


def test_other_failures_are_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(FileNotFoundError), written_whole(tmp_path / "out.tsv"):
        (tmp_path / "missing").read_text()
