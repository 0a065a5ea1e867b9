"""Access control and security headers: an ASGI layer in front of the application.

- The host must be a name of this server; this prevents DNS rebinding.
- The token of the printed address is exchanged for a cookie that scripts cannot read and other sites cannot send.
  Programs send `Authorization: Bearer TOKEN`.
- Requests that change something must come from the page itself: the same origin, as JSON.
- Requests have a largest size. Pages load nothing from elsewhere.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from reshuffle.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from reshuffle.explorer.web.sessions import Session, Sessions

LARGEST_BODY = 64 * 1024
LONGEST_ADDRESS = 16 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_OPEN = ("/favicon.ico",)
_REFUSED = "This explorer needs the token: open the full address that `reshuffle serve` printed.\n"


class TooLarge(InputError):  # noqa: N818 - a state of the request
    """A body that is longer than any change."""


@dataclass(frozen=True)
class Door:
    """What opens the server: its token, and the hosts that it is reached by."""

    token: str = field(repr=False)
    host: str
    port: int

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies do not tell ports apart, so the name does."""
        return f"reshuffle_{self.port}"

    def knows_host(self, header: str | None) -> bool:
        """Is the `Host` header one of ours?"""
        if header is None:
            return False
        name, port = _split(header)
        if port != str(self.port):
            return False
        ours = {"127.0.0.1", "localhost", "::1", self.host.lower()}
        if self.host in ("0.0.0.0", "::"):
            return name in ours | {socket.gethostname().lower()} or _is_address(name)
        return name in ours

    def has_token(self, given: str | None) -> bool:
        """Is it the token? Takes as long for a wrong one."""
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())


def _split(host: str) -> tuple[str, str]:
    name, _, port = host.lower().rpartition(":")
    return (name.strip("[]"), port) if name and not port.endswith("]") else (host.lower().strip("[]"), "80")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Refuses what is not allowed, finds the session, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, *, door: Door, sessions: Sessions) -> None:
        self.app, self.door, self.sessions = app, door, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        await self.app(scope, _limited(receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """What is answered in place of the app, or None where it may answer."""
        headers = Headers(scope=scope)
        if not self.door.knows_host(headers.get("host")):
            return PlainTextResponse("This host is not served here.\n", 421)
        if len(scope["query_string"]) > LONGEST_ADDRESS or _declared(headers) > LARGEST_BODY:
            return JSONResponse({"error": "the request is too large"}, 413)
        if scope["path"] in _OPEN:
            return None
        return self._entering(scope) or self._without_session(scope, headers)

    def _without_session(self, scope: Scope, headers: Headers) -> Response | None:
        session, by_header = self._session(headers)
        if session is None:
            if scope["path"].startswith("/api/"):
                return JSONResponse({"error": _REFUSED.strip()}, 401)
            return PlainTextResponse(_REFUSED, 401)
        if scope["method"] in _CHANGING and not by_header and not self._from_page(headers):
            return JSONResponse({"error": "changes are made by the page itself"}, 403)
        scope.setdefault("state", {})["session"] = session
        return None

    def _entering(self, scope: Scope) -> Response | None:
        """The token in the address becomes a cookie, and vanishes from the address."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token")
        if given is None or scope["method"] != "GET":
            return None
        if not self.door.has_token(given):
            return PlainTextResponse(_REFUSED, 401)
        headers = Headers(scope=scope)
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        # One slash in front: an address that begins with two names another host.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}{'?' + rest if rest else ''}", 303)
        if self.sessions.find(_cookies(headers).get(self.door.cookie)) is None:
            answer.set_cookie(
                self.door.cookie, self.sessions.begin(), httponly=True, samesite="strict", path="/"
            )
        return answer

    def _session(self, headers: Headers) -> tuple[Session | None, bool]:
        """The session, and whether a program has sent the token itself."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.door.has_token(given.strip()):
            return self.sessions.of_program(headers.get("x-session", "")[:100]), True
        return self.sessions.find(_cookies(headers).get(self.door.cookie)), False

    def _from_page(self, headers: Headers) -> bool:
        same = headers.get("origin") in (f"http://{headers.get('host')}", f"https://{headers.get('host')}")
        return (
            same
            and headers.get("sec-fetch-site", "same-origin") == "same-origin"
            and headers.get("content-type", "").startswith("application/json")
        )


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        found: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in found.items()}


def _declared(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isdecimal() else LARGEST_BODY + 1


def _limited(receive: Receive) -> Receive:
    """Bodies without a declared length are refused where they are too large."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            raise TooLarge("the request is too large")
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            more: dict[str, Any] = HEADERS
            for name, value in more.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending
