"""The questions of the API: each has a name in the address and returns plain data."""

from __future__ import annotations

import json
import math
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.explorer.changes import ACCEPTED_LINKS, Change, Edits
from reshuffle.explorer.decisions import ACCEPT
from reshuffle.explorer.effects import NOTHING, Touched, effect
from reshuffle.explorer.shared_work import held
from reshuffle.explorer.views.class_page import classes_page
from reshuffle.explorer.views.entity_page import PER_GROUP, entity_page, group_page, predictions_page
from reshuffle.explorer.views.overview_page import overview_page
from reshuffle.explorer.views.queue_page import PER_PAGE as LINKS_PER_PAGE
from reshuffle.explorer.views.queue_page import Filters, queue_page
from reshuffle.explorer.views.rule_chains import rule_graph_page
from reshuffle.explorer.views.rule_pages import PER_PAGE, example, known_of, rule_page, rules_page
from reshuffle.explorer.views.training_page import training_page
from reshuffle.explorer.views.why_page import why_page
from reshuffle.explorer.web.jobs import LINKS, Cancelled, Jobs
from reshuffle.kg import Triple
from reshuffle.progress import in_one_step
from reshuffle.rules.parsing import parse_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from reshuffle.explorer.exhibits import Exhibit
    from reshuffle.explorer.link_queues import LinkQueue
    from reshuffle.explorer.subject import World
    from reshuffle.explorer.web.sessions import Session
    from reshuffle.progress import Progress, Report
    from reshuffle.rules import Rule

    Question: TypeAlias = "Callable[[Asked, Progress], dict[str, Any]]"

_MOST_FOUND = 50
_MOST_OTHERS = 5  # relations and rules beside entities
_LONGEST_WAIT = 3.0  # seconds that a search waits for questions between two steps
_A_MOMENT = 0.02
_NUMBER = re.compile(r"-?[0-9]{1,9}")


def json_of(text: str | bytes, what: str) -> Any:
    """The data of a JSON text that somebody sent."""
    try:
        data = json.loads(text)
        json.dumps(data, ensure_ascii=False).encode()  # half of a pair of code units is no text
    except RecursionError:
        raise InputError(f"{what} is nested too deeply", hint="a change has two levels") from None
    except ValueError as error:
        hint = 'a change is written {"kind": "add-fact", "triple": [head, relation, tail]}'
        raise InputError(f"{what} is no JSON: {error}", hint=hint) from None
    return data


@dataclass(frozen=True)
class Asked:
    """One question: about which exhibit, after which edits, with which words."""

    exhibit: Exhibit
    session: Session
    query: Mapping[str, str]
    jobs: Jobs = field(default_factory=Jobs)

    @property
    def edits(self) -> Edits:
        """Of the session, or none with `edits=none`."""
        return Edits() if self.query.get("edits") == "none" else self.session.edits_of(self.exhibit.key)

    def world(self, progress: Progress) -> World:
        """What answers; where pages are about facts, there must be some."""
        return self.exhibit.world(self.edits, progress)

    def need(self, name: str) -> str:
        """A word that the question cannot do without."""
        if not self.query.get(name):
            raise InputError(f"'{name}' is missing", hint=f"add {name}=... to the address")
        return self.query[name]

    def full(self, name: str, progress: Progress) -> str:
        """A name that the question cannot do without, in full; what was typed wins over what its prefix stands for."""
        typed, facts = self.need(name), self.world(progress).facts
        known = facts.relations if name == "relation" else facts.entities
        return typed if typed in known else self.exhibit.prefixes.expanded(typed) or typed

    def change(self, data: Any, progress: Progress) -> Change:
        """A change, with full names."""
        if isinstance(data, dict) and data.get("kind") == ACCEPTED_LINKS:
            return self._accepted_links()
        change = Change.of(data, self.exhibit.prefixes)
        if change.triple is None:
            return change
        query = dict(zip(("head", "relation", "tail"), change.triple, strict=True))
        named = replace(self, query={**self.query, **query})
        return replace(change, triple=Triple(*(named.full(name, progress) for name in query)))

    def _accepted_links(self) -> Change:
        """All links that are accepted now, as facts."""
        links = tuple(self.exhibit.decisions.of_kind(ACCEPT))
        if not links:
            raise InputError("no link is accepted", hint="accept some on the page of missing links")
        return Change(ACCEPTED_LINKS, links=links)

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        given = self.query.get(name, "")
        if not given:
            return default
        if not _NUMBER.fullmatch(given):
            raise InputError(f"found {name} = {given!r}, expected a whole number")
        return int(given)

    def rule(self, name: str) -> Rule | None:
        """A rule, where one is given."""
        if not self.query.get(name):
            return None
        rules = parse_rules(self.query[name], prefixes=self.exhibit.prefixes).rules
        if len(rules) != 1:
            raise InputError("found no rule, or only tautologies", hint="write one rule")
        return rules[0]


# --- questions: each gives plain data ---------------------------------------------------------------------------------


def _search(asked: Asked, progress: Progress) -> dict[str, Any]:
    asked.exhibit.subject(progress)
    most = min(max(1, asked.number("most", 20)), _MOST_FOUND)
    typed = asked.query.get("q", "")
    found = {"names": asked.exhibit.find(typed, asked.edits, most=most, progress=progress)}
    if asked.query.get("everything") != "true":
        return found
    words = typed.lower().split()
    with in_one_step(progress, "looking through rules"):
        about = asked.exhibit.rules_about(words, _MOST_OTHERS)
        paths = asked.exhibit.rules_with(words)[: _MOST_OTHERS - min(len(about), _MOST_OTHERS // 2)]
    return {
        **found,
        "relations": asked.exhibit.relations_with(words)[:_MOST_OTHERS],
        "rules": [*paths, *about][:_MOST_OTHERS],
    }


def _entity(asked: Asked, progress: Progress) -> dict[str, Any]:
    asked.exhibit.subject(progress).need_facts()
    world, name = asked.world(progress), asked.full("name", progress)
    if asked.query.get("relation"):
        return group_page(
            world,
            name,
            asked.full("relation", progress),
            asked.query.get("side", "tail"),
            derived=asked.query.get("derived") == "true",
            start=asked.number("start", 0),
            most=asked.number("most", 100),
            progress=progress,
        )
    per_group = min(max(1, asked.number("most", PER_GROUP)), 500)
    return entity_page(world, name, per_group=per_group, progress=progress)


def _predictions(asked: Asked, progress: Progress) -> dict[str, Any]:
    asked.exhibit.subject(progress).need_facts()
    return predictions_page(
        asked.world(progress),
        **{
            name: asked.full(name, progress) if asked.query.get(name) else None
            for name in ("head", "tail", "relation")
        },
        top=asked.number("top", 10),
        reasons=asked.number("reasons", 0),
        progress=progress,
    )


def _why(asked: Asked, progress: Progress) -> dict[str, Any]:
    asked.exhibit.subject(progress).need_facts()
    triple = Triple(*(asked.full(name, progress) for name in ("head", "relation", "tail")))
    side = asked.query.get("side") or "tail"
    return why_page(asked.world(progress), triple, most=asked.number("most", 3), side=side, progress=progress)


def _example(asked: Asked, progress: Progress) -> dict[str, Any]:
    """A triple to ask about, for those who know none; it may be None."""
    found = example(asked.world(progress), progress)
    return {"triple": None if found is None else list(found)}


def _rules(asked: Asked, progress: Progress) -> dict[str, Any]:
    subject = asked.exhibit.subject(progress)
    page = rules_page(
        asked.world(progress),
        subject.as_given,
        asked.edits,
        about=asked.query.get("about") or "paths",
        labels=asked.exhibit.labels,
        search=asked.query.get("search", ""),
        sort=asked.query.get("sort", "reading"),
        start=asked.number("start", 0),
        most=asked.number("most", PER_PAGE),
        progress=progress,
    )
    return {**page, "editable": subject.edits_rules, "kind": subject.kind}


def _rule(asked: Asked, progress: Progress) -> dict[str, Any]:
    asked.need("rule")
    rule = asked.rule("rule")
    assert rule is not None
    world, given = asked.world(progress), asked.exhibit.subject(progress).as_given
    known = known_of(world, given, asked.edits, rule, progress)
    return {**rule_page(world.facts, rule, progress=progress), "known": known}


def _rule_graph(asked: Asked, progress: Progress) -> dict[str, Any]:
    world = asked.world(progress)
    if not asked.exhibit.subject(progress).edits_rules:
        world.rule_rows(progress)  # the rules of weights are known once they are read
    return rule_graph_page(
        world,
        focus=asked.query.get("focus") or None,
        rule=asked.rule("rule"),
        slots=asked.query.get("slots") == "true",
        progress=progress,
    )


def _effect(asked: Asked, progress: Progress) -> dict[str, Any]:
    """What one more change would do, before it is kept."""
    change = asked.change(json_of(asked.need("change"), "the change"), progress)
    exhibit, edits = asked.exhibit, asked.edits
    before, after = exhibit.world(edits, progress), exhibit.world(edits.after(change), progress)
    held_out = exhibit.subject(progress).source.held_out
    found = effect(before, after, Touched.by([change]), held_out, progress=progress)
    return {"change": change.to_dict(), "effect": found}


def _what_if(asked: Asked, progress: Progress) -> dict[str, Any]:
    """All changes of the session, and what they do together."""
    exhibit, subject = asked.exhibit, asked.exhibit.subject(progress)
    changes = asked.session.changes_of(exhibit.key)
    edits = asked.edits
    after = exhibit.world(edits, progress)
    held_out = subject.source.held_out
    found = NOTHING
    if changes:
        found = effect(subject.as_given, after, Touched.by(changes), held_out, progress=progress)
    return {
        "changes": [change.to_dict() for change in changes],
        "effect": found,
        "facts": len(after.facts),
        "kind": subject.kind,
        "editable": subject.edits_rules,
    }


def _training(asked: Asked, progress: Progress) -> dict[str, Any]:
    return {**training_page(asked.exhibit.directory, progress=progress), "kind": asked.exhibit.kind}


def _queue(asked: Asked, progress: Progress) -> dict[str, Any]:
    """The missing links that are found so far; the search for them begins with the first question."""
    queue = asked.exhibit.queue(progress)
    if queue is None:
        return {"links": [], "kind": asked.exhibit.kind, "search": None}
    filters = Filters(
        **{
            name: asked.full(name, progress) if asked.query.get(name) else ""
            for name in ("relation", "entity", "type")
        },
        rule="" if (rule := asked.rule("rule")) is None else str(rule),
        reasons_only=asked.query.get("evidence") == "reasons",
        show=asked.query.get("show") or "open",
    )
    search = told_search(asked, queue)
    page = queue_page(
        queue,
        asked.exhibit.decisions.standing(),
        filters,
        start=asked.number("start", 0),
        most=asked.number("most", LINKS_PER_PAGE),
        progress=progress,
    )
    return {**page, "kind": asked.exhibit.kind, "search": search}


def _giving_way(jobs: Jobs, progress: Progress) -> Progress:
    """The progress of a search that waits after each step, for a while, until all questions are answered."""

    @contextmanager
    def polite(description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        with progress(description, total=total, unit=unit) as report:

            def told(done: int, /, note: str = "") -> None:
                report(done, note)
                ends_at = time.monotonic() + _LONGEST_WAIT
                while jobs.is_asked("links") and time.monotonic() < ends_at:
                    time.sleep(_A_MOMENT)
                    report(0, note)

            yield told

    return polite


def _search_links(queue: LinkQueue, jobs: Jobs, turn: int, progress: Progress) -> None:
    try:
        progress = _giving_way(jobs, progress)
        with held(queue.searching, progress):  # one that was stopped may still be in its last step
            queue.search(progress)
    except Cancelled:  # it does not begin again by itself; somebody may have begun it already
        queue.stopped = queue.stopped or queue.turn == turn
        raise


def told_search(asked: Asked, queue: LinkQueue) -> dict[str, Any]:
    """How far the search for missing links is; it is begun where it is not over and nobody has stopped it."""
    found, job = queue.found(), None
    if not found.is_complete and not queue.stopped:
        # Without an end: it goes on beside other work, and somebody may stop it.
        job = asked.jobs.job(
            ("links", asked.exhibit.key),
            partial(_search_links, queue, asked.jobs, queue.turn),
            kind=LINKS,
            most_seconds=math.inf,
        )
    failed = job.future.exception() if job is not None and job.future.done() else None
    return {
        "done": found.done,
        "total": found.total,
        "unit": found.unit,
        "found": len(found),
        "running": job is not None and not job.future.done(),
        "job": None if job is None else job.number,
        "stopped": queue.stopped,
        "error": None if failed is None else str(failed),
    }


def _overview(asked: Asked, progress: Progress) -> dict[str, Any]:
    return {
        **overview_page(asked.world(progress), asked.exhibit.labels, progress=progress),
        "kind": asked.exhibit.kind,
    }


def _decisions(asked: Asked, progress: Progress) -> dict[str, Any]:
    with in_one_step(progress, "reading decisions"):
        found = asked.exhibit.decisions
        return {
            "file": found.path.name,
            "counts": found.counts(),
            "decisions": [one.to_dict() for one in found.standing().values()],
        }


def _classes(asked: Asked, progress: Progress) -> dict[str, Any]:
    name = asked.query.get("name")
    full = name and (asked.exhibit.prefixes.expanded(name) or name)
    return classes_page(asked.world(progress), full or None, progress=progress)


QUESTIONS: dict[str, Question] = {
    "search": _search,
    "entity": _entity,
    "predictions": _predictions,
    "why": _why,
    "example": _example,
    "rules": _rules,
    "rule": _rule,
    "rule-graph": _rule_graph,
    "effect": _effect,
    "what-if": _what_if,
    "training": _training,
    "queue": _queue,
    "decisions": _decisions,
    "overview": _overview,
    "classes": _classes,
}
