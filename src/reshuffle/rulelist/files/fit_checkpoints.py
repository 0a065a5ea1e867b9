"""Checkpoints of rule learning: the rules found and the state of the fit in one file, and features in files of some
questions each; every file is written completely or not at all.

Numbers and text only; nothing is ever unpickled.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import made_directory, written_whole
from reshuffle.rulelist.fitting import FitState
from reshuffle.rulelist.training_rows import TrainingRows
from reshuffle.rules import RuleBase, parse_rules
from reshuffle.rules.formats import native

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.rules import Rule

FILE = "fit.npz"
_PART = "features-{}.npz"


@dataclass
class Checkpoint:
    """The checkpoint of a directory; `digest` is of facts, rules and settings, which must be the same to go on.

    Without `resumes` what an earlier run left is not looked at.
    """

    directory: Path
    digest: str
    resumes: bool = False
    _kept: int = 0

    def save(self, rules: list[Rule], state: FitState | None) -> None:
        """Write the rules, and the state where there is one."""
        text = "\n".join(native.lines(RuleBase(tuple(rules))))
        values: dict[str, Any] = {"rules": np.array(text)}
        if state is not None:
            values |= {"values": state.values, "mean": state.mean, "squares": state.squares}
            values |= {"step": np.array(state.step), "losses": np.array(state.losses)}
        self._write(FILE, values)

    def rules(self) -> list[Rule] | None:
        """The rules that were found; None where there is no checkpoint yet."""
        found = self._read(FILE)
        if found is None:
            return None
        text = str(found["rules"])
        return list(parse_rules(text, file=str(self.directory / FILE)).given) if text else []

    def state(self) -> FitState | None:
        """The state of the fit; None where it has not begun."""
        found = self._read(FILE)
        if found is None or "step" not in found:
            return None
        values, mean, squares = (found[name] for name in ("values", "mean", "squares"))
        return FitState(values, mean, squares, int(found["step"]), found["losses"].tolist())

    def found(self) -> list[TrainingRows]:
        """The features that were kept, in order (`FeatureParts`)."""
        parts: list[TrainingRows] = []
        while (stored := self._read(_PART.format(len(parts)))) is not None:
            parts.append(TrainingRows(*(stored[name] for name in TrainingRows.__annotations__)))
        self._kept = len(parts)
        return parts

    def keep(self, rows: TrainingRows) -> None:
        """Keep the features of the next questions."""
        self._write(_PART.format(self._kept), dict(vars(rows)))
        self._kept += 1

    def _write(self, name: str, values: dict[str, Any]) -> None:
        with written_whole(made_directory(self.directory) / name) as aside, aside.open("wb") as file:
            np.savez(file, digest=np.array(self.digest), **values)

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.directory / name
        if not self.resumes or not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                found = dict(stored)
        except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
            raise InputError(
                "this checkpoint is damaged", place=Place(str(path)), hint="delete it, and start anew"
            ) from error
        if str(found.get("digest")) != self.digest:
            raise InputError(
                "this checkpoint was made with other facts, rules or settings",
                place=Place(str(path)),
                hint="give the original ones, or start again in another directory",
            )
        return found


def remove_checkpoint(directory: Path) -> None:
    """Delete it, once the model is written or a run starts anew."""
    (directory / FILE).unlink(missing_ok=True)
    for path in directory.glob(_PART.format("*")):
        path.unlink(missing_ok=True)
