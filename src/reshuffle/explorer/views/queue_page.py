"""The queue of missing links: the best ones that nobody has decided about, with filters, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.evaluation.link_limits import members, type_relation
from reshuffle.explorer.decisions import ACCEPT, KINDS, POSTPONE, REJECT
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, in_one_step
from reshuffle.rules.parsing import parse_rules
from reshuffle.rules.rule import ConstantRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from reshuffle.explorer.decisions import Decision
    from reshuffle.explorer.link_queues import FoundLinks, LinkQueue
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.progress import Progress

PER_PAGE = 50
MOST_SHOWN = 200
SHOWN = {"open": None, "accepted": ACCEPT, "rejected": REJECT, "postponed": POSTPONE}
"""What the queue can show, and which decision that is."""
_SCANNED = 256  # links whose rules are looked at together
_MOST_TYPES = 100


@dataclass(frozen=True)
class Filters:
    """Which links are wanted; empty texts want all."""

    relation: str = ""
    entity: str = ""
    type: str = ""
    rule: str = ""
    reasons_only: bool = False
    """Only links to which rules add more than popularity does."""
    show: str = "open"

    def __post_init__(self) -> None:
        if self.show not in SHOWN:
            raise InputError(f"found show = {self.show!r}", hint=f"give one of {', '.join(SHOWN)}")

    @property
    def read_rules(self) -> bool:
        """Must the rules of each link be looked at?"""
        return bool(self.rule) or self.reasons_only


def queue_page(
    queue: LinkQueue,
    decided: Mapping[Triple, Decision],
    filters: Filters,
    *,
    start: int = 0,
    most: int = PER_PAGE,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """A part of the queue, with counts of decisions and what the filters can be set to."""
    start, most = max(0, start), min(max(1, most), MOST_SHOWN)
    counts = {kind: sum(one.decision == kind for one in decided.values()) for kind in KINDS}
    page: dict[str, Any] = {"start": start, "show": filters.show, "decisions": counts}
    if (kind := SHOWN[filters.show]) is not None:
        return {**page, **_decided_page(decided, kind, filters, start, most)}
    _check_names(queue, filters)
    with in_one_step(progress, "looking at missing links"):
        found = queue.about(filters.entity, progress) if filters.entity else queue.found()
    places = _undecided(queue, found, decided)
    relations = _by_relation(queue, found, places)
    count: int | None
    places = _filtered(queue, found, places, filters)
    if filters.read_rules:
        wanted, more = _scanned(queue, found, places, filters, start + most, progress)
        places, count = np.array(wanted, np.int64), None if more else len(wanted)
    else:
        count = len(places)
    links = queue.rows(found, places[start : start + most])
    return {
        **page,
        "links": links,
        "count": count,
        "more": count is None or start + len(links) < count,
        "has_probability": queue.has_probability,
        "relations": relations,
        "types": _types(queue.facts),
    }


def _check_names(queue: LinkQueue, filters: Filters) -> None:
    if filters.relation and filters.relation not in queue.relations:
        raise UnknownNameError("relation", filters.relation, queue.relations)
    for name in (filters.entity, filters.type):
        if name and name not in queue.facts.entities:
            raise UnknownNameError("entity", name, queue.facts.entities)


def _decided_page(
    decided: Mapping[Triple, Decision], kind: str, filters: Filters, start: int, most: int
) -> dict[str, Any]:
    """Links about which was decided so, the last decision first."""
    wanted = [
        one
        for one in list(decided.values())[::-1]
        if one.decision == kind
        and (not filters.relation or one.triple.relation == filters.relation)
        and (not filters.entity or filters.entity in (one.triple.head, one.triple.tail))
    ]
    links = [one.to_dict() for one in wanted[start : start + most]]
    return {"links": links, "count": len(wanted), "more": start + len(links) < len(wanted)}


def _undecided(queue: LinkQueue, found: FoundLinks, decided: Mapping[Triple, Decision]) -> NDArray[np.int64]:
    """The places of links that nobody has decided about: what was rejected is never proposed again."""
    ids = [known for triple in decided if (known := queue.ids_of(triple)) is not None]
    gone = queue.keys(np.array(ids, np.int64).reshape(-1, 3))
    return np.flatnonzero(~np.isin(queue.keys(found.ids), gone))


def _by_relation(queue: LinkQueue, found: FoundLinks, places: NDArray[np.int64]) -> list[tuple[str, int]]:
    """How many links of each relation there are, most first."""
    counts = np.bincount(found.ids[places, 0], minlength=len(queue.relations))
    order = np.argsort(-counts, kind="stable")
    return [(queue.relations[place], int(counts[place])) for place in order.tolist() if counts[place]]


def _filtered(
    queue: LinkQueue, found: FoundLinks, places: NDArray[np.int64], filters: Filters
) -> NDArray[np.int64]:
    ids = found.ids[places]
    wanted = np.ones(len(places), np.bool_)
    if filters.relation:
        wanted &= ids[:, 0] == list(queue.relations).index(filters.relation)
    if filters.rule:
        wanted &= _may_follow_by(queue, ids, filters.rule)
    if filters.type:
        of_type = _of_type(queue.facts, filters.type)
        wanted &= of_type[ids[:, 1]] | of_type[ids[:, 2]]
    return places[wanted]


def _may_follow_by(queue: LinkQueue, ids: NDArray[np.int64], text: str) -> NDArray[np.bool_]:  # link
    """Which links have the relation that a rule concludes, and the entity that it names there."""
    (rule,) = parse_rules(text).rules
    relation = base_relation(rule.head)
    names = list(queue.relations)
    wanted: NDArray[np.bool_] = ids[:, 0] == (names.index(relation) if relation in names else -1)
    if isinstance(rule, ConstantRule):
        for column, end in enumerate(rule.conclusion[1:], start=1):
            if isinstance(end, str):
                wanted &= ids[:, column] == queue.facts.entities.find(end)
    return wanted


def _scanned(
    queue: LinkQueue,
    found: FoundLinks,
    places: NDArray[np.int64],
    filters: Filters,
    most: int,
    progress: Progress,
) -> tuple[list[int], bool]:
    """The first places whose rules are wanted, and whether there may be more."""
    wanted: list[int] = []
    with progress("looking at rules", total=len(places), unit="links") as report:
        for begin in range(0, len(places), _SCANNED):
            some = places[begin : begin + _SCANNED]
            for place, row in zip(some.tolist(), queue.rows(found, some, reasons=0), strict=True):
                if (not filters.rule or filters.rule in row["rules"]) and (
                    row["supported"] or not filters.reasons_only
                ):
                    wanted.append(place)
            report(len(some))
            if len(wanted) > most:
                return wanted[:most], True
    return wanted[:most], len(wanted) > most


# --- types ------------------------------------------------------------------------------------------------------------


def _types(facts: KnowledgeGraph) -> list[tuple[str, int]]:
    """The commonest types, with how many entities are of each."""
    return list(_common_types(facts))


def _common_types(facts: KnowledgeGraph) -> Iterator[tuple[str, int]]:
    if (relation := type_relation(facts)) is not None:
        _, tails = facts.edges(relation)
        numbers, counts = np.unique(tails, return_counts=True)
        for place in np.argsort(-counts, kind="stable")[:_MOST_TYPES].tolist():
            yield facts.entities[int(numbers[place])], int(counts[place])


def _of_type(facts: KnowledgeGraph, name: str) -> NDArray[np.bool_]:  # entity
    """Who is of a type."""
    relation = type_relation(facts)
    if relation is None:
        return np.zeros(facts.num_entities, np.bool_)
    return members(facts, relation, [facts.entities.id(name)])
