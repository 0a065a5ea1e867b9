"""Looks at the validation triples: what they refuse, and what they do without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from reshuffle.errors import ReshuffleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.settings import Settings
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.objective import ValidationQueries, realistic_ranks
from reshuffle.learning.training.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_query_with_a_score_that_is_no_number_has_no_rank() -> None:
    valid, known = np.array([[0, 0, 1], [1, 0, 2]]), np.array([[0, 0, 2]])
    queries = ValidationQueries.build(valid, known, num_entities=3, num_relations=1)
    scores = torch.tensor([[3.0, 2.0, 1.0]]).repeat(len(queries.anchors), 1)
    scores[1, 0] = torch.nan  # not the true answer, which no comparison would rank below it
    found = realistic_ranks(lambda heads, _relations: scores[heads], queries, at_once=2)
    assert found.isnan().tolist() == (queries.anchors == 1).tolist()


def out_of_memory() -> torch.cuda.OutOfMemoryError:
    return torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def told(at_once: int) -> str:
    looks = f"{at_once} validation queries at a time"
    return f"out of GPU memory: continuing with {looks} (CUDA out of memory)"


def trainer(said: list[str], **changes: Any) -> Trainer:
    facts = KnowledgeGraph(
        [(f"p{n}", relation, f"p{n + 1}") for n in range(20) for relation in ("parent", "older")]
    )
    settings = Settings.of("paper").changed(
        num_slots=3, num_channels=4, num_layers=2, max_epochs=2, **changes
    )
    data = examples_of(facts, None, seed=1)[1]
    device = torch.device("cpu")
    return Trainer(data, settings.architecture, settings.training, device=device, notes=said.append)


class Small:
    """Stands in for the scoring of a look on a GPU that has room for few queries."""

    def __init__(self, one: Trainer, most: int) -> None:
        self._look, self._most, self.looks = one.objective.look, most, 0

    def __call__(self) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        self.looks += 1
        scores_of = self._look()

        def of_few(heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
            if len(heads) > self._most:
                raise out_of_memory()
            return scores_of(heads, relations)

        return of_few


@pytest.mark.parametrize("initial", ["bits", "head"])
def test_a_look_that_runs_out_of_memory_goes_on_with_fewer_queries_and_says_so(
    initial: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    one, roomy = (trainer(notes, look_every=1, initial=initial) for notes in (said, []))
    small = Small(one, 3)
    monkeypatch.setattr(one.objective, "look", small)
    assert len(one.queries.anchors) == 8
    for each in (one, roomy):
        assert len(list(each.epochs())) == 2
    assert one.objective.at_once == 2
    assert small.looks == 2  # one draw each, however often it is scored
    assert said == [told(4), told(2)]
    assert one.history == roomy.history


def test_a_look_that_has_no_room_for_one_query_says_what_to_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    one = trainer(said, look_every=1)
    monkeypatch.setattr(one.objective, "look", Small(one, 0))
    with pytest.raises(ReshuffleError) as caught:
        next(one.epochs())
    assert str(caught.value) == NO_ROOM
    assert said == [told(4), told(2), told(1)]


def test_a_look_that_has_no_room_for_the_states_says_what_to_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room() -> None:
        raise out_of_memory()

    one = trainer([], look_every=1)
    monkeypatch.setattr(one.objective, "look", no_room)
    with pytest.raises(ReshuffleError) as caught:
        next(one.epochs())
    assert str(caught.value) == NO_ROOM


NO_ROOM = (
    "not enough GPU memory for a single validation triple: CUDA out of memory\n"
    "  hint: lower num_channels or num_slots, or train with --device cpu"
)
