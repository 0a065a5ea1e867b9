"""The missing links of a model, best first, to be looked at while they are still searched for.

A rule list walks its bodies from all entities, some at a time, and keeps the best links so far. These lie in the user's
cache under a digest of the model and the facts, so that the next start shows them at once, and a search that was cut
off goes on. A soft model is asked about one relation after the other; nothing of it is stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reshuffle.data.finding import cache_directory
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.soft_models import SoftModelSubject
from reshuffle.kg.io.files import written_whole
from reshuffle.progress import SILENT
from reshuffle.rulelist.links.rule_links import Links
from reshuffle.rulelist.spark.links_on_spark import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Side
    from reshuffle.explorer.rule_lists import RuleListWorld
    from reshuffle.explorer.soft_models import SoftModelWorld
    from reshuffle.explorer.subject import Subject
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.answers.predictions import Prediction
    from reshuffle.progress import Progress
    from reshuffle.rulelist.links.link_parts import LinkSearch
    from reshuffle.rulelist.rule_predictions import RulePrediction
    from reshuffle.rulelist.sums import Part

TOP = 20_000
"""Links of all relations together that a queue has room for."""
PER_RELATION = 1_000
ABOUT_ONE = 300
"""Links about one entity, for each of the two questions."""
EVIDENCE = ("walks", "predictions", "support")
"""How often a rule leads to a link; or for how many it was right, where it is about particular entities."""
_PER_QUESTION = 200  # links of a relation of a soft model


@dataclass(frozen=True)
class FoundLinks:
    """Links by id, best first, and how far the search for them is."""

    ids: NDArray[np.int64]  # link (relation head tail)
    values: NDArray[np.float64]  # link
    backward: NDArray[np.bool_]  # link: was it asked for from its tail?
    done: int = 0
    total: int = 0
    unit: str = "entities"

    @property
    def is_complete(self) -> bool:
        """Is the search over?"""
        return self.done >= self.total

    def __len__(self) -> int:
        return len(self.values)


def _sorted(parts: Sequence[tuple[Links, bool]]) -> FoundLinks:
    links = Links.joined([Links.none(), *(part for part, _ in parts)])
    backward = np.repeat([flag for _, flag in parts] or [False], [len(part) for part, _ in parts] or [0])
    order = np.lexsort((*links.ids.T[::-1], -links.values))
    order = order[np.sort(np.unique(links.ids[order], axis=0, return_index=True)[1])]
    return FoundLinks(links.ids[order], links.values[order], backward[order])


class LinkQueue(ABC):
    """Searches once, while others look at what is found."""

    facts: KnowledgeGraph
    relations: Sequence[str]
    """By id."""
    has_probability: bool
    stopped: bool = False
    """Did somebody end the search?"""
    turn: int = 0
    """How often it was begun again."""

    def begin_again(self) -> None:
        """Let it be searched for what is left."""
        self.turn += self.stopped
        self.stopped = False

    @cached_property
    def searching(self) -> Lock:
        """Held by the one that searches."""
        return Lock()

    @abstractmethod
    def found(self) -> FoundLinks:
        """The best links so far."""

    @abstractmethod
    def about(self, entity: str, progress: Progress = SILENT) -> FoundLinks:
        """The best links from and to an entity."""

    @abstractmethod
    def search(self, progress: Progress = SILENT) -> None:
        """Search to the end."""

    @abstractmethod
    def rows(self, found: FoundLinks, places: NDArray[np.int64], *, reasons: int = 1) -> list[dict[str, Any]]:
        """Some links as data, with their best reasons."""

    def ids_of(self, triple: Sequence[str]) -> tuple[int, int, int] | None:
        """A link by id; None where a name is not known."""
        head, relation, tail = triple
        ids = self._numbers.get(relation), self.facts.entities.find(head), self.facts.entities.find(tail)
        return None if None in ids else ids  # type: ignore[return-value] # none of them is None

    def keys(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for each link."""
        count = len(self.facts.entities)
        return (ids[:, 0] * count + ids[:, 1]) * count + ids[:, 2]

    @property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.relations)}


def link_queue(subject: Subject) -> LinkQueue | None:
    """The queue of a subject; None where nothing ranks links."""
    if not len(subject.source.facts):
        return None
    if isinstance(subject, RuleListSubject):
        return RuleListQueue(subject)
    return SoftModelQueue(subject) if isinstance(subject, SoftModelSubject) else None


# --- rule lists -------------------------------------------------------------------------------------------------------


class RuleListQueue(LinkQueue):
    """Links that rules lead to, in the order of their probability."""

    def __init__(self, subject: RuleListSubject) -> None:
        self._world: RuleListWorld = subject.as_given  # type: ignore[assignment] # a list's world is one of lists
        self._search: LinkSearch = self._world.scorer.link_search(top=TOP, per_relation=PER_RELATION)  # type: ignore[union-attr]
        state = self._search.state
        self.facts, self.relations = state.graph, tuple(state.graph.relations)
        self.has_probability = subject.model.likelihood is not None
        self._total = len(self._search.asked.blocks(state))
        self._file = _cache() / f"{digest_of(state, self._search.asked, self._search.wanted)[:32]}.arrow"
        self._stored = _read(self._file, len(self.relations), len(self.facts.entities))

    def found(self) -> FoundLinks:
        """Those of an earlier search, or of the one that runs."""
        if self._stored is not None:
            return _as_found(self._stored, self._total, self._total)
        return _as_found(self._search.kept, self._search.done, self._total)

    def about(self, entity: str, progress: Progress = SILENT) -> FoundLinks:
        """All entities are looked through for links to one; from one, its own walks suffice."""
        parts = []
        for end in ("head", "tail"):
            about: dict[str, Any] = {end: entity}
            rows = self._world.predictions(**about, top=ABOUT_ONE, progress=progress)
            parts.append((self._links(rows), end == "tail"))
        return _sorted(parts)

    def _links(self, rows: Any) -> Links:
        ids = [self.ids_of(row.triple) for row in rows]
        values = [row.plausibility if row.probability is None else _log_odds(row.probability) for row in rows]
        return Links(np.array(ids, np.int64).reshape(-1, 3), np.array(values, np.float64))

    def search(self, progress: Progress = SILENT) -> None:
        """From where an earlier search was cut off."""
        if self._stored is not None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
        except OSError:  # a home that nobody may write to
            self._stored = self._search.run(progress=progress)
            return
        links = self._search.run(beside=self._file, progress=progress)
        _write(links, self._file)
        self._stored = links

    def rows(self, found: FoundLinks, places: NDArray[np.int64], *, reasons: int = 1) -> list[dict[str, Any]]:
        """With what rules and what tables add, and the rule that adds most."""
        made: dict[int, dict[str, Any]] = {}
        sides: tuple[Side, ...] = ("tail", "head")
        for side in sides:
            here = places[found.backward[places] == (side == "head")]
            links = Links(found.ids[here], found.values[here])
            told = self._search.state.predictions(links, side)
            made |= {int(place): _rule_row(one, reasons) for place, one in zip(here, told, strict=True)}
        return [made[int(place)] for place in places]


def _rule_row(one: RulePrediction, reasons: int) -> dict[str, Any]:
    rules = one.sum.rule_score
    tables = one.score - rules
    found = [_reason(part) for part in one.reasons(reasons)] if reasons else []
    return {
        **one.triple._asdict(),
        "side": one.side,
        "probability": one.probability,
        "score": one.score,
        "by_rules": rules,
        "by_popularity": tables,
        "supported": rules >= tables and rules > 0,
        "rules": [str(part.rule.rule) for part in one.sum.parts if part.rule is not None],
        "reasons": found,
    }


def _reason(part: Part) -> dict[str, Any]:
    """A rule with the facts that it is met by here."""
    quality, told = None if part.rule is None else part.rule.rule.quality, part.to_dict()
    return {
        "rule": None if part.rule is None else str(part.rule.rule),
        "facts": [list(fact) for fact in (part.proofs[0] if part.proofs else ())],
        "value": part.value,
        **{name: told[name] for name in EVIDENCE if name in told},
        "confidence": None if quality is None else quality.confidence,
    }


def _log_odds(chance: float) -> float:
    return float(np.log(chance / max(1 - chance, 1e-12)))


def _as_found(links: Links, done: int, total: int) -> FoundLinks:
    return FoundLinks(links.ids, links.values, np.zeros(len(links), np.bool_), done, total, "blocks")


# --- what is stored ---------------------------------------------------------------------------------------------------


def _cache() -> Path:
    return cache_directory().parent / "links"


def _write(links: Links, file: Path) -> None:
    table = pa.table([*links.ids.T, links.values], names=["relation", "head", "tail", "value"])
    with written_whole(file) as aside, pa.ipc.new_file(str(aside), table.schema) as writer:
        writer.write_table(table)


def _read(file: Path, relations: int, entities: int) -> Links | None:
    """The links of a file; None where there is none, or one that is not ours."""
    try:
        with pa.memory_map(str(file)) as source:
            table = pa.ipc.open_file(source).read_all()
        ids = np.column_stack(
            [np.array(table.column(name), np.int64) for name in ("relation", "head", "tail")]
        )
        values = np.array(table.column("value"), np.float64)
    except (OSError, KeyError, ValueError, pa.ArrowException):
        return None
    if len(ids) and (ids.min() < 0 or ids[:, 0].max() >= relations or ids[:, 1:].max() >= entities):
        return None
    return Links(ids, values)


# --- soft models ------------------------------------------------------------------------------------------------------


@dataclass
class SoftModelQueue(LinkQueue):
    """The most plausible links of each relation that was asked about."""

    subject: SoftModelSubject
    has_probability: bool = field(default=False, init=False)
    _rows: dict[tuple[int, int, int], Prediction] = field(default_factory=dict, init=False, repr=False)
    _links: Links = field(default_factory=Links.none, init=False, repr=False)
    _done: int = field(default=0, init=False)
    _writing: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._world: SoftModelWorld = self.subject.as_given  # type: ignore[assignment] # as above
        self.facts, self.relations = self._world.facts, tuple(self._world.asked_relations)

    def found(self) -> FoundLinks:
        """Those of the relations that are done."""
        with self._writing:
            links, done = self._links, self._done
        backward = np.zeros(len(links), np.bool_)
        return FoundLinks(links.ids, links.values, backward, done, len(self.relations), "relations")

    def about(self, entity: str, progress: Progress = SILENT) -> FoundLinks:
        """As answers to the two questions."""
        parts = []
        for end in ("head", "tail"):
            about: dict[str, Any] = {end: entity}
            rows = self._world.predictions(**about, top=ABOUT_ONE, progress=progress)
            parts.append((self._taken(rows), end == "tail"))
        return _sorted(parts)

    def _taken(self, rows: Any) -> Links:
        known = [(ids, row) for row in rows if (ids := self.ids_of(row.triple)) is not None]
        with self._writing:
            self._rows.update(known)
        values = [row.score if row.plausibility is None else row.plausibility for _, row in known]
        return Links(np.array([ids for ids, _ in known], np.int64).reshape(-1, 3), np.array(values))

    def search(self, progress: Progress = SILENT) -> None:
        """One relation after the other."""
        with progress("missing links", total=len(self.relations), unit="relations") as report:
            report(self._done)
            for relation in self.relations[self._done :]:
                links = self._taken(self._world.missing(relation, top=_PER_QUESTION))
                joined = Links.joined([self._links, links])
                order = np.argsort(-joined.values, kind="stable")[:TOP]
                with self._writing:
                    self._links, self._done = joined.part(order), self._done + 1
                report(1)

    def rows(self, found: FoundLinks, places: NDArray[np.int64], *, reasons: int = 1) -> list[dict[str, Any]]:
        """With the reason that supports each most."""
        made = []
        for place in places:
            one = self._rows[tuple(found.ids[place].tolist())]
            told = [reason.to_dict() for reason in one.reasons(reasons)] if reasons else []
            row = {**one.triple._asdict(), "side": one.side, "probability": one.confidence}
            rules = [str(reason["rule"]) for reason in told]
            made.append({**row, "score": one.score, "supported": bool(told), "rules": rules, "reasons": told})
        return made
