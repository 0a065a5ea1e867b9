"""Rules about particular entities as lines of a model's file.

A line has the numbers that stand before it in columns, and the rule. There may be hundreds of thousands, made of far
fewer atoms, so that each atom in the usual form is read once, and a rule in any other form as all rules are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.rulelist.constants.constant_edits import claim_of
from reshuffle.rulelist.constants.constant_rules import ConstantRules
from reshuffle.rulelist.rule_model import LARGEST
from reshuffle.rules.formats.native import read_line
from reshuffle.rules.formats.statement import QUOTED, SourceLine, meaning, relation_name, unquoted
from reshuffle.rules.rule import ConstantRule, quoted, quoted_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    _Row: TypeAlias = tuple[int, int, int, int, int, int]

_ENTITY = rf"([XY])|({QUOTED})"
_ATOM = re.compile(rf"(\w+|{QUOTED})\((?:{_ENTITY}), (?:{_ENTITY})\)\s*")
_ARROW = " -> "
_COLUMNS = 5  # before a rule
_HINT = 'such as: bornIn(X, "london") -> speaks(X, "english"), or plays(X, Y) -> speaks(X, "english")'


def texts_of(rules: ConstantRules) -> Iterator[str]:
    """The rules in order, as they are written."""
    names, entities = (
        [quoted(name) for name in rules.relations],
        [quoted_text(name) for name in rules.entities],
    )
    number = len(names)
    for (body, end), (head, entity) in zip(rules.bodies.tolist(), rules.heads.tolist(), strict=True):
        who = "Y" if end < 0 and body >= number else "X"
        other = {"X": "Y", "Y": "X"}[who] if end < 0 else entities[end]
        yield f"{_atom(names, body, who, other)} -> {_atom(names, head, who, entities[entity])}"


def _atom(names: list[str], code: int, who: str, other: str) -> str:
    if code < len(names):
        return f"{names[code]}({who}, {other})"
    return f"{names[code - len(names)]}({other}, {who})"


def compacted(rules: ConstantRules) -> ConstantRules:
    """The same rules with the names that they use alone, in the order in which these are met."""
    number = len(rules.relations)
    columns = np.column_stack([rules.bodies, rules.heads])
    relations, codes = _renumbered(columns[:, [0, 2]] % max(1, number))
    entities, ends = _renumbered(columns[:, [1, 3]])
    inverse = (columns[:, [0, 2]] >= number) * len(relations)
    codes += inverse.astype(np.int32)
    return replace(
        rules,
        relations=tuple(rules.relations[one] for one in relations.tolist()),
        entities=tuple(rules.entities[one] for one in entities.tolist()),
        bodies=np.column_stack([codes[:, 0], ends[:, 0]]).astype(np.int32),
        heads=np.column_stack([codes[:, 1], ends[:, 1]]).astype(np.int32),
    )


def _renumbered(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers from 0 on that occur, by first occurrence; and all of them as places among these."""
    found, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    order = order[found[order] >= 0]
    places = np.full(len(found), -1, dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return found[order], places[inverse].reshape(numbers.shape)


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass
class _Names:
    """Numbers for names, in the order in which they are met."""

    numbers: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)

    def of(self, written: str, name: Callable[[str], str]) -> int:
        """The number of a name as it is written."""
        found = self.written.get(written)
        if found is None:
            meant = name(written)
            found = self.written[written] = self.numbers.setdefault(meant, len(self.numbers))
        return found


class _Atom(NamedTuple):
    relation: int
    variable: str
    """The first one, where there are two."""
    turned: bool
    """Whether the entity stands first."""
    entity: int
    """-1 where there are two variables."""


class ConstantReading:
    """Reads lines one after the other."""

    def __init__(self) -> None:
        self._relations, self._entities = _Names(), _Names()
        self._atoms: dict[str, _Atom] = {}
        self._rows: list[_Row] = []
        self._numbers: list[tuple[float, float, int, int]] = []
        self._lines: dict[tuple[int, ...], int] = {}

    def take(self, line: SourceLine, start: int, weights: Sequence[float], counts: Sequence[int]) -> None:
        """A rule that begins at a column, with its two weights, its predictions and its support."""
        row = self._usual(line.text[start:]) or self._other(line, start)
        self._keep(line, start, row, (*weights, *counts))  # type: ignore[arg-type]

    def take_usual(self, line: SourceLine) -> bool:
        """A line with all numbers, in the form in which it is written here; whether it is one."""
        *cells, text = line.text.split("\t")
        if len(cells) != _COLUMNS:
            return False
        try:
            one, other, predictions, support, confidence = map(float, cells)
        except ValueError:
            return False
        numbers = one, other, predictions, support
        row = self._usual(text) if min(numbers) >= 0 <= confidence and max(numbers) <= LARGEST else None
        if row is None:
            return False
        self._keep(line, len(line.text) - len(text), row, (one, other, int(predictions), int(support)))
        return True

    def _keep(self, line: SourceLine, start: int, row: _Row, numbers: tuple[float, float, int, int]) -> None:
        if row in self._lines:
            raise line.error(
                f"the same rule stands in line {self._lines[row]}", at=start, hint="delete one of the two"
            )
        self._lines[row] = line.number
        self._rows.append(row)
        self._numbers.append(numbers)

    def rules(self) -> ConstantRules:
        """All that were read."""
        number = len(self._relations.numbers)
        rows = np.array(self._rows, dtype=np.int32).reshape(-1, 6)
        numbers = np.array(self._numbers, dtype=np.float64).reshape(-1, 4)
        return ConstantRules(
            tuple(self._relations.numbers),
            tuple(self._entities.numbers),
            np.column_stack([rows[:, 0] + number * rows[:, 1], rows[:, 2]]).astype(np.int32),
            np.column_stack([rows[:, 3] + number * rows[:, 4], rows[:, 5]]).astype(np.int32),
            numbers[:, :2],
            numbers[:, 2:].astype(np.int64),
        )

    def _usual(self, text: str) -> _Row | None:
        """The rule of two atoms in the form in which they are written here; None where it is none."""
        body, _, head = text.partition(_ARROW)
        condition, said = self._atom(body), self._atom(head)
        if condition is None or said is None or said.entity < 0:
            return None
        same = condition.variable == said.variable
        if condition.entity >= 0 and not same:
            return None
        turned = condition.turned if condition.entity >= 0 else not same
        return condition.relation, turned, condition.entity, said.relation, said.turned, said.entity

    def _atom(self, written: str) -> _Atom | None:
        found = self._atoms.get(written)
        if found is None and (parts := _ATOM.fullmatch(written)) and parts[2] != parts[4]:
            name, first, entity, second, other = parts.groups()
            relation, variable = self._relations.of(name, relation_name), first or second
            found = _Atom(relation, variable, first is None, self._entity(entity or other))
            self._atoms[written] = found
        return found

    def _other(self, line: SourceLine, start: int) -> _Row:
        """A rule in any form of the syntax."""
        read = meaning(read_line(SourceLine(line.file, line.number, " " * start + line.text[start:])))
        claim = claim_of(read) if isinstance(read, ConstantRule) else None
        if claim is None:
            raise line.error("this is no rule about a particular entity", at=start, hint=_HINT)
        body, end, head, entity = claim
        return (*self._directed(body), self._named(end), *self._directed(head), self._named(entity))

    def _directed(self, relation: str) -> tuple[int, int]:
        return self._relations.of(quoted(base_relation(relation)), relation_name), int(is_inverse(relation))

    def _named(self, entity: str | None) -> int:
        return -1 if entity is None else self._entity(quoted_text(entity))

    def _entity(self, written: str | None) -> int:
        return -1 if written is None else self._entities.of(written, unquoted)
