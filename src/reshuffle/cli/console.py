"""Results on stdout, progress and messages on stderr, the same for every verb."""

from __future__ import annotations

import argparse
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from reshuffle.cli.shown_names import ShownNames, folded
from reshuffle.text import json_text, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.progress import Report


_LAYOUT = "\n\t"  # control characters that are ours; names that hold some are escaped where they are put in


def common_options() -> argparse.ArgumentParser:
    """The options that work before and after the verb. SUPPRESS keeps a default after the verb from undoing the option
    before it.
    """
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--json", action="store_true", help="print the result as JSON")
    common.add_argument(
        "-q", "--quiet", action="store_true", help="no messages and no progress, only results"
    )
    common.add_argument("-v", "--verbose", action="store_true", help="more messages")
    return common


@dataclass(frozen=True)
class Console:
    """What a verb prints with. `verbosity`: -1 for `-q`, 0, or 1 for `-v`."""

    json: bool = False
    verbosity: int = 0
    out: TextIO = field(default_factory=lambda: sys.stdout, repr=False)
    """Where results go."""
    names: ShownNames = field(default_factory=ShownNames, repr=False)
    """How names are shown, which verbs learn from their inputs."""

    def result(self, text: str, data: Any, *, fold: bool = False) -> None:
        """The answer: `text` for people, or `data` as one JSON document under `--json`.

        With `fold`, lines end at the width of the terminal, where there is one.
        """
        if self.json:
            text = self.as_json(data)
        else:
            text = self.names.text(text)
            if not text.replace("\n", "").isprintable():  # most texts are
                text = visible(text, but=_LAYOUT)
            if fold and (width := self._width) is not None:
                text = folded(text, width)
        self.out.write(f"{text}\n")

    @property
    def _width(self) -> int | None:
        """The width of the terminal; None where results go elsewhere."""
        if not self.out.isatty():
            return None
        return shutil.get_terminal_size().columns

    def as_json(self, data: Any) -> str:
        """The data as one JSON document; where the output cannot hold every character, with escapes."""
        encoding = (getattr(self.out, "encoding", None) or "utf-8").lower()
        return json_text(data, only_ascii=not encoding.startswith("utf"))

    def message(self, text: str) -> None:
        """Something the user should know; silenced by `-q`."""
        if self.verbosity >= 0:
            _print(self.names.text(text))

    def detail(self, text: str) -> None:
        """A detail; shown with `-v`."""
        if self.verbosity > 0:
            _print(self.names.text(text))

    def error(self, text: str) -> None:
        """What went wrong; always shown."""
        _print(self.names.text(text))

    @contextmanager
    def progress(self, description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        """Bars or lines on stderr for work that lasts longer than two seconds (a `reshuffle.progress.Progress`)."""
        if self.verbosity < 0:
            yield _ignore
            return
        from reshuffle.cli.progress_display import shown  # noqa: PLC0415 - not needed for `--help`

        with shown(description, total=total, unit=unit) as report:
            yield report


def _ignore(done: int, /, note: str = "") -> None:
    del done, note


def _print(text: str) -> None:
    """To stderr, above the bars that are there; no name changes what a terminal shows."""
    text = visible(text, but=_LAYOUT)
    if (bars := sys.modules.get("tqdm")) is None or not sys.stderr.isatty():
        print(text, file=sys.stderr)  # noqa: T201
        return
    with bars.tqdm.external_write_mode(file=sys.stderr):
        print(text, file=sys.stderr)  # noqa: T201
