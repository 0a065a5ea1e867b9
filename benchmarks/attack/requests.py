"""Random HTTP requests: nobody without the token is let in, nothing is a status 500, and the server goes on."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces
from benchmarks.attack.serving import TOKEN, Reply, Server, request, server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

_METHODS = (
    ["GET"] * 6
    + ["POST"] * 5
    + ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "A" * 40]
)
_QUESTIONS = (
    "search", "entity", "predictions", "why", "rules", "rule", "rule-graph", "effect", "what-if", "training",
)  # fmt: skip
_POSTED = ("changes", "undo", "reset", "save", "jobs/1")
_PLACES = [
    "/", "/entity", "/why", "/rules", "/what-if", "/favicon.ico", "/api/v1", "/api/v1/jobs", "/static/app.js",
    "/static/../app.py", "/static/%2e%2e/web/app.py", "//evil.example/", "/\\evil.example/", "/api/v1/nothing", "*",
    "/%00", "/api/v1/../../etc/passwd", "http://evil.example/", "/static//etc/passwd", "/" + "a" * 3000, "/%ff%fe",
]  # fmt: skip
_WORDS = [
    "ada", "london", "bornIn", "speaks", "uk", "", "0", "-1", "--5", "1e9", "9" * 30, "true", "none", "csv", "rules",
    "<img src=x onerror=alert(1)>", "\x00", "\u202e", "\ud7ff" * 50, "x" * 5000, "../../x", "/etc/passwd", "~anything",
    "bornIn(X, Y) -> livesIn(X, Y)", "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)", "r(X, Y) &", "bornIn^-1",
    "r(X,Y)->" * 200, '{"kind": "add-fact", "triple": ["a", "b", "c"]}', "[" * 2000, "bornIn(X, Y) -> bornIn(X, Y)",
]  # fmt: skip
_NAMES = (
    "name", "head", "relation", "tail", "q", "most", "start", "top", "format", "rule", "of", "edits", "side", "sort",
    "search", "focus", "slots", "derived", "reasons", "change", "accepted", "token",
)  # fmt: skip
_CREDENTIALS = ["none", "none", "cookie", "guessed", "wrong", "basic", "empty", "address"]
_OPEN = "/favicon.ico"


class Requests(Part):
    """Methods, addresses, cookies, names of programs, origins and bodies of all kinds, whole, in pieces and cut."""

    name, seconds = "requests", 120

    def missing(self) -> str | None:
        needed = [package for package in ("starlette", "uvicorn") if not find_spec(package)]
        return f"the package {needed[0]} is not installed" if needed else None

    def made(self, random: Random) -> Case:
        return {"requests": [_made(random) for _ in range(random.randint(1, 12))]}

    def run(self, case: Case, folder: Path) -> Counts:
        del folder
        at = server()
        if len(at.files()) > 200:  # that requests with the token have saved
            at.stop()
            at = server()
        for one in case["requests"]:
            before = at.files() if one["credential"] != "token" else None
            _check(one, at.send(_bytes(one, at), half=one["framing"] == "half"), at)
            if before is not None and at.files() != before:
                raise WrongAnswerError(
                    f"{one['method']} {one['target'][:80]} changed files without the token"
                )
        _goes_on(at)
        return {"requests": len(case["requests"])}

    def smaller(self, case: Case) -> Iterator[Case]:
        for items in without_pieces(case["requests"]):
            if items:
                yield {"requests": items}
        for place, one in enumerate(case["requests"]):
            for name in one["headers"]:
                left = {**one, "headers": {k: v for k, v in one["headers"].items() if k != name}}
                yield {"requests": [*case["requests"][:place], left, *case["requests"][place + 1 :]]}


def _made(random: Random) -> dict[str, Any]:
    method = random.choice(_METHODS)
    made = {
        "method": method,
        "target": _target(random, method),
        "headers": _headers(random),
        "credential": random.choice(["token", "token", *_CREDENTIALS]),
        "session": random.choice(["", "program", "me", "a" * 200, "é", '"; x', "reshuffle"]),
        "body": _body(random) if method in ("POST", "PUT", "PATCH", "DELETE") else "",
        "framing": random.choice(
            ["length"] * 6 + ["chunked", "chunked", "none", "short", "long", "both", "half"]
        ),
    }
    if (
        made["credential"] == "token" and random.random() < 0.8
    ):  # a request that means well, but for its words
        made["headers"], made["framing"] = {}, random.choice(["length", "length", "chunked"])
    return made


def _target(random: Random, method: str) -> str:
    if random.random() < 0.35:
        return random.choice(_PLACES)
    path = "/api/v1/" + random.choice(_POSTED if method == "POST" else _QUESTIONS)
    words = {random.choice(_NAMES): random.choice(_WORDS) for _ in range(random.randint(0, 4))}
    return path + ("?" + "&".join(f"{name}={quote(word)}" for name, word in words.items()) if words else "")


def _headers(random: Random) -> dict[str, str]:
    all_of_them = {
        "Origin": ["null", "http://evil.example", "http://127.0.0.1:{port}", "https://localhost:{port}"],
        "Sec-Fetch-Site": ["cross-site", "same-origin", "none"],
        "Content-Type": [
            "application/json",
            "text/plain",
            "application/x-www-form-urlencoded",
            "\xff",
            "a" * 3000,
        ],
        "Referer": ["http://evil.example/", "http://127.0.0.1:{port}/"],
        "X-Forwarded-For": ["127.0.0.1"],
        "X-HTTP-Method-Override": ["DELETE"],
        "Host": [
            "evil.example",
            "127.0.0.1:1",
            "localhost:{port}",
            "",
            "[::1]:{port}",
            "127.0.0.1:{port}, evil",
            "\xe9",
        ],
        "Accept-Encoding": ["gzip, br", "*;q=0"],
        "Range": ["bytes=0-5", "bytes=9999999999-", "bytes=-1,-1,0-"],
        "If-None-Match": ["*"],
        "Upgrade": ["websocket", "h2c"],
        "Expect": ["100-continue", "nothing"],
        "X-Session": ["program", "b" * 5000, "\xe9"],
    }
    chosen = random.sample(sorted(all_of_them), random.choice([0, 0, 1, 2, 4]))
    return {name: random.choice(all_of_them[name]) for name in chosen}


def _body(random: Random) -> str:
    fact = {"kind": random.choice(["add-fact", "remove-fact", "x"]), "triple": random.sample(_WORDS[:8], 3)}
    rule = {
        "kind": random.choice(["add-rule", "reject-rule", "edit-rule"]),
        "rule": random.choice(_WORDS),
        "to": "r",
    }
    saved = {
        "what": random.choice(["rules", "facts", "model", "x", None]),
        "name": random.choice(_NAMES_OF_FILES),
    }
    whole = [
        {"change": fact},
        {"change": rule},
        saved,
        {},
        [],
        None,
        3,
        "x",
        {"change": [fact]},
        {"of": ["x"]},
    ]
    text = json.dumps(random.choice(whole))
    odd = [
        "{",
        "[" * 3000 + "]" * 3000,
        '{"a": NaN}',
        '{"change": "\\ud800"}',
        "\x00" * 50,
        "x" * 70_000,
        "\xff\xfe",
        "",
    ]
    return random.choice(odd) if random.random() < 0.3 else text


_NAMES_OF_FILES = [
    "mine.rules", "my.rules", "facts.tsv", "../outside.rules", "/tmp/outside.rules", "", ".", "..", "a/b.rules",
    "a" * 300,
    ".hidden", "nul\x00.rules", "mine.ttl", "mine.dl", "mine.xyz", "con", "é.rules", "~/x.rules", "-o.rules",
]  # fmt: skip


def _bytes(one: dict[str, Any], at: Server) -> bytes:
    headers = {
        "Host": f"127.0.0.1:{at.port}",
        **{k: v.replace("{port}", str(at.port)) for k, v in one["headers"].items()},
    }
    headers |= _credential(one, at)
    body = one["body"].encode("utf-8", "surrogatepass")
    framing = one["framing"]
    if framing in ("length", "both", "half") and (body or one["method"] == "POST"):
        headers["Content-Length"] = str(len(body))
    elif framing in ("short", "long"):
        headers["Content-Length"] = str(max(0, len(body) - 2) if framing == "short" else len(body) + 7)
    if framing in ("chunked", "both"):
        headers["Transfer-Encoding"] = "chunked"
        body = b"".join(
            b"%x\r\n%s\r\n" % (len(body[n : n + 900]), body[n : n + 900]) for n in range(0, len(body), 900)
        )
        body += b"0\r\n\r\n"
    target = one["target"].replace(" ", "%20")
    if one["credential"] == "address":
        target += f"{'&' if '?' in target else '?'}token={TOKEN}x"
    data = request(one["method"], target, headers, body)
    return data[: len(data) * 2 // 3] if framing == "half" else data


def _credential(one: dict[str, Any], at: Server) -> dict[str, str]:
    """The token, or something that is not it: names of sessions as cookies, other schemes, nothing."""
    cookie, session = f"reshuffle_{at.port}", one["session"]
    return {
        "token": {"Authorization": f"Bearer {TOKEN}", "X-Session": session},
        "cookie": {"Cookie": f'{cookie}="program {session}"; {cookie}={session or "program"}'},
        "guessed": {"Cookie": f"{cookie}={session}", "Authorization": "Bearer"},
        "wrong": {
            "Authorization": f"Bearer {TOKEN[:-1]}",
            "X-Session": session,
            "Cookie": f"{cookie}={TOKEN}",
        },
        "basic": {"Authorization": f"Basic {TOKEN}", "Cookie": f'{cookie}="program "'},
        "empty": {"Authorization": "", "Cookie": f"{cookie}=; $Version=1; {cookie}"},
    }.get(one["credential"], {})


def _check(one: dict[str, Any], reply: Reply, at: Server) -> None:
    told = f"{one['method']} {one['target'][:80]} as {one['credential']}: status {reply.status}"
    if reply.status >= 500 and reply.status not in (501, 503, 505):
        raise WrongAnswerError(f"{told}: {reply.body[:300]!r}")
    if "location" in reply.headers and not _is_here(reply.headers["location"], at):
        raise WrongAnswerError(f"{told} leads to {reply.headers['location'][:100]}")
    if one["credential"] == "token":
        return
    if "set-cookie" in reply.headers:
        raise WrongAnswerError(f"{told} and a cookie")
    if 200 <= reply.status < 400 and not one["target"].startswith(_OPEN):
        raise WrongAnswerError(f"{told}: let in")


def _is_here(location: str, at: Server) -> bool:
    ours = tuple(f"http://{name}:{at.port}/" for name in ("127.0.0.1", "localhost", "[::1]"))
    return location.startswith(ours) or (location.startswith("/") and not location.startswith(("//", "/\\")))


def _goes_on(at: Server) -> None:
    """Is a program with the token answered as before?"""
    if not at.runs:
        raise WrongAnswerError(f"the server ended with status {at.process.returncode}")
    for target in ("/api/v1", "/api/v1/entity?name=ada&edits=none"):
        if (status := at.program("GET", target, **{"X-Session": "of the attack"}).status) not in (200, 202):
            raise WrongAnswerError(f"after these requests {target} has status {status}")
    kept = at.files()
    if kept["inside/facts.tsv"] == b"" or {path for path in kept if not path.startswith("inside/")}:
        raise WrongAnswerError(f"files beside the folder: {sorted(kept)[:5]}")


PARTS = (Requests(),)
