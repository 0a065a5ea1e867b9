"""The list of rules with what is known of each, and one rule with the facts for and against it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.progress import SILENT
from reshuffle.reasoning.proofs import atom_triple
from reshuffle.rules.rule import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import World
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.progress import Progress
    from reshuffle.rules import Rule

PER_PAGE = 50
SORT_KEYS = ("reading", "weight", "confidence", "support", "head")
_EXAMPLES = 5
_MOST_WALKED = 20_000  # pairs of a body that are looked at for examples


def rules_page(  # noqa: PLR0913 - what to show of a long list
    world: World,
    given: World,
    edits: Edits,
    *,
    search: str = "",
    sort: str = "reading",
    start: int = 0,
    most: int = PER_PAGE,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """The rules as `rules --json` has them, each with its `status`; rejected ones stay in the list."""
    if sort not in SORT_KEYS:
        raise InputError(f"found '{sort}' to sort by", hint=f"give one of {', '.join(SORT_KEYS)}")
    rows = all_rows(world, given, edits, progress=progress)
    words = search.lower().split()
    found = [row for row in rows if all(word in row["rule"].lower() for word in words)]
    if sort == "head":
        found.sort(key=lambda row: str(row["head"]))
    elif sort != "reading":
        found.sort(key=lambda row: -(row.get(sort) or 0))
    start, most = max(0, start), min(max(1, most), 500)
    return {
        "rules": found[start : start + most],
        "count": len(found),
        "start": start,
        "total": len(rows),
        "statuses": {
            status: sum(row["status"] == status for row in rows)
            for status in ("open", "accepted", "rejected", "added")
        },
    }


def all_rows(
    world: World, given: World, edits: Edits, *, progress: Progress = SILENT
) -> list[dict[str, Any]]:
    """Every rule in its order: those of the subject, rejected ones in their places, then those written."""
    now = {row["rule"]: row for row in world.rule_rows(progress)}
    status = {str(rule): "accepted" for rule in edits.accepted} | {
        str(rule): "rejected" for rule in edits.rejected
    }
    rows = [
        {**now.pop(row["rule"], row), "status": status.get(row["rule"], "open")}
        for row in given.rule_rows(progress)
    ]
    added = [{**row, "status": status.get(row["rule"], "added")} for row in now.values()]
    missing = [
        rule for rule in edits.written if str(rule) not in now and str(rule) not in {r["rule"] for r in rows}
    ]
    unmeasured = [
        {"rule": str(rule), "head": rule.head, "body": list(rule.body), "status": "added"} for rule in missing
    ]
    return [*rows, *added, *unmeasured]


def rule_page(facts: KnowledgeGraph, rule: Rule) -> dict[str, Any]:
    """One rule: pairs that its body joins and that are facts of its head, and pairs that are none."""
    examples: list[list[list[str]]] = []
    counter: list[list[list[str]]] = []
    seen: set[tuple[str, str]] = set()
    looked = 0
    for walk, conclusion in islice(_instances(facts, rule), _MOST_WALKED):
        looked += 1
        pair = (conclusion.head, conclusion.tail)
        into = examples if conclusion in facts else counter
        if pair in seen or len(into) >= _EXAMPLES or conclusion in walk:
            continue
        seen.add(pair)
        into.append([list(conclusion), *map(list, walk)])
        if len(examples) == len(counter) == _EXAMPLES:
            break
    return {
        "rule": str(rule),
        "head": rule.head,
        "body": list(rule.body),
        "terms": [list(term) for term in rule.terms([chr(ord("A") + n) for n in range(rule.num_variables)])],
        "examples": [_told(instance) for instance in examples],
        "counter_examples": [_told(instance) for instance in counter],
        "looked_at": looked,
    }


def _told(instance: list[list[str]]) -> dict[str, Any]:
    return {"triple": instance[0], "facts": instance[1:]}


def _instances(facts: KnowledgeGraph, rule: Rule) -> Iterator[tuple[list[Triple], Triple]]:
    """The facts that a body is met by, with what the rule concludes from them; a few from each start."""
    neighbours = _neighbours_in(facts)
    for start in _starts(facts, rule.body[0]):
        if isinstance(rule, IntersectionRule):
            ends = set(neighbours(start, rule.body[0])).intersection(
                *(neighbours(start, relation) for relation in rule.body[1:])
            )
            for end in sorted(ends)[:3]:
                walk = [atom_triple(relation, start, end) for relation in rule.body]
                yield walk, atom_triple(rule.head, start, end)
            continue
        for walk in islice(_walks(neighbours, rule.body, start), 3):
            entities = _entities_of(walk, rule.body)
            yield walk, atom_triple(rule.head, entities[0], entities[-1])


def _walks(
    neighbours: Callable[[str, str], list[str]], body: tuple[str, ...], start: str
) -> Iterator[list[Triple]]:
    if not body:
        yield []
        return
    for end in neighbours(start, body[0])[:20]:
        for rest in _walks(neighbours, body[1:], end):
            yield [atom_triple(body[0], start, end), *rest]


def _entities_of(walk: list[Triple], body: tuple[str, ...]) -> list[str]:
    pairs = [
        (fact.tail, fact.head) if is_inverse(relation) else (fact.head, fact.tail)
        for fact, relation in zip(walk, body, strict=True)
    ]
    return [pairs[0][0], *(end for _, end in pairs)]


def _starts(facts: KnowledgeGraph, relation: str) -> Iterator[str]:
    """The entities from which the first atom leads somewhere, spread over all of them."""
    code = facts.relations.find(inverse_name(relation) if is_inverse(relation) else relation)
    if code is None:
        return
    heads, tails = facts.edges(code)
    ends = np.unique(tails if is_inverse(relation) else heads)
    step = max(1, len(ends) // 997)
    for shift in range(step):
        for number in ends[shift::step].tolist():
            yield facts.entities[number]


def _neighbours_in(facts: KnowledgeGraph) -> Callable[[str, str], list[str]]:
    def neighbours(entity: str, relation: str) -> list[str]:
        backwards = is_inverse(relation)
        code = facts.relations.find(inverse_name(relation) if backwards else relation)
        if code is None:
            return []
        rows = facts.by_tail if backwards else facts.by_head
        return facts.entities[rows.of(facts.entities.id(entity), code)]

    return neighbours
