"""The most plausible missing links: equal to ranking all pairs at once, whatever the batches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import random_answers

from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import KnowledgeGraph
from reshuffle.model import missing

if TYPE_CHECKING:
    from reshuffle.model.answering import ModelAnswers


def all_pairs(answers: ModelAnswers, relation: str | None) -> list[tuple[float, tuple[str, str, str]]]:
    """Slow and obvious: every head that plays the role, every tail, one question at a time."""
    graph, found = answers.graph, []
    for head, name in sorted({(head, name) for head, name, _ in graph}):
        if relation not in (None, name):
            continue
        rows = answers.predict(head=head, relation=name, top=1000, known="mark")
        whole = np.log(sum(np.exp(row.score) for row in rows))
        found += [(2 * row.score - whole, row.triple) for row in rows if not row.known]
    return sorted(found, key=lambda pair: -pair[0])


@given(st.integers(0, 10**6), st.sampled_from([None, "r"]), st.sampled_from([1, 20, 1000]))
@settings(max_examples=15)
def test_the_best_of_all_pairs(seed: int, relation: str | None, batch: int) -> None:
    answers = random_answers(seed)
    expected = all_pairs(answers, relation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(missing, "_MOST_SCORES", batch)
        found = answers.missing(relation=relation, top=8)
    plausible = {triple: value for value, triple in expected}
    assert [plausible[row.triple] for row in found] == pytest.approx(
        [value for value, _ in expected[:8]], abs=1e-4
    )
    assert len({row.triple for row in found}) == 8
    assert all(row.triple not in answers.graph for row in found)
    first = answers.explain(*found[0].triple)
    assert first.judgement.score == pytest.approx(found[0].score, abs=1e-4)


def test_models_without_evidence_and_relations_never_learned() -> None:
    answers = random_answers(2, initial="bits", evidence=())
    graph = answers.graph | KnowledgeGraph([("x", "likes", "e1")])
    found = answers.on(graph).missing(top=3)
    assert len(found) == 3 and found.kinds == () and found[0].evidence == {}
    assert all(row.triple.relation != "likes" for row in answers.on(graph).missing(top=1000))


def test_what_cannot_be_asked() -> None:
    answers = random_answers(2)
    with pytest.raises(UnknownNameError, match="unknown relation 'rr'; did you mean 'r'"):
        answers.missing(relation="rr")
    with pytest.raises(InputError, match="top = 0 asks for no prediction"):
        answers.missing(top=0)


def test_progress_counts_questions() -> None:
    seen = []

    @contextmanager
    def progress(description, *, total=None, unit="it"):
        seen.append((description, total, unit))
        yield seen.append

    answers = random_answers(2)
    answers.missing(progress=progress)
    questions = len({(head, relation) for head, relation, _ in answers.graph})
    assert seen[0] == ("missing links", questions, " questions") and sum(seen[1:]) == questions


@pytest.mark.parametrize("most", [1, 30])
def test_no_more_scores_are_held_than_allowed(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = random_answers(2)
    asked: list[int] = []
    whole = answers.scored_all

    def counted(anchors, relations, *, side):
        asked.append(len(anchors) * answers.graph.num_entities)
        return whole(anchors, relations, side=side)

    monkeypatch.setattr(answers, "scored_all", counted)
    monkeypatch.setattr(missing, "_MOST_SCORES", most)
    answers.missing(top=3)
    assert len(asked) > 1 and max(asked) <= max(most, answers.graph.num_entities)
