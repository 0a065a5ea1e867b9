"""The explorer's server: who is let in, what is answered, what is refused, and that nothing ends it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from benchmarks.explorer import load

from reshuffle.cli.main import main
from reshuffle.explorer.exhibits import Exhibit
from reshuffle.explorer.opening import Wanted, opened
from reshuffle.explorer.web import connections
from reshuffle.explorer.web.api_questions import QUESTIONS
from reshuffle.explorer.web.app import PAGES, Explorer
from reshuffle.explorer.web.guard import LARGEST_BODY, POLICY, Door
from reshuffle.explorer.web.jobs import CHANGES, READING, THREADS
from reshuffle.explorer.web.serving import bound_socket, configured

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "a-token-that-nobody-guesses"
HOSTILE = "<img src=x onerror=alert(1)>"
BORN = "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "facts.tsv").write_text(
        f"ada\tbornIn\tlondon\nlondon\tcityIn\tuk\nuk\thasLanguage\tenglish\n{HOSTILE}\tbornIn\tlondon\n"
    )
    (folder / "my.rules").write_text(f"{BORN}\ncitizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)\n")
    (folder / "held.tsv").write_text("ada\tspeaks\tenglish\n")
    (folder / "labels.tsv").write_text("ada\tAda Lovelace\n")
    return folder


class Running:
    """A server in a thread, and clients of it."""

    def __init__(self, exhibits: list[Exhibit], folder: Path) -> None:
        self.explorer = Explorer(exhibits, folder=folder)
        self._socket = bound_socket("127.0.0.1", 0, usual=0)
        self.port = self._socket.getsockname()[1]
        self._server = uvicorn.Server(configured(self.explorer, Door(TOKEN, "127.0.0.1", self.port)))
        self._socket.listen()
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self._thread.start()
        self._clients: list[httpx.Client] = []
        self.base = f"http://127.0.0.1:{self.port}"

    def stranger(self, **options: Any) -> httpx.Client:
        made = httpx.Client(base_url=self.base, timeout=30, **{"follow_redirects": True, **options})
        self._clients.append(made)
        return made

    def guest(self) -> httpx.Client:
        """Somebody who has opened the address."""
        client = self.stranger()
        assert client.get(f"/?token={TOKEN}").status_code == 200
        return client

    def end(self) -> None:
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()
        self.explorer.jobs.end()


@pytest.fixture
def running(data: Path, tmp_path: Path) -> Iterator[Running]:
    wanted = Wanted(
        str(data / "my.rules"), str(data / "facts.tsv"), str(data / "labels.tsv"), str(data / "held.tsv")
    )
    made = Running(opened(wanted), tmp_path)
    yield made
    made.end()


@pytest.fixture
def client(running: Running) -> httpx.Client:
    return running.guest()


def asked(client: httpx.Client, path: str, **options: Any) -> httpx.Response:
    """The answer; while it takes long, status 202 tells how far it is."""
    while (answer := client.get(f"/api/v1/{path}", **options)).status_code == 202:
        time.sleep(0.1)
    return answer


def told(client: httpx.Client, what: str, data: object) -> httpx.Response:
    return client.post(f"/api/v1/{what}", json=data, headers={"origin": str(client.base_url).rstrip("/")})


# --- who is let in ----------------------------------------------------------------------------------------------------


def test_nobody_gets_in_without_the_token(running: Running) -> None:
    stranger = running.stranger()
    for path in (*PAGES, "/static/app.js", "/api/v1", *(f"/api/v1/{name}" for name in QUESTIONS)):
        assert stranger.get(path).status_code == 401, path
    for token in ("x", "wrong", TOKEN[:-1], TOKEN + "x", "é"):
        assert stranger.get("/", params={"token": token}).status_code == 401
        assert (
            stranger.get("/api/v1", headers={"authorization": b"Bearer " + token.encode()}).status_code == 401
        )
    assert stranger.get("/api/v1", headers={"cookie": f"reshuffle_{running.port}=guess"}).status_code == 401


def test_the_token_becomes_a_cookie_and_leaves_the_address(running: Running) -> None:
    client = running.stranger(follow_redirects=False)
    answer = client.get(f"/entity?name=ada&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/entity?name=ada")
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert client.get("/entity?name=ada").status_code == 200


def test_other_hosts_are_refused(client: httpx.Client) -> None:
    port = client.base_url.port
    hosts = (
        "evil.example",
        "127.0.0.1:1",
        "127.0.0.1",
        f"evil.example:{port}",
        f"127.0.0.1.evil.example:{port}",
    )
    for host in hosts:
        assert client.get("/api/v1", headers={"host": host}).status_code == 421, host
    for host in (f"localhost:{port}", f"[::1]:{port}"):
        assert client.get("/api/v1", headers={"host": host}).status_code == 200, host


def test_a_server_for_others_is_reached_by_its_addresses() -> None:
    everywhere, named = Door(TOKEN, "0.0.0.0", 80), Door(TOKEN, "box.local", 8571)
    assert everywhere.knows_host("192.168.1.7:80") and everywhere.knows_host("192.168.1.7")
    assert not everywhere.knows_host("evil.example:80")
    assert named.knows_host("Box.local:8571") and not named.knows_host("192.168.1.7:8571")


def test_every_answer_carries_the_policy(client: httpx.Client, running: Running) -> None:
    answers = [
        client.get("/"),
        client.get("/static/app.js"),
        client.get("/api/v1/nothing"),
        client.get("/nothing"),
    ]
    answers.append(running.stranger().get("/"))
    for answer in answers:
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store" or "static" in str(answer.url)
    assert "default-src 'none'" in POLICY and "unsafe" not in POLICY


def test_changes_come_from_the_page_alone(client: httpx.Client) -> None:
    change = {"change": {"kind": "add-fact", "triple": ["bob", "bornIn", "london"]}}
    body = json.dumps(change)
    ours = str(client.base_url).rstrip("/")
    for headers in (
        {"content-type": "application/json"},
        {"content-type": "application/json", "origin": "http://evil.example"},
        {"content-type": "application/json", "origin": "null"},
        {"content-type": "text/plain", "origin": ours},
        {"content-type": "application/json", "origin": ours, "sec-fetch-site": "cross-site"},
    ):
        assert client.post("/api/v1/changes", content=body, headers=headers).status_code == 403, headers
    assert told(client, "changes", change).json() == {"changes": 1}


def test_programs_send_the_token_and_have_sessions_of_their_own(
    running: Running, client: httpx.Client
) -> None:
    program = running.stranger(headers={"authorization": f"Bearer {TOKEN}"})
    change = {"change": {"kind": "add-fact", "triple": ["bob", "bornIn", "london"]}}
    assert program.post("/api/v1/changes", json=change).json() == {"changes": 1}
    assert asked(program, "what-if").json()["effect"]["appeared"]["count"] == 2
    other = {"x-session": "other"}
    assert asked(program, "what-if", headers=other).json()["changes"] == []
    assert asked(client, "what-if").json()["changes"] == []


def test_requests_have_a_largest_size(client: httpx.Client) -> None:
    assert client.get("/api/v1/search", params={"q": "x" * 20_000}).status_code == 413
    large = {"change": {"kind": "add-fact", "triple": ["a", "r", "x" * LARGEST_BODY]}}
    assert told(client, "changes", large).status_code == 413


# --- what is answered -------------------------------------------------------------------------------------------------


def test_the_json_is_that_of_the_command_line(
    client: httpx.Client, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    triple = ("ada", "speaks", "english")
    assert main(["explain", str(data / "my.rules"), str(data / "facts.tsv"), *triple, "--json"]) == 0
    question = dict(zip(("head", "relation", "tail"), triple, strict=True))
    page = asked(client, "why", params={**question, "most": 1}).json()
    said = json.loads(capsys.readouterr().out)
    assert {**page["explanation"], "violations": []} == said  # which are of all that follows
    assert page["labels"] == {"ada": "Ada Lovelace"}


def test_every_question_has_an_answer(client: httpx.Client) -> None:
    words = {
        "entity": {"name": "ada"},
        "predictions": {"head": "ada"},
        "why": {"head": "ada", "relation": "speaks", "tail": "english"},
        "rule": {"rule": BORN},
        "effect": {"change": json.dumps({"kind": "reject-rule", "rule": BORN})},
    }
    for name in QUESTIONS:
        answer = asked(client, name, params=words.get(name, {}))
        assert answer.status_code == 200, (name, answer.text)
    about = client.get("/api/v1").json()
    assert about["api"] == 1 and about["exhibits"][0]["facts"] == 4
    for name in about["tables"]:
        answer = asked(client, name, params={**words.get(name, {}), "format": "csv"})
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/csv"), name
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    assert asked(client, "rules?format=text").text.startswith(BORN)
    assert "citizenOf(X,Y) <= " in asked(client, "rules?format=anyburl").text


def test_a_change_is_seen_before_it_is_kept_and_taken_back(client: httpx.Client, running: Running) -> None:
    change = {"kind": "reject-rule", "rule": BORN}
    seen = asked(client, "effect", params={"change": json.dumps(change)}).json()["effect"]
    assert seen["vanished"]["count"] == 4 and seen["held_out"]["after"] == 0
    why = "why?head=ada&relation=speaks&tail=english"
    assert asked(client, why).json()["explanation"]["follows"]
    told(client, "changes", {"change": change})
    assert not asked(client, why).json()["explanation"]["follows"]
    assert asked(client, why + "&edits=none").json()["explanation"]["follows"]
    neighbour = running.guest()
    assert asked(neighbour, why).json()["explanation"]["follows"]
    assert told(client, "undo", {}).json() == {"undone": change, "changes": 0}
    assert asked(client, why).json()["explanation"]["follows"]
    assert told(client, "undo", {}).json()["undone"] is None
    assert told(client, "reset", {}).json() == {"changes": 0}


def test_saving_writes_a_new_file_and_never_over_another(
    client: httpx.Client, running: Running, data: Path
) -> None:
    told(client, "changes", {"change": {"kind": "reject-rule", "rule": BORN}})
    assert told(client, "save", {"what": "rules", "name": "mine.rules"}).json() == {
        "file": "mine.rules",
        "rules": 1,
    }
    assert (
        running.explorer.folder / "mine.rules"
    ).read_text() == "citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)\n"
    again = told(client, "save", {"what": "rules", "name": "mine.rules"})
    assert (again.status_code, again.json()["error"]) == (409, "there is a file 'mine.rules' already")
    assert told(client, "save", {"what": "rules", "name": "../up.rules"}).status_code == 400
    assert BORN in (data / "my.rules").read_text()


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("entity", 400, "'name' is missing"),
        ("entity?name=adda", 404, "unknown entity 'adda'; did you mean 'ada'?"),
        ("entity?name=ada&most=many", 400, "found most = 'many', expected a whole number"),
        ("why?head=ada&relation=speeks&tail=uk", 404, "unknown relation 'speeks'; did you mean 'speaks'?"),
        ("rules?sort=colour", 400, "found 'colour' to sort by"),
        ("rules?of=nobody", 404, "unknown exhibit 'nobody'"),
        ("effect?change=nonsense", 400, "the change is no JSON: Expecting value: line 1 column 1 (char 0)"),
        ("search?format=exe", 400, "found the format 'exe'"),
        ("nothing", 404, "there is nothing at this address"),
    ],
)
def test_what_cannot_be_asked_is_told(client: httpx.Client, path: str, status: int, error: str) -> None:
    answer = asked(client, path)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


@pytest.mark.parametrize("body", [b"nonsense", b"[]", b"{}", b'{"change": {"kind": "add-fact"}}', b"\xff"])
def test_what_is_no_change_is_told(client: httpx.Client, body: bytes) -> None:
    headers = {"content-type": "application/json", "origin": str(client.base_url).rstrip("/")}
    assert client.post("/api/v1/changes", content=body, headers=headers).status_code == 400


def test_a_change_that_does_not_fit_is_not_kept(client: httpx.Client) -> None:
    answer = told(client, "changes", {"change": {"kind": "add-fact", "triple": ["a", "r^-1", "b"]}})
    assert answer.status_code == 400 and "does not end in ^-1" in answer.json()["error"]
    assert asked(client, "what-if").json()["changes"] == []


def test_a_failing_request_ends_nothing(
    client: httpx.Client, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    running.explorer.notes = heard.append
    exhibit = next(iter(running.explorer.exhibits.values()))
    with monkeypatch.context() as broken:
        broken.setattr(type(exhibit), "find", lambda *_args, **_more: 1 / 0)
        answer = asked(client, "search?q=a")
    assert (answer.status_code, answer.json()["error"]) == (500, "this failed: ZeroDivisionError")
    assert heard == ["/api/v1/search failed: ZeroDivisionError: division by zero"]
    assert asked(client, "search?q=a").json()["names"][0] == "ada"


def test_long_work_is_told_and_cancelled(tmp_path: Path) -> None:
    import threading

    stop = threading.Event()

    def endless(progress):
        with progress("mining", total=10, unit="rules") as report:
            while not stop.wait(0.02):
                report(0)

    running = Running([Exhibit("slow", "slow", "rules", endless)], tmp_path)
    client = running.guest()
    answer = client.get("/api/v1/entity?name=x")
    assert answer.status_code == 202
    assert {"stage": "mining", "done": 0, "total": 10}.items() <= answer.json().items()
    headers = {"origin": running.base, "content-type": "application/json"}
    assert client.delete(f"/api/v1/jobs/{answer.json()['job']}", headers=headers).status_code == 200
    again = client.get("/api/v1/entity?name=x")
    assert again.status_code in (202, 409)
    stop.set()
    running.end()


def test_people_who_change_things_at_once_see_their_own(running: Running) -> None:
    def visit(number: int) -> list[int]:
        client = running.guest()
        seen = []
        for step in range(4):
            told(
                client,
                "changes",
                {"change": {"kind": "add-fact", "triple": [f"n{number}-{step}", "bornIn", "london"]}},
            )
            seen.append(asked(client, "what-if").json()["effect"]["appeared"]["count"])
        return seen

    with ThreadPoolExecutor(8) as visitors:
        for seen in visitors.map(visit, range(8)):
            assert seen == [2, 4, 6, 8]


def test_fifty_clients_at_once_are_answered() -> None:
    """As `python -m benchmarks.explorer` does for a minute."""
    found = load(50, 3, "families")
    assert found["errors"] == 0, found["first_errors"]
    assert found["requests"] >= 50
    assert found["megabytes"]["after"] - found["megabytes"]["before"] < 200


# --- the process ------------------------------------------------------------------------------------------------------


def started(*options: str, cwd: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "reshuffle", "serve", *options, "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")},
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_one_line_is_printed_and_ctrl_c_ends_it(data: Path, tmp_path: Path) -> None:
    process, address = started(str(data / "my.rules"), str(data / "facts.tsv"), cwd=tmp_path)
    try:
        assert address.startswith("http://127.0.0.1:") and "/?token=" in address
        with httpx.Client(base_url=address.split("/?")[0], follow_redirects=True) as client:
            assert client.get(address).status_code == 200
            assert asked(client, "search?q=lond").json()["names"] == ["london"]
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, out, err.splitlines()[-1]) == (130, "", "interrupted")
    assert "Traceback" not in err


def test_small_answers_are_not_held_back(client: httpx.Client) -> None:
    """Without TCP_NODELAY each answer waits 40 ms for an acknowledgement."""
    asked(client, "search?q=a")
    times = []
    for _ in range(30):
        began = time.perf_counter()
        asked(client, "search?q=a")
        times.append(time.perf_counter() - began)
    assert min(times) < 0.03


def test_a_port_that_is_taken_is_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", str(data / "my.rules"), "--no-browser", "--port", str(port)]) == 2
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


def test_short_names_are_accepted_and_told(tmp_path: Path) -> None:
    (tmp_path / "facts.ttl").write_text(
        "@prefix ex: <http://example.org/> . ex:ann ex:parent ex:bob . ex:bob ex:parent ex:cleo ."
    )
    (tmp_path / "my.rules").write_text(
        "@prefix ex: <http://example.org/> .\nex:parent(X, Y) & ex:parent(Y, Z) -> ex:grandparent(X, Z)\n"
    )
    running = Running(opened(Wanted(str(tmp_path / "my.rules"), str(tmp_path / "facts.ttl"))), tmp_path)
    try:
        client = running.guest()
        about = client.get("/api/v1").json()["exhibits"][0]
        assert about["prefixes"]["ex"] == "http://example.org/"
        triple = {"head": "ex:ann", "relation": "ex:grandparent", "tail": "ex:cleo"}
        full = [f"http://example.org/{name}" for name in ("ann", "grandparent", "cleo")]
        assert asked(client, "why", params=triple).json()["triple"] == full
        assert asked(client, "entity", params={"name": "ex:ann"}).json()["entity"] == full[0]
        assert asked(client, "search", params={"q": "ex:cl"}).json()["names"] == [full[2]]
        for change in (
            {"kind": "add-fact", "triple": ["ex:cleo", "ex:parent", "ex:new"]},
            {"kind": "add-rule", "rule": "ex:parent(X, Y) -> ex:knows(X, Y)"},
        ):
            assert told(client, "changes", {"change": change}).json()["changes"]
        kept = json.dumps(asked(client, "what-if").json()["changes"])
        assert "ex:" not in kept and "http://example.org/new" in kept and "http://example.org/knows" in kept
    finally:
        running.end()


# --- who tries to get in, or to keep others out ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["program ", "program", "", "mine", "program mine"])
def test_no_name_of_a_program_is_a_cookie(running: Running, name: str) -> None:
    """A program that has sent the token leaves a session; nobody gets in by its name."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert running.stranger().get("/api/v1", headers=bearer).status_code == 200
    assert running.stranger().get("/api/v1", headers={**bearer, "X-Session": "mine"}).status_code == 200
    for written in {f'"{name}"', name.strip()}:
        cookie = {"Cookie": f"reshuffle_{running.port}={written}"}
        assert running.stranger().get("/api/v1", headers=cookie).status_code == 401
        body = {"what": "rules", "name": "stolen.rules"}
        assert running.stranger().post("/api/v1/save", headers=cookie, json=body).status_code == 401


def test_programs_do_not_push_out_a_browser(running: Running) -> None:
    guest, program = running.guest(), running.stranger()
    for number in range(1_100):
        headers = {"Authorization": f"Bearer {TOKEN}", "X-Session": str(number)}
        assert program.get("/api/v1/jobs", headers=headers).status_code == 200
    assert guest.get("/api/v1/jobs").status_code == 200


@pytest.mark.parametrize(
    "path", ["//evil.example/", "///evil.example", "/%5Cevil.example/", "//evil.example//"]
)
def test_the_token_leads_to_no_other_host(running: Running, path: str) -> None:
    request = f"GET {path}?token={TOKEN}&x=1 HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
        client.sendall(request.encode())
        told = b"".join(iter(lambda: client.recv(4096), b"")).decode()
    assert told.startswith("HTTP/1.1 303")
    (target,) = [line for line in told.split("\r\n") if line.lower().startswith("location:")]
    assert target.split(": ")[1].startswith("/evil.example")


def _half_sent(port: int, text: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    client.sendall(text.encode())
    return client


HALVES = {
    "nothing": "",
    "headers": "GET / HTTP/1.1\r\nHost: x\r\n",
    "a body": "POST /api/v1/changes HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"kind"',
}
WHOLE = {"requests of strangers": "GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"}


@pytest.mark.parametrize("kind", [*HALVES, *WHOLE])
def test_many_connections_keep_nobody_out(running: Running, kind: str) -> None:
    text = (HALVES | WHOLE)[kind].format(port=running.port, token=TOKEN)
    slow = [_half_sent(running.port, text) for _ in range(520)]
    try:
        assert running.guest().get("/api/v1").status_code == 200
    finally:
        for client in slow:
            client.close()


def test_strangers_close_no_connection_of_somebody_with_the_token(running: Running) -> None:
    client = HTTPConnection("127.0.0.1", running.port, timeout=10)  # which does not connect again by itself

    def status() -> int:
        client.request("GET", "/api/v1", headers={"Authorization": f"Bearer {TOKEN}"})
        with client.getresponse() as answer:
            answer.read()
            return answer.status

    with closing(client):
        assert status() == 200
        strangers = [_half_sent(running.port, "") for _ in range(520)]
        assert running.guest().get("/api/v1").status_code == 200  # so all of them have been accepted
        assert status() == 200
        for stranger in strangers:
            stranger.close()


@pytest.mark.parametrize("half", HALVES)
def test_a_half_sent_request_is_given_up(
    running: Running, half: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SECONDS", {"header": 0.5, "body": 0.5, "idle": 30.0})
    with _half_sent(running.port, HALVES[half].format(port=running.port, token=TOKEN)) as client:
        started = time.monotonic()
        with pytest.raises(ConnectionError):
            client.recv(100) or (_ for _ in ()).throw(ConnectionResetError)
        assert time.monotonic() - started < 5
    assert running.guest().get("/api/v1").status_code == 200


def test_who_does_not_take_answers_is_given_up(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SECONDS", {**connections.SECONDS, "sending": 0.5})
    headers = f"Host: 127.0.0.1:{running.port}\r\nAuthorization: Bearer {TOKEN}"
    request = f"GET /static/style.css HTTP/1.1\r\n{headers}\r\n\r\n" * 2_000
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", running.port))
        client.sendall(request.encode())
        with pytest.raises(ConnectionError):
            for _ in range(200):
                time.sleep(0.1)
                client.send(b"x")
    assert running.guest().get("/api/v1").status_code == 200


def test_savings_of_one_name_at_once_succeed_once(running: Running, tmp_path: Path) -> None:
    guests = [running.guest() for _ in range(6)]
    for number, guest in enumerate(guests):
        change = {"kind": "add-fact", "triple": [f"e{number}", "bornIn", "london"]}
        headers = {"Origin": running.base}
        assert guest.post("/api/v1/changes", json={"change": change}, headers=headers).status_code == 200

    def save(guest: httpx.Client) -> int:
        body = {"what": "facts", "name": "mine.tsv"}
        return guest.post("/api/v1/save", json=body, headers={"Origin": running.base}).status_code

    with ThreadPoolExecutor(6) as threads:
        found = sorted(threads.map(save, guests))
    assert found == [200, 409, 409, 409, 409, 409]
    assert [file.name for file in tmp_path.iterdir()] == ["mine.tsv"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("search?q=a&most=--5", 400),
        ("search?q=a&most=5-", 400),
        ("search?q=a&most=-5", 200),
        ("why?most=%D9%A3", 400),
    ],
)
def test_numbers_that_are_none(client: httpx.Client, path: str, status: int) -> None:
    assert client.get(f"/api/v1/{path}").status_code == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 60_000, 400),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, 400),
        (b'{"change": {"kind": "add-fact", "triple": ["\\ud800", "r", "b"]}}', 400),
        (b'{"what": "rules", "name": "' + b"\xc3\xa4" * 150 + b'.rules"}', 400),
        (b'{"of": ["x"]}', 400),
        (b'{"of": {}, "change": {}}', 400),
    ],
)
def test_strange_bodies_are_refused(client: httpx.Client, running: Running, body: bytes, status: int) -> None:
    headers = {"Origin": running.base, "Content-Type": "application/json"}
    for path in ("changes", "save", "undo"):
        found = client.post(f"/api/v1/{path}", content=body, headers=headers)
        assert found.status_code in (status, 200) and (
            found.status_code == status or path == "undo" or b"what" not in body
        )


_OTHERS = ["x", 7, -1.5, True, None, [], ["x"], {}, {"x": "y"}, [[]], "\0", "x" * 5_000]
_TRIPLE, _RULE = ["ada", "bornIn", "london"], "bornIn(X, Y) -> livesIn(X, Y)"
_BODIES: list[tuple[str, dict[str, Any]]] = [
    ("undo", {"of": "people"}),
    ("reset", {"of": "people"}),
    ("save", {"of": "people", "what": "rules", "name": "mine.rules", "edits": "none"}),
    ("changes", {"of": "people", "change": {"kind": "remove-fact", "triple": _TRIPLE}}),
    ("changes", {"change": {"kind": "add-rule", "rule": _RULE}}),
    ("changes", {"change": {"kind": "edit-rule", "rule": BORN, "to": _RULE}}),
]


def _one_field_changed(body: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for name, value in body.items():
        for other in _OTHERS:
            yield name, other, {**body, name: other}
        if isinstance(value, dict):
            yield from (
                (field, other, {**body, name: inner}) for field, other, inner in _one_field_changed(value)
            )
        if isinstance(value, list):
            for place, other in product(range(len(value)), _OTHERS):
                yield name, other, {**body, name: [*value[:place], other, *value[place + 1 :]]}


@pytest.mark.parametrize(("path", "body"), _BODIES)
def test_fields_of_another_type_are_refused(
    client: httpx.Client, running: Running, path: str, body: dict[str, Any]
) -> None:
    running.explorer.exhibits = {"people": next(iter(running.explorer.exhibits.values()))}
    for name, value, changed in _one_field_changed(body):
        found = told(client, path, changed)
        assert found.status_code in (200, 400, 404, 409), (name, value, found.text)
        left_out = value is None and name in ("of", "what", "edits")
        assert found.status_code != 200 or isinstance(value, str) or left_out, (name, value, found.text)
    names = {file.name for file in running.explorer.folder.iterdir()}
    assert names <= {"mine.rules", "x"}


def test_a_chunked_body_that_is_too_large_is_refused(client: httpx.Client, running: Running) -> None:
    headers = {"Origin": running.base, "Content-Type": "application/json"}
    found = client.post("/api/v1/changes", content=iter([b" " * 20_000] * 10), headers=headers)
    assert (found.status_code, found.json()["error"]) == (413, "the request is too large")


def test_refused_changes_leave_nothing(client: httpx.Client, running: Running) -> None:
    client.get("/api/v1/entity?name=ada")
    (exhibit,) = running.explorer.exhibits.values()
    for number in range(5):
        change = {"kind": "remove-fact", "triple": ["nobody", f"r{number}", "nowhere"]}
        client.post("/api/v1/changes", json={"change": change}, headers={"Origin": running.base})
    assert not exhibit._making


def test_ctrl_c_ends_a_server_that_works(data: Path, tmp_path: Path) -> None:
    """Also where the work does not hear of its end."""
    script = (
        "import sys, time\n"
        "from reshuffle.explorer.web import api_questions\n"
        "api_questions.QUESTIONS['search'] = lambda asked, progress: time.sleep(60)\n"
        "from reshuffle.cli.main import main\n"
        f"served = [{str(data / 'my.rules')!r}, {str(data / 'facts.tsv')!r}]\n"
        "sys.exit(main(['-q', 'serve', *served, '--no-browser', '--port', '0']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=tmp_path, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        address = process.stdout.readline().strip()
        with httpx.Client(follow_redirects=True, timeout=30) as client:
            assert client.get(address).status_code == 200
            assert client.get(f"{address.partition('?')[0]}api/v1/search?q=x").status_code == 202
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


# --- decisions about links --------------------------------------------------------------------------------------------


@pytest.fixture
def desk(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """Rules with confidences, which rank links."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mined.rules").write_text("10\t8\t0.8\tcitizenOf(X,Y) <= bornIn(X,A), cityIn(A,Y)\n")
    file = tmp_path / "my.decisions.jsonl"
    wanted = Wanted(str(tmp_path / "mined.rules"), str(data / "facts.tsv"), decisions=str(file))
    made = Running(opened(wanted), tmp_path)
    yield made
    made.end()


ADA = {"head": "ada", "relation": "citizenOf", "tail": "uk"}


@pytest.mark.parametrize(
    ("busy", "page", "words"),
    [
        (CHANGES, "rules", {}),
        (
            READING,
            "effect",
            {"change": json.dumps({"kind": "remove-fact", "triple": ["ada", "bornIn", "london"]})},
        ),
    ],
)
def test_pages_and_changes_do_not_wait_for_each_other(
    desk: Running, busy: str, page: str, words: dict[str, str]
) -> None:
    client, stop = desk.guest(), Event()
    asked(client, "overview")  # it is loaded
    try:
        for number in range(THREADS[busy]):
            desk.explorer.jobs.job((busy, number), lambda _: stop.wait(60), kind=busy)
        began = time.monotonic()
        assert asked(client, page, params=words).status_code == 200
        assert time.monotonic() - began < 30
    finally:
        stop.set()


def test_decisions_are_kept_and_taken_back(desk: Running, tmp_path: Path) -> None:
    client, other = desk.guest(), desk.guest()
    while asked(client, "queue").json()["search"]["running"]:
        time.sleep(0.05)
    links = asked(client, "queue").json()["links"]
    assert {link["head"] for link in links} == {"ada", HOSTILE}
    assert told(client, "decide", {**ADA, "decision": "accept"}).json()["counts"]["accept"] == 1
    assert (
        told(
            other, "decide", {**links[1 if links[0]["head"] == "ada" else 0], "decision": "reject"}
        ).status_code
        == 400
    )
    refused = {**ADA, "head": HOSTILE, "decision": "reject"}
    assert told(other, "decide", refused).json()["counts"] == {"accept": 1, "reject": 1, "postpone": 0}
    assert asked(client, "queue").json()["links"] == []
    lines = (tmp_path / "my.decisions.jsonl").read_text().splitlines()
    assert [json.loads(line)["decision"] for line in lines] == ["accept", "reject"]
    assert len(json.loads(lines[0])["model"]) == 64
    assert told(client, "undecide", ADA).json()["undone"]["head"] == "ada"
    assert [link["head"] for link in asked(client, "queue").json()["links"]] == ["ada"]
    assert told(client, "undecide", {}).json()["undone"]["head"] == HOSTILE
    assert told(client, "undecide", {}).json()["undone"] is None
    table = asked(client, "decisions", params={"format": "csv"})
    assert table.headers["content-disposition"].endswith('"decisions.csv"')


def test_decisions_that_make_no_sense_are_refused(desk: Running, tmp_path: Path) -> None:
    client = desk.guest()
    for data, status in (
        ({**ADA, "decision": "maybe"}, 400),
        (ADA, 400),
        ({**ADA, "head": "zoe", "decision": "accept"}, 404),
        ({**ADA, "relation": "admires", "decision": "accept"}, 404),
        ({"decision": "accept"}, 400),
    ):
        assert told(client, "decide", data).status_code == status, data
    stranger = client.post(
        "/api/v1/decide", json={**ADA, "decision": "accept"}, headers={"origin": "http://evil"}
    )
    assert stranger.status_code == 403
    assert not (tmp_path / "my.decisions.jsonl").exists()


def test_the_search_for_links_is_stopped_and_begun_again(desk: Running) -> None:
    client = desk.guest()
    assert told(client, "search-links", {"do": "stop"}).json()["stopped"]
    page = asked(client, "queue").json()
    assert page["search"]["stopped"] and not page["search"]["running"]
    told(client, "search-links", {"do": "go on"})
    while not asked(client, "queue").json()["links"]:
        time.sleep(0.05)
