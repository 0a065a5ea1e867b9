"""Work for pages counts what it does, and ends where nobody waits for it any more."""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from threading import Event, Lock, Thread, get_native_id
from typing import TYPE_CHECKING, Any

import pytest

from reshuffle import KnowledgeGraph, Reshuffle, RuleModel, parse_rules
from reshuffle.explorer.changes import Change, Edits
from reshuffle.explorer.exhibits import Exhibit
from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.explorer.rule_lists import RuleListSubject
from reshuffle.explorer.soft_models import SoftModelSubject
from reshuffle.explorer.subject import Source, Subject
from reshuffle.explorer.web.api_questions import QUESTIONS, Asked
from reshuffle.explorer.web.jobs import CHANGES, LINKS, READING, THREADS, Cancelled, Job, Jobs
from reshuffle.explorer.web.sessions import Session
from reshuffle.kg import Triple
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reshuffle.progress import Report

RULE = "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"
RULES = parse_rules(f"{RULE}\ncitizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)")
FACTS = KnowledgeGraph([
    ("ada", "bornIn", "london"),
    ("ada", "citizenOf", "uk"),
    ("ada", "speaks", "english"),
    ("london", "cityIn", "uk"),
    ("uk", "hasLanguage", "english"),
    ("bob", "bornIn", "london"),
])  # fmt: skip
HELD_OUT = KnowledgeGraph([("bob", "speaks", "english")])
SOURCE = Source("people", FACTS, HELD_OUT)
CHANGE = {"kind": "remove-fact", "triple": ["london", "cityIn", "uk"]}
SUBJECTS: dict[str, Callable[[], Subject]] = {
    "rules": lambda: RuleBaseSubject(RULES, SOURCE),
    "rule model": lambda: RuleListSubject(RuleModel.from_rules(RULES), SOURCE),
    "soft model": lambda: SoftModelSubject(
        Reshuffle(num_slots=4, num_layers=2, max_epochs=1, seed=1).fit(FACTS), SOURCE
    ),
}
WORDS: dict[str, list[dict[str, str]]] = {
    "search": [{"q": "a"}, {"q": "zoo:a"}],
    "entity": [
        {"name": "ada"},
        {"name": "ada", "relation": "speaks"},
        {"name": "bob", "relation": "speaks", "derived": "true"},
    ],
    "predictions": [{"head": "bob"}, {"head": "bob", "relation": "speaks", "reasons": "2"}],
    "why": [
        {"head": "bob", "relation": "speaks", "tail": "english"},
        {"head": "uk", "relation": "speaks", "tail": "bob"},
    ],
    "rule": [{"rule": RULE}],
    "rule-graph": [{}, {"slots": "true"}, {"focus": "speaks"}],
    "queue": [{}, {"entity": "bob"}, {"evidence": "reasons"}],
    "effect": [{"change": f'{{"kind": "reject-rule", "rule": "{RULE}"}}'}],
}
NOTHING_TO_DO = {("rules", "predictions"), ("rules", "queue")}  # rules predict and rank nothing


class Unwanted(Exception):  # noqa: N818 - a wish, not a mistake
    """Nobody wants the result."""


@contextmanager
def unwanted(description: str, **_: Any) -> Iterator[Report]:
    def report(done: int, /, note: str = "") -> None:
        raise Unwanted(description)

    yield report


@cache
def exhibit(kind: str) -> Exhibit:
    return Exhibit(kind, kind, kind, lambda _: SUBJECTS[kind]())


def asked_in_all_ways(kind: str, name: str, folder: Path) -> Iterator[Asked]:
    session = Session()
    session.add(kind, Change.of(CHANGE))
    shown = exhibit(kind)
    shown.directory = folder
    for words in WORDS.get(name, [{}]):
        yield Asked(shown, session, words)


@pytest.mark.parametrize("kind", SUBJECTS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_ends_where_nobody_wants_the_answer(name: str, kind: str, tmp_path: Path) -> None:
    if (kind, name) in NOTHING_TO_DO:
        pytest.skip("there is nothing to do")
    (tmp_path / "log.csv").write_text("epoch,loss,hits@10,mrr,seconds\n1,0.5,,,1.0\n")
    for asked in asked_in_all_ways(kind, name, tmp_path):
        QUESTIONS[name](asked, SILENT)  # from now on, nothing is computed for the first time
        with pytest.raises(Unwanted):
            QUESTIONS[name](asked, unwanted)


@pytest.mark.parametrize("kind", SUBJECTS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_counts_more_than_it_said(name: str, kind: str, tmp_path: Path) -> None:
    counts: dict[tuple[int, str, int | None], int] = defaultdict(int)

    @contextmanager
    def counting(description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        key = (len(counts), description, total)
        counts[key] = 0

        def report(done: int, /, note: str = "") -> None:
            counts[key] += done

        yield report

    for asked in asked_in_all_ways(kind, name, tmp_path):
        QUESTIONS[name](asked, counting)
    assert all(total is None or done <= total for (_, _, total), done in counts.items()), dict(counts)
    assert counts or (kind, name) in NOTHING_TO_DO


# --- jobs -------------------------------------------------------------------------------------------------------------


def until(true: Callable[[], object]) -> None:
    ends_at = time.monotonic() + 20
    while not true():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


def test_a_wait_for_another_thread_can_be_cancelled() -> None:
    from reshuffle.explorer.shared_work import held

    lock, jobs = Lock(), Jobs()
    with lock:
        waiting = jobs.job("wait", lambda progress: held(lock, progress).__enter__())
        until(lambda: waiting.stage.startswith("waiting"))
        assert jobs.cancel(waiting.number)
        with pytest.raises(Cancelled):
            waiting.future.result(20)
    with held(lock, SILENT):
        assert lock.locked()
    assert not lock.locked()


def test_cancelled_questions_make_room_for_others() -> None:
    """Eight questions that wait for one that takes long: all threads are busy, until they are cancelled."""
    loading, stop = Event(), Event()

    def slow(progress: Any) -> Subject:
        with progress("reading", unit="lines") as report:
            loading.set()
            while not stop.wait(0.02):
                report(1)
        return SUBJECTS["rules"]()

    jobs, long, quick = Jobs(), Exhibit("slow", "slow", "rules", slow), exhibit("rules")
    quick.subject()

    def ask(shown: Exhibit, tail: str) -> Job:
        asked = Asked(shown, Session(), {"head": "bob", "relation": "speaks", "tail": tail})
        return jobs.job((shown.key, tail), lambda progress: QUESTIONS["why"](asked, progress))

    try:
        busy = [ask(long, f"tongue {number}") for number in range(THREADS[READING])]
        assert loading.wait(20)
        until(lambda: sum(job.stage.startswith("waiting") for job in busy) == THREADS[READING] - 1)
        cheap = ask(quick, "english")
        time.sleep(0.3)
        assert not cheap.future.done()
        for job in busy:
            jobs.cancel(job.number)
        assert cheap.future.result(20)["explanation"]["follows"]
        for job in busy:
            with pytest.raises(Cancelled):
                job.future.result(20)
    finally:
        stop.set()


def test_whoever_reads_waits_for_nobody_elses_changes() -> None:
    jobs, stop = Jobs(), Event()
    try:
        for kind in (CHANGES, LINKS):
            for number in range(THREADS[kind] + 1):
                jobs.job((kind, number), lambda _: stop.wait(60), kind=kind)
        assert jobs.job("page", lambda _: "read").future.result(20) == "read"
        assert not any(job.future.done() for job in jobs.running())
    finally:
        stop.set()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no priorities of their own")
def test_searches_for_links_come_last() -> None:
    def priority(_: Any) -> list[int]:
        found: list[int] = []
        thread = Thread(target=lambda: found.append(os.getpriority(os.PRIO_PROCESS, get_native_id())))
        thread.start()
        thread.join()
        return [os.getpriority(os.PRIO_PROCESS, get_native_id()), *found]

    jobs = Jobs()
    usual = jobs.job("page", priority).future.result(20)
    searching = jobs.job("links", priority, kind=LINKS).future.result(20)
    assert usual == priority(None) and searching == [19, 19]


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_what_one_job_has_loaded_another_can_ask(engine: str) -> None:
    """Some work is put off until it is asked for; it goes by the job that asks, not by the one that loaded."""
    shown = Exhibit("rules", "rules", "rules", lambda progress: _loaded(engine, progress))
    jobs = Jobs()
    loading = jobs.job("load", shown.subject)
    loading.future.result(20)
    loading.cancelled = True  # as of any job once its time is over
    session = Session()
    session.add("rules", Change("add-fact", Triple("some", "other", "fact")))
    asked = Asked(shown, session, {})
    found = jobs.job("ask", lambda progress: QUESTIONS["what-if"](asked, progress)).future.result(20)
    assert found["effect"]["derived"] == [2, 2]


def _loaded(engine: str, progress: Any) -> Subject:
    subject = RuleBaseSubject(RULES, SOURCE, engine=engine)
    subject.world(Edits(), progress)
    return subject
