"""The suite over all kinds of graphs: finds data sets by their layout, ranks, and goes on where it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from benchmarks import any_graph
from benchmarks.pages import page_with
from tests.datasets import shared_folder

from reshuffle.errors import InputError
from reshuffle.kg import read_graph

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, prefix: str, *, facts: str = "train") -> None:
    """A graph where who is born somewhere speaks what is spoken there, with its parts."""
    chance = np.random.default_rng(1)
    folder.mkdir(parents=True)
    lines: dict[str, list[str]] = {name: [] for name in {facts, "train", "valid", "test"}}
    for place in range(60):
        part = facts if place < 40 else str(chance.choice(["valid", "test"]))
        lines[facts].append(f"{prefix}p{place}\tbornIn\t{prefix}c{place % 3}")
        lines[part].append(f"{prefix}p{place}\tspeaks\t{prefix}t{place % 3}")
    lines["test"].append(f"{prefix}nobody\tspeaks\t{prefix}t0")
    for name, rows in lines.items():
        (folder / f"{name}.txt").write_text("\n".join(rows or lines[facts]) + "\n", encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "data" / "mine", "m")
    write(tmp_path / "data" / "grail" / "other_v1", "o")
    write(tmp_path / "data" / "grail" / "other_v1_ind", "i")
    write(tmp_path / "data" / "ingram" / "new-50", "n", facts="msg")
    monkeypatch.setattr(any_graph, "data_directories", lambda: [tmp_path / "data", tmp_path / "none"])
    return tmp_path


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()][1:]


def test_data_sets_are_told_apart_by_their_layout(data: Path) -> None:
    found = {one.name: one.kind for one in any_graph.data_sets([data / "data", data / "none"])}
    assert found == {"mine": "own", "other_v1": "entities", "new-50": "relations"}


def test_every_kind_is_learned_and_ranked_once(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "rows.jsonl"
    command = ["-o", str(file), "--on", "test", "valid", "--method", "list"]
    assert any_graph.main(command) == 0
    assert "3 of 3: new-50, list, seed 0" in capsys.readouterr().out
    rows = {row["dataset"]: row for row in rows_of(file) if row["on"] == "test"}
    assert len(rows_of(file)) == 6
    assert [row["kind"] for row in rows.values()] == ["own", "entities", "relations"]
    for row in rows.values():
        assert 0.1 < row["pessimistic mrr"] <= row["mrr"] <= 1  # type: ignore[operator]
    assert rows["mine"]["queries"] == rows["other_v1"]["queries"]
    assert rows["new-50"]["facts"] == 100
    assert any_graph.main([*command, "--seeds", "0", "1", "--only", "mine"]) == 0
    assert [row["seed"] for row in rows_of(file)] == [0, 1, 0, 1, 0, 0, 0, 0]
    assert "mine, list, seed 0" not in capsys.readouterr().out


def test_validation_triples_of_other_entities_are_those_of_the_training_graph(data: Path) -> None:
    (cut,) = [one for one in any_graph.data_sets([data / "data"]) if one.kind == "entities"]
    for name in ("train", "valid", "test"):
        (cut.asked / f"{name}.txt").unlink()
    (row,) = any_graph.run([any_graph.Cell("entities", "other_v1", "paths", 0, "valid")], cut)
    assert row["constants"] == 0
    assert row["mrr"] > 0.1


def test_an_unknown_data_set_is_told(data: Path) -> None:
    with pytest.raises(InputError, match="no data set hers") as raised:
        any_graph.main(["--only", "hers", "-o", str(data / "rows.jsonl")])
    assert "those found are mine, new-50, other_v1" in str(raised.value)


def test_new_relations_of_freebase_are_known_to_models_that_learned_from_it() -> None:
    """The page says that 88 % of the test triples of FB-75 are training facts of FB15k-237."""
    known = set(read_graph(shared_folder("FB15k-237") / "train.txt.gz"))
    asked = list(read_graph(shared_folder("ingram/FB-75") / "test.txt"))
    learned = set(read_graph(shared_folder("ingram/FB-75") / "msg.txt"))
    assert round(100 * sum(triple in known for triple in asked) / len(asked)) == 88
    assert not learned.intersection(asked)


def test_the_page_is_made_from_the_stored_rows() -> None:
    content = any_graph.PAGE.read_text("utf-8")
    assert page_with(content, any_graph.made_tables()) == content
