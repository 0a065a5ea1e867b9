"""The effect of a change: new answers, lost answers, and ranks of held-out facts."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reshuffle.errors import UnknownNameError
from reshuffle.evaluation import evaluate
from reshuffle.explorer.rule_bases import RuleBaseWorld
from reshuffle.explorer.rule_lists import RuleListWorld
from reshuffle.explorer.shared_work import tell_part
from reshuffle.kg import KnowledgeGraph, Triple
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT, in_one_step
from reshuffle.rulelist.constants.constant_edits import claim_of
from reshuffle.rules.rule import ConstantRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reshuffle.explorer.changes import Change
    from reshuffle.explorer.soft_models import SoftModelWorld
    from reshuffle.explorer.subject import World
    from reshuffle.progress import Progress, Report
    from reshuffle.rules import Rule

_Answer: TypeAlias = "tuple[Triple, str]"
"""A link, and the kind of question: it may be the answer to several, and has a score for each."""

SHOWN = 200
"""Triples that a list of what appears or vanishes names; the rest is counted."""
_MOST_COMPARED = 300_000  # derived triples that are compared one by one
_SECONDS = 1.5  # for a look at larger ones, and for questions that a rule moves answers of
_TRIED = 1_000  # held-out facts that rules are asked about
_RANKED = 100  # held-out facts that a model ranks
_LITTLE = 1e-6  # of a score
_TOP = 20  # predictions about an entity that are compared
_TOP_OF_RELATION = 50
_LINKS = 5  # accepted together, the last ones, whose entities are asked about
_FIRST = 64  # questions whose answers are shown while more are asked
_LARGER = 4  # times as many as in the piece before
_MOST_QUESTIONS = 1_000  # that a rule moves answers of: those that it leads to most


@dataclass(frozen=True)
class Touched:
    """Entities and relations that changes affect: the entities of facts, the relations that rules conclude."""

    entities: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    @classmethod
    def by(cls, changes: Iterable[Change]) -> Touched:
        """The ends of the facts and the heads of the rules."""
        entities: dict[str, None] = {}
        relations: dict[str, None] = {}
        rules: dict[Rule, None] = {}
        for change in changes:
            if change.triple is not None:
                entities |= {change.triple.head: None, change.triple.tail: None}
            for link in change.links[-_LINKS:]:
                entities |= {link.head: None, link.tail: None}
            for rule in (change.rule, change.to):
                if rule is not None:
                    relations[base_relation(rule.head)] = None
                    rules[rule] = None
        return cls(tuple(entities), tuple(relations), tuple(rules))


@dataclass
class _Difference:
    """What is in the one and not in the other, as far as it was looked at."""

    triples: dict[Triple, None] = field(default_factory=dict)
    count: int = 0
    relations: dict[str, int] = field(default_factory=dict)
    """How many there are of each relation, where there are more than are named."""

    def to_dict(self) -> dict[str, Any]:
        shown = sorted(islice(self.triples, SHOWN))
        relations = self.relations or Counter(triple.relation for triple in self.triples)
        return {
            "count": max(self.count, len(self.triples)),
            "relations": sorted(relations.items(), key=lambda one: (-one[1], one[0])),
            "triples": [list(triple) for triple in shown],
        }


NOTHING: dict[str, Any] = {
    "appeared": _Difference().to_dict(),
    "vanished": _Difference().to_dict(),
    "complete": True,
    "held_out": None,
}
"""The effect of no change."""


def effect(
    before: World,
    after: World,
    touched: Touched,
    held_out: KnowledgeGraph,
    *,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """What appears and what vanishes between two worlds; `complete` where every answer was compared."""
    if isinstance(before, RuleBaseWorld) and isinstance(after, RuleBaseWorld):
        found = _of_rules(before, after, touched, progress)
        tell_part(found)
        found["held_out"] = _found_held_out(before, after, held_out, progress)
        return found
    found = _of_rankings(before, after, touched, progress)  # type: ignore[arg-type]
    tell_part(found)
    found["held_out"] = _ranked_held_out(before, after, touched, held_out, progress)  # type: ignore[arg-type]
    return found


# --- rules: what follows ----------------------------------------------------------------------------------------------


def _of_rules(
    before: RuleBaseWorld, after: RuleBaseWorld, touched: Touched, progress: Progress
) -> dict[str, Any]:
    with progress("counting what follows", total=2, unit="worlds") as report:
        counts = []
        for world in (before, after):
            report(0)
            counts.append(world.answers.counts())
            report(1)
    totals = [sum(count.derived for count in each.values()) for each in counts]
    complete = max(totals) <= _MOST_COMPARED
    looked = (_compared if complete else _looked_at)(before, after, touched, progress)
    relations = {
        name: [
            counts[0][name].derived if name in counts[0] else 0,
            counts[1][name].derived if name in counts[1] else 0,
        ]
        for name in dict.fromkeys([*counts[0], *counts[1]])
    }
    return {
        "appeared": looked[0].to_dict(),
        "vanished": looked[1].to_dict(),
        "complete": complete,
        "derived": totals,
        "relations": {name: pair for name, pair in relations.items() if pair[0] != pair[1]},
    }


def _compared(
    before: RuleBaseWorld, after: RuleBaseWorld, touched: Touched, progress: Progress
) -> tuple[_Difference, _Difference]:
    del touched
    with in_one_step(progress, "comparing what follows"):
        new = after.derived - (before.derived | before.facts)
        gone = before.derived - (after.derived | after.facts)
    return _named(new), _named(gone)


def _named(triples: KnowledgeGraph) -> _Difference:
    sizes = np.bincount(triples.relation_ids, minlength=len(triples.relations)).tolist()
    relations = {name: size for name, size in zip(triples.relations, sizes, strict=True) if size}
    return _Difference(dict.fromkeys(islice(triples, 10 * SHOWN)), len(triples), relations)


def _looked_at(
    before: RuleBaseWorld, after: RuleBaseWorld, touched: Touched, progress: Progress
) -> tuple[_Difference, _Difference]:
    """About the entities that are touched, and for a while among all triples."""
    with progress("comparing what follows", unit="triples") as report:
        return _only_in(after, before, touched, report), _only_in(before, after, touched, report)


def _only_in(one: RuleBaseWorld, other: RuleBaseWorld, touched: Touched, report: Report) -> _Difference:
    found = _Difference()
    ends_at = time.monotonic() + _SECONDS
    for triple in _near_first(one, touched):
        if triple not in one.facts and not _holds(other, triple, report):
            found.triples[triple] = None
        if len(found.triples) >= SHOWN or time.monotonic() > ends_at:
            break
    return found


def _near_first(world: RuleBaseWorld, touched: Touched) -> Iterator[Triple]:
    answers = world.answers
    for entity in touched.entities:
        if entity in world.facts.entities:
            for relation in world.asked_relations:
                yield from (Triple(entity, relation, tail) for tail in answers.tails(entity, relation))
                yield from (Triple(head, relation, entity) for head in answers.heads(relation, entity))
    if touched.relations:
        yield from (triple for triple in answers.triples() if triple.relation in touched.relations)


def _holds(world: RuleBaseWorld, triple: Iterable[str], report: Report) -> bool:
    report(1)
    try:
        return world.answers.holds(*triple)
    except UnknownNameError:
        return False


def _found_held_out(
    before: RuleBaseWorld, after: RuleBaseWorld, held_out: KnowledgeGraph, progress: Progress
) -> dict[str, Any] | None:
    if not len(held_out):
        return None
    asked = list(islice(held_out, _TRIED))
    with progress("asking about held-out facts", total=2 * len(asked), unit="facts") as report:
        held = [[_holds(world, triple, report) for triple in asked] for world in (before, after)]
    pairs = list(zip(asked, *held, strict=True))
    return {
        "measure": "found",
        "asked": len(asked),
        "before": sum(held[0]),
        "after": sum(held[1]),
        "gained": [list(triple) for triple, was, now in pairs if now and not was][:SHOWN],
        "lost": [list(triple) for triple, was, now in pairs if was and not now][:SHOWN],
    }


# --- models: what is ranked first -------------------------------------------------------------------------------------


def _of_rankings(
    before: RuleListWorld | SoftModelWorld,
    after: RuleListWorld | SoftModelWorld,
    touched: Touched,
    progress: Progress,
) -> dict[str, Any]:
    about, found = _asked_about((before, after), touched)
    ranked = [_Ranked.of(world, touched, progress) for world in (before, after)]
    asked, ends_at, piece = 0, time.monotonic() + _SECONDS, _FIRST
    while True:
        heads = None if about is None else about[asked : asked + piece]
        began = time.monotonic()
        for one in ranked:
            one.ask(touched, heads, progress)
        if about is None:
            return _moved(*(one.best for one in ranked))
        asked, now = min(asked + piece, len(about)), time.monotonic()
        told = {**_moved(*(one.best for one in ranked)), "questions": found, "asked": asked}
        if asked == len(about) or now + (now - began) > ends_at:
            return told
        tell_part(told)
        piece *= _LARGER


def _moved(first: dict[_Answer, float], second: dict[_Answer, float]) -> dict[str, Any]:
    """What is among the best answers of one world alone, and whose score is another one."""
    appeared = _Difference({key[0]: None for key in second if key not in first})
    vanished = _Difference({key[0]: None for key in first if key not in second})
    differences = {key: score - first[key] for key, score in second.items() if key in first}
    moved = sorted(
        (one for one in differences if abs(differences[one]) > _LITTLE),
        key=lambda one: -abs(differences[one]),
    )
    return {
        "appeared": appeared.to_dict(),
        "vanished": vanished.to_dict(),
        "moved": [
            {"triple": list(key[0]), "before": first[key], "after": second[key]} for key in moved[:SHOWN]
        ],
        "complete": False,
    }


@dataclass
class _Ranked:
    """The best new links of a world about what is touched, with their scores."""

    world: RuleListWorld | SoftModelWorld
    about: dict[_Answer, float]
    """Answers to questions about entities."""
    links: dict[str, list[Any]] = field(default_factory=dict)
    """Of each relation the best ones, as far as they are asked for."""

    @classmethod
    def of(cls, world: RuleListWorld | SoftModelWorld, touched: Touched, progress: Progress) -> _Ranked:
        """About entities; links of relations are asked for piece by piece."""
        about = _about_entities(world, touched, progress) | _about_named(world, touched, progress)
        return cls(world, about)

    def ask(self, touched: Touched, heads: list[str] | None, progress: Progress) -> None:
        """For the best links of the touched relations, from more heads, or from all."""
        for relation in touched.relations:
            if relation in self.world.asked_relations:
                asked = {} if heads is None else {"heads": heads}
                found = self.world.missing(relation, top=_TOP_OF_RELATION, progress=progress, **asked)
                before = self.links.get(relation)
                both = found if before is None else sorted([*before, *found], key=_likely, reverse=True)
                self.links[relation] = list(both)[:_TOP_OF_RELATION]

    @property
    def best(self) -> dict[_Answer, float]:
        """The score of each answer."""
        links = {(row.triple, "links"): row.score for rows in self.links.values() for row in rows}
        return links | self.about


def _likely(row: Any) -> float:
    """What links of different questions to a rule list are compared by."""
    return float(row.plausibility if row.probability is None else row.probability)


def _asked_about(
    worlds: Iterable[RuleListWorld | SoftModelWorld], touched: Touched
) -> tuple[list[str] | None, int]:
    """The heads whose answers the rules of a list that are touched may move, as many as there is time for; and how many
    there are. None for soft models, whose rules say nothing on their own.
    """
    lists = [world for world in worlds if isinstance(world, RuleListWorld)]
    if not lists or not touched.rules:
        return None, 0
    led = [one.led_from(touched.rules, most=_MOST_QUESTIONS) for one in lists]
    heads = dict.fromkeys(
        name for names, _ in led for name in names
    )  # a new rule may speak of a new relation
    return list(heads), max(found for _, found in led)


def _about_entities(
    world: RuleListWorld | SoftModelWorld, touched: Touched, progress: Progress
) -> dict[_Answer, float]:
    """The best new links about the entities that are touched, with their scores."""
    best: dict[_Answer, float] = {}
    for entity in touched.entities:
        if entity in world.facts.entities:
            for end in ("head", "tail"):
                with in_one_step(progress, f"asking about {entity}"):
                    found = world.predictions(**{end: entity}, top=_TOP, progress=progress)
                best |= {(row.triple, end): row.score for row in found}
    return best


def _about_named(
    world: RuleListWorld | SoftModelWorld, touched: Touched, progress: Progress
) -> dict[_Answer, float]:
    """The best answers to the questions about the entities that rules conclude something of."""
    best: dict[_Answer, float] = {}
    for question in _questions_of(touched.rules):
        if question["relation"] in world.asked_relations:
            named = question.get("head") or question["tail"]
            if named in world.facts.entities:
                with in_one_step(progress, f"asking about {named}"):
                    found = world.predictions(**question, top=_TOP_OF_RELATION, progress=progress)
                best |= {(row.triple, "members"): row.score for row in found}
    return best


def _questions_of(rules: Iterable[Rule]) -> Iterator[dict[str, str]]:
    """What rules about particular entities answer: who speaks English?"""
    for rule in rules:
        claim = claim_of(rule) if isinstance(rule, ConstantRule) else None
        if claim is not None:
            _, _, relation, entity = claim
            yield {"relation": base_relation(relation), "head" if is_inverse(relation) else "tail": entity}


def _ranked_held_out(
    before: RuleListWorld | SoftModelWorld,
    after: RuleListWorld | SoftModelWorld,
    touched: Touched,
    held_out: KnowledgeGraph,
    progress: Progress,
) -> dict[str, Any] | None:
    """MRR and Hits@10 of held-out facts, those of touched relations where there are some."""
    known = before.facts.entities
    answerable = (triple for triple in held_out if triple.head in known and triple.tail in known)
    about = (one for one in held_out if one.relation in touched.relations)
    asked = KnowledgeGraph(
        list(islice((one for one in about if one.head in known and one.tail in known), _RANKED))
        or list(islice(answerable, _RANKED))
    )
    if not len(asked):
        return None
    key = tuple(asked)
    if key not in before.ranked:  # the world without changes is compared with many others
        before.ranked[key] = _ranked(before, asked, held_out, progress)
    ranked = _ranked(after, asked, held_out, progress)
    return {"measure": "mrr", "asked": len(asked), "before": before.ranked[key], "after": ranked}


def _ranked(
    world: RuleListWorld | SoftModelWorld, asked: KnowledgeGraph, known: KnowledgeGraph, progress: Progress
) -> dict[str, float]:
    report = evaluate(
        world.scorer,
        asked,
        protocol="full",
        known=[world.facts, known],
        baseline=False,
        unknown="skip",
        progress=progress,
    )
    return {"mrr": report["mrr"], "hits@10": report["hits@10"]}
