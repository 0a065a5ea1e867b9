"""Shares of work, and steps in pieces; `integrations/test_torchrun.py` has real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from reshuffle.cli.main import main
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.team import ALONE, Team, joined_team
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.trainer import Trainer

if TYPE_CHECKING:
    from pathlib import Path

FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(20)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(19)]
)


def trainer(*, pieces: int = 1, **changes: Any) -> Trainer:
    small = {"num_slots": 3, "num_layers": 2, "batch_size": 10, "epoch_steps": 3, "max_epochs": 1}
    settings = Reshuffle(device="cpu", **{"recipe": "best-0.1", **small, **changes}).settings
    data = examples_of(FACTS, None, seed=1)[1]
    return Trainer(data, settings.architecture, settings.training, device=torch.device("cpu"), pieces=pieces)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_row_is_in_one_share(size: int) -> None:
    for count in range(20):
        rows = [row for rank in range(size) for row in range(count)[Team(rank, size).rows(count)]]
        assert rows == list(range(count))
    assert all(len(range(size)[Team(rank, size).rows(size)]) for rank in range(size))


def test_without_torchrun_a_process_is_alone() -> None:
    with joined_team("cpu", {}) as (team, device):
        assert (team, device) == (ALONE, "cpu")
        assert team.told(b"checkpoint") == b"checkpoint"


def test_a_piece_hides_its_own_targets_alone() -> None:
    whole, parts = trainer(), trainer(pieces=2)
    batch = whole._batches()[0]
    first, second = (whole.loss(piece).detach() for piece in batch.chunk(2))
    loss = parts._plain_step(batch)
    assert float(loss) == pytest.approx(float((first + second) / 2))
    assert float(loss) != pytest.approx(float(whole._plain_step(batch)), rel=1e-4)


def test_pieces_draw_from_generators_of_their_own() -> None:
    # Otherwise a process would have to draw all that others draw before it.
    one, other = (trainer(pieces=pieces, drop_facts=0.5) for pieces in (2, 5))
    for each in (one, other):
        for batch in each._batches():
            each._plain_step(batch)
    assert torch.equal(one.generator.get_state(), other.generator.get_state())
    assert one.chance is one.generator


def test_pieces_are_at_least_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "no.tsv", "-o", str(tmp_path / "model"), "--pieces", "0"])
    assert "--pieces: at least one" in capsys.readouterr().err


def test_what_processes_cannot_share_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["data", "list"]) == 2
    assert capsys.readouterr().err == (
        "several processes cannot share the work of `data`\n"
        "  hint: run it without torchrun, which is for train, evaluate, predict of soft models\n"
    )
