"""Looks at the validation triples: what they refuse, and what they do without memory."""

from __future__ import annotations

import numpy as np
import torch

from reshuffle.learning.validation import ValidationQueries, realistic_ranks


def test_a_query_with_a_score_that_is_no_number_has_no_rank() -> None:
    valid, known = np.array([[0, 0, 1], [1, 0, 2]]), np.array([[0, 0, 2]])
    queries = ValidationQueries.build(valid, known, num_entities=3, num_relations=1)
    scores = torch.tensor([[3.0, 2.0, 1.0]]).repeat(len(queries.anchors), 1)
    scores[1, 0] = torch.nan  # not the true answer, which no comparison would rank below it
    found = realistic_ranks(lambda heads, _relations: scores[heads], queries, at_once=2)
    assert found.isnan().tolist() == (queries.anchors == 1).tolist()
