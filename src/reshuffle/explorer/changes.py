"""What somebody changes while exploring, one step at a time, and what all the steps come to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.kg import Triple
from reshuffle.rules.parsing import parse_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.rules import Rule

FACT_KINDS = ("add-fact", "remove-fact")
RULE_KINDS = ("accept-rule", "reject-rule", "restore-rule", "add-rule", "edit-rule")
_LONGEST_NAME = 10_000


@dataclass(frozen=True)
class Change:
    """One step: a fact added or taken back, a rule accepted, rejected, taken back into the list, added or edited."""

    kind: str
    triple: Triple | None = None
    rule: Rule | None = None
    """The rule that it is about; of an edited rule the one before."""
    to: Rule | None = None
    """What an edited rule becomes."""

    @classmethod
    def of(cls, data: Any, prefixes: Prefixes | None = None) -> Change:
        """From data, as `{"kind": "add-fact", "triple": [h, r, t]}` or `{"kind": "reject-rule", "rule": "..."}`.

        Rules may have short names where `prefixes` are given.
        """
        kind = data.get("kind") if isinstance(data, dict) else None
        if kind in FACT_KINDS:
            return cls(kind, triple=_triple(data.get("triple")))
        if kind in RULE_KINDS:
            to = _rule(data.get("to"), prefixes) if kind == "edit-rule" else None
            return cls(kind, rule=_rule(data.get("rule"), prefixes), to=to)
        raise InputError(
            f"found the kind {kind!r} of a change",
            hint=f"give one of {', '.join((*FACT_KINDS, *RULE_KINDS))}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `of` takes it."""
        data: dict[str, Any] = {"kind": self.kind}
        if self.triple is not None:
            data["triple"] = list(self.triple)
        if self.rule is not None:
            data["rule"] = str(self.rule)
        if self.to is not None:
            data["to"] = str(self.to)
        return data


def _triple(given: Any) -> Triple:
    names = given if isinstance(given, list | tuple) else ()
    if len(names) != 3 or not all(isinstance(name, str) and 0 < len(name) < _LONGEST_NAME for name in names):
        raise InputError("found no triple", hint="give three names: head, relation, tail")
    return Triple(*names)


def _rule(given: Any, prefixes: Prefixes | None) -> Rule:
    if not isinstance(given, str):
        raise InputError("found no rule", hint="write it as  r(X, Y) & s(Y, Z) -> t(X, Z)")
    rules = parse_rules(given, prefixes=prefixes).rules
    if len(rules) != 1:
        raise InputError(f"found {len(rules)} rules that say something, expected one", hint="write one rule")
    return rules[0]


@dataclass(frozen=True)
class Edits:
    """What some changes come to. Equal edits of the same subject give equal answers."""

    added: tuple[Triple, ...] = ()
    removed: tuple[Triple, ...] = ()
    rejected: tuple[Rule, ...] = ()
    written: tuple[Rule, ...] = ()
    """Rules that were not there before."""
    accepted: frozenset[Rule] = field(default=frozenset(), compare=False)
    """Read and found right; says nothing about answers."""

    @property
    def change_nothing(self) -> bool:
        """Are the answers those of the subject?"""
        return self == Edits()

    def after(self, change: Change) -> Edits:
        """The edits with one more change."""
        if change.triple is not None:
            return self._with_fact(change.kind, change.triple)
        assert change.rule is not None
        if change.kind == "edit-rule":
            assert change.to is not None
            return self._without_rule(change.rule)._with_rule(change.to)
        return {
            "accept-rule": self._accepting,
            "reject-rule": self._without_rule,
            "restore-rule": self._with_rule,
            "add-rule": self._with_rule,
        }[change.kind](change.rule)

    def _with_fact(self, kind: str, triple: Triple) -> Edits:
        if triple in (self.removed if kind == "add-fact" else self.added):
            return replace(self, added=_without(self.added, triple), removed=_without(self.removed, triple))
        if kind == "add-fact":
            return replace(self, added=(*_without(self.added, triple), triple))
        return replace(self, removed=(*_without(self.removed, triple), triple))

    def _accepting(self, rule: Rule) -> Edits:
        back = self._with_rule(rule) if rule in self.rejected else self
        return replace(back, accepted=self.accepted | {rule})

    def _without_rule(self, rule: Rule) -> Edits:
        accepted = self.accepted - {rule}
        if rule in self.written:
            return replace(self, written=tuple(one for one in self.written if one != rule), accepted=accepted)
        if rule in self.rejected:
            return self
        return replace(self, rejected=(*self.rejected, rule), accepted=accepted)

    def _with_rule(self, rule: Rule) -> Edits:
        if rule in self.rejected:
            return replace(self, rejected=tuple(one for one in self.rejected if one != rule))
        return self if rule in self.written else replace(self, written=(*self.written, rule))


def _without(triples: tuple[Triple, ...], triple: Triple) -> tuple[Triple, ...]:
    return tuple(one for one in triples if one != triple)


def edits_of(changes: Iterable[Change]) -> Edits:
    """What changes come to, in their order.

    >>> one = Triple("ada", "bornIn", "london")
    >>> edits_of([Change("add-fact", one), Change("remove-fact", one)]).change_nothing
    True
    """
    edits = Edits()
    for change in changes:
        edits = edits.after(change)
    return edits
