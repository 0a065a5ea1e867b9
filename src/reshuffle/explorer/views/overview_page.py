"""What is in the facts and in the rules: relations with their rules, broken constraints, and what looks wrong."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, in_one_step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reshuffle.explorer.subject import World
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress

_SHOWN = 20  # of each kind of what looks wrong
_BROKEN = 50  # constraints that are told with their proofs


def overview_page(world: World, labels: Mapping[str, str], *, progress: Progress = SILENT) -> dict[str, Any]:
    """The relations, most facts first, and what a person should look at."""
    facts = world.facts
    with in_one_step(progress, "counting facts"):
        counts = world.relation_counts
        relations = counts.rows()
    rules, about = _rules_by_relation(world, progress), _about_entities(world)
    for row in relations:
        row["rules"] = rules.get(row["relation"])
        row["about_entities"] = about.get(row["relation"], 0)
    with in_one_step(progress, "looking at names"):
        alike = alike_names(facts, labels)
    lone = np.flatnonzero(counts.degrees == 1)
    return {
        "facts": len(facts),
        "entities": facts.num_entities,
        "relations": relations,
        "rules_known": world.rules_at_hand,
        "about_entities": None if world.about_entities is None else len(world.about_entities),
        "violations": _violations(world, progress),
        "exceptions": counts.exceptions()[:_SHOWN],
        "alike": {"count": len(alike), "names": alike[:_SHOWN]},
        "lone": {"count": len(lone), "names": list(facts.entities[lone[:_SHOWN]])},
    }


def _rules_by_relation(world: World, progress: Progress) -> dict[str, dict[str, Any]]:
    """How many rules conclude a relation, and the best of them; reading those of weights would take minutes."""
    if not world.rules_at_hand:
        return {}
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in world.rule_rows(progress):
        found[base_relation(str(row["head"]))].append(row)
    return {relation: _summary(rows) for relation, rows in found.items()}


def _about_entities(world: World) -> dict[str, int]:
    """How many rules about particular entities conclude each relation, where these stand apart."""
    if not (rules := world.about_entities):
        return {}
    counts = np.bincount(rules.head_relations(), minlength=len(rules.relations))
    return dict(zip(rules.relations, counts.tolist(), strict=True))


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    best = max(rows, key=lambda row: (row.get("weight") or 0, row.get("confidence") or 0))
    told = {name: best.get(name) for name in ("rule", "confidence", "support", "weight")}
    sure = sum((row.get("confidence") or 0) >= 0.5 for row in rows)
    return {"count": len(rows), "over_half": sure, "best": told}


def _violations(world: World, progress: Progress) -> dict[str, Any]:
    if world.entailed is None or not world.rules.disjointness:
        return {"constraints": 0, "count": 0, "more": False, "found": []}
    with progress("looking for broken constraints", unit="pairs") as report:
        found = []
        for one in islice(world.entailed.violations(), _BROKEN + 1):
            report(1)
            found.append({**one.to_dict(), "text": str(one)})
    shown = found[:_BROKEN]
    constraints = len(world.rules.disjointness)
    return {
        "constraints": constraints,
        "count": len(shown),
        "more": len(found) > _BROKEN,
        "found": shown,
    }


def alike_names(facts: KnowledgeGraph, labels: Mapping[str, str]) -> list[list[str]]:
    """Entities whose labels or names differ in case, blanks and punctuation alone.

    Identifiers are left out: names with digits and without blanks.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> alike_names(KnowledgeGraph([("New York", "in", "USA"), ("new-york", "in", "U.S.A.")]), {})
    [['New York', 'new-york'], ['USA', 'U.S.A.']]
    """
    texts = facts.entities.to_arrow()
    if labels:
        texts = pa.array([labels.get(name, name) for name in texts.to_pylist()], pa.large_string())
    is_name = pc.or_(pc.match_substring(texts, " "), pc.invert(pc.match_substring_regex(texts, "[0-9]")))
    places = np.flatnonzero(is_name.to_numpy(zero_copy_only=False))
    keys = pc.replace_substring_regex(pc.utf8_lower(texts.take(pa.array(places))), r"[^\pL\pN]+", "")
    groups = _groups_of(keys.dictionary_encode().indices.to_numpy(zero_copy_only=False))
    return [list(facts.entities[places[group]]) for group in groups if keys[int(group[0])].as_py()]


def _groups_of(numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The places of each number that stands at several."""
    counts = np.bincount(numbers)
    several = np.flatnonzero(counts[numbers] > 1)
    order = several[np.argsort(numbers[several], kind="stable")]
    ends = np.flatnonzero(np.diff(numbers[order])) + 1
    return [group for group in np.split(order, ends) if len(group)]
