"""Random rule bases with facts, many of them put together as one, for engines that are slow to start."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reshuffle.errors import NotExpressibleError
from reshuffle.kg.vocabulary import INVERSE_SUFFIX, base_relation, is_inverse
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase
from reshuffle.rules.entailment import closure, fewest_steps
from reshuffle.rules.rule import Disjointness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.rules.entailment import Fact

KINDS = ("exact", "bounded", "chase")
# What SQL, file systems, Parquet's folders and Spark's paths dislike in names.
HOSTILE = [
    "",
    "'",
    '"',
    "\\",
    "/",
    "=",
    "%",
    "%2F",
    "\n",
    "\t",
    "\x01",
    "\x7f",
    " ",
    "*?[a]",
    "{b}",
    ":",
    "#",
    "é",
    "🜁",
    "NULL",
]


@dataclass(frozen=True)
class Case:
    """Rules and facts, what follows, and how: exactly by geometry, within a bound, or by the chase alone."""

    rules: RuleBase
    facts: tuple[Fact, ...]
    kind: str
    bound: int | None = None

    def derived(self) -> set[Fact]:
        """What the oracle derives."""
        if self.bound is None:
            return closure(self.rules, self.facts) - set(self.facts)
        steps = fewest_steps(self.rules, self.facts)
        return {fact for fact, needed in steps.items() if needed <= self.bound} - set(self.facts)


def random_case(seed: int) -> Case:
    """One to four rules over four relations, inverses among them, up to twelve facts over five entities."""
    draw = random.Random(seed)
    names = [f"r{number}" for number in range(1, draw.randint(3, 5))]
    backwards = draw.choice((0.0, 0.3))

    def atom() -> str:
        return draw.choice(names) + (INVERSE_SUFFIX if draw.random() < backwards else "")

    rules: list[PathRule | IntersectionRule] = []
    for _ in range(draw.randint(1, 4)):
        if draw.random() < 0.25:
            body = tuple(dict.fromkeys(atom() for _ in range(draw.randint(2, 3))))
            if len(body) > 1:
                rules.append(IntersectionRule(body, draw.choice(names)))
                continue
        rules.append(PathRule(tuple(atom() for _ in range(draw.randint(1, 3))), draw.choice(names)))
    facts = {
        (f"e{draw.randint(1, 5)}", draw.choice(names), f"e{draw.randint(1, 5)}")
        for _ in range(draw.randint(0, 12))
    }
    disjoint = (Disjointness(atom(), atom()),) if draw.random() < 0.3 else ()
    base = RuleBase(tuple(rules), disjoint)
    try:
        constraints_for(base)
    except NotExpressibleError:
        if base.intersection_rules or draw.random() < 0.4:
            return Case(base, tuple(sorted(facts)), "chase")
        return Case(base, tuple(sorted(facts)), "bounded", bound=2)
    return Case(base, tuple(sorted(facts)), "exact")


def random_cases(kind: str, count: int, *, first: int = 0) -> list[Case]:
    """So many cases of one kind."""
    found: list[Case] = []
    while len(found) < count:
        case = random_case(first)
        first += 1
        if case.kind == kind:
            found.append(case)
    return found


def together(cases: Iterable[Case]) -> tuple[Case, set[Fact]]:
    """Cases of one kind as one, over names of their own, and what follows."""
    rules: list[PathRule | IntersectionRule] = []
    disjoint: list[Disjointness] = []
    facts: list[Fact] = []
    derived: set[Fact] = set()
    for number, case in enumerate(cases):
        mark = f"{number}{HOSTILE[number % len(HOSTILE)]}"
        rules += [_renamed(rule, mark) for rule in case.rules.given]
        disjoint += [
            Disjointness(_relation(pair.first, mark), _relation(pair.second, mark))
            for pair in case.rules.disjointness
        ]
        facts += [_fact(fact, mark) for fact in case.facts]
        derived |= {_fact(fact, mark) for fact in case.derived()}
        kind, bound = case.kind, case.bound
    return Case(RuleBase(tuple(rules), tuple(disjoint)), tuple(facts), kind, bound), derived


def _renamed(rule: PathRule | IntersectionRule, mark: str) -> PathRule | IntersectionRule:
    body = tuple(_relation(name, mark) for name in rule.body)
    return replace(rule, body=body, head=_relation(rule.head, mark))


def _relation(name: str, mark: str) -> str:
    renamed = f"{mark}{base_relation(name)}"
    return renamed + INVERSE_SUFFIX if is_inverse(name) else renamed


def _fact(fact: Fact, mark: str) -> Fact:
    head, relation, tail = fact
    return f"{mark}{head}", f"{mark}{relation}", f"{mark}{tail}"
