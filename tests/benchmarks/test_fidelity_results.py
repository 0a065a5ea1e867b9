"""The stored comparison of soft models, hardened models and rules: how it is made, and that the page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from benchmarks import fidelity
from benchmarks.pages import page_with
from benchmarks.result_files import read_results

from reshuffle.data.families import families
from reshuffle.data.load import load_benchmark
from reshuffle.evaluation import TypeBaseline
from reshuffle.learning.estimator import Reshuffle
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reshuffle.progress import Progress

TINY = {
    "recipe": "best-0.1",
    "num_slots": 3,
    "num_layers": 2,
    "epoch_steps": 2,
    "max_epochs": 1,
    "device": "cpu",
}


def test_the_page_shows_the_stored_results() -> None:
    content = fidelity.PAGE.read_text(encoding="utf-8")
    assert page_with(content, fidelity.made_tables()) == content


@pytest.mark.parametrize("side", ["head", "tail"])
def test_remembered_scores_are_the_scorers_own(side: str) -> None:
    bench = load_benchmark("families")
    scorer = TypeBaseline.fit(bench.train.facts).on(bench.test.facts)
    remembering = fidelity.Remembering(scorer)
    chance = np.random.default_rng(0)
    assert np.array_equal(remembering.learned_relations, scorer.learned_relations)
    for _ in range(3):
        anchors, relations = chance.integers(0, 5, (2, 9)).astype(np.int32)
        some = chance.integers(0, bench.test.facts.num_entities, (9, 4)).astype(np.int32)
        for candidates in (None, some):
            one, other = (
                each.scores(anchors, relations, side=side, candidates=candidates)
                for each in (scorer, remembering)
            )
            np.testing.assert_array_equal(one, other)


def test_what_is_stored_is_not_compared_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity, "FIDELITY", tmp_path / "fidelity.jsonl")
    monkeypatch.setattr(fidelity, "LENGTH", 2)  # extracting rules of three atoms took most of the time
    few = families(size=40).benchmark
    monkeypatch.setattr(fidelity, "load_benchmark", {"families": few}.__getitem__)
    folder = tmp_path / "models" / "families.best.default.1"
    Reshuffle(**TINY, seed=1).fit(few.train).save(folder)
    fidelity.run(folder.parent, SILENT)
    (row,) = fidelity.stored_rows().values()
    assert set(row["forms"]) == set(fidelity.FORMS)
    assert set(row["agreement with soft"]) == set(fidelity.FORMS[1:])
    stored = read_results(fidelity.FIDELITY)
    assert {"command", "date", "hardware", "versions", "protocols"} <= set(stored.about)

    asked, compared = [], fidelity.compared

    def counting(path: Path, forms: Sequence[str], progress: Progress) -> dict[str, Any]:
        asked.append(tuple(forms))
        return compared(path, forms, progress)

    monkeypatch.setattr(fidelity, "compared", counting)
    fidelity.run(folder.parent, SILENT)
    assert not asked
    fidelity.run(folder.parent, SILENT, again=["rules"])
    assert asked == [("rules",)]
    (same,) = fidelity.stored_rows().values()
    assert {**same, "seconds": 0} == {**row, "seconds": 0}
    assert set(same["seconds"]) == {"extraction", "comparison"}
    Reshuffle(**TINY, seed=2).fit(few.train).save(folder)  # another model of that name
    fidelity.run(folder.parent, SILENT, again=["rules"])
    assert asked == [("rules",), fidelity.FORMS]
