"""Decisions about links: what counts, what a kill leaves, several writers, files that somebody edited."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from reshuffle.errors import InputError
from reshuffle.explorer.decisions import KINDS, Decisions, read_decisions
from reshuffle.kg import Triple

if TYPE_CHECKING:
    from pathlib import Path

ONE, OTHER = Triple("ada", "speaks", "english"), Triple("bob", "speaks", "français")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "links.decisions.jsonl"


def test_the_last_decision_counts_and_survives(file: Path) -> None:
    made = Decisions(file)
    assert made.counts() == dict.fromkeys(KINDS, 0) and not file.exists()
    made.add(ONE, "postpone", "a1")
    made.add(OTHER, "reject", "a1")
    made.add(ONE, "accept", "a2")
    for found in (made, read_decisions(file)):
        assert found.counts() == {"accept": 1, "reject": 1, "postpone": 0}
        assert list(found.standing()) == [OTHER, ONE]
        assert found.standing()[ONE].model == "a2"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["decision"] for line in lines] == ["postpone", "reject", "accept"]
    assert set(lines[0]) == {"head", "relation", "tail", "decision", "time", "model"}


def test_undo_goes_back_one_decision_at_a_time(file: Path) -> None:
    made = Decisions(file)
    made.add(ONE, "reject")
    made.add(ONE, "accept")
    made.add(OTHER, "reject")
    undone = made.undo(ONE)
    assert undone is not None and undone.decision == "accept"
    assert made.standing()[ONE].decision == "reject"
    assert read_decisions(file).counts() == {"accept": 0, "reject": 2, "postpone": 0}
    assert [made.undo().triple for _ in range(2)] == [OTHER, ONE]  # type: ignore[union-attr]
    assert made.undo() is None and made.undo(ONE) is None
    assert read_decisions(file).standing() == {}
    assert len(file.read_text().splitlines()) == 6  # nothing is ever taken out of the file


def test_a_line_that_was_cut_off_is_removed_by_the_next_one(file: Path) -> None:
    Decisions(file).add(ONE, "accept")
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"head": "bob", "rel')
    found = read_decisions(file)
    assert list(found.standing()) == [ONE]
    found.add(OTHER, "reject")
    assert file.read_bytes().startswith(whole) and len(file.read_bytes().splitlines()) == 2
    assert list(read_decisions(file).standing()) == [ONE, OTHER]


def test_threads_and_servers_lose_nothing(file: Path) -> None:
    servers = [Decisions(file) for _ in range(2)]

    def decide(number: int) -> None:
        servers[number % 2].add(Triple(f"e{number}", "r", "t"), KINDS[number % 3])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(decide, range(60)))
    wanted = {Triple(f"e{number}", "r", "t"): KINDS[number % 3] for number in range(60)}
    for found in (*servers, read_decisions(file)):
        assert {triple: one.decision for triple, one in found.standing().items()} == wanted


def test_what_was_answered_is_there_after_a_kill(file: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from reshuffle.kg import Triple\n"
        "from reshuffle.explorer.decisions import Decisions\n"
        "made = Decisions(Path(sys.argv[1]))\n"
        "for number in range(10**6):\n"
        "    made.add(Triple(f'e{number}', 'r', 't'), 'accept'); print(number, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        while int(process.stdout.readline()) < 20:
            pass
        os.kill(process.pid, signal.SIGKILL)
        told = [20, *map(int, process.stdout.read().splitlines())]
        process.wait()
    found = read_decisions(file)
    assert found.counts()["accept"] >= told[-1] + 1
    found.add(ONE, "reject")
    assert read_decisions(file).counts()["reject"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "found a line that is no JSON"),
        ("[" * 100_000, "found a line that is no JSON"),
        ('["accept"]', "found a line that is no decision"),
        (
            '{"head": "a", "relation": 3, "tail": "b", "decision": "accept"}',
            "found a line that is no decision",
        ),
        ('{"head": "a", "relation": "r", "tail": "b", "decision": "maybe"}', "found the decision 'maybe'"),
    ],
)
def test_an_edited_file_is_refused_with_its_line(file: Path, line: str, message: str) -> None:
    Decisions(file).add(ONE, "accept")
    with file.open("a") as more:
        more.write(line + "\n")
    with pytest.raises(InputError, match=message) as caught:
        read_decisions(file)
    assert str(caught.value).startswith(f"{file}:2: ")


def test_other_decisions_missing_files_and_links_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found the decision 'maybe'"):
        Decisions(file).add(ONE, "maybe")
    with pytest.raises(InputError, match="there is no file of decisions"):
        read_decisions(file)
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="found a link"):
        Decisions(file).add(ONE, "accept")
    assert not (tmp_path / "elsewhere").exists()
