"""The addresses. `/entity?name=x` is a page, `/api/v1/entity?name=x` the same as JSON, with `format=csv` as a table.

Every question is a job (`jobs`): what is quick comes at once with status 200; status 202 tells how far it is, and
asking again waits on. Errors are `{"error", "hint"}`, with status 404 for unknown names, else 400.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from reshuffle import __version__
from reshuffle.errors import InputError, ReshuffleError, UnknownNameError
from reshuffle.explorer.changes import Change, Edits
from reshuffle.explorer.effects import Touched, effect
from reshuffle.explorer.saving_as import rule_text, save_as
from reshuffle.explorer.views.entity_page import PER_GROUP, entity_page, group_page, predictions_page
from reshuffle.explorer.views.rule_chains import rule_graph_page
from reshuffle.explorer.views.rule_pages import PER_PAGE, rule_page, rules_page
from reshuffle.explorer.views.training_page import training_page
from reshuffle.explorer.views.why_page import why_page
from reshuffle.explorer.web.csv_tables import TABLES, csv_of
from reshuffle.explorer.web.guard import Guard
from reshuffle.explorer.web.jobs import Cancelled, Jobs, TooBusy
from reshuffle.explorer.web.sessions import Sessions
from reshuffle.kg import Triple
from reshuffle.progress import UNHEARD
from reshuffle.rules.parsing import parse_rules
from reshuffle.rules.writing import WRITABLE
from reshuffle.text import json_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import TypeAlias

    from starlette.requests import Request

    from reshuffle.explorer.exhibits import Exhibit
    from reshuffle.explorer.subject import World
    from reshuffle.explorer.web.guard import Door
    from reshuffle.explorer.web.sessions import Session
    from reshuffle.progress import Notes, Progress
    from reshuffle.rules import Rule

    Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
    Question: TypeAlias = "Callable[[Asked, Progress], dict[str, Any]]"

STATIC = Path(__file__).parents[1] / "static"
PAGES = ("/", "/entity", "/why", "/rules", "/rule", "/what-if", "/rule-graph", "/training")
AT_ONCE = 1.0
"""Seconds that an answer is waited for before it is told how far it is."""
_MOST_FOUND = 50


@dataclass(frozen=True)
class Asked:
    """One question: about which exhibit, after which edits, with which words."""

    exhibit: Exhibit
    session: Session
    query: Mapping[str, str]

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
        change = Change.of(data, self.exhibit.prefixes)
        if change.triple is None:
            return change
        query = dict(zip(("head", "relation", "tail"), change.triple, strict=True))
        named = replace(self, query={**self.query, **query})
        return replace(change, triple=Triple(*(named.full(name, progress) for name in query)))

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        given = self.query.get(name, "")
        if not given:
            return default
        if not given.lstrip("-").isdecimal() or len(given) > 9:
            raise InputError(f"found {name} = {given!r}, expected a whole number")
        return int(given)

    def rule(self, name: str) -> Rule | None:
        """A rule, where one is given."""
        if not self.query.get(name):
            return None
        rules = parse_rules(self.query[name], prefixes=self.exhibit.prefixes).rules
        if len(rules) != 1:
            raise InputError("found no rule that says something", hint="write one rule")
        return rules[0]


# --- questions: each gives plain data ---------------------------------------------------------------------------------


def _search(asked: Asked, progress: Progress) -> dict[str, Any]:
    asked.exhibit.subject(progress)
    most = min(max(1, asked.number("most", 20)), _MOST_FOUND)
    return {"names": asked.exhibit.find(asked.query.get("q", ""), asked.edits, most=most)}


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
        )
    return entity_page(world, name, per_group=min(max(1, asked.number("most", PER_GROUP)), 500))


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
    )


def _why(asked: Asked, progress: Progress) -> dict[str, Any]:
    asked.exhibit.subject(progress).need_facts()
    triple = Triple(*(asked.full(name, progress) for name in ("head", "relation", "tail")))
    return why_page(asked.world(progress), triple, most=asked.number("most", 3))


def _rules(asked: Asked, progress: Progress) -> dict[str, Any]:
    subject = asked.exhibit.subject(progress)
    page = rules_page(
        asked.world(progress),
        subject.as_given,
        asked.edits,
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
    return rule_page(asked.world(progress).facts, rule)


def _rule_graph(asked: Asked, progress: Progress) -> dict[str, Any]:
    world = asked.world(progress)
    if not asked.exhibit.subject(progress).edits_rules:
        world.rule_rows(progress)  # the rules of weights are known once they are read
    return rule_graph_page(
        world,
        focus=asked.query.get("focus") or None,
        rule=asked.rule("rule"),
        slots=asked.query.get("slots") == "true",
    )


def _effect(asked: Asked, progress: Progress) -> dict[str, Any]:
    """What one more change would do, before it is kept."""
    try:
        change = asked.change(json.loads(asked.need("change")), progress)
    except ValueError as error:
        raise InputError(
            f"the change is no JSON: {error}", hint='such as {"kind": "add-fact", ...}'
        ) from None
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
    found = effect(subject.as_given, after, Touched.by(changes), held_out, progress=progress)
    return {
        "changes": [change.to_dict() for change in changes],
        "effect": found,
        "facts": len(after.facts),
        "kind": subject.kind,
        "editable": subject.edits_rules,
    }


def _training(asked: Asked, progress: Progress) -> dict[str, Any]:
    del progress
    return {**training_page(asked.exhibit.directory), "kind": asked.exhibit.kind}


QUESTIONS: dict[str, Question] = {
    "search": _search,
    "entity": _entity,
    "predictions": _predictions,
    "why": _why,
    "rules": _rules,
    "rule": _rule,
    "rule-graph": _rule_graph,
    "effect": _effect,
    "what-if": _what_if,
    "training": _training,
}


# --- the server -------------------------------------------------------------------------------------------------------


class Explorer:
    """The exhibits behind their addresses."""

    def __init__(self, exhibits: Sequence[Exhibit], *, folder: Path, notes: Notes = UNHEARD) -> None:
        """`folder` is where things are saved; `notes` hears of requests that failed by a mistake of ours."""
        self.exhibits = {exhibit.key: exhibit for exhibit in exhibits}
        self.folder, self.notes, self.jobs, self.sessions = folder, notes, Jobs(), Sessions()

    def load_first(self) -> None:
        """Begin to load what is shown first, before anybody asks."""
        first = next(iter(self.exhibits.values()))
        self.jobs.job(("load", first.key), first.subject)

    def app(self, door: Door) -> Starlette:
        """The whole server."""
        questions = [
            Route(f"/api/v1/{name}", self._told(self._answering(name, question)))
            for name, question in QUESTIONS.items()
        ]
        return Starlette(
            routes=[
                *(Route(path, _page) for path in PAGES),
                Route("/favicon.ico", _favicon),
                Route("/api/v1", self._told(self._about)),
                *questions,
                Route("/api/v1/changes", self._told(self._changed), methods=["POST"]),
                Route("/api/v1/undo", self._told(self._undone), methods=["POST"]),
                Route("/api/v1/reset", self._told(self._cleared), methods=["POST"]),
                Route("/api/v1/save", self._told(self._saved), methods=["POST"]),
                Route("/api/v1/jobs", self._told(self._running)),
                Route("/api/v1/jobs/{number:int}", self._told(self._cancelled), methods=["DELETE"]),
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            middleware=[Middleware(Guard, door=door, sessions=self.sessions)],
            exception_handlers={404: _nothing_there, 405: _nothing_there},
        )

    def _told(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint, with whatever it raises as an answer: no request ends the server."""

        async def answer(request: Request) -> Response:
            try:
                return await endpoint(request)
            except Exception as error:  # noqa: BLE001 - of any kind
                if not isinstance(error, ReshuffleError | Cancelled):
                    self.notes(f"{request.url.path} failed: {type(error).__name__}: {error}")
                return _failure(error)

        return answer

    def _asked(self, request: Request, query: Mapping[str, str] | None = None) -> Asked:
        words = dict(request.query_params) if query is None else query
        key = words.get("of") or next(iter(self.exhibits))
        if key not in self.exhibits:
            raise UnknownNameError("exhibit", key, self.exhibits)
        return Asked(self.exhibits[key], request.state.session, words)

    def _answering(self, name: str, question: Question) -> Endpoint:
        async def answer(request: Request) -> Response:
            asked = self._asked(request)
            edits = asked.edits
            key = (name, asked.exhibit.key, edits, edits.accepted, tuple(sorted(asked.query.items())))
            changes = asked.session.changes_of(asked.exhibit.key) if name == "what-if" else ()
            if (given := asked.query.get("format", "json")) != "json":
                return await self._job((*key, changes), lambda progress: _file(name, asked, given, progress))
            return await self._job((*key, changes), lambda progress: _json(asked, question(asked, progress)))

        return answer

    async def _job(self, key: Any, work: Callable[[Progress], Response]) -> Response:
        job = self.jobs.job(key, work)
        waiting = asyncio.wrap_future(job.future)
        waiting.add_done_callback(_heard)
        try:
            answer = await asyncio.wait_for(asyncio.shield(waiting), AT_ONCE)
        except asyncio.TimeoutError:
            if not job.future.done():
                return JSONResponse(job.to_dict(), 202)
            answer = job.future.result()
        except BaseException:
            self.jobs.forget(job)
            raise
        self.jobs.forget(job)
        return answer

    async def _about(self, request: Request) -> Response:
        session: Session = request.state.session
        return JSONResponse(
            {
                "version": __version__,
                "api": 1,
                "exhibits": [
                    {
                        "key": one.key,
                        "title": one.title,
                        "kind": one.kind,
                        "loaded": one.is_loaded,
                        "training": one.directory is not None,
                        "changes": len(session.changes_of(one.key)),
                        "prefixes": dict(one.prefixes.namespaces),
                        **_size(one),
                    }
                    for one in self.exhibits.values()
                ],
                "questions": sorted(QUESTIONS),
                "tables": sorted(TABLES),
                "rule_formats": sorted(WRITABLE),
            }
        )

    # --- changes ------------------------------------------------------------------------------------------------------

    async def _changed(self, request: Request) -> Response:
        """Keep a change: it must be one that answers can be given after."""
        data = await _body(request)
        asked = self._asked(request, data)

        def keep(progress: Progress) -> Response:
            change = asked.change(data.get("change"), progress)
            after = asked.edits.after(change)
            asked.exhibit.world(after, progress)  # raises where the change does not fit
            asked.session.add(asked.exhibit.key, change)
            return JSONResponse({"changes": len(asked.session.changes_of(asked.exhibit.key))})

        return await self._whole(("keep", id(request)), keep)

    async def _whole(self, key: Any, work: Callable[[Progress], Response]) -> Response:
        """Changes are waited for, so that they happen once."""
        job = self.jobs.job(key, work)
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            self.jobs.forget(job)

    async def _undone(self, request: Request) -> Response:
        asked = self._asked(request, await _body(request))
        last = asked.session.undo(asked.exhibit.key)
        left = len(asked.session.changes_of(asked.exhibit.key))
        return JSONResponse({"undone": None if last is None else last.to_dict(), "changes": left})

    async def _cleared(self, request: Request) -> Response:
        asked = self._asked(request, await _body(request))
        asked.session.clear(asked.exhibit.key)
        return JSONResponse({"changes": 0})

    async def _saved(self, request: Request) -> Response:
        data = await _body(request)
        asked = self._asked(request, data)
        what, name = str(data.get("what", "rules")), str(data.get("name", ""))

        def save(progress: Progress) -> Response:
            world = asked.world(progress)
            if not asked.exhibit.subject(progress).edits_rules:
                world.rule_rows(progress)
            return JSONResponse(save_as(world, asked.edits, what, name, self.folder))

        return await self._whole(("save", id(request)), save)

    # --- long work ----------------------------------------------------------------------------------------------------

    async def _running(self, request: Request) -> Response:
        del request
        return JSONResponse({"jobs": [job.to_dict() for job in self.jobs.running()]})

    async def _cancelled(self, request: Request) -> Response:
        found = self.jobs.cancel(request.path_params["number"])
        return JSONResponse({"cancelled": found}, 200 if found else 404)


def _heard(waiting: asyncio.Future[Any]) -> None:
    """An error that comes when nobody waits any more is kept with the job, and no news for the log."""
    if not waiting.cancelled():
        waiting.exception()


def _size(exhibit: Exhibit) -> dict[str, Any]:
    if not exhibit.is_loaded:
        return {}
    subject = exhibit.subject()
    facts = subject.source.facts
    return {
        "facts": len(facts),
        "entities": facts.num_entities,
        "relations": list(facts.relations),
        "held_out": len(subject.source.held_out),
        "editable": subject.edits_rules,
        "exactness": subject.as_given.exactness,
    }


def _json(asked: Asked, data: dict[str, Any]) -> Response:
    if asked.exhibit.labels:
        data = {**data, "labels": _labels_in(data, asked.exhibit.labels)}
    return Response(json_text(data), media_type="application/json")


def _labels_in(data: Any, labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of all names that occur."""
    found: dict[str, str] = {}
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if one in labels:
                found[one] = labels[one]
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
    return found


def _file(name: str, asked: Asked, format: str, progress: Progress) -> Response:
    """What a page shows as a table, or the rules in a format that other programs read."""
    if name == "rules" and format != "csv":
        accepted = asked.query.get("accepted") == "true"
        asked.exhibit.subject(progress)
        world = asked.world(progress)
        world.rule_rows(progress)
        text, ending = (
            rule_text(world, asked.edits, format, accepted=accepted),
            WRITABLE_ENDING.get(format, ".rules"),
        )
        return _download(text, f"{name}{ending}", "text/plain; charset=utf-8")
    if format != "csv" or name not in TABLES:
        raise InputError(f"found the format '{format}'", hint=f"{', '.join(TABLES)} have format=csv")
    return _download(csv_of(name, QUESTIONS[name](asked, progress)), f"{name}.csv", "text/csv; charset=utf-8")


WRITABLE_ENDING = {name: known.endings[0] for name, known in WRITABLE.items()}


def _download(text: str, name: str, kind: str) -> Response:
    return Response(text, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


async def _body(request: Request) -> dict[str, Any]:
    try:
        data = json.loads(await request.body() or b"{}")
    except ValueError as error:
        raise InputError(f"the request is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError("the request is no JSON object")
    return data


async def _page(request: Request) -> Response:
    del request
    return FileResponse(STATIC / "index.html")


async def _favicon(request: Request) -> Response:
    del request
    return FileResponse(STATIC / "favicon.svg", media_type="image/svg+xml")


def _failure(error: Exception) -> Response:
    if isinstance(error, Cancelled):
        return JSONResponse({"error": "cancelled", "hint": "ask again to start it again"}, 409)
    if not isinstance(error, ReshuffleError):
        hint = "everything else goes on; please report it"
        return JSONResponse({"error": f"this failed: {type(error).__name__}", "hint": hint}, 500)
    status = 404 if isinstance(error, UnknownNameError) else 503 if isinstance(error, TooBusy) else 400
    told = str(error).removesuffix(f"\n  hint: {error.hint}") if error.hint else str(error)
    return JSONResponse({"error": told, "hint": error.hint}, status)


async def _nothing_there(request: Request, error: Exception) -> Response:
    del error
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": "there is nothing at this address", "hint": "see /api/v1"}, 404)
    return PlainTextResponse("There is nothing at this address.\n", 404)
