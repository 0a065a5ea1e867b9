"""Jobs in threads: quick ones answer at once; slow ones report progress and can be cancelled.

Each question is a job with a key. The same question asked again while the job runs waits for the same job. The result
of a slow job is kept for a later request.

Work that takes seconds has threads of its own: with one queue for all, who types a name would wait until other people's
changes are compared.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections import OrderedDict, defaultdict
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread, get_native_id
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.errors import ReshuffleError
from reshuffle.explorer.shared_work import asked_by, told_to

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from reshuffle.progress import Progress, Report

Work: TypeAlias = "Callable[[Progress], Any]"

READING, CHANGES, LINKS = "reading", "changes", "links"
"""Kinds of work: questions that are answered soon, what changes do, and searches for missing links."""
THREADS = {READING: 8, CHANGES: 3, LINKS: 4}
MOST_AT_ONCE = 300
"""The limit of running and waiting jobs; further requests are told to try again."""
MOST_SECONDS = 900.0
_LAST = 19  # of the priorities of threads
_KEPT = 64  # results that nobody has fetched


class Cancelled(Exception):  # noqa: N818 - a wish, not a mistake
    """Somebody does not want the result any more, or it took too long."""


class TooBusy(ReshuffleError):  # noqa: N818 - a state, not a mistake
    """There is too much to do already."""


@dataclass
class Job:
    """One piece of work. `fetched` jobs are forgotten."""

    number: int
    key: Hashable
    future: Future[Any] = field(default_factory=Future, repr=False)
    started: float = field(default_factory=time.monotonic)
    stage: str = "working"
    done: int = 0
    total: int | None = None
    unit: str = ""
    note: str = ""
    part: Any = None
    """Of the answer, where one is there already."""
    cancelled: bool = False
    most_seconds: float = MOST_SECONDS

    def to_dict(self) -> dict[str, Any]:
        """How far it is."""
        return {
            "job": self.number,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "unit": self.unit,
            "note": self.note,
            "seconds": round(time.monotonic() - self.started, 1),
        }

    def hear(self, part: Any) -> None:
        """A part of the answer."""
        self.part = part

    @contextmanager
    def progress(self, description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        """A `Progress` that stops the work where it was cancelled."""
        self._stop_where_cancelled()
        self.stage, self.done, self.total, self.unit, self.note = description, 0, total, unit, ""

        def report(done: int, /, note: str = "") -> None:
            self._stop_where_cancelled()
            self.done += done
            self.note = note

        yield report

    def _stop_where_cancelled(self) -> None:
        if self.cancelled or time.monotonic() - self.started > self.most_seconds:
            raise Cancelled


class Jobs:
    """All work of a server."""

    def __init__(self) -> None:
        self._waiting: dict[str, SimpleQueue[tuple[Job, Work]]] = defaultdict(SimpleQueue)
        self._num_threads: dict[str, int] = defaultdict(int)
        self._numbers = itertools.count(1)
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()
        self._lock = Lock()

    def job(
        self, key: Hashable, work: Work, *, kind: str = READING, most_seconds: float = MOST_SECONDS
    ) -> Job:
        """The job that does this already, or a new one; each kind has threads of its own."""
        with self._lock:
            found = self._jobs.get(key)
            if found is not None and not found.cancelled:
                return found
            if sum(not job.future.done() for job in self._jobs.values()) >= MOST_AT_ONCE:
                raise TooBusy("there is too much to do", hint="try again in a moment")
            made = Job(next(self._numbers), key, most_seconds=most_seconds)
            self._jobs[key] = made
            self._drop_old()
            waiting = self._waiting[kind]
            if self._num_threads[kind] < THREADS[kind]:
                self._num_threads[kind] += 1
                name = f"explorer-{kind}-{self._num_threads[kind]}"
                # Daemons: work that does not hear of the end must not keep the process from ending.
                Thread(target=_work_off, args=[waiting, kind], name=name, daemon=True).start()
        waiting.put((made, work))
        return made

    def _drop_old(self) -> None:
        finished = [key for key, job in self._jobs.items() if job.future.done()]
        for key in finished[: max(0, len(finished) - _KEPT)]:
            del self._jobs[key]

    def forget(self, job: Job) -> None:
        """Its result is fetched."""
        with self._lock:
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]

    def running(self) -> list[Job]:
        """What is being worked on."""
        with self._lock:
            return [job for job in self._jobs.values() if not job.future.done()]

    def is_asked(self, beside: str) -> bool:
        """Is anything worked on beside the work whose keys begin so?"""
        return any(not (isinstance(job.key, tuple) and job.key[0] == beside) for job in self.running())

    def cancel(self, number: int) -> bool:
        """Stop a job at its next report; whether there is such a job."""
        found = [job for job in self.running() if job.number == number]
        for job in found:
            job.cancelled = True
        return bool(found)

    def cancel_of(self, key: Hashable) -> None:
        """Stop the job of a key, and forget it, so that it can be begun again."""
        with self._lock:
            found = self._jobs.pop(key, None)
        if found is not None:
            found.cancelled = True

    def end(self) -> None:
        """Stop everything; what waits never begins, and what does not report ends with the process."""
        for job in self.running():
            job.cancelled = True


def _work_off(waiting: SimpleQueue[tuple[Job, Work]], kind: str) -> None:
    if kind == LINKS:
        _come_last()
    while True:
        _run(*waiting.get())


def _come_last() -> None:
    """This thread, and those that it starts, run where no other one wants to; only Linux can do so for a thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, get_native_id(), _LAST)


def _run(job: Job, work: Work) -> None:
    try:
        if job.cancelled:
            raise Cancelled
        with asked_by(job.progress), told_to(job.hear):
            job.future.set_result(work(job.progress))
    except BaseException as error:  # noqa: BLE001 - handed to the caller
        job.future.set_exception(error)
