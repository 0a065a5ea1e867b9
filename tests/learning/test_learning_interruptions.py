"""A training that is stopped or killed at any moment loses nothing but the last moments, and goes on bit by bit."""

from __future__ import annotations

import csv
import random
import resource
import shutil
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch

from processes import Running, slowly
from reshuffle.cli.main import main
from reshuffle.errors import InputError, Terminated
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.training import saving
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.loop import run_training
from reshuffle.learning.training.saving import CHECKPOINT, Saving, StopRequest, stop_requests
from reshuffle.learning.training.trainer import Trainer
from reshuffle.locks import alone_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(20)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(19)]
)
PAPER = {
    "recipe": "paper",
    "num_slots": 4,
    "num_channels": 6,
    "num_layers": 2,
    "num_negatives": 5,
    "batch_size": 32,
    "look_every": 2,
    "max_epochs": 3,
}
BEST = {
    "recipe": "best",
    "num_slots": 4,
    "num_layers": 2,
    "epoch_steps": 3,
    "batch_size": 16,
    "look_every": 1,
    "max_epochs": 3,
    "drop_facts": 0.3,
}
KINDS = {
    "paper": {**PAPER, "redraw": "call"},
    "paper, one draw": {**PAPER, "redraw": "once"},
    "best": BEST,
    "looks in pieces": {**PAPER, "look_every": 1},
}


def trainer(**changes: Any) -> Trainer:
    settings = Reshuffle(device="cpu", **changes).settings
    data = examples_of(FACTS, None, seed=settings.training.seed)[1]
    one = Trainer(data, settings.architecture, settings.training, device=torch.device("cpu"))
    one.objective.at_once = 2  # six queries: three pieces a look
    return one


def all_tensors(one: Trainer) -> dict[str, torch.Tensor]:
    """Everything that could differ."""
    found = {f"model.{name}": value for name, value in one.model.state_dict().items()}
    found |= {f"best.{name}": value for name, value in one.best.items()}
    for index, moments in one.optimizer.state_dict()["state"].items():
        found |= {f"adam.{index}.{name}": value for name, value in moments.items()}
    return found | {"generator": one.generator.get_state(), "draw": one.draw_state}


def assert_same(one: Trainer, other: Trainer) -> None:
    assert (one.history, one.patience) == (other.history, other.patience)
    found, expected = all_tensors(one), all_tensors(other)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


class CutError(Exception):
    """Ends a training."""


def saved_after(pieces: int, path: Path, **changes: Any) -> bool:
    """Train until so many pieces of work are done, and save; False where the training ends sooner."""
    one, done = trainer(**changes), []

    def count() -> None:
        done.append(1)
        if len(done) == pieces:
            save_checkpoint(one, path)
            raise CutError

    one.between_pieces = count
    try:
        run_training(one)
    except CutError:
        return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_resuming_from_any_step_equals_never_having_stopped(kind: str, tmp_path: Path) -> None:
    changes, path, pieces = KINDS[kind], tmp_path / CHECKPOINT, 0
    whole = trainer(**changes)
    run_training(whole)
    while saved_after(pieces + 1, path, **changes):
        pieces += 1
        resumed = trainer(**changes)
        load_checkpoint(resumed, path)
        run_training(resumed)
        assert_same(resumed, whole)
    # Pieces of steps and of looks, and the end of each epoch.
    looks = sum(epoch.hits_at_10 is not None for epoch in whole.history.epochs)
    assert pieces == 3 * whole.steps_per_epoch + 3 * looks + 3


def test_the_loss_of_an_epoch_that_was_cut_counts_all_its_steps(tmp_path: Path) -> None:
    assert saved_after(2, tmp_path / CHECKPOINT, **BEST)
    one = trainer(**BEST)
    load_checkpoint(one, tmp_path / CHECKPOINT)
    assert one.underway is not None
    assert (one.underway.steps, len(one.history.epochs)) == (2, 0)
    assert float(one.underway.total) > 0


def test_without_the_rest_of_an_epoch_the_last_whole_one_is_kept(tmp_path: Path) -> None:
    changes = {**PAPER, "look_every": 100}
    assert saved_after(
        2 * (3 + 1) + 1, tmp_path / CHECKPOINT, **{**changes, "max_epochs": 9}
    )  # the first step of epoch 3
    resumed = trainer(**{**changes, "max_epochs": 9})
    load_checkpoint(resumed, tmp_path / CHECKPOINT)
    done = len(resumed.history.epochs)
    assert done and resumed.underway is not None
    kept = trainer(**{**changes, "max_epochs": done})
    load_checkpoint(kept, tmp_path / CHECKPOINT)
    run_training(kept)
    other = trainer(**{**changes, "max_epochs": 9})
    for epoch in other.epochs():
        if epoch.number == done:
            break
    assert torch.equal(kept.model.matrices.logits, other.model.matrices.logits)
    assert not torch.equal(kept.model.matrices.logits, resumed.model.matrices.logits)


# --- by time ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_comes_by_time_within_an_epoch(tmp_path: Path) -> None:
    one, path, seen = trainer(**BEST), tmp_path / CHECKPOINT, []
    keeper = Saving(one, path, StopRequest(), seconds_between=0)
    real = one.between_pieces
    assert real == keeper.save_or_stop

    def watched() -> None:
        real()
        fresh = trainer(**BEST)
        load_checkpoint(fresh, path)
        seen.append((len(fresh.history.epochs), fresh.underway.steps if fresh.underway else 0))

    one.between_pieces = watched
    next(one.epochs())
    assert seen == [(0, 1), (0, 2), (0, 3), (0, 3), (0, 3), (0, 3)]


def test_checkpoints_are_at_most_a_minute_apart_and_not_written_at_every_step(tmp_path: Path) -> None:
    one, path = trainer(**BEST), tmp_path / CHECKPOINT
    assert 10 <= saving.SECONDS_BETWEEN <= 60
    keeper = Saving(one, path, StopRequest())
    keeper.save_or_stop()
    assert not path.exists()
    keeper._saved -= saving.SECONDS_BETWEEN
    keeper.save_or_stop()
    assert path.exists()


def test_a_state_that_diverges_does_not_replace_a_good_one(tmp_path: Path) -> None:
    one, path = trainer(**BEST), tmp_path / CHECKPOINT
    request = StopRequest()
    keeper = Saving(one, path, request, seconds_between=0)
    keeper.save_or_stop()
    before = path.read_bytes()
    with torch.no_grad():
        one.model.matrices.logits[0, 0, 0] = torch.nan
    keeper.save_or_stop()
    assert path.read_bytes() == before
    request.number = signal.SIGINT
    with pytest.raises(KeyboardInterrupt):
        keeper.save_or_stop()
    assert path.read_bytes() == before


# --- signals ------------------------------------------------------------------------------------------------------


@pytest.fixture
def usual_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def fitted(directory: Path, **options: Any) -> Reshuffle:
    return Reshuffle(device="cpu", **BEST).fit(FACTS, directory=directory, **options)


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_signal_in_the_first_step_stops_with_a_checkpoint_of_it(
    number: int,
    expected: type[BaseException],
    usual_signals: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = Trainer._step

    def signalled(one: Trainer, batch: torch.Tensor) -> torch.Tensor:
        signal.raise_signal(number)
        return step(one, batch)

    with monkeypatch.context() as patched, pytest.raises(expected):
        patched.setattr(Trainer, "_step", signalled)
        fitted(tmp_path / "cut")
    one = trainer(**BEST)
    load_checkpoint(one, tmp_path / "cut" / CHECKPOINT)
    assert one.underway is not None and one.underway.steps == 1
    cut, whole = fitted(tmp_path / "cut", resume=True), fitted(tmp_path / "whole")
    assert cut.history == whole.history
    for name, value in whole.model.state_dict().items():
        assert torch.equal(cut.model.state_dict()[name], value)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_ctrl_c_stops_at_once(
    usual_signals: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after: list[str] = []

    def impatient(_one: Trainer, _batch: torch.Tensor) -> torch.Tensor:
        signal.raise_signal(signal.SIGINT)
        after.append("first")
        signal.raise_signal(signal.SIGINT)
        after.append("second")
        raise AssertionError

    monkeypatch.setattr(Trainer, "_step", impatient)
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path)
    assert after == ["first"]
    assert not (tmp_path / CHECKPOINT).exists()


def test_signals_that_a_program_has_its_own_way_with_stay(usual_signals: None) -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with stop_requests() as request:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert (heard, request.number) == ([signal.SIGINT], None)


def test_without_a_directory_ctrl_c_is_as_ever(usual_signals: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def signalled(_one: Trainer, _batch: torch.Tensor) -> torch.Tensor:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError

    monkeypatch.setattr(Trainer, "_step", signalled)
    with pytest.raises(KeyboardInterrupt):
        Reshuffle(device="cpu", **BEST).fit(FACTS)


# --- the command line, in processes of their own ---------------------------------------------------------------------

LONG = ["max_epochs=4", "epoch_steps=15", "num_slots=4", "num_layers=2", "look_every=2", "batch_size=16"]


def trained_slowly(argv: list[str]) -> object:
    saving.SECONDS_BETWEEN = 0.02
    return slowly(main, argv)


@pytest.fixture
def facts(tmp_path: Path) -> str:
    return written(tmp_path / "facts.tsv")


def written(path: Path) -> str:
    path.write_text("".join("\t".join(triple) + "\n" for triple in FACTS), encoding="utf-8")
    return str(path)


def command(facts: str, directory: Path, *more: str) -> list[str]:
    settings = [part for setting in LONG for part in ("--set", setting)]
    return ["train", facts, "-o", str(directory), "--device", "cpu", *more, *settings]


def started(facts: str, directory: Path, *more: str) -> Running:
    return Running(trained_slowly, command(facts, directory, *more))


def wait_for(path: Path, running: Running) -> None:
    while running.is_alive and not path.exists():
        time.sleep(0.005)
    assert running.is_alive


def finished(facts: str, directory: Path, *more: str) -> None:
    assert main(command(facts, directory, *more)) == 0


def log_of(directory: Path) -> list[list[str]]:
    with (directory / "log.csv").open(newline="", encoding="utf-8") as file:
        return [row[:-1] for row in csv.reader(file)]


def assert_same_model(one: Path, other: Path) -> None:
    for file in ("model.safetensors", "settings.toml"):
        assert (one / file).read_bytes() == (other / file).read_bytes()
    assert log_of(one) == log_of(other)
    assert [path.name for path in one.iterdir() if path.name.startswith(".")] == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    finished(written(folder / "facts.tsv"), folder / "model")
    return folder / "model"


@pytest.mark.parametrize(
    ("number", "status", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_training_that_is_told_to_stop(
    number: int, status: int, word: str, facts: str, whole: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    running = started(facts, cut)
    wait_for(cut / CHECKPOINT, running)
    running.send(number)
    said = f"the same command with --resume goes on from the last checkpoint\n{word}\n"
    assert running.ended() == (status, said)
    assert not (cut / "training.lock").exists()
    finished(facts, cut, "--resume")
    assert_same_model(cut, whole)


def test_kills_at_random_moments(facts: str, whole: Path, tmp_path: Path) -> None:
    cut, chance = tmp_path / "cut", random.Random(5)
    for kill in range(3):
        running = started(facts, cut, *(["--resume"] if kill else []))
        wait_for(cut / "training.lock" if not kill else cut / CHECKPOINT, running)
        if kill:
            time.sleep(chance.uniform(0.1, 1.5))  # while it starts, trains or saves
        else:
            wait_for(cut / CHECKPOINT, running)
        status = running.killed()
        if status == 0:  # it was quicker
            break
        assert status == -signal.SIGKILL
    finished(facts, cut, "--resume")
    assert_same_model(cut, whole)


def test_two_trainings_in_one_directory(
    facts: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "place"
    first = started(facts, place)
    wait_for(place / CHECKPOINT, first)
    first.send(signal.SIGSTOP)
    for more in ([], ["--resume"]):
        assert main(command(facts, place, *more)) == 2
        assert capsys.readouterr().err == (
            f"{place}: another training uses this directory\n"
            "  hint: wait until it ends, or name another directory\n"
        )
    first.send(signal.SIGCONT)
    first.killed()  # its lock ends with it
    finished(facts, place, "--resume")
    assert_same_model(place, whole)


# --- the log ------------------------------------------------------------------------------------------------------


def test_a_log_that_was_cut_anywhere_follows_the_checkpoint(tmp_path: Path) -> None:
    def followed() -> bytes:
        run_training(trainer(**BEST), directory=tmp_path, resume=True)
        return path.read_bytes()

    run_training(trainer(**BEST), directory=tmp_path)
    path = tmp_path / "log.csv"
    content = path.read_bytes()
    last = content.rindex(b"\n3,") + 1
    for cut in (0, 5, *range(last, len(content))):
        path.write_bytes(content[:cut])
        assert followed() == content, cut
    for damaged in (b"\xff\xfe", content.replace(b"3,", b"3,,"), content + content):
        path.write_bytes(damaged)
        assert followed() == content


def test_a_directory_in_use_is_told_before_the_facts_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with alone_in(tmp_path, "training"):
        assert main(["train", "missing.tsv", "-o", str(tmp_path)]) == 2
        assert "another training uses this directory" in capsys.readouterr().err
        with pytest.raises(InputError, match="another training uses this directory"):
            fitted(tmp_path)
    assert not list(tmp_path.iterdir())


# --- a full disk --------------------------------------------------------------------------------------------------


def trained_on_a_full_disk(most: int, argv: list[str]) -> int:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    return main(argv)


QUICK = ["max_epochs=3", "epoch_steps=2", "num_slots=3", "schedule=constant", "look_every=3"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `facts.tsv` and a trained model, `place`."""
    folder = tmp_path_factory.mktemp("trained")
    written(folder / "facts.tsv")
    assert main(quick_command(folder)) == 0
    return folder


def quick_command(folder: Path) -> list[str]:
    settings = [part for setting in QUICK for part in ("--set", setting)]
    return ["train", str(folder / "facts.tsv"), "-o", str(folder / "place"), "--device", "cpu", *settings]


def model_files(place: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in place.iterdir() if path.suffix in {".safetensors", ".toml"}
    }


@pytest.mark.parametrize(
    ("most", "files"),
    # TensorBoard writes when it likes.
    [(20, ("log.csv",)), (300, ("log.csv", "tensorboard", CHECKPOINT)), (5000, (CHECKPOINT,))],
)
def test_a_full_disk_is_one_error_and_what_was_there_stays(
    most: int, files: tuple[str, ...], trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    place, before = folder / "place", model_files(folder / "place")
    more = [*quick_command(folder), "--set", "max_epochs=6", "--resume"]
    status, said = Running(trained_on_a_full_disk, most, more).ended()
    assert status == 2
    assert said in [
        f"{place / file}: cannot be written: File too large\n"
        "  hint: free some disk space, and run it again; existing output is unchanged\n"
        for file in files
    ]
    assert model_files(place) == before
    assert not [path for path in place.iterdir() if path.name.startswith(".")]
    assert main(more) == 0
