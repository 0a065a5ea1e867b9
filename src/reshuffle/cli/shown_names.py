"""How names are shown to people, and which names people may type: short ones, with labels beside them.

Texts for people have `ex:ada` for `http://example.org/ada`, and `Q42 "Douglas Adams"` where there are labels. JSON,
files of triples and tables, and the triples that `infer` prints, have full names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reshuffle.cli.outputs import InputFile
from reshuffle.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Container, Iterable

    from reshuffle.kg.io.prefixes import Prefixes

# A relation in quotes before its arguments, an IRI in brackets, or a word.
_WORD = re.compile(r'"([^"\s]+)"(?=(?:\^-1)?\()|<([A-Za-z][^<>\s]*:[^<>\s]*)>|([^\s(),"<>\[\]\']+)')
_PLAIN = re.compile(r"[\w.:-]+\Z")
_PUNCTUATION = ".:;?!"
_LONGEST_LABEL = 60
# What stands before a line of a tree, and what before the line that goes on with it.
_TREE = re.compile("[│├└─ ]*")
_GOES_ON = str.maketrans({"├": "│", "└": " ", "─": " "})
_DEEPER = "    "


def add_naming_options(parser: argparse.ArgumentParser) -> None:
    """The options of verbs that show names."""
    group = parser.add_argument_group("names", "short names such as ex:ada are shown, and may be typed")
    group.add_argument(
        "--prefixes",
        type=InputFile,
        metavar="FILE",
        help="more prefixes, as Turtle declares them; those of the inputs are known",
    )
    group.add_argument(
        "--labels", type=InputFile, metavar="FILE", help="words beside names: name<TAB>label, or rdfs:label"
    )


@dataclass
class ShownNames:
    """The prefixes and labels that a verb knows; none at first, so that texts stay as they are."""

    prefixes: Prefixes | None = None
    labels: dict[str, str] = field(default_factory=dict)

    def learn(self, arguments: argparse.Namespace, *inputs: str | None, labels: bool = False) -> None:
        """Take the common prefixes, those that inputs declare, and those of --prefixes; and labels.

        Without --labels these are the ones that RDF inputs bring, where `labels` asks for them.
        """
        from reshuffle.kg.io.labels import labels_among, read_labels  # noqa: PLC0415 - verbs import when they run
        from reshuffle.kg.io.prefixes import prefixes_among  # noqa: PLC0415

        files = [path for path in inputs if path is not None]
        self.prefixes = prefixes_among(files, arguments.prefixes)
        if arguments.labels is not None:
            self.labels |= read_labels(arguments.labels)
        elif labels:
            self.labels |= labels_among(files)

    def full(self, typed: str, *known: Container[str]) -> str:
        """The name that a person means: what they typed where it is a name, else what its prefix stands for."""
        if self.prefixes is None or any(typed in names for names in known):
            return typed
        return self.prefixes.expanded(typed) or typed

    def text(self, text: str) -> str:
        """The text with short names, and labels beside them; a text that has them already stays as it is."""
        if self.prefixes is None:
            return text
        return _WORD.sub(self._shown, text)

    def short(self, name: str) -> str:
        """One name, also that of an inverse, without a label."""
        base = name.removesuffix("^-1")
        return name if self.prefixes is None else self.prefixes.shortened(base) + name[len(base) :]

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


def folded(text: str, width: int) -> str:
    """The text with lines of at most so many characters; the lines of a tree go on inside their branch.

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
