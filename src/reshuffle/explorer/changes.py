"""The user's changes to facts and rules, step by step, and their combined effect."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.kg import Triple
from reshuffle.rules.parsing import parse_rules

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.rules import Rule

FACT_KINDS = ("add-fact", "remove-fact")
ACCEPTED_LINKS = "add-accepted"
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
    links: tuple[Triple, ...] = ()
    """Accepted links that become facts together."""

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
            hint=f"give one of {', '.join((*FACT_KINDS, ACCEPTED_LINKS, *RULE_KINDS))}",
        )

    def facts(self) -> Iterator[tuple[Triple, bool]]:
        """The fact that it is about, and whether that is there afterwards."""
        if self.triple is not None:
            yield self.triple, self.kind == "add-fact"
        yield from ((link, True) for link in self.links)

    def rules(self) -> Iterator[tuple[Rule, bool]]:
        """The rules that it is about, and whether each is there afterwards."""
        if self.rule is not None:
            yield self.rule, self.kind not in ("reject-rule", "edit-rule")
        if self.to is not None:
            yield self.to, True

    @property
    def accepted(self) -> set[Rule]:
        """The rule that it finds right."""
        return {self.rule} if self.rule is not None and self.kind == "accept-rule" else set()

    @property
    def written(self) -> set[Rule]:
        """The rule that somebody wrote."""
        new = self.rule if self.kind == "add-rule" else self.to
        return set() if new is None else {new}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `of` takes it."""
        data: dict[str, Any] = {"kind": self.kind}
        if self.triple is not None:
            data["triple"] = list(self.triple)
        if self.rule is not None:
            data["rule"] = str(self.rule)
        if self.to is not None:
            data["to"] = str(self.to)
        if self.links:
            data["links"] = len(self.links)
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
        raise InputError(
            f"found {len(rules)} rules that are not tautologies, expected one", hint="write one rule"
        )
    return rules[0]


@dataclass(frozen=True)
class Edits:
    """What some changes come to: of each fact and rule that they name, whether it is there after the last of them.

    They say so without a look at the subject: a fact that is added and then taken back is not there, whether it was
    there before or not. A rule that comes back is the one that the subject has, with its weight.
    """

    added: tuple[Triple, ...] = ()
    removed: tuple[Triple, ...] = ()
    rejected: tuple[Rule, ...] = ()
    kept: tuple[Rule, ...] = ()
    """Rules that are there; the subject may have had them before."""
    accepted: frozenset[Rule] = field(default=frozenset(), compare=False)
    """Read and found right; says nothing about answers."""
    own: frozenset[Rule] = field(default=frozenset(), compare=False)
    """Rules that somebody wrote, whatever became of them."""

    @property
    def written(self) -> tuple[Rule, ...]:
        """The rules that somebody wrote and that are there."""
        return tuple(rule for rule in self.kept if rule in self.own)

    @property
    def change_nothing(self) -> bool:
        """Are the answers those of the subject, whatever it has?"""
        return self == Edits()

    def after(self, change: Change) -> Edits:
        """The edits with one more change."""
        return edits_of([change], self)

    def on(self, facts: Container[Triple], rules: Container[Rule]) -> Edits:
        """Those that change a subject of these facts and rules; equal ones give equal answers."""
        return replace(
            self,
            added=tuple(sorted(triple for triple in self.added if triple not in facts)),
            removed=tuple(sorted(triple for triple in self.removed if triple in facts)),
            rejected=tuple(rule for rule in self.rejected if rule in rules),
            kept=tuple(rule for rule in self.kept if rule not in rules),
        )


def edits_of(changes: Iterable[Change], before: Edits | None = None) -> Edits:
    """What changes come to, in their order, behind those `before`: the last one that names a fact or a rule decides.

    >>> one = Triple("ada", "bornIn", "london")
    >>> edits_of([Change("add-fact", one), Change("remove-fact", one)]).removed == (one,)
    True
    """
    before = before or Edits()
    facts = dict.fromkeys(before.added, True) | dict.fromkeys(before.removed, False)
    rules = dict.fromkeys(before.kept, True) | dict.fromkeys(before.rejected, False)
    accepted, own = set(before.accepted), set(before.own)
    for change in changes:
        for fact, there in change.facts():
            facts.pop(fact, None)
            facts[fact] = there
        for rule, there in change.rules():
            rules.pop(rule, None)
            rules[rule] = there
            accepted -= set() if there else {rule}
        accepted |= change.accepted
        own |= change.written
    return Edits(
        _those(facts, there=True),
        _those(facts, there=False),
        rejected=_those(rules, there=False),
        kept=_those(rules, there=True),
        accepted=frozenset(accepted),
        own=frozenset(own),
    )


def _those(decided: dict[Any, bool], *, there: bool) -> tuple[Any, ...]:
    return tuple(one for one, is_there in decided.items() if is_there == there)
