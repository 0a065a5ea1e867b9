"""Questions: which of their answers are facts."""

from __future__ import annotations

import numpy as np
import pytest

from reshuffle.evaluation.questions import Question
from reshuffle.kg import KnowledgeGraph


@pytest.mark.parametrize("seed", range(5))
def test_known_answers_are_those_that_make_a_fact(seed: int) -> None:
    drawn = np.random.default_rng(seed).integers((9, 3, 9), size=(30, 3))
    graph = KnowledgeGraph((f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in drawn)
    graph = graph.naming(["silent"])  # a relation without facts
    for relation in range(len(graph.relations)):
        for anchor in range(graph.num_entities):
            for side in ("tail", "head"):
                question = Question(anchor, relation, side)
                found = question.known(graph).tolist()
                assert found == [question.triple(graph, answer) in graph for answer in range(len(found))]
