"""Settings compared on cut training graphs: nothing in common between the parts, and figures that can be made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks import choosing, untuned
from benchmarks.result_files import read_results

from reshuffle.data.families import families
from reshuffle.evaluation import RuleBaseline
from reshuffle.learning.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.evaluation import Scorer
    from reshuffle.kg.splits import InductiveBenchmark

TINY = {"num_slots": 3, "num_layers": 2, "epoch_steps": 2, "max_epochs": 1, "look_every": 1, "device": "cpu"}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_two_parts_have_no_entity_in_common(seed: int) -> None:
    cut = choosing.cut_in_two("families", seed)
    here, there = set(cut.train.facts.entities), set(cut.test.facts.entities)
    assert not here & there
    assert len(cut.train.facts) > len(cut.test.facts) > len(cut.test.queries) > 0
    assert not set(cut.test.queries) & set(cut.test.facts)


def test_a_large_graph_is_trained_on_by_its_smaller_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_SMALLER_HALF", ("families",))
    cut = choosing.cut_in_two("families", 1)
    assert 0 < len(cut.train.facts) < len(cut.test.facts)


def test_cells_are_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, names = tmp_path / "again.jsonl", ["the recipe", "no rule list"]
    monkeypatch.setitem(choosing.FAMILY_OF, "families", "family")
    monkeypatch.setattr(choosing, "load_benchmark", {"families": families(size=40).benchmark}.__getitem__)
    found = choosing.compare(target, datasets=["families"], names=names, base=TINY)
    assert [row["name"] for row in found] == names
    assert all(0 < row["mrr"] <= 1 and 0 < row["hits@10"] <= 1 for row in found)
    stored = read_results(target)
    assert stored.rows == found and {"command", "hardware", "versions"} <= set(stored.about)

    monkeypatch.setattr(choosing.Cell, "row", lambda _cell: pytest.fail("this has been run"))
    assert choosing.compare(target, datasets=["families"], names=names, base=TINY) == found


def test_a_family_counts_as_much_as_another() -> None:
    def row(name: str, dataset: str, mrr: float) -> dict[str, object]:
        return {"name": name, "dataset": dataset, "cut": 1, "mrr": mrr}

    base = [row("a", dataset, 0.5) for dataset in ("WN18RR-v1", "WN18RR-v2", "WN18RR-v3", "family")]
    changed = [row("b", dataset, 0.6) for dataset in ("WN18RR-v1", "WN18RR-v2", "WN18RR-v3")]
    found = choosing.difference([*base, *changed, row("b", "family", 0.5)], "b", "a", "mrr")
    assert found is not None
    assert (round(found.mean, 6), round(found.error, 6)) == (0.05, 0.0)
    assert {family: round(value, 6) for family, value in found.by_family.items()} == {
        "WN18RR": 0.1,
        "family": 0.0,
    }
    spread = [*base, *changed[:2], row("b", "WN18RR-v3", 0.9)]
    told = choosing.difference(spread, "b", "a", "mrr")
    assert told is not None and told.error == pytest.approx((0.03 / 3) ** 0.5)
    assert choosing.difference(base, "b", "a", "mrr") is None


def test_all_changes_are_settings_of_the_recipe() -> None:
    recipe = Settings.of("best")
    for name, changes in choosing.CHANGES.items():
        assert (Settings().changed(**{"recipe": "best", **changes}) == recipe) == (name == "the recipe"), name
    assert set(recipe.architecture.evidence) == set(choosing._EVIDENCE)


def test_what_was_compared_stands_in_the_file() -> None:
    stored = read_results(choosing.CHOSEN_BY)
    assert {row["dataset"] for row in stored.rows} == set(choosing.FAMILY_OF)
    taken = choosing.difference(stored.rows, "9 hops, no paths + list 0.70", "best-0.1, 8 epochs", "mrr")
    assert taken is not None and taken.mean > 4 * taken.error and min(taken.by_family.values()) > 0.02


def test_what_the_last_runs_took_is_taken_by_the_rule() -> None:
    stored = read_results(choosing.THREE_CUTS).rows
    cuts = {(row["dataset"], row["cut"]) for row in stored if row["name"] == "rate .02, facts left out"}
    assert cuts == {(dataset, cut) for dataset in choosing.FAMILY_OF for cut in (1, 2, 3)}
    rate = choosing.difference(stored, "rate .02", "rate .01", "mrr")
    assert rate is not None and rate.mean > rate.error and min(rate.by_family.values()) > -0.02
    left_out = [
        choosing.difference(stored, "rate .02, facts left out", "rate .02", metric)
        for metric in ("mrr", "hits@10")
    ]
    mrr, hits = (found for found in left_out if found is not None)
    assert abs(mrr.mean) <= mrr.error and hits.mean > hits.error and min(mrr.by_family.values()) > -0.02
    recipe = Settings.of("best").training
    assert (recipe.learning_rate, recipe.drop_facts) == (0.02, 0.3)


def test_what_was_taken_for_rule_lists_is_taken_by_the_rule() -> None:
    stored = read_results(choosing.RULE_LISTS).rows
    taken = "short first, both ways"
    cuts = {(row["dataset"], row["cut"]) for row in stored if row["name"] == taken}
    assert cuts == {(dataset, cut) for dataset in choosing.FAMILY_OF for cut in (1, 2, 3)}
    for name, base in ((taken, "list as before"), (f"list alone, {taken}", "list alone, as before")):
        mrr, hits = (choosing.difference(stored, name, base, metric) for metric in ("mrr", "hits@10"))
        assert mrr is not None and mrr.mean > mrr.error and min(mrr.by_family.values()) > -0.02
        assert hits is not None and hits.mean > -hits.error
    longer = choosing.difference(
        stored, f"list alone, {taken}, four atoms", "list alone, short first, both ways", "mrr"
    )
    assert longer is not None and longer.mean < -longer.error  # and so it was left out


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
