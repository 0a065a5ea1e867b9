"""Copies of answers: by pickle, `copy.copy` and `copy.deepcopy`, each with a life of its own."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces
from benchmarks.attack.reasoning import random_fact, random_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

Fact = tuple[str, str, str]

_WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda answers: pickle.loads(pickle.dumps(answers)),  # noqa: S301 - our own
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
_KINDS = ("auto", "chase", "bound", "sketch", "rule model")


class Copies(Part):
    """A copy says what the original said, and a change of the one is none of the other."""

    name = "copies"

    def made(self, random: Random) -> Case:
        kinds = ["add", "add", "remove"]
        return {
            "answers": random.choice(_KINDS),
            "way": random.choice(sorted(_WAYS)),
            "rules": [random_rule(random) for _ in range(random.randint(1, 4))],
            "facts": [random_fact(random) for _ in range(random.randint(1, 8))],
            "asked_before": random.random() < 0.5,
            "steps": [
                [random.choice(["original", "copy"]), random.choice(kinds), *random_fact(random)]
                for _ in range(random.randint(0, 6))
            ],
        }

    def run(self, case: Case, folder: Path) -> Counts:
        del folder
        original = _answers(case)
        if original is None:
            return {}
        if case["asked_before"]:
            _said(original)
        lives = {"original": original, "copy": _WAYS[case["way"]](original)}
        facts = {name: {(h, r, t) for h, r, t in case["facts"]} for name in lives}
        _compare(case, lives, facts)
        steps = (
            [] if case["answers"] == "rule model" else case["steps"]
        )  # whose facts are those that it is put on
        for whose, kind, *names in steps:
            fact = (names[0], names[1], names[2])
            if not _changed(lives[whose], kind, fact):
                continue
            facts[whose] = facts[whose] | {fact} if kind == "add" else facts[whose] - {fact}
            _compare(case, lives, facts)
        return {"comparisons": 2 * (1 + len(case["steps"]))}

    def smaller(self, case: Case) -> Iterator[Case]:
        for key in ("steps", "rules", "facts"):
            for items in without_pieces(case[key]):
                if items or key == "steps":
                    yield {**case, key: items}


def _answers(case: Case, facts: set[Fact] | None = None) -> Any:
    from reshuffle import KnowledgeGraph, NotExpressibleError, Reasoner, RuleModel, parse_rules

    rules = parse_rules("\n".join(case["rules"]))
    graph = KnowledgeGraph(sorted(facts) if facts is not None else [tuple(fact) for fact in case["facts"]])
    if not rules.rules:
        return None
    try:
        if case["answers"] == "rule model":
            return RuleModel.from_rules(rules).on(graph)
        if case["answers"] == "sketch":
            return Reasoner(rules).sketch(graph, channels=64, seed=1)
        if case["answers"] == "bound":
            return Reasoner(rules, bound=3).on(graph)
        return Reasoner(rules, engine=case["answers"]).on(graph)
    except NotExpressibleError:
        return None


def _changed(answers: Any, kind: str, fact: Fact) -> bool:
    from reshuffle import ReshuffleError

    try:
        getattr(answers, kind)([fact])
    except ReshuffleError:
        return False  # a name that nobody knows
    return True


def _said(answers: Any) -> Any:
    """All that follows; of a rule model what it predicts."""
    if hasattr(answers, "triples"):
        return {tuple(triple) for triple in answers.triples()}
    facts = sorted(answers.graph)
    if not facts or facts[0].relation not in answers.relations:
        return {}
    found = answers.predict(head=facts[0].head, relation=facts[0].relation, top=100)
    return {tuple(one.triple): round(one.score, 9) for one in found}


def _compare(case: Case, lives: dict[str, Any], facts: dict[str, set[Fact]]) -> None:
    for whose, answers in lives.items():
        found, fresh = _said(answers), _said(_answers(case, facts[whose]))
        wrong = found != fresh if case["answers"] != "sketch" else not found >= _exact(case, facts[whose])
        if wrong:
            raise WrongAnswerError(f"{case['way']} of {case['answers']}: the {whose} says what is not so")


def _exact(case: Case, facts: set[Fact]) -> set[Fact]:
    from reshuffle import parse_rules
    from reshuffle.rules.entailment import closure

    return {(t[0], t[1], t[2]) for t in closure(parse_rules("\n".join(case["rules"])), facts)} - facts


PARTS = (Copies(),)
