"""The addresses. `/entity?name=x` is a page, `/api/v1/entity?name=x` the same as JSON, with `format=csv` as a table.

Every question is a job (`jobs`). Quick answers come at once with status 200. Status 202 reports progress; the client
asks again until the answer is ready. Errors are `{"error", "hint"}`, with status 404 for unknown names, else 400.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from reshuffle import __version__
from reshuffle.errors import InputError, ReshuffleError, UnknownNameError
from reshuffle.explorer.saving_as import TakenName, rule_text, save_as
from reshuffle.explorer.views.class_page import has_classes
from reshuffle.explorer.views.training_page import has_training
from reshuffle.explorer.web.api_questions import QUESTIONS, Asked, json_of, told_search
from reshuffle.explorer.web.csv_tables import TABLES, csv_of
from reshuffle.explorer.web.guard import Guard, TooLarge
from reshuffle.explorer.web.jobs import CHANGES, READING, Cancelled, Jobs, TooBusy
from reshuffle.explorer.web.sessions import Sessions
from reshuffle.kg import Triple
from reshuffle.progress import UNHEARD
from reshuffle.rules.writing import WRITABLE
from reshuffle.text import json_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import TypeAlias

    from starlette.requests import Request

    from reshuffle.explorer.exhibits import Exhibit
    from reshuffle.explorer.subject import World
    from reshuffle.explorer.web.api_questions import Question
    from reshuffle.explorer.web.guard import Door
    from reshuffle.explorer.web.jobs import Job
    from reshuffle.explorer.web.sessions import Session
    from reshuffle.progress import Notes, Progress

    Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

STATIC = Path(__file__).parents[1] / "static"
PAGES = (
    "/",
    "/queue",
    "/overview",
    "/classes",
    "/entity",
    "/why",
    "/rules",
    "/rule",
    "/what-if",
    "/rule-graph",
    "/training",
)
_OF_DECISIONS = ("queue", "decisions", "effect")
NOTHING_RANKED = (
    "train a rule list: reshuffle train FACTS -o MODEL --recipe rules; then: reshuffle serve MODEL FACTS"
)
_ICON = (STATIC / "favicon.svg").read_bytes()
IN_PARTS = 0.1
"""Seconds, where parts of an answer are shown before it is whole."""
_IN_PARTS = ("effect", "what-if")
AT_ONCE = 1.0
"""Seconds that an answer is waited for before it is told how far it is."""


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
                Route("/api/v1/decide", self._told(self._decided), methods=["POST"]),
                Route("/api/v1/undecide", self._told(self._undecided), methods=["POST"]),
                Route("/api/v1/search-links", self._told(self._searched), methods=["POST"]),
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
                if not isinstance(error, ReshuffleError | Cancelled | ClientDisconnect):
                    self.notes(f"{request.url.path} failed: {type(error).__name__}: {error}")
                return _failure(error)

        return answer

    def _asked(self, request: Request, query: Mapping[str, str] | None = None) -> Asked:
        words = dict(request.query_params) if query is None else query
        key = words.get("of") or next(iter(self.exhibits))
        if not isinstance(key, str):
            raise InputError("found an 'of' that is no text", hint=f"give one of {', '.join(self.exhibits)}")
        if key not in self.exhibits:
            raise UnknownNameError("exhibit", key, self.exhibits)
        return Asked(self.exhibits[key], request.state.session, words, self.jobs)

    def _answering(self, name: str, question: Question) -> Endpoint:
        async def answer(request: Request) -> Response:
            asked = self._asked(request)
            edits = asked.edits
            revision = asked.exhibit.decisions.revision if name in _OF_DECISIONS else 0
            labels = asked.exhibit.labels
            words = tuple(sorted(asked.query.items()))
            key = (name, asked.exhibit.key, edits, edits.accepted, words, revision)
            changes = asked.session.changes_of(asked.exhibit.key) if name == "what-if" else ()
            if (given := asked.query.get("format", "json")) != "json":
                return await self._job(
                    (*key, changes), lambda progress: _file(name, asked, given, progress), labels
                )
            return await self._job(
                (*key, changes), lambda progress: _json(asked, question(asked, progress)), labels
            )

        return answer

    async def _job(
        self, key: Any, work: Callable[[Progress], Response], labels: Mapping[str, str]
    ) -> Response:
        job = self.jobs.job(key, work, kind=_kind_of(key))
        waiting = asyncio.wrap_future(job.future)
        waiting.add_done_callback(_heard)
        try:
            seconds = IN_PARTS if key[0] in _IN_PARTS else AT_ONCE
            answer = await asyncio.wait_for(asyncio.shield(waiting), seconds)
        except asyncio.TimeoutError:
            if not job.future.done():
                return _under_way(job, labels)
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
                        "training": has_training(one.directory),
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
        job = self.jobs.job(key, work, kind=_kind_of(key))
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
        what, name = data.get("what", "rules"), data.get("name", "")

        def save(progress: Progress) -> Response:
            world = asked.world(progress)
            if not asked.exhibit.subject(progress).edits_rules:
                world.rule_rows(progress)
            return JSONResponse(save_as(world, asked.edits, what, name, self.folder))

        return await self._whole(("save", id(request)), save)

    # --- decisions about links ----------------------------------------------------------------------------------------

    async def _decided(self, request: Request) -> Response:
        """Decide about a link; it is on the disk when this is answered."""
        data = await _body(request)
        asked = self._asked(request, data)

        def decide(progress: Progress) -> Response:
            subject = asked.exhibit.subject(progress)
            triple = Triple(*(asked.full(name, progress) for name in Triple._fields))
            _need_known(triple, asked.world(progress))
            decisions = asked.exhibit.decisions
            decisions.add(triple, asked.need("decision"), subject.digest)
            return JSONResponse({"decided": list(triple), "counts": decisions.counts()})

        return await self._whole(("decide", id(request)), decide)

    async def _undecided(self, request: Request) -> Response:
        """Take back the last decision, or the last one about a link."""
        data = await _body(request)
        asked = self._asked(request, data)

        def undo(progress: Progress) -> Response:
            named = any(name in data for name in Triple._fields)
            triple = Triple(*(asked.full(name, progress) for name in Triple._fields)) if named else None
            undone = asked.exhibit.decisions.undo(triple)
            told = None if undone is None else undone.to_dict()
            return JSONResponse({"undone": told, "counts": asked.exhibit.decisions.counts()})

        return await self._whole(("undo", id(request)), undo)

    async def _searched(self, request: Request) -> Response:
        """Stop the search for missing links, or go on with it."""
        asked = self._asked(request, await _body(request))

        def change(progress: Progress) -> Response:
            queue = asked.exhibit.queue(progress)
            if queue is None:
                raise InputError("nothing here ranks missing links", hint=NOTHING_RANKED)
            if asked.query.get("do", "go on") == "stop":
                queue.stopped = True
            else:
                queue.begin_again()
            told = told_search(asked, queue)
            if queue.stopped:
                self.jobs.cancel_of(("links", asked.exhibit.key))
            return JSONResponse(told)

        return await self._whole(("search", id(request)), change)

    # --- long work ----------------------------------------------------------------------------------------------------

    async def _running(self, request: Request) -> Response:
        del request
        return JSONResponse({"jobs": [job.to_dict() for job in self.jobs.running()]})

    async def _cancelled(self, request: Request) -> Response:
        found = self.jobs.cancel(request.path_params["number"])
        return JSONResponse({"cancelled": found}, 200 if found else 404)


def _kind_of(key: tuple[Any, ...]) -> str:
    """Which threads do the work."""
    return CHANGES if key[0] in _IN_PARTS else READING


def _need_known(triple: Triple, world: World) -> None:
    for name in (triple.head, triple.tail):
        if name not in world.facts.entities:
            raise UnknownNameError("entity", name, world.facts.entities)
    if triple.relation not in world.facts.relations and triple.relation not in world.asked_relations:
        raise UnknownNameError("relation", triple.relation, world.facts.relations)


def _under_way(job: Job, labels: Mapping[str, str]) -> Response:
    """How far a job is, with the part of the answer that is there."""
    part = {} if job.part is None else {"part": {**job.part, "labels": _labels_in(job.part, labels)}}
    return Response(json_text({**job.to_dict(), **part}), 202, media_type="application/json")


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
        "labels": {name: exhibit.labels[name] for name in facts.relations if name in exhibit.labels},
        "held_out": len(subject.source.held_out),
        "classes": has_classes(subject.as_given),
        "editable": subject.edits_rules,
        "exactness": subject.as_given.exactness,
    }


def _json(asked: Asked, data: dict[str, Any]) -> Response:
    if asked.exhibit.labels:
        data = {**data, "labels": _labels_in(data, asked.exhibit.labels)}
    return Response(json_text(data), media_type="application/json")


_QUOTED = re.compile(r'"([^"\\]+)"')


def _labels_in(data: Any, labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of all names that occur, also as constants of rules."""
    found: dict[str, str] = {}
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            names = (one, *_QUOTED.findall(one)) if '"' in one else (one,)
            found |= {name: labels[name] for name in names if name in labels}
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
    data = json_of(await request.body() or b"{}", "the request")
    if not isinstance(data, dict):
        raise InputError("the request is no JSON object")
    for name, value in data.items():
        if name != "change" and not isinstance(value, str | None):
            raise InputError(f"found {json_text(value)[:40]} as '{name}', expected a text")
    return {name: value for name, value in data.items() if value is not None}


async def _page(request: Request) -> Response:
    del request
    return FileResponse(STATIC / "index.html")


async def _favicon(request: Request) -> Response:
    # From memory: it is the one answer for clients without the token, and a file would wait for a thread.
    del request
    return Response(_ICON, media_type="image/svg+xml")


_STATUS = {UnknownNameError: 404, TooBusy: 503, TooLarge: 413, TakenName: 409}


def _failure(error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return JSONResponse({"error": "the request was not sent to its end", "hint": None}, 400)
    if isinstance(error, Cancelled):
        return JSONResponse({"error": "cancelled", "hint": "ask again to start it again"}, 409)
    if not isinstance(error, ReshuffleError):
        hint = "everything else goes on; please report it"
        return JSONResponse({"error": f"this failed: {type(error).__name__}", "hint": hint}, 500)
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
    told = str(error).removesuffix(f"\n  hint: {error.hint}") if error.hint else str(error)
    return JSONResponse({"error": told, "hint": error.hint}, status)


async def _nothing_there(request: Request, error: Exception) -> Response:
    del error
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": "there is nothing at this address", "hint": "see /api/v1"}, 404)
    return PlainTextResponse("There is nothing at this address.\n", 404)
