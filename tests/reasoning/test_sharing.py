"""One answers object in several threads: questions see the facts before a change or after it."""

from __future__ import annotations

import copy
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from reshuffle import KnowledgeGraph, Reasoner, parse_rules
from reshuffle.reasoning.chase import ChaseAnswers
from reshuffle.reasoning.sharing import Shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.reasoning import Answers

LENGTH, READERS, SECONDS = 40, 3, 0.7
RULES = parse_rules("r(X, Y) -> t(X, Y)\nt(X, Y) & r(Y, Z) -> t(X, Z)\nt(X, Y) & q(X, Y) -> u(X, Y)")
PATHS = parse_rules("r(X, Y) -> t(X, Y)\nt(X, Y) & r(Y, Z) -> t(X, Z)")
CHAIN = [(f"e{number}", "r", f"e{number + 1}") for number in range(LENGTH)]
# The middle of the chain: without it the second half cannot be reached. Each of its entities leads on, too.
MIDDLE = CHAIN[LENGTH // 2 : LENGTH // 2 + 3] + [(f"new{number}", "r", "e1") for number in range(20)]
OTHERS = [fact for fact in CHAIN if fact not in MIDDLE]
BEFORE = {f"e{number}" for number in range(1, LENGTH // 2 + 1)}
AFTER = {f"e{number}" for number in range(1, LENGTH + 1)}


def stored(graph: KnowledgeGraph) -> Answers:
    answers: Any = Reasoner(PATHS).on(graph)
    answers.materialise()
    return answers  # type: ignore[no-any-return]


ENGINES: dict[str, Callable[[KnowledgeGraph], Answers]] = {
    "geometry": Reasoner(RULES).on,
    "stored": stored,
    "bounded": Reasoner(PATHS, bound=2 * LENGTH).on,
    "chase": Reasoner(RULES, engine="chase").on,
    "sketch": lambda graph: Reasoner(PATHS).sketch(graph, channels=256),
}


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def read(answers: Answers, ending: threading.Event) -> int:
    """Ask everything over and over; every answer is one of before or after a change."""
    rounds = 0
    while not ending.is_set():
        reached = set(answers.tails("e0", "t"))
        assert reached in (BEFORE, AFTER), sorted(reached ^ BEFORE)
        assert len(answers.facts) in (len(OTHERS), len(OTHERS) + len(MIDDLE))
        assert answers.holds("e0", "t", "e5")
        proof = answers.explain("e0", "t", f"e{LENGTH}")
        assert not proof or proof.size == LENGTH
        counts = answers.counts()
        assert counts["t"].total - counts["t"].derived == 0
        assert counts["r"].total in (len(OTHERS), len(OTHERS) + len(MIDDLE))
        assert set(answers.heads("t", "e1")) >= {"e0"}
        answers.why_not("e1", "t", "e0")
        try:
            tails = {triple.tail for triple in answers.triples() if triple.head == "e0"}
        except RuntimeError as error:
            assert "facts were added or removed" in str(error)
        else:
            assert tails in (BEFORE, AFTER)
        rounds += 1
    return rounds


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_beside_a_writer(engine: str) -> None:
    answers, ending = ENGINES[engine](KnowledgeGraph(OTHERS)), threading.Event()
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(READERS) as pool:
        readers = [pool.submit(read, answers, ending) for _ in range(READERS)]
        changes = 0
        while time.monotonic() < until or changes < 2:
            answers.add(MIDDLE)
            answers.remove(MIDDLE)
            changes += 1
        ending.set()
        assert all(reader.result() >= 1 for reader in readers)
    assert set(answers.tails("e0", "t")) == BEFORE
    answers.add(MIDDLE)
    assert set(answers.tails("e0", "t")) == AFTER


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_made_when_first_asked_for_is_made_by_one_of_several_readers(engine: str) -> None:
    answers = ENGINES[engine](KnowledgeGraph(CHAIN))
    goals = [(start, start + length) for length in (1, 7, 20, 33) for start in range(LENGTH - length + 1)]
    with ThreadPoolExecutor(4) as pool:
        proofs = list(pool.map(lambda goal: answers.explain(f"e{goal[0]}", "t", f"e{goal[1]}"), goals))
        graphs = list(pool.map(lambda _: answers.facts, range(8)))
    assert [proof and proof.size for proof in proofs] == [end - start for start, end in goals]
    assert all(graph is graphs[0] for graph in graphs)


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_proofs_of_the_chase_that_need_exact_sizes(layout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reshuffle.reasoning.chase.proof_search._EFFORT", 1)
    if layout == "sparse":
        monkeypatch.setattr("reshuffle.reasoning.chase.proof_search._AFFORDABLE", 0)
    rules = parse_rules("r(X,Y) & s(Y,Z) -> t(X,Z)\nt(X,Y) & t(Y,Z) -> t(X,Z)\nt(X,Y) & r(Y,Z) -> s(Z,X)")
    chance = random.Random(2)
    drawn = [(chance.randrange(150), chance.choice("rs"), chance.randrange(150)) for _ in range(450)]
    graph = KnowledgeGraph((f"e{head}", relation, f"e{tail}") for head, relation, tail in drawn)
    alone, together = (ChaseAnswers(rules, graph, layout=layout) for _ in range(2))
    goals = chance.sample([triple for triple in sorted(alone.triples()) if triple.relation == "t"], 60)
    with ThreadPoolExecutor(4) as pool:
        proofs = list(pool.map(lambda goal: together.explain(*goal), goals))
    wanted = [alone.explain(*goal) for goal in goals]
    assert [proof and proof.size for proof in proofs] == [proof and proof.size for proof in wanted]


@pytest.mark.parametrize("engine", ENGINES)
def test_streams_refuse_to_go_on_over_other_facts(engine: str) -> None:
    answers = ENGINES[engine](KnowledgeGraph(CHAIN))
    triples = answers.triples()
    next(triples)
    answers.add([("e0", "r", "e3")])
    with pytest.raises(RuntimeError, match="facts were added or removed while the triples were being read"):
        list(triples)


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_can_be_copied(engine: str) -> None:
    answers = ENGINES[engine](KnowledgeGraph(OTHERS))
    other = copy.deepcopy(answers)
    other.add(MIDDLE)
    assert (set(answers.tails("e0", "t")), set(other.tails("e0", "t"))) == (BEFORE, AFTER)


# --- the lock itself ------------------------------------------------------------------------------------------


def test_a_writer_waits_for_readers_and_a_reader_may_read_inside() -> None:
    shared, inside, steps = Shared(), threading.Event(), []

    def read_twice() -> None:
        with shared.reading():
            inside.set()
            time.sleep(0.1)  # the writer waits by now
            with shared.reading():
                steps.append("read")

    reader = threading.Thread(target=read_twice)
    reader.start()
    inside.wait()
    with shared.writing():
        steps.append("written")
        with shared.reading():
            steps.append("read by the writer")
    reader.join()
    assert steps == ["read", "written", "read by the writer"]


def test_busy_readers_let_a_writer_pass() -> None:
    shared, ending = Shared(), threading.Event()

    def read_on() -> None:
        while not ending.is_set():
            with shared.reading():
                time.sleep(0.001)

    readers = [threading.Thread(target=read_on) for _ in range(3)]
    for reader in readers:
        reader.start()
    began = time.monotonic()
    for _ in range(20):
        with shared.writing():
            pass
    took = time.monotonic() - began
    ending.set()
    for reader in readers:
        reader.join()
    assert took < 2


def test_the_locks_of_threads_that_have_ended_are_dropped() -> None:
    shared = Shared()

    def read_once() -> None:
        with shared.reading():
            pass

    for _ in range(5):
        thread = threading.Thread(target=read_once)
        thread.start()
        thread.join()
    assert len(shared._readers) == 0
