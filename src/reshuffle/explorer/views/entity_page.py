"""The page of an entity: its facts by relation, derived triples and predictions."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.progress import SILENT, in_one_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.explorer.subject import World
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.reasoning import Answers

PER_GROUP = 12
"""Neighbours that a group shows at first."""
MOST_SHOWN = 500
_MOST_PREDICTIONS = 200


def entity_page(
    world: World, name: str, *, per_group: int = PER_GROUP, progress: Progress = SILENT
) -> dict[str, Any]:
    """The facts of an entity in groups, with counts, and where rules answer, what follows about it."""
    number = _known(world, name)
    with in_one_step(progress, "looking at facts"):
        facts = [
            {
                "relation": relation,
                "side": side,
                "count": len(ends),
                "names": world.facts.entities[ends[:per_group]],
            }
            for relation, side, ends in _groups(world.facts, number)
        ]
    page: dict[str, Any] = {
        "entity": name,
        "facts": facts,
        "degree": sum(group["count"] for group in facts),
        "predicts": world.entailed is None,
        "exactness": world.exactness,
    }
    if world.entailed is not None:
        page["derived"] = _derived(world, world.entailed, name, number, per_group, progress)
    return page


def group_page(  # noqa: PLR0913 - which part of which group
    world: World,
    name: str,
    relation: str,
    side: str,
    *,
    derived: bool,
    start: int = 0,
    most: int = 100,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """One group of an entity, from one of its names on: for groups of thousands."""
    if side not in ("head", "tail"):
        raise InputError(f"found the side {side!r}", hint="give head or tail")
    number = _known(world, name)
    with in_one_step(progress, "looking at one relation"):
        if derived and world.entailed is not None:
            names = _derived_names(world.facts, world.entailed, name, number, relation, side)
        else:
            code = world.facts.relations.find(relation)
            names = [] if code is None else world.facts.entities[_ends(world.facts, number, code, side)]
    most, start = min(max(1, most), MOST_SHOWN), max(0, start)
    return {
        "entity": name,
        "relation": relation,
        "side": side,
        "derived": derived,
        "count": len(names),
        "start": start,
        "names": names[start : start + most],
    }


def predictions_page(
    world: World,
    *,
    head: str | None,
    tail: str | None,
    relation: str | None,
    top: int = 10,
    reasons: int = 0,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """New links of a model, as `predict --json` has them; of rules nothing is predicted, it follows or not."""
    top = min(max(1, top), _MOST_PREDICTIONS)
    about: dict[str, Any] = {"head": head, "tail": tail, "relation": relation}
    with in_one_step(progress, "asking the model"):
        found = world.predictions(**about, top=top, progress=progress)
    if found is None:
        return {"predictions": []}
    data: dict[str, Any] = found.to_dict(reasons=min(max(0, reasons), 10), progress=progress)
    return data


def _known(world: World, name: str) -> int:
    number = world.facts.entities.find(name)
    if number is None:
        raise UnknownNameError("entity", name, world.facts.entities)
    return number


def _groups(facts: KnowledgeGraph, entity: int) -> Iterator[tuple[str, Side, NDArray[np.int32]]]:
    """The neighbours of an entity by relation and direction."""
    sides: tuple[tuple[Side, Any], ...] = (("tail", facts.by_head), ("head", facts.by_tail))
    for side, rows in sides:
        start, end = rows.starts[entity], rows.starts[entity + 1]
        relations, neighbours = rows.relations[start:end], rows.neighbours[start:end]
        for code in np.unique(relations):
            yield facts.relations[int(code)], side, neighbours[relations == code]


def _ends(facts: KnowledgeGraph, entity: int, relation: int, side: str) -> NDArray[np.int32]:
    return (facts.by_head if side == "tail" else facts.by_tail).of(entity, relation)


def _derived(
    world: World, answers: Answers, name: str, number: int, most: int, progress: Progress
) -> list[dict[str, Any]]:
    asked = list(product(world.asked_relations, ("tail", "head")))
    found = []
    with progress("looking for what follows", total=len(asked), unit="questions") as report:
        for relation, side in asked:
            names = _derived_names(world.facts, answers, name, number, relation, side)
            if names:
                found.append({"relation": relation, "side": side, "count": len(names), "names": names[:most]})
            report(1)
    return found


def _derived_names(
    facts: KnowledgeGraph, answers: Answers, name: str, number: int, relation: str, side: str
) -> list[str]:
    """The entities reached by rules but by no fact, sorted by name."""
    reached = answers.tails(name, relation) if side == "tail" else answers.heads(relation, name)
    code = facts.relations.find(relation)
    known = set() if code is None else set(facts.entities[_ends(facts, number, code, side)])
    return sorted(other for other in reached if other not in known)
