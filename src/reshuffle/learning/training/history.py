"""The history of a training: its epochs, the current epoch, and early stopping."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place, ReshuffleError
from reshuffle.pictures.charts import curves
from reshuffle.pictures.figures import curve_figure
from reshuffle.pictures.notebook import drawn
from reshuffle.text import counted

if TYPE_CHECKING:
    from os import PathLike

    from torch import Tensor

    from reshuffle.pictures.scene import Scene

LOG = "log.csv"
"""In the directory of a training: a line per epoch, added when it is done."""
ALONG_THE_WAY = "validation along the way"
COLUMNS = ("epoch", "loss", "hits@10", "mrr", "seconds")


def is_improvement(current: float, best: float | None, *, relative_delta: float) -> bool:
    """Whether a result is better than the best so far by more than a share of it.

    >>> is_improvement(0.51, 0.50, relative_delta=0.01), is_improvement(0.505, 0.50, relative_delta=0.01)
    (True, False)
    """
    return best is None or current > best * (1 + relative_delta)


@dataclass
class Patience:
    """Early stopping: counts the validations without improvement.

    The paper stops after less than 1 % within 100 epochs.
    """

    looks: int = 10  # how many of them stop the training
    relative_delta: float = 0.01
    best: float | None = None
    best_epoch: int = 0
    without: int = 0

    def look(self, value: float, epoch: int) -> bool:
        """Count a validation result; True when it is the best so far."""
        if is_improvement(value, self.best, relative_delta=self.relative_delta):
            self.best, self.best_epoch, self.without = value, epoch, 0
            return True
        self.without += 1
        return False

    @property
    def exhausted(self) -> bool:
        """Whether it is time to stop."""
        return self.without >= self.looks


@dataclass
class Epoch:
    """The loss of one epoch, and its validation metrics where it was validated."""

    number: int
    loss: float
    hits_at_10: float | None = None
    mrr: float | None = None
    seconds: float | None = field(default=None, compare=False)  # of the training until its end


@dataclass(frozen=True)
class Glance:
    """Validation metrics of a sample of the validation triples along the way, with their standard errors."""

    step: int  # of the training
    mrr: float
    hits_at_10: float
    mrr_error: float
    hits_error: float


@dataclass
class History:
    """All epochs, which one was kept, and the validations along the way."""

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    seconds: float = field(default=0.0, compare=False)  # of training, over all runs that it took
    glances: list[Glance] = field(default_factory=list, compare=False)

    @classmethod
    def read(cls, directory: str | PathLike[str]) -> History:
        """The history of a training that runs, or ran, in a directory, by its `log.csv`; the epoch kept is unknown.

        A line that is being written is skipped.
        """
        path = Path(directory) / LOG
        if not path.exists():
            raise InputError(
                f"there is no {LOG}",
                place=Place(str(directory)),
                hint="name a directory that train writes to",
            )
        epochs = [
            _epoch_of(row)
            for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines(keepends=True))
        ]
        found = [epoch for epoch in epochs if epoch is not None]
        return cls(found, seconds=found[-1].seconds or 0.0 if found else 0.0)

    def curves(self) -> dict[str, dict[str, list[tuple[float, float]]]]:
        """What there is to plot, by plot and curve: the loss and the validation metrics, over epochs or steps."""
        metrics = {"hits@10": "hits_at_10", "mrr": "mrr"}
        along: dict[str, list[tuple[float, float]]] = {
            name: [(seen.step, getattr(seen, attribute)) for seen in self.glances]
            for name, attribute in metrics.items()
        }
        return {
            **({ALONG_THE_WAY: along} if self.glances else {}),
            "loss": {"loss": [(epoch.number, epoch.loss) for epoch in self.epochs]},
            "validation": {
                name: [
                    (epoch.number, value)
                    for epoch in self.epochs
                    if (value := getattr(epoch, attribute)) is not None
                ]
                for name, attribute in metrics.items()
            },
        }

    def scenes(self) -> list[Scene]:
        """The curves as pictures."""
        return [curves(name, series, across=_across(name)) for name, series in self.curves().items()]

    def plot(self) -> Any:
        """A matplotlib figure of the curves."""
        return curve_figure({(name, _across(name)): series for name, series in self.curves().items()})

    def _repr_html_(self) -> str:
        kept = f", epoch {self.best_epoch} kept" if self.best_epoch else ""
        return drawn(f"training: {counted(len(self.epochs), 'epoch')}{kept}", *self.scenes())


def _across(plot: str) -> str:
    return "step" if plot == ALONG_THE_WAY else "epoch"


def _epoch_of(row: dict[str, str | None]) -> Epoch | None:
    """The epoch of a line of the log; None where it is not whole."""
    try:
        number, loss, *others = (row[name] or "" for name in COLUMNS)
        hits, mrr, seconds = (float(value) if value else None for value in others)
        return None if seconds is None else Epoch(int(number), float(loss), hits, mrr, seconds)
    except (KeyError, ValueError):
        return None


@dataclass
class Underway:
    """How far an epoch is that has begun: all that its other steps depend on beside parameters and chance."""

    start: Tensor  # the generator's state of which its batches are drawn
    total: Tensor  # the sum of its losses
    steps: int = 0


class DivergedError(ReshuffleError):
    """The loss or the validation scores became NaN or infinite."""

    def __init__(self, epoch: int, became: str, learning_rate: float) -> None:
        self.epoch = epoch
        super().__init__(
            f"{became} in epoch {epoch}, and no further epoch can mend that",
            hint=f"lower the learning rate (learning_rate = {learning_rate:g}); "
            "with row_function = 'square' values also grow with every layer, so lower num_layers too",
        )
