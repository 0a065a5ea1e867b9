"""The explorer asked within this process, as a program with the token asks it."""

from __future__ import annotations

import asyncio
import functools
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from reshuffle.explorer.web.app import Explorer

_TOKEN = "a-token-of-the-attack"
_HOST, _PORT = "127.0.0.1", 1
_HEADERS = {
    "host": f"{_HOST}:{_PORT}",
    "authorization": f"Bearer {_TOKEN}",
    "content-type": "application/json",
}
_MOST_TRIES = 60  # each waits for a second


@functools.cache
def explorer() -> Explorer:
    """One for all cases of a process, since its threads never end; whoever uses it hangs up exhibits of its own."""
    from reshuffle.explorer.web.app import Explorer

    return Explorer([], folder=Path(tempfile.mkdtemp()))


def ask(method: str, path: str, session: str, **words: Any) -> tuple[int, Any]:
    """The status and the data of an answer; a GET has its words in the address, a POST as its body."""
    for _ in range(_MOST_TRIES):
        status, data = asyncio.run(_once(method, path, session, words))
        if status != 202:
            return status, data
    raise TimeoutError(f"{path} gave no answer")


async def _once(method: str, path: str, session: str, words: dict[str, Any]) -> tuple[int, Any]:
    from reshuffle.explorer.web.guard import Door

    body = json.dumps(words).encode() if method == "POST" else b""
    headers = {**_HEADERS, "x-session": session, "content-length": str(len(body))}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method, "path": path, "raw_path": path.encode(), "client": (_HOST, 2), "server": (_HOST, _PORT),
        "query_string": b"" if method == "POST" else urlencode(words).encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await explorer().app(Door(_TOKEN, _HOST, _PORT))(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]))
