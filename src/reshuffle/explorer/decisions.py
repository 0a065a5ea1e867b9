"""Decisions about links: a file of JSON lines that only grows, one line for each decision.

    {"head": "ada", "relation": "speaks", "tail": "english", "decision": "accept", "time": "2026-11-19T06:00:00Z",
     "model": "sha256 of the model that proposed it"}

Nobody's name is stored. The last decision about a link counts. The line "undo" takes back the last decision about its
link. A line is on the disk before the decision is answered. Several servers may write to one file: each holds the lock
of the file while it writes, and reads what others have written. A line that a kill has cut off was never answered, and
the next writer removes it.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError, Place
from reshuffle.kg import Triple
from reshuffle.locks import locked, no_link, released

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCEPT, REJECT, POSTPONE, UNDO = "accept", "reject", "postpone", "undo"
KINDS = (ACCEPT, REJECT, POSTPONE)
ENDING = ".decisions.jsonl"
_COLUMNS = (*Triple._fields, "decision", "time", "model")
_SECONDS = 5.0  # that another writer may take
_PAUSE = 0.005


@dataclass(frozen=True)
class Decision:
    """What was decided about a link, when, and which model had proposed it."""

    triple: Triple
    decision: str
    time: str
    model: str = ""

    def to_dict(self) -> dict[str, str]:
        """A line of the file."""
        return {
            **self.triple._asdict(),
            "decision": self.decision,
            "time": self.time,
            "model": self.model,
        }


@dataclass
class Decisions:
    """The decisions of a file, which is made with the first one. Threads and processes may share it.

    >>> import tempfile
    >>> made = Decisions(Path(tempfile.mkdtemp()) / "links.decisions.jsonl")
    >>> made.add(Triple("ada", "speaks", "english"), "accept")
    >>> made.add(Triple("bob", "speaks", "english"), "reject")
    >>> made.undo().triple
    Triple(head='bob', relation='speaks', tail='english')
    >>> Decisions(made.path).counts()
    {'accept': 1, 'reject': 0, 'postpone': 0}
    """

    path: Path
    _log: list[Decision] = field(default_factory=list, init=False, repr=False)
    """Those that stand, in their order."""
    _last: dict[Triple, Decision] = field(default_factory=dict, init=False, repr=False)
    _read: int = field(default=0, init=False, repr=False)
    """Bytes of the file that are read."""
    _lines: int = field(default=0, init=False, repr=False)
    _lock: RLock = field(default_factory=RLock, init=False, repr=False)

    @property
    def revision(self) -> int:
        """Grows with each decision and each undo."""
        with self._lock:
            self._catch_up()
            return self._read

    def standing(self) -> dict[Triple, Decision]:
        """The last decision about each link, in the order of the decisions."""
        with self._lock:
            self._catch_up()
            return dict(self._last)

    def of_kind(self, kind: str) -> list[Triple]:
        """The links that were accepted, rejected or postponed."""
        return [triple for triple, one in self.standing().items() if one.decision == kind]

    def counts(self) -> dict[str, int]:
        """How many links were accepted, rejected and postponed."""
        found = dict.fromkeys(KINDS, 0)
        for one in self.standing().values():
            found[one.decision] += 1
        return found

    def add(self, triple: Triple, decision: str, model: str = "") -> None:
        """Decide about a link; on the disk when this returns."""
        if decision not in KINDS:
            raise InputError(f"found the decision {decision!r}", hint=f"give one of {', '.join(KINDS)}")
        self._write(triple, decision, model)

    def undo(self, triple: Triple | None = None) -> Decision | None:
        """Take back the last decision about a link, or the last of all; gives it, or None where there is none."""
        with self._lock:
            self._catch_up()
            about = (one for one in reversed(self._log) if triple is None or one.triple == triple)
            last = next(about, None)
            if last is not None:
                self._write(last.triple, UNDO, last.model)
            return last

    def _write(self, triple: Triple, decision: str, model: str) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps(Decision(triple, decision, now, model).to_dict(), ensure_ascii=False) + "\n"
        with self._lock:
            descriptor = self._alone()
            with released(descriptor):
                self._catch_up()
                os.ftruncate(descriptor, self._read)  # what a kill has cut off
                os.lseek(descriptor, 0, os.SEEK_END)
                _write_all(descriptor, line.encode())
                os.fsync(descriptor)
            self._catch_up()

    def _alone(self) -> int:
        """A descriptor that holds the lock of the file."""
        ends_at = time.monotonic() + _SECONDS
        while (descriptor := locked(self.path)) is None:
            if time.monotonic() > ends_at:
                raise InputError(
                    "another program holds the file of decisions",
                    place=Place(str(self.path)),
                    hint="end it, or name another file: --decisions FILE",
                )
            time.sleep(_PAUSE)
        return descriptor

    def _catch_up(self) -> None:
        """Read the whole lines that were added."""
        try:
            if self.path.stat().st_size == self._read:
                return
            with open(self.path, "rb", opener=no_link) as file:
                file.seek(self._read)
                added = file.read()
        except FileNotFoundError:
            return
        whole = added[: added.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=self._lines + 1):
            self._take(_decision_of(line, Place(str(self.path), number)))
        self._read += len(whole)
        self._lines += whole.count(b"\n")

    def _take(self, one: Decision) -> None:
        if one.decision != UNDO:
            self._log.append(one)
            self._last.pop(one.triple, None)  # the order is that of the last decisions
            self._last[one.triple] = one
            return
        place = next((at for at in _backwards(self._log) if self._log[at].triple == one.triple), None)
        if place is None:  # somebody else was faster
            return
        del self._log[place]
        self._last.pop(one.triple)
        before = next((it for it in reversed(self._log) if it.triple == one.triple), None)
        if before is not None:
            self._last[one.triple] = before


def read_decisions(path: str | os.PathLike[str]) -> Decisions:
    """The decisions of a file that must be there."""
    made = Decisions(Path(path))
    if not made.path.is_file():
        raise InputError(
            "there is no file of decisions",
            place=Place(str(path)),
            hint="`reshuffle serve` writes one with the first decision, and says where",
        )
    made.standing()
    return made


def _backwards(log: list[Decision]) -> Iterator[int]:
    return iter(range(len(log) - 1, -1, -1))


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _decision_of(line: bytes, place: Place) -> Decision:
    """A line of the file, checked: the file may have been edited."""
    hint = "a line is " + json.dumps(dict.fromkeys(_COLUMNS, "..."))
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("found a line that is no JSON", place=place, hint=hint) from None
    if not isinstance(data, dict) or not all(isinstance(data.get(name), str) for name in _COLUMNS[:4]):
        raise InputError("found a line that is no decision", place=place, hint=hint)
    if data["decision"] not in (*KINDS, UNDO):
        raise InputError(
            f"found the decision {data['decision']!r}",
            place=place,
            hint=f"a decision is one of {', '.join((*KINDS, UNDO))}",
        )
    triple = Triple(data["head"], data["relation"], data["tail"])
    return Decision(triple, data["decision"], str(data.get("time", "")), str(data.get("model", "")))
