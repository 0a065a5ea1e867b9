"""Parquet files with names: every number of the model and of the states, where it belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest
from predicting_worlds import random_answers

from reshuffle.errors import InputError, ReshuffleError, UnknownNameError
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model import exporting

if TYPE_CHECKING:
    from pathlib import Path


def rows(path: Path) -> dict[tuple[object, ...], float]:
    """All columns but the last as the key."""
    table = pq.read_table(path)
    columns = [table.column(name).to_pylist() for name in table.column_names]
    return dict(zip(zip(*columns[:-1], strict=True), columns[-1], strict=True))


def test_matrices_and_weights(tmp_path: Path) -> None:
    facts = KnowledgeGraph([(f"p{n}", "parent", f"p{n + 1}") for n in range(12)])
    small = {"num_slots": 3, "num_layers": 1, "epoch_steps": 1, "max_epochs": 1, "identity": True}
    model = Reshuffle(device="cpu", **small).fit(facts)
    written = model.export(tmp_path / "out")
    assert [path.name for path in written] == ["matrices.parquet", "weights.parquet"]
    found, values = rows(written[0]), model.model.matrices().detach().numpy()
    names = ["parent", "parent^-1", *model.identities]
    assert len(names) == 3
    assert found == {
        (name, row, column): values[number, row, column]
        for number, name in enumerate(names)
        for row in range(3)
        for column in range(3)
    }
    weights = rows(written[1])
    assert set(weights) == {(name, slot) for name in names[:2] for slot in range(3)}
    assert weights["parent^-1", 2] == model.model.slot_weights()[1, 2].item()
    paper = Reshuffle(recipe="paper", device="cpu", num_slots=2, num_layers=1, max_epochs=1).fit(facts)
    assert [path.name for path in paper.export(tmp_path / "paper")] == ["matrices.parquet"]


def test_states_of_entities_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_MOST_ROWS", 40)
    answers = random_answers(1, initial="continuous", num_channels=5)
    (path,) = answers.export(tmp_path)
    found, names = rows(path), list(answers.graph.entities)
    assert pq.ParquetFile(path).num_row_groups > 1
    assert len(found) == answers.states.numel()
    for (name, slot, channel), value in found.items():
        assert value == answers.states[names.index(name), slot, channel].item()


def test_states_of_given_heads(tmp_path: Path) -> None:
    answers = random_answers(1)
    (path,) = answers.export(tmp_path, heads=["x", "y"])
    found = rows(path)
    assert {head for head, _, _ in found} == {"x", "y"}
    assert {entity for head, entity, _ in found if head == "x"} == {"x", "y"}  # nobody else is reached
    assert all(found["x", "x", slot] == 1 for slot in range(3))
    matrix = answers._on_graph.matrices.numpy()
    reached = np.maximum(matrix[0].sum(1), matrix[1].sum(1))
    assert [found["x", "y", slot] for slot in range(3)] == pytest.approx(reached, rel=1e-5)


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(ReshuffleError, match=r"every query has a channel of its own\n  hint: .*given heads"):
        random_answers(1).export(tmp_path)
    with pytest.raises(UnknownNameError, match="unknown entity 'xx'; did you mean 'x'"):
        random_answers(1).export(tmp_path, heads=["xx"])
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be made a directory"):
        random_answers(1).export(tmp_path / "file", heads=["x"])
    assert not list(tmp_path.glob("*.parquet"))
