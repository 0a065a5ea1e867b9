"""Rules as integer tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.kg.rows import Rows, starts_in
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.reasoning.chase.kernels.joins import Triggers
from reshuffle.reasoning.chase.kernels.retraction import Sources
from reshuffle.rules.rule import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.rules import Rule
    from reshuffle.rules.rule import RuleBase

Row: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class CodedRule:
    """A rule over atom codes: a chain of two, a copy of one, or a meet of several atoms on the same pair."""

    kind: str
    body: tuple[int, ...]
    head: int
    source: Rule | None
    """The user's rule that this one completes; None for a fresh relation, which stands for a part of a body."""

    def turned(self, backwards: int) -> CodedRule:
        """The rule, read from its second variable if `backwards` is 1."""
        if not backwards:
            return self
        atoms = reversed(self.body) if self.kind == "chain" else self.body
        return CodedRule(self.kind, tuple(atom ^ 1 for atom in atoms), self.head ^ 1, self.source)


class Program:
    """The rules of a base over numbered relations; long bodies share the fresh relations of their prefixes."""

    def __init__(self, rules: RuleBase, relation_ids: Mapping[str, int]) -> None:
        """`relation_ids` numbers the user's relations from 0; fresh ones follow."""
        self.rules = rules
        self.codes = {name: 2 * number for name, number in relation_ids.items()}
        binary, user = rules.binarised(), _names(rules)
        fresh = [
            name for name in map(base_relation, binary.relations) if name not in user or name in rules.fresh
        ]
        fresh = list(dict.fromkeys(fresh))
        # Apart from the user's names, since facts may call a relation `~1`, too.
        self._fresh = {name: 2 * (len(relation_ids) + number) for number, name in enumerate(fresh)}
        self.num_relations = len(relation_ids) + len(fresh)
        sources = _origins(rules, binary)
        self.coded = tuple(self._coded(rule, sources.get(rule)) for rule in binary.rules)

    def code(self, relation: str) -> int:
        """The atom code of a relation or of its inverse."""
        name = base_relation(relation)
        return (self._fresh[name] if name in self._fresh else self.codes[name]) + is_inverse(relation)

    def is_fresh(self, relation: int) -> bool:
        """Does the relation stand for a part of a body?"""
        return len(self.codes) <= relation < self.num_relations

    def _coded(self, rule: Rule, source: Rule | None) -> CodedRule:
        body = tuple(self.code(relation) for relation in rule.body)
        several = "meet" if isinstance(rule, IntersectionRule) else "chain"
        return CodedRule("copy" if len(body) == 1 else several, body, self.code(rule.head), source)

    @cached_property
    def _trigger_rows(self) -> dict[str, list[tuple[int, Row]]]:
        """Per kind: which code or relation sets the rule off, and the rest of it, ending in the rule's number."""
        rows: dict[str, list[tuple[int, Row]]] = {"chain": [], "copy": [], "meet": []}
        for number, rule in enumerate(self.coded):
            if rule.kind == "chain":
                for way in dict.fromkeys((rule, rule.turned(1))):
                    rows["chain"].append((way.body[0], (way.body[1], way.head, number)))
                continue
            for position, atom in enumerate(rule.body):
                way = rule.turned(atom & 1)
                others = way.body[:position] + way.body[position + 1 :]
                rows[rule.kind].append((atom >> 1, (*others, way.head, number)))
        return rows

    def triggers(self, num_relations: int) -> Triggers:
        """For each relation, the rules that a new pair sets off; relations that no rule uses set nothing off."""
        rows = self._trigger_rows
        chain_starts, chains = _grouped(rows["chain"], 2 * num_relations)
        copy_starts, copies = _grouped(rows["copy"], num_relations)
        meet_starts, meets = _grouped(rows["meet"], num_relations)
        others = Rows.of([row[:-2] for row in meets])
        return Triggers(
            chain_starts, _column(chains, 0), _column(chains, 1), copy_starts, _column(copies, 0),
            meet_starts, _column(meets, -2), others.starts[:-1], others.starts[1:], others.values,
        )  # fmt: skip

    def trigger_rules(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """The number of the rule of each chain, copy and meet trigger, in the order of `triggers`."""
        chains, copies, meets = (
            _grouped(self._trigger_rows[kind], 2 * self.num_relations)[1]
            for kind in ("chain", "copy", "meet")
        )
        return _column(chains, -1), _column(copies, -1), _column(meets, -1)

    def sources(self, num_relations: int) -> Sources:
        """For each relation, the rules that derive its triples, turned so that their heads run forwards."""
        rows: dict[str, list[tuple[int, Row]]] = {"chain": [], "copy": [], "meet": []}
        for rule in self.coded:
            rows[rule.kind].append((rule.head >> 1, rule.turned(rule.head & 1).body))
        chain_starts, chains = _grouped(rows["chain"], num_relations)
        copy_starts, copies = _grouped(rows["copy"], num_relations)
        meet_starts, meets = _grouped(rows["meet"], num_relations)
        atoms = Rows.of(meets)
        return Sources(
            chain_starts, _column(chains, 0), _column(chains, 1), copy_starts, _column(copies, 0),
            meet_starts, atoms.starts[:-1], atoms.starts[1:], atoms.values,
        )  # fmt: skip


def _origins(rules: RuleBase, binary: RuleBase) -> dict[Rule, Rule]:
    """The user's rule behind each rule of the binarised base that ends in a relation of the user's."""
    user = _names(rules)
    completing = [rule for rule in binary.rules if base_relation(rule.head) in user]
    origins = zip(completing, rules.rules, strict=True)
    return {rule: origin for rule, origin in origins if origin.head not in rules.fresh}


def _names(rules: RuleBase) -> set[str]:
    return {base_relation(relation) for relation in rules.relations}


def _grouped(rows: Iterable[tuple[int, Row]], size: int) -> tuple[NDArray[np.int64], list[Row]]:
    """The rows in the order of their group, and where each group starts."""
    ordered = sorted(rows, key=lambda row: row[0])
    groups = np.array([group for group, _ in ordered], dtype=np.int64)
    return starts_in(groups, num_rows=size), [row for _, row in ordered]


def _column(rows: Sequence[Row], position: int) -> NDArray[np.int32]:
    return np.array([row[position] for row in rows], dtype=np.int32)
