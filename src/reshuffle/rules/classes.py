"""Which class a rule base is in, and for every "no" a witness a person can read.

| class | means | exact geometry |
| --- | --- | --- |
| acyclic | no relation depends on itself | yes (the paper's first positive result) |
| left-regular | after the first atom only relations that no rule derives | yes (the paper's second) |
| right-regular | the mirror image | yes |
| regular | every recursion is left, right, or both for one relation (`r;r -> r` included) | yes |
| hierarchy-intersection | one-atom and intersection rules only | yes |
| mixed | regular paths and intersections, no intersection inside a longer path | yes |
| none | anything else | no: bounded, or the chase |

Whether the language of a context-free grammar is regular is undecidable, so "regular" is a syntactic class:
a base outside it may still have a rule graph, but nobody can decide that in general.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.rules.grammar import PathGrammar, Recursion, reachable, strongly_connected
from reshuffle.rules.rule import IntersectionRule, PathRule

if TYPE_CHECKING:
    from reshuffle.rules.base import RuleBase
    from reshuffle.rules.rule import Rule

CLASSES = (
    "acyclic",
    "left-regular",
    "right-regular",
    "regular",
    "hierarchy-intersection",
    "mixed",
)
_MOST_NAMES = 4


@dataclass(frozen=True)
class Classification:
    """The first class that fits (or `none`), and for every class that does not fit the reason."""

    name: str
    why_not: dict[str, str]
    ranking: tuple[str, ...] | None  # for acyclic bases: relations, bodies before heads

    @property
    def faithful(self) -> bool:
        """Does an exact rule graph exist for this class?"""
        return self.name != "none"

    @property
    def reason(self) -> str | None:
        """Why there is no exact geometry, or None where there is."""
        if self.faithful:
            return None
        return self.why_not["mixed"] if "intersection" in self.why_not["regular"] else self.why_not["regular"]


def classify(base: RuleBase) -> Classification:
    """The class of a rule base, as written (closed under reversal first where an atom runs backwards).

    >>> from reshuffle.rules import PathRule, RuleBase
    >>> classify(RuleBase((PathRule(("r", "r"), "r"),))).name
    'regular'
    >>> print(classify(RuleBase((PathRule(("r1", "r2", "r1"), "r2"),))).reason)
    `r2` calls itself between other atoms: rule 1: r1(X, Y) & r2(Y, Z) & r1(Z, Z1) -> r2(X, Z1)
    """
    return _Classifier(base).classification()


class _Classifier:
    def __init__(self, base: RuleBase) -> None:
        self.base = base
        self.closed = base.closed_under_reversal()
        self.heads = set(self.closed.head_relations)

    def classification(self) -> Classification:
        why_not = {name: reason for name in CLASSES if (reason := self._why_not(name)) is not None}
        name = next((name for name in CLASSES if name not in why_not), "none")
        return Classification(name, why_not, self._ranking if name == "acyclic" else None)

    def _why_not(self, name: str) -> str | None:
        checks = {
            "acyclic": self._why_not_acyclic,
            "left-regular": lambda: self._why_not_one_sided(first=True),
            "right-regular": lambda: self._why_not_one_sided(first=False),
            "regular": self._why_not_regular,
            "hierarchy-intersection": self._why_not_hierarchy_intersection,
            "mixed": self._why_not_mixed,
        }
        return checks[name]()

    # --- path rules only ----------------------------------------------------------------------------

    def _intersection_in_the_way(self) -> str | None:
        for rule in self.closed.intersection_rules:
            return f"an intersection rule is present: {self._cite(rule)}"
        return None

    @cached_property
    def _dependencies(self) -> list[tuple[str, ...]]:
        calls: dict[str, list[str]] = {relation: [] for relation in self.closed.relations}
        for rule in self.closed:
            calls[rule.head].extend(rule.body)
        return strongly_connected(calls)

    @cached_property
    def _ranking(self) -> tuple[str, ...]:
        return tuple(relation for component in self._dependencies for relation in component)

    def _why_not_acyclic(self) -> str | None:
        if (present := self._intersection_in_the_way()) is not None:
            return present
        component_of = {
            relation: index for index, group in enumerate(self._dependencies) for relation in group
        }
        for rule in self.closed.path_rules:
            for relation in rule.body:
                if component_of[relation] == component_of[rule.head]:
                    return f"`{rule.head}` depends on itself through `{relation}`: {self._cite(rule)}"
        return None

    def _why_not_one_sided(self, *, first: bool) -> str | None:
        if (present := self._intersection_in_the_way()) is not None:
            return present
        place = "first" if first else "last"
        for rule in self.closed.path_rules:
            rest = rule.body[1:] if first else rule.body[:-1]
            for relation in rest:
                if relation in self.heads:
                    return (
                        f"`{relation}` is derived by a rule and is not the {place} atom: {self._cite(rule)}"
                    )
        return None

    def _why_not_regular(self) -> str | None:
        return self._intersection_in_the_way() or self._why_recursion_not_regular()

    def _why_recursion_not_regular(self) -> str | None:
        for component in PathGrammar(self.closed).components:
            if component.recursion is Recursion.EMBEDDED and component.offender is not None:
                offender = component.offender
                return self._embedding(component.symbols, offender.body, offender.head, offender.rule)
        return None

    def _embedding(self, members: tuple[str, ...], body: tuple[str, ...], head: str, rule: PathRule) -> str:
        calls = [place for place, symbol in enumerate(body) if symbol in members]
        cite = self._cite(rule)
        if len(members) > 1:
            names = ", ".join(f"`{name}`" for name in sorted(members)[:_MOST_NAMES])
            names += f" and {len(members) - _MOST_NAMES} more" if len(members) > _MOST_NAMES else ""
            return f"{names} call each other, not all as the first atom and not all as the last: {cite}"
        if len(calls) > 2:
            return f"`{head}` calls itself {len(calls)} times: {cite}"
        if len(calls) == 2:
            return f"`{head}` calls itself twice, not only on both sides: {cite}"
        return f"`{head}` calls itself between other atoms: {cite}"

    # --- with intersections -------------------------------------------------------------------------

    def _why_not_hierarchy_intersection(self) -> str | None:
        for rule in self.closed.path_rules:
            if len(rule.body) > 1:
                return f"a path of {len(rule.body)} atoms is present: {self._cite(rule)}"
        return None

    def _why_not_mixed(self) -> str | None:
        conjunctive = conjunctive_relations(self.closed)
        for rule in self.closed.path_rules:
            for relation in rule.body if len(rule.body) > 1 else ():
                if relation in conjunctive:
                    return (
                        f"`{relation}` depends on an intersection rule and occurs inside a longer path, where its "
                        f"conditions could be met through different middle entities: {self._cite(rule)}"
                    )
        return self._why_recursion_not_regular()

    def _cite(self, rule: Rule) -> str:
        """`rule 3: ...`, counting the rules as given; a reversed rule is cited as it was written."""
        for written, backwards in ((rule, ""), (rule.reversed(), " (read backwards)")):
            if written in self.base.given:
                return f"rule {self.base.given.index(written) + 1}{backwards}: {written}"
        return str(rule)


def conjunctive_relations(base: RuleBase) -> frozenset[str]:
    """Heads of intersection rules, and what follows from them through one-atom or intersection rules."""
    passed_on: dict[str, list[str]] = {}
    for rule in base:
        if isinstance(rule, IntersectionRule) or len(rule.body) == 1:
            for relation in rule.body:
                passed_on.setdefault(relation, []).append(rule.head)
    return frozenset(reachable((rule.head for rule in base.intersection_rules), passed_on))
