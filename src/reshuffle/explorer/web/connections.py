"""Connections with time limits: a client that sends half a request does not keep others out.

uvicorn limits how long a connection may be idle between requests, but not how long a request may take to arrive. Here
every connection that waits for its client has a deadline: for the headers of a request, for the rest of its body, for
the next request, or until the client takes its answers. If there are too many such connections, the oldest is closed,
those of strangers before those that a session was found for. A connection whose answer is being computed stays open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

SECONDS = {"header": 10.0, "body": 20.0, "idle": 30.0, "sending": 300.0, "closing": 10.0}
"""How long a client may take, by what is waited for."""
MOST_WAITING = 200


class LimitedProtocol(H11Protocol):  # type: ignore[misc]  # uvicorn is not there where types are checked
    """One connection: what it waits for, and until when."""

    phase = "answer"
    timer: asyncio.TimerHandle | None = None
    made = 0.0
    """When it was opened, by the clock of the loop."""
    has_session = False
    """Was a session found for a request of this connection (`guard`)?"""

    @property
    def waiting(self) -> set[LimitedProtocol]:
        """All connections of the server that wait for their clients."""
        state: dict[str, Any] = self.server_state.__dict__
        found: set[LimitedProtocol] = state.setdefault("waiting", set())
        return found

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self.made = self.loop.time()
        self._enter("header")

    def data_received(self, data: bytes) -> None:
        """Take what has arrived."""
        super().data_received(data)
        self._enter(self._phase_now("header"))

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self.has_session |= "session" in self.scope.get("state", ())
        self._enter(self._phase_now("idle"))

    def pause_writing(self) -> None:
        """Wait until the client takes what was sent."""
        super().pause_writing()
        self._enter("sending")

    def resume_writing(self) -> None:
        """Go on where the client has taken enough."""
        super().resume_writing()
        self._enter(self._phase_now("idle"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        super().connection_lost(exc)
        self._enter("answer")

    def _phase_now(self, between: str) -> str:
        """What the connection waits for; `between` where it is at no request."""
        if self.transport.is_closing():
            return "closing"
        if self.flow.write_paused:
            return "sending"
        if self.cycle is None or (self.cycle.response_complete and not self.cycle.more_body):
            return between
        return "body" if self.cycle.more_body else "answer"

    def _enter(self, phase: str) -> None:
        if phase == self.phase:  # its deadline stays, however slowly bytes arrive
            return
        self.phase = phase
        self.waiting.discard(self)
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None
        if phase in SECONDS:
            self.waiting.add(self)
            self.timer = self.loop.call_later(SECONDS[phase], self.transport.abort)
            if len(self.waiting) > MOST_WAITING:
                self._close_one()

    def _close_one(self) -> None:
        """Close the oldest connection that waits, a stranger's where there is one; its place is free at once.

        The age counts from the beginning: who sends a little now and then does not become younger by it.
        """
        chosen = min(self.waiting, key=lambda one: (one.has_session, one.made))
        self.waiting.discard(chosen)
        chosen.transport.abort()
