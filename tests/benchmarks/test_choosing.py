"""Settings compared on cut training graphs: nothing in common between the parts, and figures that can be made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from benchmarks import accuracy, choosing, untuned
from benchmarks.combining import Averaged, BothDirections
from benchmarks.result_files import Results, read_results, write_results

from reshuffle.evaluation import RuleBaseline
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.evaluation import Scorer
    from reshuffle.kg.splits import InductiveBenchmark

TINY = {"num_slots": 3, "num_layers": 2, "epoch_steps": 2, "max_epochs": 2, "look_every": 2}


class Told:
    """Scores as given, [relation, anchor, candidate] for tails; for heads the negative."""

    def __init__(self, numbers: NDArray[np.float32]) -> None:
        self.numbers = numbers
        self.graph = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c")])

    def scores(self, anchors, relations, *, side, candidates):  # type: ignore[no-untyped-def]
        rows = self.numbers[relations, anchors] * (1 if side == "tail" else -1)
        return rows if candidates is None else np.take_along_axis(rows, candidates, axis=1)


def of(*numbers: int) -> NDArray[np.int32]:
    return np.array(numbers, dtype=np.int32)


@pytest.fixture
def two() -> tuple[Told, Told]:
    chance = np.random.default_rng(0)
    one, other = (chance.normal(size=(2, 3, 3)).astype(np.float32) for _ in range(2))
    return Told(one), Told(other)


def test_the_mean_is_the_mean(two: tuple[Told, Told]) -> None:
    asked = {"side": "tail", "candidates": np.array([[2, 0]])}
    found = Averaged(two).scores(of(1), of(0), **asked)
    one, other = (each.numbers[0, 1, [2, 0]] for each in two)
    assert np.allclose(found, [(one + other) / 2])


@pytest.mark.parametrize("side", ["tail", "head"])
def test_both_directions_of_a_query_are_added(two: tuple[Told, Told], side: str) -> None:
    told = two[0].numbers[1]
    both = BothDirections(two[0], shares=False)
    wanted = told[2] - told[:, 2]  # as tails of 2, and 2 as the head of each; or the other way round
    found = both.scores(of(2), of(1), side=side, candidates=None)
    assert np.allclose(found, [wanted if side == "tail" else -wanted], atol=1e-6)
    some = both.scores(of(2), of(1), side=side, candidates=np.array([[1, 0]], dtype=np.int32))
    assert np.array_equal(some, found[:, [1, 0]])


def test_shares_do_not_see_what_all_answers_of_a_query_have_in_common(two: tuple[Told, Told]) -> None:
    moved = Told(two[0].numbers + np.float32(5) * np.arange(3, dtype=np.float32)[:, None])
    plain, shifted = (BothDirections(each, shares=True) for each in (two[0], moved))
    asked = {"side": "tail", "candidates": None}
    assert np.allclose(plain.scores(of(0), of(0), **asked), shifted.scores(of(0), of(0), **asked), atol=1e-5)


@pytest.mark.parametrize("seed", choosing.CUTS)
def test_the_two_parts_have_no_entity_in_common(seed: int) -> None:
    cut = choosing.cut_in_two("families", seed)
    here, there = set(cut.train.facts.entities), set(cut.test.facts.entities)
    assert not here & there
    assert len(cut.train.facts) > len(cut.test.facts) > len(cut.test.queries) > 0
    assert not set(cut.test.queries) & set(cut.test.facts)


def test_full_size_models_are_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "CUTS", (1,))
    monkeypatch.setattr(choosing, "COMPARED_FULL", (({}, (1, 2)), ({"num_slots": 2}, (1,))))
    target = tmp_path / "full.jsonl"
    found = choosing.compare_full(target, datasets=["families"], base=TINY)
    assert found == read_results(target)
    assert [(row["changes"], row["scoring"], row["seeds"]) for row in found.rows] == [
        ({}, "alone", [1]),
        ({}, "alone", [2]),
        ({}, "mean of seeds", [1, 2]),
        ({}, "both directions", [1]),
        ({}, "both directions, as shares", [1]),
        ({"num_slots": 2}, "alone", [1]),
    ]
    assert all(0 < row["mrr"] < 1 and 0 < row["type baseline hits@10"] <= 1 for row in found.rows)
    assert {"command", "base", "cuts", "hardware", "versions", "date"} <= set(found.about)

    monkeypatch.setattr(choosing.Trial, "rows", lambda _trial: pytest.fail("this has been run"))
    assert choosing.compare_full(target, datasets=["families"], base=TINY).rows == found.rows
    with pytest.raises(SystemExit, match="other settings than this would"):
        choosing.compare_full(target, datasets=["families"], base={**TINY, "num_slots": 4})


def test_rows_from_elsewhere_are_not_taken_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, made = tmp_path / "full.jsonl", ("hits@10", "mrr", "hits@1", "tie_rate", "type baseline hits@10")
    monkeypatch.setattr(choosing, "_run", lambda *_: iter(()))
    monkeypatch.setattr(choosing, "FULL_RESULTS", target)
    base = choosing._plain(Settings.of("best-0.1").to_dict())
    row = {"dataset": "WN18RR-v1", "cut": 1, "changes": {}, "scoring": "alone", "seeds": [1]} | dict.fromkeys(
        made, 0.5
    )
    copied = {name: value for name, value in row.items() if name != "tie_rate"}
    for strange in (copied, row | {"changes": {"max_epochs": 5}}):
        write_results(target, Results({"base": base}, [row, strange]))
        with pytest.raises(SystemExit, match="rows that this command did not make"):
            choosing.compare_full(target)
        assert accuracy.choosing_full_table() == "(not run)"
    write_results(target, Results({"base": base}, [row]))
    assert choosing.compare_full(target).rows == [row]
    assert "(nothing), seed 1" in accuracy.choosing_full_table()


def test_ways_to_score_a_changed_setting_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "full.jsonl"
    monkeypatch.setattr(choosing, "FULL_RESULTS", target)
    changes = next(changes for changes, seeds in choosing.COMPARED_FULL if changes and len(seeds) > 1)
    told = {"dataset": "WN18RR-v1", "cut": 1, "changes": changes} | dict.fromkeys(choosing._MEASURED, 0.5)
    rows = [
        told | {"scoring": "alone", "seeds": [1], "mrr": 0.2},
        told | {"scoring": "alone", "seeds": [2], "mrr": 0.4},
        told | {"scoring": "mean of seeds", "seeds": [1, 2], "mrr": 0.9},
    ]
    write_results(target, Results({"base": Settings.of("best-0.1").to_dict()}, rows))
    lines = {line[:28].strip(): line for line in accuracy.choosing_full_table().splitlines()}
    for name, mrr in {"all seeds": "0.300", "seed 1": "0.200", "mean of seeds": "0.900"}.items():
        assert mrr in lines[f"+ ways, {name}"]


def test_what_was_compared_stands_in_the_files() -> None:
    small = read_results(choosing.SMALL_RESULTS)
    assert small.about["base"] == choosing.BASE
    assert small.rows and all(row["changes"] in choosing.COMPARED for row in small.rows)
    Settings.of(**choosing.BASE)  # all names and kinds of values are right
    full = read_results(choosing.FULL_RESULTS)
    assert full.about["base"] == choosing._plain(Settings.of("best-0.1").to_dict())
    assert full.rows and choosing.own_rows(full)


def test_a_cut_that_goes_through_files_is_the_same(tmp_path: Path) -> None:
    cut = choosing.cut_in_two("families", 1)
    back = untuned.read_back(cut, tmp_path)
    for mine, theirs in ((cut.train, back.train), (cut.test, back.test)):
        for part in ("facts", "valid", "queries"):
            assert set(getattr(theirs, part)) == set(getattr(mine, part))


def rules_of_two_atoms(bench: InductiveBenchmark) -> Scorer:
    """Mined in a moment; those of three atoms take ten seconds."""
    return RuleBaseline.fit(bench.train.facts, max_length=2).on(bench.test.facts)


def test_a_scorer_is_measured_under_both_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untuned, "DATASET", "families")
    monkeypatch.setitem(untuned.SCORERS, "mined rules", rules_of_two_atoms)
    row = untuned.measured("mined rules")
    assert row["full"]["mrr"] > untuned.measured("type baseline")["full"]["mrr"] > 0
    assert row["sampled-50"]["hits@10"] >= row["sampled-50"]["hits@1"] > 0
