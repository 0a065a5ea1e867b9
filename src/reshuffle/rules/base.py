"""Rule bases: a set of rules, and the rewritings that the constructions need."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.kg import inverse_name
from reshuffle.kg.inverses import base_relation, is_inverse
from reshuffle.rules.rule import Disjointness, IntersectionRule, PathRule, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

FRESH_PREFIX = "~"


@dataclass(frozen=True)
class Unread:
    """Parts of a rule file that are not used: how many of a kind, and where the first one stands.

    >>> print(Unread("rules with constants", 2, "mined.txt:7: speaks(X,english) <= bornIn(X,london)"))
    rules with constants not read: 2; the first: mined.txt:7: speaks(X,english) <= bornIn(X,london)
    """

    what: str
    count: int
    first: str

    def __str__(self) -> str:
        return f"{self.what} not read: {self.count}; the first: {self.first}"


@dataclass(frozen=True)
class RuleBase:
    """Rules in the order they were written. Duplicates and tautologies are kept apart and reported.

    `fresh` are the relations that `binarised` made, to be hidden from answers; `unread` is what the rule file
    held besides rules of our kinds.

    >>> hyp = PathRule(("hyp", "hyp"), "hyp")
    >>> base = RuleBase((hyp, PathRule(("hyp",), "isa"), PathRule(("isa",), "isa")))
    >>> base.relations, base.head_relations
    (('hyp', 'isa'), ('hyp', 'isa'))
    >>> print(base.tautologies[0])
    isa(X, Y) -> isa(X, Y)
    """

    given: tuple[Rule, ...]
    disjointness: tuple[Disjointness, ...] = ()
    fresh: frozenset[str] = frozenset()
    unread: tuple[Unread, ...] = field(default=(), compare=False)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The given rules without duplicates and tautologies."""
        return tuple(rule for rule in dict.fromkeys(self.given) if not rule.is_tautology)

    @cached_property
    def duplicates(self) -> tuple[Rule, ...]:
        """The rules that were given more than once, each once."""
        return tuple(rule for rule, count in Counter(self.given).items() if count > 1)

    @cached_property
    def tautologies(self) -> tuple[Rule, ...]:
        """The rules that say nothing, such as `r(X, Y) -> r(X, Y)`."""
        return tuple(dict.fromkeys(rule for rule in self.given if rule.is_tautology))

    @cached_property
    def path_rules(self) -> tuple[PathRule, ...]:
        """The closed path rules, hierarchy rules included."""
        return tuple(rule for rule in self.rules if isinstance(rule, PathRule))

    @cached_property
    def intersection_rules(self) -> tuple[IntersectionRule, ...]:
        """The intersection rules."""
        return tuple(rule for rule in self.rules if isinstance(rule, IntersectionRule))

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """Every relation that occurs in a rule, a constraint or a tautology, in order of appearance."""
        seen: dict[str, None] = {}
        for rule in self.given:
            seen.update(dict.fromkeys((*rule.body, rule.head)))
        for pair in self.disjointness:
            seen.update(dict.fromkeys((pair.first, pair.second)))
        return tuple(seen)

    @cached_property
    def head_relations(self) -> tuple[str, ...]:
        """Relations that some rule derives (the paper's R_1)."""
        return tuple(dict.fromkeys(rule.head for rule in self.rules))

    @cached_property
    def by_head(self) -> dict[str, tuple[Rule, ...]]:
        """The rules of each head relation."""
        grouped: dict[str, list[Rule]] = {}
        for rule in self.rules:
            grouped.setdefault(rule.head, []).append(rule)
        return {head: tuple(rules) for head, rules in grouped.items()}

    @property
    def uses_inverses(self) -> bool:
        """Does any atom run backwards?"""
        return any(is_inverse(relation) for relation in self.relations)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in (*self.given, *self.disjointness))

    def closed_under_reversal(self) -> RuleBase:
        """The rules, and each rule also read from its second variable, with `r^-1` as a relation of its own.

        Needed as soon as one atom runs backwards, since (e, r, f) then holds iff (f, r^-1, e) does.
        """
        if not self.uses_inverses:
            return self
        both = (*self.given, *(rule.reversed() for rule in self.given))
        return replace(self, given=both, fresh=self.fresh | {inverse_name(name) for name in self.fresh})

    def binarised(self) -> RuleBase:
        """An equivalent base with bodies of at most two atoms.

        Longer bodies are cut by fresh relations, whose names start with `~` and which `fresh` lists.

        >>> print(RuleBase((PathRule(("a", "b", "c"), "r"),)).binarised())
        a(X, Y) & b(Y, Z) -> "~1"(X, Z)
        "~1"(X, Y) & c(Y, Z) -> r(X, Z)
        """
        names = self._unused_names()
        prefixes: dict[tuple[str, ...], str] = {}
        rules: list[Rule] = []
        for rule in self.rules:
            if isinstance(rule, IntersectionRule) or len(rule.body) <= 2:
                rules.append(rule)
                continue
            first = rule.body[0]
            for length in range(2, len(rule.body)):
                prefix = rule.body[:length]
                if prefix not in prefixes:
                    prefixes[prefix] = next(names)
                    rules.append(PathRule((first, prefix[-1]), prefixes[prefix]))
                first = prefixes[prefix]
            rules.append(PathRule((first, rule.body[-1]), rule.head, rule.quality))
        return replace(self, given=tuple(rules), fresh=self.fresh | set(prefixes.values()))

    def _unused_names(self) -> Iterator[str]:
        """`~1`, `~2`, ... without those that a rule already uses, forwards or backwards."""
        taken = {base_relation(relation) for relation in self.relations}
        numbered = (f"{FRESH_PREFIX}{number}" for number in itertools.count(1))
        return (name for name in numbered if name not in taken)
