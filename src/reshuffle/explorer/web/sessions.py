"""Who explores: a session for each browser, with the changes that nobody else sees."""

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
                    f"there are {MOST_CHANGES} changes already", hint="save them, and start anew"
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
    """Sessions by a secret that only their browser knows; the one that nobody has used for longest goes first."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = Lock()

    def begin(self) -> str:
        """A new session's secret."""
        secret = secrets.token_urlsafe(32)
        self.named(secret)
        return secret

    def find(self, secret: str | None) -> Session | None:
        """The session of a secret."""
        with self._lock:
            if secret is None or secret not in self._sessions:
                return None
            self._sessions.move_to_end(secret)
            return self._sessions[secret]

    def named(self, name: str) -> Session:
        """The session of that name, begun if need be."""
        with self._lock:
            session = self._sessions.setdefault(name, Session())
            self._sessions.move_to_end(name)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return session
