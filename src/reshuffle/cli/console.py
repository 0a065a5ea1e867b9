"""Results on stdout, progress and messages on stderr, the same for every verb.

Texts for people have `ex:ada` for `http://example.org/ada`, and `Q42 "Douglas Adams"` where there are labels. Such
short names may be typed, too. JSON, files of triples and tables, and the triples that `infer` prints, have full names.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from reshuffle.text import json_text, visible

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from reshuffle.cli.inputs import InputFile
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.progress import Report

_LAYOUT = "\n\t"  # control characters that are ours; names that hold some are escaped where they are put in
# A relation in quotes before its arguments, an IRI in brackets, or a word.
_WORD = re.compile(r'"([^"\s]+)"(?=(?:\^-1)?\()|<([A-Za-z][^<>\s]*:[^<>\s]*)>|([^\s(),"<>\[\]\']+)')
_PLAIN = re.compile(r"[\w.:-]+\Z")
_PUNCTUATION = ".:;?!"
_LONGEST_LABEL = 60
# What stands before a line of a tree, and what before the line that goes on with it.
_TREE = re.compile("[│├└─ ]*")
_GOES_ON = str.maketrans({"├": "│", "└": " ", "─": " "})
_DEEPER = "    "


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


@dataclass
class ShownNames:
    """The prefixes and labels that a verb knows; none at first, so that texts stay as they are."""

    prefixes: Prefixes | None = None
    labels: dict[str, str] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ()
    """What `learn` is given when there is a text to show, by a verb that rarely shows one."""
    _unsearched: list[str] | None = None
    """Inputs that may declare prefixes; they are searched when a name could have one."""

    def learn(self, arguments: argparse.Namespace, *inputs: InputFile | None, labels: bool = False) -> None:
        """Take the common prefixes, those that inputs declare, and those of --prefixes; and labels.

        Without --labels these are the ones that RDF inputs bring, where `labels` asks for them.
        """
        from reshuffle.kg.io.labels import LABELLED, labels_among, read_labels
        from reshuffle.kg.io.prefixes import Prefixes, read_prefixes

        files = [path for given in inputs if given is not None for path in given.paths()]
        self.prefixes = Prefixes() if arguments.prefixes is None else read_prefixes(arguments.prefixes)
        self._unsearched = files
        if arguments.labels is not None:
            self.labels |= read_labels(arguments.labels)
        elif labels and (rdf := [path for path in files if path.lower().endswith(LABELLED)]):
            self.labels |= labels_among(rdf)

    def know(self, labels: dict[str, str]) -> None:
        """Take the labels of short names; those that were given in a file win."""
        from reshuffle.kg.io.prefixes import Prefixes

        self.labels = labels | self.labels
        self.prefixes = self.prefixes or Prefixes()

    def full(self, typed: str, *known: Container[str]) -> str:
        """The name that a person means: what they typed where it is a name, else what its prefix stands for, else the
        one name that has it as its label.
        """
        if self.prefixes is None or any(typed in names for names in known):
            return typed
        expanded = self._known(self.prefixes).expanded(typed)
        if expanded is None and len(found := self._labelled(typed, known)) == 1:
            return found[0]
        return expanded or typed

    def _labelled(self, label: str, known: Sequence[Container[str]]) -> list[str]:
        return [
            name
            for name, there in self.labels.items()
            if there == label and any(name in names for names in known)
        ]

    def text(self, text: str) -> str:
        """The text with short names, and labels beside them; a text that has them already stays as it is."""
        if self.inputs:
            given, self.inputs = self.inputs, ()
            self.learn(*given)
        if self.prefixes is None:
            return text
        return _WORD.sub(self._shown, text)

    def short(self, name: str) -> str:
        """One name, also that of an inverse, without a label."""
        base = name.removesuffix("^-1")
        if self.prefixes is None or ":" not in base:  # as every namespace has
            return name
        return self._known(self.prefixes).shortened(base) + name[len(base) :]

    def _known(self, given: Prefixes) -> Prefixes:
        """All prefixes: the common ones, those of the inputs, and the given ones."""
        if self._unsearched is None:
            return given
        from reshuffle.kg.io.prefixes import prefixes_among

        self.prefixes, self._unsearched = prefixes_among(self._unsearched) | given, None
        return self.prefixes

    def _shown(self, match: re.Match[str]) -> str:
        quoted, bracketed, word = match.groups()
        name = quoted or bracketed or word.rstrip(_PUNCTUATION)
        end = "" if word is None else word[len(name) :]
        inverse = "^-1" if name.endswith("^-1") else ""
        base = name.removesuffix("^-1")
        short, label = self.short(base), self._label(base)
        if label and match.string.startswith(f" {label}", match.end()):
            return match[0]
        if short == base:
            short = match[0] if word is None else base + inverse
        elif quoted and not _PLAIN.match(short):
            short = f'"{short}"'
        else:
            short += inverse
        return f"{short} {label}{end}" if label else short + end

    def _label(self, name: str) -> str:
        label = self.labels.get(name)
        if label is None or label == name:
            return ""
        cut = label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
        return f'"{visible(cut)}"'


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
        from reshuffle.cli.progress_display import shown

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


def folded(text: str, width: int) -> str:
    """The text with lines of at most `width` characters; the lines of a tree go on inside their branch.

    >>> print(folded("r(a, b)\\n└─ knows(ada, bob)    [friend(X, Y) -> knows(X, Y)]", 34))
    r(a, b)
    └─ knows(ada, bob)
           [friend(X, Y) -> knows(X,
           Y)]
    """
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, width))


def _pieces(line: str, width: int) -> Iterable[str]:
    before = _TREE.match(line)
    assert before is not None  # it may be empty
    going_on = before[0].translate(_GOES_ON) + _DEEPER
    while len(line) > width > len(going_on) + 10:
        # A rule goes on a line of its own; else the last blank that fits; else a name is cut.
        at = line.find("    [", len(going_on))
        if not 0 < at <= width:
            at = line.rfind(" ", len(going_on) + 1, width + 1)
        if at <= len(going_on):
            at = width
        yield line[:at].rstrip()
        line = going_on + line[at:].lstrip()
    yield line
