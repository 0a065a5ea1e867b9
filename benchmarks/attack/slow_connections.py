"""Connections that send slowly, half or nothing: others are answered meanwhile, and the slow ones are closed."""

from __future__ import annotations

import select
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from benchmarks.attack.part import Case, Counts, WrongAnswerError
from benchmarks.attack.requests import Requests
from benchmarks.attack.serving import TOKEN, Server, server

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from random import Random

_SENT = {
    "nothing": "",
    "half a line": "GET /api/v1 HT",
    "half of the headers": "GET /api/v1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-A: b",
    "half of a body": "POST /api/v1/changes HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/json\r\nContent-Length: 500\r\n\r\n" + "{{",
    "half of a chunk": "POST /api/v1/undo HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    "Transfer-Encoding: chunked\r\n\r\nff\r\n" + "{{",
    "answers that nobody takes": "GET /static/app.js?{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    "Authorization: Bearer {token}\r\n\r\n" * 60,
    "a request, and no goodbye": "GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
}
_BUSY = "answers that nobody takes"  # whoever has the token may keep the server busy, but not with a few connections
_MOST_BUSY = 40
_ANSWERED_WITHIN = 10.0
_CLOSED_WITHIN = 60.0  # the longest deadline of the server is 30 seconds


class SlowConnections(Requests):
    """Up to more connections than the server takes at a time."""

    name, seconds = "slow-connections", 180

    def made(self, random: Random) -> Case:
        how = random.choice([*_SENT, "mixed"])
        return {
            "how": how,
            "connections": random.choice([5, 40, 40, 250, 560]),
            "trickle": random.random() < 0.5,
            "wait": random.random() < 0.1,
            "seed": random.randrange(1000),
        }

    def run(self, case: Case, folder: Path) -> Counts:
        del folder
        at, kinds = server(), [*_SENT] if case["how"] == "mixed" else [case["how"]]
        with ExitStack() as stack:
            count = min(case["connections"], _MOST_BUSY) if case["how"] == _BUSY else case["connections"]
            slow = [_slow(at, kinds[n % len(kinds)], stack) for n in range(count)]
            for _ in range(3):
                if case["trickle"]:
                    _trickle(slow)
                _answered(at)
            if case["wait"]:
                _closed(slow, trickle=case["trickle"])
        return {"connections": count}

    def smaller(self, case: Case) -> Iterator[Case]:
        if case["connections"] > 1:
            yield {**case, "connections": case["connections"] // 2}
        for key in ("trickle", "wait"):
            if case[key]:
                yield {**case, key: False}


def _slow(at: Server, kind: str, stack: ExitStack) -> socket.socket:
    opened = stack.enter_context(at.connected())
    opened.sendall(_SENT[kind].format(port=at.port, token=TOKEN).encode())
    return opened


def _trickle(slow: Sequence[socket.socket]) -> None:
    for one in slow:
        with suppress(OSError):  # where the server has closed it, as it should
            one.sendall(b" ")


def _answered(at: Server) -> None:
    began = time.monotonic()
    reply = at.program("GET", "/api/v1")
    took = time.monotonic() - began
    if reply.status != 200 or took > _ANSWERED_WITHIN:
        raise WrongAnswerError(f"beside slow connections: status {reply.status} after {took:.1f} seconds")


def _closed(slow: Sequence[socket.socket], *, trickle: bool) -> None:
    """Wait until the server has closed every slow connection."""
    ends, opened = time.monotonic() + _CLOSED_WITHIN, list(slow)
    while opened:
        if time.monotonic() > ends:
            raise WrongAnswerError(
                f"{len(opened)} slow connections are open after {_CLOSED_WITHIN:.0f} seconds"
            )
        if trickle:
            _trickle(opened)
        readable = set(_readable(opened))
        opened = [one for one in opened if one not in readable or not _has_ended(one)]


def _readable(opened: Sequence[socket.socket]) -> list[socket.socket]:
    poll = select.poll()
    by_number = {one.fileno(): one for one in opened}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(500)]


def _has_ended(one: socket.socket) -> bool:
    try:
        return not one.recv(1 << 16)
    except OSError:
        return True


PARTS = (SlowConnections(),)
