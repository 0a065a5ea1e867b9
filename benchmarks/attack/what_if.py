"""Sequences of changes in the explorer beside a world that is made anew from what should be there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.attack.asking import ask, explorer
from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces
from benchmarks.attack.reasoning import random_fact, random_rule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

    from reshuffle.rules import Rule

Fact: TypeAlias = tuple[str, str, str]

_KINDS = ["add-fact"] * 3 + ["remove-fact"] * 3
_KINDS += ["reject-rule", "restore-rule", "accept-rule", "add-rule", "edit-rule", "undo", "undo", "reset"]
_SHOWN = 200  # triples that the explorer lists
_numbers = itertools.count()


class WhatIf(Part):
    """Facts and rules come, go and change in one session; each answer is that of a world without a history."""

    name = "what-if"

    def missing(self) -> str | None:
        return None if find_spec("starlette") else "the package starlette is not installed"

    def made(self, random: Random) -> Case:
        rules = [random_rule(random) for _ in range(random.randint(1, 4))]
        facts = [random_fact(random) for _ in range(random.randint(1, 8))]
        spoken_of = [*rules, *(random_rule(random) for _ in range(2))]
        steps = [_step(random, spoken_of, facts) for _ in range(random.randint(1, 10))]
        return {"rules": rules, "facts": facts, "steps": steps}

    def run(self, case: Case, folder: Path) -> Counts:
        del folder
        if not _rules("\n".join(case["rules"])):
            return {}  # all of them say nothing
        visit = _Visit(case)
        for step in case["steps"]:
            visit.take(step)
            visit.compare(step)
        return {"steps": len(case["steps"]), "questions": visit.asked}

    def smaller(self, case: Case) -> Iterator[Case]:
        for key in ("steps", "rules", "facts"):
            for items in without_pieces(case[key]):
                if items:
                    yield {**case, key: items}


def _step(random: Random, rules: list[str], facts: list[list[str]]) -> dict[str, Any]:
    kind = random.choice(_KINDS)
    if kind in ("undo", "reset"):
        return {"kind": kind}
    if kind.endswith("fact"):
        return {"kind": kind, "triple": random.choice([random.choice(facts), random_fact(random)])}
    step = {"kind": kind, "rule": random.choice(rules)}
    return {**step, "to": random.choice(rules)} if kind == "edit-rule" else step


def _rules(text: str) -> frozenset[Rule]:
    from reshuffle import parse_rules

    return frozenset(parse_rules(text).rules)


@dataclass(frozen=True)
class _World:
    """What is there: no history, no order."""

    rules: frozenset[Rule]
    facts: frozenset[Fact]

    def after(self, step: dict[str, Any]) -> _World:
        """The world after one step; a rule that is accepted or restored is there."""
        if step["kind"].endswith("fact"):
            one = frozenset({(step["triple"][0], step["triple"][1], step["triple"][2])})
            return _World(self.rules, self.facts | one if step["kind"] == "add-fact" else self.facts - one)
        rule = _rules(step["rule"])
        left = self.rules - rule if step["kind"] in ("reject-rule", "edit-rule") else self.rules | rule
        return _World(left | (_rules(step["to"]) if "to" in step else frozenset()), self.facts)

    def holds(self) -> frozenset[Fact]:
        """The facts and all that follows, by the definition."""
        from reshuffle.rules import RuleBase
        from reshuffle.rules.entailment import closure

        found = closure(RuleBase(tuple(self.rules)), self.facts)
        return frozenset((triple[0], triple[1], triple[2]) for triple in found)


@dataclass
class _Visit:
    """A session of the explorer, and beside it the steps that it has kept."""

    case: Case
    kept: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        from reshuffle import KnowledgeGraph, parse_rules
        from reshuffle.explorer.exhibits import Exhibit
        from reshuffle.explorer.rule_bases import RuleBaseSubject
        from reshuffle.explorer.subject import Source

        self.key = f"case-{next(_numbers)}"
        rules = parse_rules("\n".join(self.case["rules"]))
        self.before = _World(frozenset(rules.rules), frozenset((h, r, t) for h, r, t in self.case["facts"]))
        source = Source(self.key, KnowledgeGraph(sorted(self.before.facts)))
        exhibit = Exhibit(self.key, self.key, "rules", lambda _: RuleBaseSubject(rules, source))
        explorer().exhibits = {self.key: exhibit}

    def ask(self, method: str, name: str, **words: Any) -> tuple[int, Any]:
        """Ask about this case."""
        self.asked += 1
        return ask(method, f"/api/v1/{name}", self.key, of=self.key, **words)

    def take(self, step: dict[str, Any]) -> None:
        """Send a step; a rule that says nothing or is not there may be refused, and nothing else."""
        if step["kind"] in ("undo", "reset"):
            status, told = self.ask("POST", step["kind"])
            self.kept = self.kept[:-1] if step["kind"] == "undo" else []
        else:
            status, told = self.ask("POST", "changes", change=step)
            if status == 200:
                self.kept.append(step)
            elif status == 400 and "rule" in step:
                return
        if status != 200:
            raise WrongAnswerError(f"{step}: status {status}: {told}")

    def compare(self, step: dict[str, Any]) -> None:
        """Is the session now in the world that the kept steps lead to?"""
        now = self.before
        for one in self.kept:
            now = now.after(one)
        status, told = self.ask("GET", "what-if")
        if status != 200:
            raise WrongAnswerError(f"what-if after {step}: status {status}: {told}")
        before, after = self.before.holds(), now.holds()
        found = told["effect"]
        _same(found["appeared"], after - now.facts - before, f"appeared after {step}")
        _same(found["vanished"], before - self.before.facts - after, f"vanished after {step}")
        counted = found["complete"] and "derived" in found  # where nothing is changed, nothing is counted
        if counted and found["derived"][1] != len(after - now.facts):
            raise WrongAnswerError(
                f"after {step}: {found['derived'][1]} derived, not {len(after - now.facts)}"
            )
        if told["facts"] != len(now.facts):
            raise WrongAnswerError(f"after {step}: {told['facts']} facts, not {len(now.facts)}")
        self._compare_why(now, after)

    def _compare_why(self, now: _World, after: frozenset[Fact]) -> None:
        for fact in sorted(after - now.facts)[:1] + sorted(self.before.facts - after)[:1]:
            status, told = self.ask(
                "GET", "why", **dict(zip(("head", "relation", "tail"), fact, strict=True))
            )
            if status == 404 and fact not in after:
                continue  # its names are gone with it
            if status != 200 or bool(told["explanation"]["follows"]) != (fact in after):
                raise WrongAnswerError(f"why {fact}: status {status}: {told}")


def _same(found: dict[str, Any], expected: frozenset[Fact], what: str) -> None:
    named = {(head, relation, tail) for head, relation, tail in found["triples"]}
    if found["count"] != len(expected) or named != set(sorted(expected)[:_SHOWN]):
        raise WrongAnswerError(
            f"{what}: {found['count']}, not {len(expected)}: {sorted(named ^ expected)[:5]}"
        )


PARTS = (WhatIf(),)
