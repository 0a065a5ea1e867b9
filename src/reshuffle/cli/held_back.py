"""`predict --constraints`: links that would break a constraint are not proposed, and others take their places."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from reshuffle.cli.console import Console
    from reshuffle.evaluation.ranked_links import Link, Predictions
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning.impossible_links import ImpossibleLinks


def impossible_links(
    arguments: argparse.Namespace, facts: KnowledgeGraph, console: Console
) -> ImpossibleLinks:
    """What the file of constraints excludes beside the facts; what an ontology says of individuals are facts, too."""
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning.impossible_links import ImpossibleLinks, says_what_cannot_be
    from reshuffle.theories import load
    from reshuffle.theories.ontology_files import OntologyTheory

    path = str(arguments.constraints)
    theory = load(path, notes=console.message)
    rules = theory.written_rules()
    if not says_what_cannot_be(rules):
        raise InputError(
            "nothing in this file says what cannot be",
            place=Place(path),
            hint="give an ontology with disjoint classes or functional properties, or rules such as "
            "a(X, Y) & b(X, Y) -> false",
        )
    said = theory.ontology.facts if isinstance(theory, OntologyTheory) else theory.facts
    return ImpossibleLinks(
        rules, facts | KnowledgeGraph(said), progress=console.progress, notes=console.message
    )


def without_impossible(
    ask: Callable[[dict[str, Any]], Predictions[Link]],
    wanted: dict[str, Any],
    impossible: ImpossibleLinks,
    console: Console,
) -> Predictions[Link]:
    """The links that may be, as many as are wanted where there are so many; how many were held back is told.

    `wanted` has `top`, and `per_relation` where it is given; more links are asked for until these are filled.
    """
    judged: dict[Any, bool] = {}
    more = 1
    while True:
        asked = {name: number if number is None else number * more for name, number in wanted.items()}
        found = ask(asked)
        for link in found:
            if link.triple not in judged:
                judged[link.triple] = not link.known and link.triple in impossible
        kept = _within(found, judged, wanted)
        if not _lacks(found, kept, asked, wanted):
            held = sum(judged[link.triple] for link in found)
            rest = "" if impossible.claim else f"; {impossible.claim}"
            console.message(f"{counted(held, 'link')} held back, which would break a constraint{rest}")
            return replace(found, links=tuple(kept), held_back=held)
        more *= 2


def _within(found: Predictions[Link], judged: dict[Any, bool], wanted: dict[str, Any]) -> list[Link]:
    """The links that are not held back, within the numbers that are wanted."""
    kept: list[Link] = []
    by_relation: Counter[str] = Counter()
    for link in found:
        full = by_relation[link.triple.relation] == wanted.get("per_relation")
        if judged[link.triple] or full:
            continue
        kept.append(link)
        by_relation[link.triple.relation] += 1
        if len(kept) == wanted.get("top"):
            break
    return kept


def _lacks(found: Predictions[Link], kept: list[Link], asked: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Are there fewer than wanted, though there may be more to ask for?"""
    if not found.complete or len(kept) == wanted.get("top"):
        return False
    if (most := asked.get("per_relation")) is not None:
        there = Counter(link.triple.relation for link in found)
        left = Counter(link.triple.relation for link in kept)
        if any(there[name] >= most and left[name] < wanted["per_relation"] for name in there):
            return True
    return asked.get("top") is not None and len(found) >= asked["top"]
