"""The parts of the attack that need more packages find planted defects, too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.attack import serving
from benchmarks.attack.__main__ import main
from benchmarks.attack.worker import outcome

from reshuffle.explorer.subject import Source
from reshuffle.kg import unfinished_work

sys.path.append(str(Path(__file__).parents[1] / "tests" / "benchmarks"))
from planted import found, plant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.explorer.changes import Edits
    from reshuffle.kg import KnowledgeGraph

CASES = {"peers": 8, "ontologies": 3, "what-if": 5, "requests": 6, "slow-connections": 2, "links": 12}
PLAIN = {"method": "GET", "headers": {}, "session": "", "body": "", "framing": "length"}


@pytest.fixture
def another_server() -> Iterator[None]:
    """No server of before, and none that stays."""
    serving._first_server.cache_clear()
    yield
    serving.server().stop()
    serving._first_server.cache_clear()


@pytest.mark.parametrize("part", CASES)
def test_a_few_cases_of_each_part(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seed", "1", "--minutes", "5", "--parts", part, "-o", str(tmp_path / "failures")]
    assert main([*arguments, "--cases", str(CASES[part])]) == 0
    assert f"{part}: {CASES[part]} cases, 0 failures" in capsys.readouterr().out


def test_a_wrong_triple_beside_a_peer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from reshuffle.reasoning.chase.answers import ChaseAnswers

    case = {"rules": ["r0(X, Y) -> r2(X, Y)"], "facts": [["a", "r0", "b"]]}
    assert outcome("peers", case).failure is None
    monkeypatch.setattr(ChaseAnswers, "triples", lambda _: iter([("a", "r1", "b")]))
    assert "derived [('a', 'r1', 'b'), ('a', 'r2', 'b')]" in found("peers", case)


def test_a_change_that_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        {"kind": "add-fact", "triple": ["b", "r0", "c"]},
        {"kind": "remove-fact", "triple": ["a", "r0", "b"]},
    ]
    case = {"rules": ["r0(X, Y) -> r2(X, Y)"], "facts": [["a", "r0", "b"]], "steps": steps}
    assert outcome("what-if", case).counts == {"steps": 2, "questions": 7}

    def without_removals(self: Source, edits: Edits) -> KnowledgeGraph:
        return self.facts | edits.added if edits.added else self.facts

    monkeypatch.setattr(Source, "facts_after", without_removals)
    assert "vanished after {'kind': 'remove-fact'" in found("what-if", case)


OPEN_DOOR = """
from reshuffle.explorer.web import guard, sessions
guard.Guard._session = lambda self, headers: (sessions.Session(), True)
"""
ERROR = """
from reshuffle.explorer.web import api_questions
def fails(*_):
    raise ValueError('planted')
api_questions.QUESTIONS['search'] = fails
"""
ELSEWHERE = """
from reshuffle.explorer.web import guard
guard.RedirectResponse = lambda path, status: guard.Response(status_code=303, headers={'location': '//evil.example'})
"""


@pytest.mark.usefixtures("another_server")
@pytest.mark.parametrize(
    ("defect", "request_", "what"),
    [
        (OPEN_DOOR, {"target": "/api/v1", "credential": "cookie"}, "status 200: let in"),
        (ERROR, {"target": "/api/v1/search?q=a", "credential": "token"}, "status 500"),
        (ELSEWHERE, {"target": f"/?token={serving.TOKEN}", "credential": "token"}, "leads to //evil.example"),
    ],
    ids=["open door", "error", "elsewhere"],
)
def test_a_defect_of_the_server_is_found(
    defect: str, request_: dict[str, Any], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, tmp_path, defect)
    assert what in found("requests", {"requests": [PLAIN | request_]})


@pytest.mark.usefixtures("another_server")
def test_a_server_that_slow_connections_shut_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(
        monkeypatch,
        tmp_path,
        "from reshuffle.explorer.web import connections as at\nat.MOST_WAITING = 9999\n",
    )
    case = {"how": "half a line", "connections": 560, "trickle": False, "wait": False, "seed": 0}
    assert "beside slow connections: status 503" in found("slow-connections", case)


def test_a_link_that_is_followed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [{"at": ".{out}.unfinished", "kind": "link to a folder", "within": "names"}]
    case = {"verb": "infer", "output": "out.tsv", "engine": "duckdb", "planted": planted, "open": False}
    assert outcome("links", case).failure is None
    trusting = unfinished_work._make_or_trust
    assert trusting is not None
    monkeypatch.setattr(unfinished_work, "_make_or_trust", lambda path: path.mkdir(exist_ok=True))
    assert "these are changed" in found("links", case)
