"""The explorer as a server of its own process, and clients that speak to it byte by byte. Loopback only."""

from __future__ import annotations

import atexit
import functools
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.attack.part import WrongAnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN = "a-token-that-nobody-guesses"
FACTS = "ada\tbornIn\tlondon\nlondon\tcityIn\tuk\nuk\thasLanguage\tenglish\nbob\tbornIn\tparis\n"
RULES = (
    "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\ncitizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)\n"
)
SECONDS = 20.0
"""How long an answer may take; what takes longer is told with status 202 after a second."""
_MOST_BYTES = 1 << 22
_START = 60.0


@dataclass
class Reply:
    """What came back: 0 and nothing where the server closed the connection without an answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Server:
    """`reshuffle serve`, with its folder, which nobody but it writes to."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "inside").mkdir()
        (self.folder / "inside" / "facts.tsv").write_text(FACTS, "utf-8")
        (self.folder / "inside" / "my.rules").write_text(RULES, "utf-8")
        verb = ["serve", "my.rules", "facts.tsv", "--no-browser", "--port", "0", "--token", TOKEN]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reshuffle", "-q", *verb],
            cwd=self.folder / "inside",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        address = self.process.stdout.readline()
        self.port = int(re.findall(r":(\d+)/", address)[0])
        atexit.register(self.stop)
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        """Until the facts are loaded; raises where the server does not come to it."""
        ends = time.monotonic() + _START
        while self.program("GET", "/api/v1/entity?name=ada").status == 202:
            if time.monotonic() > ends:
                raise WrongAnswerError("the server does not load its facts")

    def stop(self) -> None:
        """End it, and remove its folder."""
        self.process.kill()
        self.process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def runs(self) -> bool:
        """Is its process alive?"""
        return self.process.poll() is None

    def connected(self) -> socket.socket:
        """A new connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def send(self, data: bytes, *, half: bool = False) -> Reply:
        """Send some bytes over a connection of their own; after half a request, do not wait for an answer."""
        with self.connected() as connection:
            try:
                connection.sendall(data)
                if half:
                    return Reply(0, {}, b"")
                return reply_of(_received(connection))
            except (BrokenPipeError, ConnectionResetError):
                return Reply(0, {}, b"")
            except TimeoutError:
                raise WrongAnswerError(f"no answer in {SECONDS:.0f} seconds to {data[:300]!r}") from None

    def program(self, method: str, target: str, body: object = None, **headers: str) -> Reply:
        """What a program with the token is answered."""
        data = b"" if body is None else json.dumps(body).encode()
        named = {"Authorization": f"Bearer {TOKEN}", "Content-Length": str(len(data)), **headers}
        return self.send(request(method, target, {"Host": f"127.0.0.1:{self.port}", **named}, data))

    def files(self) -> dict[str, bytes]:
        """All files below its folder and beside it."""
        found = self.folder.rglob("*")
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found if path.is_file()}


def request(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A request as bytes, for a connection that is closed after it."""
    lines = [f"{method} {target} HTTP/1.1", "Connection: close", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


def _received(connection: socket.socket) -> bytes:
    taken = b""
    while len(taken) < _MOST_BYTES and (more := connection.recv(1 << 16)):
        taken += more
    return taken


def reply_of(data: bytes) -> Reply:
    """The parts of an answer.

    >>> reply_of(b"HTTP/1.1 401 Unauthorized\\r\\nA: b\\r\\n\\r\\nno").status
    401
    """
    top, _, body = data.partition(b"\r\n\r\n")
    first, *lines = top.decode("latin-1").split("\r\n")
    if not first:
        return Reply(0, {}, b"")
    if not (found := re.fullmatch(r"HTTP/1\.[01] (\d{3}) ?.*", first)):
        raise WrongAnswerError(f"this is no answer of HTTP: {first[:100]!r}")
    pairs = (line.partition(":") for line in lines)
    return Reply(int(found[1]), {name.lower(): value.strip() for name, _, value in pairs}, body)


@functools.cache
def _first_server() -> list[Server]:
    return [Server()]


def server() -> Server:
    """The server of this process: the one that runs, or a new one where the last was ended."""
    found = _first_server()
    if not found[0].runs:
        found[0].stop()
        found[0] = Server()
    return found[0]
