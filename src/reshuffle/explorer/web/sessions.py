"""Sessions: one per browser, with its own changes."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.explorer.changes import Edits, edits_of

if TYPE_CHECKING:
    from reshuffle.explorer.changes import Change

MOST_SESSIONS = 1_000
MOST_PROGRAMS = 200
MOST_CHANGES = 500


@dataclass
class Session:
    """The changes of one browser, for each exhibit its own list."""

    changes: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def changes_of(self, exhibit: str) -> tuple[Change, ...]:
        """In the order in which they were made."""
        return self.changes.get(exhibit, ())

    def edits_of(self, exhibit: str) -> Edits:
        """What they come to."""
        return edits_of(self.changes_of(exhibit))

    def add(self, exhibit: str, change: Change) -> None:
        """One more step."""
        with self._lock:
            before = self.changes_of(exhibit)
            if len(before) >= MOST_CHANGES:
                raise InputError(
                    f"there are {MOST_CHANGES} changes already", hint="save them, and start again"
                )
            self.changes[exhibit] = (*before, change)

    def undo(self, exhibit: str) -> Change | None:
        """Take the last step back; gives it, or None where there is none."""
        with self._lock:
            *before, last = self.changes_of(exhibit) or (None,)
            self.changes[exhibit] = tuple(change for change in before if change is not None)
            return last

    def clear(self, exhibit: str) -> None:
        """Take all steps back."""
        with self._lock:
            self.changes[exhibit] = ()


class Sessions:
    """Sessions of browsers by a secret that only the browser knows, and those of programs by the name that they give.

    The two are kept apart: no name of a program is ever looked up as a secret, and programs push out programs only.
    Of each kind the session that nobody has used for longest goes first.
    """

    def __init__(self) -> None:
        self._browsers: OrderedDict[str, Session] = OrderedDict()
        self._programs: OrderedDict[str, Session] = OrderedDict()
        self._lock = Lock()

    def begin(self) -> str:
        """A new session's secret, for a browser."""
        secret = secrets.token_urlsafe(32)
        with self._lock:
            _used(self._browsers, secret, MOST_SESSIONS)
        return secret

    def find(self, secret: str | None) -> Session | None:
        """The session of a browser by its secret."""
        with self._lock:
            if secret is None or secret not in self._browsers:
                return None
            return _used(self._browsers, secret, MOST_SESSIONS)

    def of_program(self, name: str) -> Session:
        """The session of a program, which has sent the token, by the name that it gives; begun if need be."""
        with self._lock:
            return _used(self._programs, name, MOST_PROGRAMS)


def _used(sessions: OrderedDict[str, Session], key: str, most: int) -> Session:
    """The session of a key, begun if need be, as the one used last."""
    session = sessions.setdefault(key, Session())
    sessions.move_to_end(key)
    while len(sessions) > most:
        sessions.popitem(last=False)
    return session
