"""A model's answers in several threads, and changes and questions in any order."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from predicting_worlds import RELATIONS, random_graph, random_model

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.channels.registry import KINDS
from reshuffle.model.evidence.registry import EVIDENCE, LOCAL

NEW = [("n1", "r", "e0"), ("e1", "s", "n2"), ("n1", "s", "n2"), ("n2", "r", "e2")]


def answers_of(seed: int, initial: str) -> ModelAnswers:
    head = {"slot_weights": True, "evidence": EVIDENCE}
    options = head if initial == "head" else {"num_channels": 6, "evidence": LOCAL, "direct_facts": "both"}
    model = random_model(seed, **{"initial": "bits" if initial == "private" else initial, **options})
    return ModelAnswers(model, RELATIONS, random_graph(seed), seed=seed, initial=initial)


def told(answers: ModelAnswers, head: str) -> tuple[object, ...]:
    """Predictions with their scores, and an explanation."""
    found = answers.predict(relation="r", head=head, top=50, known="mark")
    asked = head, "s", found[0].tail
    return (
        [(row.triple, row.score) for row in found],
        str(answers.explain(*asked)),
        [reason.to_dict() for reason in answers.reasons(*asked)],
    )


@pytest.mark.parametrize("initial", KINDS)
def test_readers_beside_a_writer(initial: str) -> None:
    answers, ending = answers_of(3, initial), threading.Event()
    before, after = told(answers, "x"), told(answers.on(answers.graph | KnowledgeGraph(NEW)), "x")

    def read() -> int:
        rounds = 0
        while not ending.is_set():
            with answers.shared.reading():  # several questions about the same facts
                assert told(answers, "x") in (before, after)
            found = answers.predict(relation="r", head="x", top=50, known="mark")
            assert [(row.triple, row.score) for row in found] in (before[0], after[0])
            rounds += 1
        return rounds

    until = time.monotonic() + 0.7
    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        changes = 0
        while time.monotonic() < until or changes < 2:
            answers.add(NEW)
            answers.remove(NEW)
            changes += 1
        ending.set()
        assert all(reader.result() >= 1 for reader in readers)
    assert told(answers, "x") == before


def test_ids_of_no_entity_are_refused() -> None:
    answers = answers_of(3, "bits")
    anchors, numbers = np.array([0], dtype=np.int32), np.array([0], dtype=np.int32)
    odd = np.array([[1, 10**6]], dtype=np.int32)
    expected = f"found the entity ids 1 to 1000000, expected 0 to {answers.graph.num_entities - 1}"
    with pytest.raises(InputError, match=expected):
        answers.scores(anchors, numbers, side="tail", candidates=odd)


MANY_CALLERS = """
from concurrent.futures import ThreadPoolExecutor
import numba
from test_model_sharing import answers_of, told
answers = answers_of(3, "head")
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(lambda _: told(answers, "x"), range(100)))
assert found == found[:1] * 100
print(numba.threading_layer())
"""


def test_threads_may_share_a_model_where_numba_takes_one_caller_at_a_time() -> None:
    """Neither OpenMP nor TBB is everywhere; what numba has besides ends the process when two threads call it."""
    environment = os.environ | {
        "NUMBA_THREADING_LAYER": "workqueue",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    ran = subprocess.run(
        [sys.executable, "-c", MANY_CALLERS], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "workqueue\n"), ran.stderr


names = st.sampled_from([*(f"e{number}" for number in range(7)), "new", "newer", "newest"])
facts = st.tuples(names, st.sampled_from([*RELATIONS, "likes"]), names)


class AnyOrder(RuleBasedStateMachine):
    """Changes and questions, compared with fresh answers on the same facts."""

    @initialize(seed=st.integers(0, 9), initial=st.sampled_from(KINDS))
    def begin(self, seed: int, initial: str) -> None:
        self.answers = answers_of(seed, initial)
        self.known = set(self.answers.graph)

    @property
    def fresh(self) -> ModelAnswers:
        return self.answers.on(self.answers.graph)

    @rule(new=st.lists(facts, max_size=4))
    def add(self, new: list[tuple[str, str, str]]) -> None:
        self.answers.add(new)
        self.known |= set(KnowledgeGraph(new))

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        old = data.draw(st.lists(st.sampled_from(sorted(self.known)), max_size=4))
        self.answers.remove(old)
        self.known -= set(old)

    @rule()
    def graph(self) -> None:
        assert set(self.answers.graph) == self.known

    @rule(data=st.data(), relation=st.sampled_from(RELATIONS), side=st.sampled_from(["head", "tail"]))
    def rank(self, data: st.DataObject, relation: str, side: str) -> None:
        end = {side: data.draw(st.sampled_from(list(self.answers.graph.entities)))}
        found, wanted = (each.predict(relation=relation, **end, top=4) for each in (self.answers, self.fresh))
        assert [(row.triple, row.score) for row in found] == [(row.triple, row.score) for row in wanted]

    @rule(data=st.data(), relation=st.sampled_from(RELATIONS))
    def explain(self, data: st.DataObject, relation: str) -> None:
        entities = st.sampled_from(list(self.answers.graph.entities))
        asked = data.draw(entities), relation, data.draw(entities)
        assert self.answers.explain(*asked) == self.fresh.explain(*asked)
        assert self.answers.judge(*asked) == self.fresh.judge(*asked)

    @rule()
    def missing(self) -> None:
        found, wanted = (each.missing(top=5) for each in (self.answers, self.fresh))
        assert [(row.triple, row.score) for row in found] == [(row.triple, row.score) for row in wanted]


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=settings().max_examples // 8, stateful_step_count=15)
