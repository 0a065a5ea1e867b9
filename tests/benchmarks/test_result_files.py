"""Result files: rows one per line, written whole, by several processes at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from benchmarks.cells import Bench
from benchmarks.paper import FOLDER
from benchmarks.result_files import RESULTS, ROOT, Results, changed_results, read_results, write_results

from reshuffle.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_and_how_they_were_made_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    assert read_results(path) == Results()
    made = Results({"command": "é"}, [{"a": 1.5}, {"a": None, "b": [1, {"c": 2}]}])
    write_results(path, made)
    assert read_results(path) == made
    assert [len(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] == [1, 1, 2]


def test_a_line_that_was_cut_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_results(path, Results({"command": "c"}, [{"a": 1}, {"a": 22}]))
    path.write_text(path.read_text()[:-4])
    with pytest.raises(InputError) as caught:
        read_results(path)
    assert str(caught.value) == (
        f"{path}:3: not JSON, or cut short: Expecting value: line 1 column 7 (char 6)\n"
        "  hint: remove the line, and run again the command that made the file"
    )


def test_a_change_that_fails_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_results(path, Results(rows=[{"a": 1}]))
    with pytest.raises(KeyboardInterrupt), changed_results(path) as results:
        results.rows.clear()
        raise KeyboardInterrupt
    assert read_results(path).rows == [{"a": 1}]
    assert list(tmp_path.iterdir()) == [path]


ADD = """
import sys
from pathlib import Path
from benchmarks.result_files import changed_results
for turn in range(10):
    with changed_results(Path(sys.argv[1])) as results:
        results.rows.append({"process": int(sys.argv[2]), "turn": turn})
"""


def test_several_processes_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    commands = [[sys.executable, "-c", ADD, str(path), str(number)] for number in range(3)]
    running = [subprocess.Popen(command, cwd=ROOT) for command in commands]
    assert [process.wait() for process in running] == [0, 0, 0]
    found = [(row["process"], row["turn"]) for row in read_results(path).rows]
    assert sorted(found) == [(number, turn) for number in range(3) for turn in range(10)]


@pytest.mark.parametrize("name", ["paper.jsonl", "paper", "."])
def test_stored_cells_are_found_by_folder_and_by_file(name: str) -> None:
    bench = Bench(FOLDER, RESULTS / name)
    assert bench.exists
    assert bench.file == RESULTS / "paper.jsonl"


def test_stored_cells_are_sorted_and_each_is_there_once() -> None:
    for name in ("paper.jsonl", "gpu.jsonl"):
        rows = read_results(RESULTS / name).rows
        names = [f"{r['dataset']}.{r['recipe']}.{r['variant']}.{r['seed']}" for r in rows]
        assert names == sorted(set(names))


def test_the_readme_leads_to_every_result_and_every_page() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in RESULTS.glob("*.json*"):
        assert f"`{path.name}`" in text
    pages = re.findall(r"^\| `([\w./-]+\.md)`", text, flags=re.MULTILINE)
    assert len(pages) >= 10
    for page in pages:
        assert (ROOT / "docs" / page).is_file()
        names = re.findall(r"<!-- (.+): begin -->", (ROOT / "docs" / page).read_text(encoding="utf-8"))
        assert all(f"`{name}`" in text or f"`{name.split()[0]} ...`" in text for name in names)
