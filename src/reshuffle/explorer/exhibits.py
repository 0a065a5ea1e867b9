"""The contents of a server: subjects, loaded on first use, and the worlds in use."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from reshuffle.explorer.decisions import ENDING, Decisions
from reshuffle.explorer.link_queues import LinkQueue, link_queue
from reshuffle.explorer.name_search import NameSearch
from reshuffle.explorer.shared_work import held
from reshuffle.explorer.views.entity_rules import RuleNames
from reshuffle.kg.io.prefixes import COMMON
from reshuffle.progress import SILENT, in_one_step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import Subject, World
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.progress import Progress

_WORLDS = 8  # beside the one without edits


@dataclass
class Exhibit:
    """A subject under a short name, loaded when first needed and tried again where that failed.

    Threads share it. Worlds are kept for a while, so that a step that is looked at before it is kept, and the world
    that one goes back to, are made once.
    """

    key: str
    title: str
    kind: str
    load: Callable[[Progress], Subject]
    directory: Path | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    prefixes: Prefixes = COMMON
    inputs: tuple[Path, ...] = ()
    """Files and directories that it was read from, which nothing is written over."""
    decisions: Decisions = field(default_factory=lambda: Decisions(Path("links" + ENDING)))
    """What was decided about its links, or will be."""
    _subject: Subject | None = field(default=None, init=False, repr=False)
    _search: NameSearch | None = field(default=None, init=False, repr=False)
    _texts: list[tuple[str, str]] = field(default_factory=list, init=False, repr=False)
    _names: RuleNames | None = field(default=None, init=False, repr=False)
    _queue: LinkQueue | None = field(default=None, init=False, repr=False)
    _worlds: OrderedDict[Edits, World] = field(default_factory=OrderedDict, init=False, repr=False)
    _loading: Lock = field(default_factory=Lock, init=False, repr=False)
    _listing: Lock = field(default_factory=Lock, init=False, repr=False)
    _making: dict[Edits, Lock] = field(default_factory=dict, init=False, repr=False)

    @property
    def is_loaded(self) -> bool:
        """Can questions be answered at once?"""
        return self._subject is not None

    def subject(self, progress: Progress = SILENT) -> Subject:
        """What is explored."""
        with held(self._loading, progress):
            if self._subject is None:
                loaded = self.load(progress)
                loaded.prepare(progress)
                self._search = NameSearch(loaded.source.facts.entities, self.labels)
                self._subject = loaded
            return self._subject

    def queue(self, progress: Progress = SILENT) -> LinkQueue | None:
        """The missing links of the subject without edits; None where nothing ranks links."""
        subject = self.subject(progress)
        with held(self._loading, progress):
            if self._queue is None:
                with in_one_step(progress, "opening the missing links"):
                    self._queue = link_queue(subject)
            return self._queue

    def world(self, edits: Edits, progress: Progress = SILENT) -> World:
        """The subject after some edits."""
        subject = self.subject(progress)
        edits = subject.changed_by(edits)
        if edits.change_nothing:
            return subject.as_given
        with self._listing:
            making = self._making.setdefault(edits, Lock())
        try:
            with held(making, progress):
                with self._listing:
                    found = self._worlds.get(edits)
                if found is None:
                    found = subject.world(edits, progress)
                with self._listing:
                    self._worlds[edits] = found
                    self._worlds.move_to_end(edits)
                    while len(self._worlds) > _WORLDS:
                        self._worlds.popitem(last=False)
        finally:  # edits that are refused leave nothing
            with self._listing:
                self._making.pop(edits, None)
        return found

    def relations_with(self, words: Sequence[str]) -> list[str]:
        """The relations whose name or label has all the words, the shortest first."""
        names = self.subject().source.facts.relations if words else ()
        found = [name for name in names if _has_all(f"{name} {self.labels.get(name, '')}".lower(), words)]
        return sorted(found, key=len)

    def rules_with(self, words: Sequence[str]) -> list[str]:
        """The rules that name all the words, in their order; those of a soft model once they are read."""
        rules = self._rule_texts if words else []
        return [rule for rule, folded in rules if _has_all(folded, words)]

    def rules_about(self, words: Sequence[str], most: int) -> list[str]:
        """Rules about particular entities that name all the words, the heaviest first."""
        rules = self.subject().as_given.about_entities
        if not words or not rules:
            return []
        if self._names is None:
            self._names = RuleNames.of(rules, self.labels)
        return self._names.heaviest(words, most)

    @property
    def _rule_texts(self) -> list[tuple[str, str]]:
        if not self._texts:  # of a soft model there are none before somebody has looked at its rules
            texts = map(str, self.subject().as_given.listed_rules)
            self._texts = [(text, text.lower()) for text in texts]
        return self._texts

    def find(self, typed: str, edits: Edits, *, most: int = 20, progress: Progress = SILENT) -> list[str]:
        """Entities by a part of their name, short or in full, or label; those that edits brought are looked through."""
        self.subject(progress)
        assert self._search is not None
        new = dict.fromkeys(name for triple in edits.added for name in (triple.head, triple.tail))
        wanted = typed.strip().lower()
        fresh = [name for name in new if wanted in name.lower()]
        full = self.prefixes.expanded(typed.strip())
        found = dict.fromkeys(fresh)
        for written in (typed,) if full is None else (full, typed):
            with in_one_step(progress, "looking through names"):
                found |= dict.fromkeys(self._search.find(written, most=most))
        return list(found)[:most]


def _has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)
