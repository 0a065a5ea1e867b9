"""How far a learning has come: the rules that were found, and the state of the fit, in one file, written whole.

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
from reshuffle.rules import RuleBase, parse_rules
from reshuffle.rules.formats import native

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.rules import Rule

FILE = "fit.npz"


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of a directory; `digest` is of facts, rules and settings, which must be the same to go on."""

    directory: Path
    digest: str

    def save(self, rules: list[Rule], state: FitState | None) -> None:
        """Write the rules, and the state where there is one."""
        text = "\n".join(native.lines(RuleBase(tuple(rules))))
        values: dict[str, Any] = {"digest": np.array(self.digest), "rules": np.array(text)}
        if state is not None:
            values |= {"values": state.values, "mean": state.mean, "squares": state.squares}
            values |= {"step": np.array(state.step), "losses": np.array(state.losses)}
        with written_whole(made_directory(self.directory) / FILE) as aside, aside.open("wb") as file:
            np.savez(file, **values)

    def rules(self) -> list[Rule] | None:
        """The rules that were found; None where there is no checkpoint yet."""
        found = self._read()
        if found is None:
            return None
        text = str(found["rules"])
        return list(parse_rules(text, file=str(self.directory / FILE)).given) if text else []

    def state(self) -> FitState | None:
        """The state of the fit; None where it has not begun."""
        found = self._read()
        if found is None or "step" not in found:
            return None
        values, mean, squares = (found[name] for name in ("values", "mean", "squares"))
        return FitState(values, mean, squares, int(found["step"]), found["losses"].tolist())

    def _read(self) -> dict[str, Any] | None:
        path = self.directory / FILE
        if not path.exists():
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
                hint="give those it was started with, or start anew in another directory",
            )
        return found

    def remove(self) -> None:
        """Delete it, once the model is written."""
        (self.directory / FILE).unlink(missing_ok=True)
