"""The list of rules with their measures, and the page of one rule with examples and counterexamples."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.explorer.views.entity_rules import entity_rule_row, entity_rules
from reshuffle.kg import Triple, inverse_name
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.progress import SILENT
from reshuffle.reasoning.proofs import atom_triple
from reshuffle.rules.rule import ConstantRule, IntersectionRule, bound_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import World
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress, Report
    from reshuffle.rules import Rule
    from reshuffle.rules.rule import Terms

PER_PAGE = 50
SORT_KEYS = ("reading", "weight", "confidence", "support", "head")
ABOUT = ("paths", "entities")
_MOST_SHOWN = 500
_EXAMPLES = 5
_FEW = 3  # facts for an atom, from each way that leads to it
_MOST_WALKED = 20_000  # pairs of a body that are looked at for examples
_RULES_FOR_ONE = 50  # that are looked at for one example
_LOOKS_FOR_ONE = 5_000
_FEW_WALKED = 100
_MOST_LOOKS = 200_000  # entities that are looked at for them


def rules_page(  # noqa: PLR0913 - what to show of a long list
    world: World,
    given: World,
    edits: Edits,
    *,
    about: str = "paths",
    search: str = "",
    sort: str = "reading",
    start: int = 0,
    most: int = PER_PAGE,
    labels: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """The rules as `rules --json` has them, each with its `status`; rejected ones stay in the list.

    `about="entities"` shows the rules about particular entities of a rule list, which stand apart.
    """
    if sort not in SORT_KEYS:
        raise InputError(f"found '{sort}' to sort by", hint=f"give one of {', '.join(SORT_KEYS)}")
    if about not in ABOUT:
        raise InputError(f"found rules about '{about}'", hint=f"give one of {', '.join(ABOUT)}")
    start, most = max(0, start), min(max(1, most), _MOST_SHOWN)
    page: dict[str, Any] = {
        "about": about,
        "about_entities": _number_of_entity_rules(world, given),
    }
    status = _statuses(edits)
    if about == "entities":
        found = entity_rules(
            world,
            given,
            edits,
            search=search,
            sort=sort,
            start=start,
            most=most,
            labels=labels,
            progress=progress,
        )
        rows = [
            {**row, "status": status.get(row["rule"], _new(edits, row["rule"]))} for row in found["rules"]
        ]
        return {**page, **found, "rules": rows, "statuses": _counted(status.values())}
    return page | _listed_page(
        world, given, edits, search=search, sort=sort, start=start, most=most, progress=progress
    )


def _number_of_entity_rules(world: World, given: World) -> int:
    return max(len(one.about_entities or ()) for one in (world, given))


def _new(edits: Edits, rule: str) -> str:
    return "added" if rule in map(str, edits.written) else "open"


def _counted(statuses: Iterable[str]) -> dict[str, int]:
    counts = Counter(statuses)
    return {status: counts[status] for status in ("open", "accepted", "rejected", "added")}


def _listed_page(  # noqa: PLR0913 - what to show of a long list
    world: World,
    given: World,
    edits: Edits,
    *,
    search: str,
    sort: str,
    start: int,
    most: int,
    progress: Progress,
) -> dict[str, Any]:
    rows = all_rows(world, given, edits, progress=progress)
    words, found = search.lower().split(), []
    with progress("looking through rules", total=len(rows), unit="rules") as report:
        for row in rows:
            report(1)
            if all(word in row["rule"].lower() for word in words):
                found.append(row)
    if sort == "head":
        found.sort(key=lambda row: str(row["head"]))
    elif sort != "reading":
        found.sort(key=lambda row: -(row.get(sort) or 0))
    return {
        "rules": found[start : start + most],
        "count": len(found),
        "start": start,
        "total": len(rows),
        "statuses": _counted(row["status"] for row in rows),
    }


def all_rows(
    world: World, given: World, edits: Edits, *, progress: Progress = SILENT
) -> list[dict[str, Any]]:
    """Every rule in its order: those of the subject, rejected ones in their places, then those written."""
    given_rows, status = given.rule_rows(progress), _statuses(edits)
    now = {} if world is given else {row["rule"]: row for row in world.rule_rows(progress)}
    rows = [{**now.pop(row["rule"], row), "status": status.get(row["rule"], "open")} for row in given_rows]
    added = [{**row, "status": status.get(row["rule"], "added")} for row in now.values()]
    known = {row["rule"] for row in (*rows, *added)}
    unmeasured = [
        {"rule": str(rule), "head": rule.head, "body": list(rule.body), "status": "added"}
        for rule in edits.written
        if str(rule) not in known and not _stands_apart(rule, given)
    ]
    return [*rows, *added, *unmeasured]


def _stands_apart(rule: Rule, given: World) -> bool:
    """Is it listed with the rules about particular entities?"""
    return isinstance(rule, ConstantRule) and given.about_entities is not None


def _statuses(edits: Edits) -> dict[str, str]:
    accepted = {str(rule): "accepted" for rule in edits.accepted}
    return accepted | {str(rule): "rejected" for rule in edits.rejected}


def known_of(
    world: World, given: World, edits: Edits, rule: Rule, progress: Progress = SILENT
) -> dict[str, Any]:
    """Weight, measures and decision of one rule, as far as it is in the list."""
    text, apart = str(rule), given.about_entities
    row: dict[str, Any] | None = None
    if isinstance(rule, ConstantRule) and apart is not None:
        row = entity_rule_row(apart, rule) or entity_rule_row(world.about_entities or apart, rule)
    elif world.rules_at_hand:
        row = next((row for row in given.rule_rows(progress) if row["rule"] == text), None)
    status = _statuses(edits).get(text, _new(edits, text))
    return {**(row or {"rule": text}), "status": status, "is_listed": row is not None}


def rule_page(facts: KnowledgeGraph, rule: Rule, *, progress: Progress = SILENT) -> dict[str, Any]:
    """One rule: pairs that its body joins and that are facts of its head, and pairs that are none."""
    examples: list[list[list[str]]] = []
    counter: list[list[list[str]]] = []
    seen: set[tuple[str, str]] = set()
    looked = 0
    with progress("examples", total=_MOST_LOOKS, unit="steps") as report:
        for walk, conclusion in islice(_instances(facts, rule, _Steps(report)), _MOST_WALKED):
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


def example(world: World, progress: Progress = SILENT) -> Triple | None:
    """Something to ask about: what one of the first rules concludes and is no fact, or else a fact."""
    facts = world.facts
    with progress("looking for an example", unit="steps") as report:
        report(0)
        steps = _Steps(report, _LOOKS_FOR_ONE)
        for rule in world.listed_rules[:_RULES_FOR_ONE]:
            for walk, conclusion in islice(_instances(facts, rule, steps), _FEW_WALKED):
                if conclusion not in facts and conclusion.head != conclusion.tail and conclusion not in walk:
                    return conclusion
    return next(iter(facts), None)


class _Steps:
    """Counts the steps of a search, and stops it: where there were too many, or where it is cancelled."""

    def __init__(self, report: Report, most: int = _MOST_LOOKS) -> None:
        self._report, self._left = report, most

    def take(self) -> bool:
        """One more step; False where there may be none."""
        self._report(1)
        self._left -= 1
        return self._left >= 0


def _instances(facts: KnowledgeGraph, rule: Rule, steps: _Steps) -> Iterator[tuple[list[Triple], Triple]]:
    """The facts that a body is met by, with what the rule concludes from them; a few from each start."""
    if isinstance(rule, ConstantRule):
        yield from _matches(facts, rule, rule.atoms, {}, steps)
        return
    neighbours = _neighbours_in(facts)
    dead: set[tuple[str, int]] = set()
    for start in _starts(facts, rule.body[0]):
        if not steps.take():
            return
        if isinstance(rule, IntersectionRule):
            ends = set(neighbours(start, rule.body[0])).intersection(
                *(neighbours(start, relation) for relation in rule.body[1:])
            )
            for end in sorted(ends)[:3]:
                walk = [atom_triple(relation, start, end) for relation in rule.body]
                yield walk, atom_triple(rule.head, start, end)
            continue
        for walk in islice(_walks(neighbours, rule.body, start, dead, steps), 3):
            entities = _entities_of(walk, rule.body)
            yield walk, atom_triple(rule.head, entities[0], entities[-1])


def _matches(
    facts: KnowledgeGraph, rule: ConstantRule, left: Sequence[Terms], bound: dict[int, str], steps: _Steps
) -> Iterator[tuple[list[Triple], Triple]]:
    """The facts that the atoms left can mean, with what is concluded; a few for each way that leads to them."""
    if not left:
        named = {number: bound.get(number, "") for number in range(rule.num_variables)}
        *walk, conclusion = (Triple(head, relation, tail) for relation, head, tail in rule.terms(named))
        if all(conclusion):
            yield walk, conclusion
        return
    few = _FEW if bound else _MOST_LOOKS
    # First the atom with most ends known, so that few facts are looked at.
    atom = min(left, key=lambda atom: sum(isinstance(end, int) and end not in bound for end in atom[1:]))
    others = [other for other in left if other is not atom]
    found = 0
    for triple in _meant_by(facts, atom, bound):
        if found >= few or not steps.take():
            return
        then = dict(bound)
        if bound_by(atom, triple, then):
            found += 1
            yield from islice(_matches(facts, rule, others, then, steps), _FEW)


def _meant_by(facts: KnowledgeGraph, atom: Terms, bound: dict[int, str]) -> Iterator[Triple]:
    """The facts that an atom can mean, by the index of whichever end is known."""
    relation, *ends = atom
    head, tail = (bound.get(end) if isinstance(end, int) else end for end in ends)
    neighbours = _neighbours_in(facts)
    if head is not None:
        known = neighbours(head, relation) if head in facts.entities else []
        yield from (Triple(head, relation, other) for other in known)
    elif tail is not None:
        known = neighbours(tail, inverse_name(relation)) if tail in facts.entities else []
        yield from (Triple(other, relation, tail) for other in known)
    elif relation in facts.relations:
        heads, tails = facts.edges(int(facts.relations.ids([relation])[0]))
        for one, other in zip(heads.tolist(), tails.tolist(), strict=True):
            yield Triple(facts.entities[one], relation, facts.entities[other])


def _walks(
    neighbours: Callable[[str, str], list[str]],
    body: tuple[str, ...],
    start: str,
    dead: set[tuple[str, int]],
    steps: _Steps,
) -> Iterator[list[Triple]]:
    """Walks along a body. `dead` has the entities that no walk leads on from, with the number of atoms that are left:
    without it, a long body without an end would be searched along every one of its beginnings.
    """
    if not body:
        yield []
        return
    found = False
    for end in neighbours(start, body[0])[:20]:
        if (end, len(body) - 1) in dead:
            continue
        if not steps.take():
            return
        for rest in _walks(neighbours, body[1:], end, dead, steps):
            found = True
            yield [atom_triple(body[0], start, end), *rest]
    if not found:
        dead.add((start, len(body)))


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
