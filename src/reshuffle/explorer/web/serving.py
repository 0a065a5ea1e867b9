"""Listen on a socket, announce when ready, and stop on Ctrl-C."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import uvicorn

from reshuffle.errors import InputError
from reshuffle.explorer.web.connections import LimitedProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from reshuffle.explorer.web.app import Explorer
    from reshuffle.explorer.web.guard import Door

MOST_CONNECTIONS = 500  # those that wait, and as many again whose end is not heard yet
_SECONDS_TO_END = 2
_WAITING = 256  # connections


def bound_socket(host: str, port: int | None, *, usual: int) -> socket.socket:
    """A socket on the port; without one on the usual port, or a free one where that is taken."""
    if port is not None and not 0 <= port < 65536:
        raise InputError(
            f"found the port {port}", hint="a port is a number from 0 to 65535; 0 takes a free one"
        )
    try:
        return _bound(host, usual if port is None else port)
    except OSError as error:
        if port is None:
            return bound_socket(host, 0, usual=usual)
        raise InputError(
            f"cannot listen at {host}:{port}: {error.strerror or error}", hint="give another --port, or none"
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # Only where the protocol is named does asyncio turn off the delay of small packets: 40 ms on every answer.
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def serve(explorer: Explorer, door: Door, listening: socket.socket, *, ready: Callable[[], None]) -> None:
    """Answer until a signal comes; Ctrl-C raises `KeyboardInterrupt` at the end."""
    try:
        with closing(listening):
            listening.listen(_WAITING)  # requests from now on are answered as soon as the server runs
            explorer.load_first()
            ready()
            uvicorn.Server(configured(explorer, door)).run(sockets=[listening])
    finally:
        explorer.jobs.end()


def configured(explorer: Explorer, door: Door) -> uvicorn.Config:
    """The server with its limits."""
    return uvicorn.Config(
        explorer.app(door),
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        http=LimitedProtocol,
        ws="none",  # such a connection would have no limits
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        h11_max_incomplete_event_size=64 * 1024,
    )
