"""What a training writes down as it goes: a CSV file, and TensorBoard events where tensorboard is installed."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from reshuffle.kg.io.files import written_whole

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.learning.training.trainer import Epoch

COLUMNS = ("epoch", "loss", "hits@10", "mrr", "seconds")


class TrainingLog:
    """`log.csv` and `tensorboard/` in a directory. What lies there of epochs after `last_epoch` is forgotten."""

    def __init__(self, directory: Path, *, last_epoch: int = 0) -> None:
        self._path = directory / "log.csv"
        kept = _rows_until(self._path, last_epoch)
        self._seconds = float(kept[-1][-1]) if kept else 0.0
        with (
            written_whole(self._path) as aside,  # a kill here must not cost the epochs that were logged
            aside.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file).writerows([COLUMNS, *kept])
        self._events = _events(directory / "tensorboard", last_epoch)

    def write(self, epoch: Epoch, seconds: float) -> None:
        """One epoch; the column `seconds` counts from the start of the training, pauses left out."""
        self._seconds += seconds
        values = {"loss": epoch.loss, "hits@10": epoch.hits_at_10, "mrr": epoch.mrr}
        row = [epoch.number, *("" if value is None else value for value in values.values())]
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow([*row, f"{self._seconds:.3f}"])
        for name, value in values.items():
            if self._events is not None and value is not None:
                self._events.add_scalar(name, value, epoch.number)

    def close(self) -> None:
        """Let TensorBoard write what it still holds."""
        if self._events is not None:
            self._events.close()


def _rows_until(path: Path, last_epoch: int) -> list[list[str]]:
    """The whole rows of a log up to an epoch; a row that a kill cut short ends the list."""
    if not last_epoch or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if len(row) == len(COLUMNS) and row[0].isdigit()]
    return [row for row in rows if int(row[0]) <= last_epoch]


def _events(directory: Path, last_epoch: int) -> Any:
    if find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - slow, and only where it is installed

    # TensorBoard orders files by the second they were made in, and a short training is over sooner.
    if not last_epoch:
        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
    return SummaryWriter(str(directory), purge_step=last_epoch + 1)
