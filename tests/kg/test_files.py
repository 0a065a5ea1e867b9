"""Output files are written whole or not at all."""

from __future__ import annotations

import os
import threading

import pytest

from reshuffle.errors import InputError
from reshuffle.kg import written_whole
from reshuffle.kg.files import find_source


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
