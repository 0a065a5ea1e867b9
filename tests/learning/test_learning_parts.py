"""Negatives, loss, stopping, validation ranks, settings, splitting of batches: the parts that know no model."""

from __future__ import annotations

import json
import mmap
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from reshuffle.errors import InputError, ReshuffleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.io.toml import setting_from_text
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.model_files import to_toml
from reshuffle.learning.settings import SETTINGS, Settings, read_settings
from reshuffle.learning.training.examples import TrainingData, examples_of
from reshuffle.learning.training.loop import memory_in_use
from reshuffle.learning.training.objective import (
    ValidationQueries,
    margin_ranking,
    random_others,
    realistic_ranks,
)
from reshuffle.learning.training.trainer import Patience, run_in_pieces
from reshuffle.model.architecture import Architecture
from reshuffle.model.reshuffle import ReshuffleModel
from reshuffle.model.scoring import all_tail_scores

if TYPE_CHECKING:
    from collections.abc import Sequence


# --- negatives and loss ---------------------------------------------------------------------------------------


def test_negatives_are_uniform_over_all_but_the_true_entity() -> None:
    true = torch.tensor([0, 3, 9])
    drawn = random_others(true, 30_000, num_entities=10, generator=torch.Generator().manual_seed(0))
    assert not (drawn == true[:, None]).any()
    for row, entity in zip(drawn, true.tolist(), strict=True):
        counts = np.delete(np.bincount(row.numpy(), minlength=10), entity)
        assert abs(counts / 30_000 - 1 / 9).max() < 0.01


def test_with_one_entity_there_is_no_other() -> None:
    drawn = random_others(torch.tensor([0]), 5, num_entities=1, generator=torch.Generator().manual_seed(0))
    assert drawn.tolist() == [[0] * 5]


def test_the_loss_is_the_papers_as_a_mean() -> None:
    positives, negatives = torch.tensor([[-1.0], [0.0]]), torch.tensor([[-1.5, -3.0], [-0.5, -0.2]])
    # max(0, s' - s + 1): 0.5, 0; 0.5, 0.8
    torch.testing.assert_close(margin_ranking(positives, negatives, margin=1.0), torch.tensor(1.8 / 4))


# --- stopping -------------------------------------------------------------------------------------------------


def test_patience_counts_looks_without_an_improvement_of_one_percent() -> None:
    patience = Patience(looks=2, relative_delta=0.01)
    assert [patience.look(value, epoch) for epoch, value in enumerate([0.5, 0.504, 0.51, 0.51], start=1)] == [
        True,
        False,
        True,
        False,
    ]
    assert (patience.best, patience.best_epoch, patience.exhausted) == (0.51, 3, False)
    assert not patience.look(0.515, 5)
    assert patience.exhausted


# --- validation -----------------------------------------------------------------------------------------------


def brute_ranks(scores: torch.Tensor, valid: np.ndarray, known: np.ndarray, relations: int) -> list[float]:
    """Filtered realistic ranks, query by query."""
    triples = {tuple(t) for t in np.concatenate([valid, known]).tolist()}
    triples |= {(t, r + relations, h) for h, r, t in triples}
    forward = [tuple(t) for t in valid.tolist()]
    ranks = []
    for row, (head, relation, tail) in enumerate(forward + [(t, r + relations, h) for h, r, t in forward]):
        others = [e for e in range(scores.shape[1]) if e == tail or (head, relation, e) not in triples]
        better = sum(bool(scores[row, e] > scores[row, tail]) for e in others)
        equal = sum(bool(scores[row, e] == scores[row, tail]) for e in others)
        ranks.append(better + (equal + 1) / 2)
    return ranks


@pytest.mark.parametrize("seed", range(3))
def test_validation_ranks_are_filtered_and_realistic(seed: int) -> None:
    chance = np.random.default_rng(seed)
    entities, relations = 12, 2
    triples = np.unique(chance.integers([entities, relations, entities], size=(40, 3)), axis=0).astype(
        np.int64
    )
    valid, known = triples[::4], np.delete(triples, np.s_[::4], axis=0)
    model = ReshuffleModel(relations, Architecture(num_slots=2, num_channels=2, num_layers=2), seed=seed)
    queries = ValidationQueries.build(valid, known, num_entities=entities, num_relations=relations)
    states = torch.randint(2, (entities, 2, 2), generator=torch.Generator().manual_seed(seed)).float()
    matrices = model.matrices().detach().round()  # many ties
    bodies = model.bodies(matrices, states, queries.anchors, queries.relations)
    scores = -torch.relu(bodies[:, None] - states[None]).flatten(2).norm(dim=2)
    found = realistic_ranks(
        lambda heads, relations: all_tail_scores(model.bodies(matrices, states, heads, relations), states),
        queries,
        at_once=3,
    )
    assert found.tolist() == brute_ranks(scores, valid, known, relations)


def test_no_validation_triples_make_no_queries() -> None:
    nothing, known = np.empty((0, 3), dtype=np.int64), np.array([[0, 0, 1]])
    queries = ValidationQueries.build(nothing, known, num_entities=2, num_relations=1)
    assert len(queries.anchors) == len(queries.known_entities) == 0


def test_of_many_validation_triples_a_sample_is_ranked_and_the_others_are_known() -> None:
    triples = np.array([[0, 0, 1], [1, 0, 2]])
    valid = np.array([[0, 0, tail] for tail in range(2, 9)])
    data = TrainingData(triples, valid, num_entities=9, num_relations=1)
    drawn, again, other = (ValidationQueries.drawn(data, most=3, seed=seed) for seed in (1, 1, 2))
    assert len(drawn) == 6 and torch.equal(drawn.answers, again.answers)
    assert not torch.equal(drawn.answers, other.answers)
    tails = drawn.relations == 0
    for query in tails.nonzero().flatten().tolist():
        filtered = set(drawn.known_entities[drawn.known_queries == query].tolist())
        assert filtered == set(range(1, 9)) - {int(drawn.answers[query])}
    everything = ValidationQueries.drawn(data, most=7, seed=1)
    assert everything.answers[:7].tolist() == list(range(2, 9))


# --- settings -------------------------------------------------------------------------------------------------


def test_settings_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        'num_slots = 25\nmargin = 2\ninitial = "official"\n[paper]\n"hits@10" = 0.7\n', encoding="utf-8"
    )
    settings = read_settings(file)
    assert settings.architecture.num_slots == 25
    assert settings.training.margin == 2.0
    assert isinstance(settings.training.margin, float)
    assert settings.architecture.initial == "official"
    file.write_text(to_toml(settings.to_dict()), encoding="utf-8")
    assert read_settings(file) == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_slot = 25", "unknown setting 'num_slot'; did you mean 'num_slots'"),
        ("num_slots = 2.5", "setting 'num_slots' is 2.5; it must be of type int"),
        ("num_slots = true", "setting 'num_slots' is True; it must be of type int"),
        ('initial = "bit"', "setting 'initial' is 'bit'; it must be one of bits, official"),
        ("num_slots 25", "not TOML: "),
        ("symmetric = 5", "setting 'symmetric' is 5; it must be a list of names"),
        ('symmetric = "r"', "setting 'symmetric' is 'r'; it must be a list of names"),
        ("symmetric = [5]", "setting 'symmetric' is [5]; it must be a list of names"),
        ('evidence = ["unary", "path"]', "setting 'evidence' names 'path'; it must be of unary, proximity, "),
        ("[training]\nmax_epochs = 1", "settings must be at the top of the file, not under [training]"),
        ("training.max_epoch = 1", "settings must be at the top of the file, not under [training]"),
        ('recipe = ["best"]', "setting 'recipe' is ['best']; it must be one of best, best-0.1, paper"),
    ],
)
def test_bad_settings_files(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_settings(file)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n  hint: " in str(caught.value)


def test_settings_of_a_model_are_no_settings_file(tmp_path: Path) -> None:
    Reshuffle(recipe="paper", num_slots=2, max_epochs=0, device="cpu").fit([("a", "r", "b")]).save(tmp_path)
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "settings.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'settings.toml'}: settings must be at the top of the file, not under [settings]\n"
        "  hint: move the lines of settings up, before the first table"
    )


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        *((name, 0, "at least 1") for name in ("batch_size", "num_negatives", "look_every", "patience")),
        ("num_channels", 0, "at least 1"),
        *((name, -1, "at least 0") for name in ("num_slots", "num_layers", "max_epochs", "seed")),
        *((name, -0.5, "at least 0") for name in ("margin", "relative_delta", "probability")),
        ("probability", 1.5, "at most 1"),
        ("learning_rate", 0.0, "more than 0"),
        ("learning_rate", float("nan"), "a finite number"),
        ("margin", float("inf"), "a finite number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, value: float, wanted: str) -> None:
    with pytest.raises(ReshuffleError) as caught:
        Settings().changed(**{name: value})
    assert str(caught.value) == f"setting '{name}' is {value!r}; it must be {wanted}"


def test_settings_print_as_the_nearest_recipe_and_what_is_changed() -> None:
    assert str(Settings()) == "recipe 'paper'"
    assert str(Settings().changed(margin=2.0)) == "recipe 'paper', margin=2.0"
    assert str(Settings.of("best", initial="bits")) == "recipe 'best', initial='bits'"


def test_every_number_has_a_range() -> None:
    for name, one in SETTINGS.items():
        bounded = one.info.least is not None or one.info.positive
        assert bounded == (one.kind in (int, float)), name


def test_the_page_says_what_each_setting_is_and_what_both_recipes_set() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "train.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.*?) ?\| (.+) \|$", page, flags=re.MULTILINE)
    assert {name: told for name, _, _, told in rows} == {
        name: one.info.help for name, one in SETTINGS.items()
    }
    shown = {
        "paper": dict(setting_from_text(f"{name}={paper}") for name, paper, _, _ in rows),
        "best": dict(setting_from_text(f"{name}={best or paper}") for name, paper, best, _ in rows),
    }
    for recipe, found in shown.items():
        plain = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in Settings.of(recipe).to_dict().items()
        }
        assert found == plain


INEFFECTIVE = [
    ("best", {"num_channels": 80}, "initial = 'head' (it is for random channels)"),
    ("best", {"num_negatives": 10}, "initial = 'head' (every other entity is a negative there)"),
    ("best", {"redraw": "once"}, "initial = 'head' (it is for random channels)"),
    ("best", {"probability": 0.3}, "initial = 'head' (it is for random bits)"),
    ("best", {"margin": 2.0}, "loss = 'softmax' (it is for the margin ranking loss)"),
    (
        "best",
        {"patience": 3},
        "look_every = 8 and max_epochs = 8 (there is only one validation, at the end)",
    ),
    ("paper", {"num_hops": 2}, "evidence = [] (it is for 'proximity' or 'far' evidence)"),
    ("paper", {"direct_facts": "both"}, "evidence = [] (it is for 'negative' evidence)"),
    ("paper", {"evidence_decay": 2.0}, "evidence = [] (it is for evidence)"),
    (
        "paper",
        {"evidence_prior": "examples"},
        "evidence = [] and evidence_decay = 0.001 (it is for the weight decay of evidence)",
    ),
    *(
        (
            "best",
            change,
            "look_every = 8 and max_epochs = 8 (there is only one validation, at the end)",
        )
        for change in ({"relative_delta": 0.5}, {"select_by": "hits@10"})
    ),
]


def test_every_condition_is_tried() -> None:
    tried = {name for _, changes, _ in INEFFECTIVE for name in changes}
    assert tried == {name for name, one in SETTINGS.items() if one.info.when is not None}


@pytest.mark.parametrize(("recipe", "changes", "told"), INEFFECTIVE)
def test_a_setting_without_effect_is_told_once(recipe: str, changes: dict, told: str) -> None:
    (name,) = changes
    assert Settings.of(recipe, num_slots=3, **changes).notes() == [f"note: {name} has no effect with {told}"]


@pytest.mark.parametrize(("recipe", "changes", "told"), INEFFECTIVE)
def test_a_setting_without_effect_changes_nothing(recipe: str, changes: dict, told: str) -> None:
    """What the notes claim, of a whole training."""
    del told
    facts = [(f"e{i % 7}", f"r{i % 3}", f"e{(3 * i + 1) % 5}") for i in range(30)]
    small = {"num_slots": 2, "num_layers": 1, "epoch_steps": 2, "max_epochs": 2, "look_every": 2}
    small["rules_weight"] = 0  # a list beside the model takes longer than all of its training
    one, other = (
        Reshuffle(recipe=recipe, device="cpu", **small, **more).fit(facts).model.state_dict()
        for more in ({}, changes)
    )
    shared = [name for name in one if name in other and one[name].shape == other[name].shape]
    assert "matrices.logits" in shared
    assert all(torch.equal(one[name], other[name]) for name in shared)


def test_settings_that_have_an_effect_are_not_told() -> None:
    for recipe in ("best", "paper"):
        assert Settings.of(recipe).notes() == []
    assert (
        Settings.of("best", num_channels=8, initial="bits", redraw="once", slot_weights=False).notes() == []
    )
    assert Settings.of("best", evidence=[], evidence_decay=3).notes(injected=True) == []
    assert (
        Settings.of("best", max_epochs=32, patience=3, relative_delta=0.1, select_by="hits@10").notes() == []
    )


def test_settings_are_compared_with_stored_ones() -> None:
    settings = Settings.of("best", num_slots=3)
    stored = json.loads(json.dumps(settings.to_dict()))
    assert settings.differences(stored) == []
    assert settings.changed(evidence=[]).differences(stored) == [
        "evidence = ['unary', 'proximity', 'ways', 'negative', 'far'] (now [])"
    ]
    assert settings.differences(stored | {"warp": 9}) == ["warp = 9 (now gone)"]
    del stored["num_slots"]  # of a time when there was no such setting
    assert settings.differences(stored) == ["num_slots = 20 (now 3)"]
    assert settings.changed(num_slots=20).differences(stored) == []


def test_a_file_of_all_settings_means_none_on_its_own(tmp_path: Path) -> None:
    file = tmp_path / "best.toml"
    file.write_text(to_toml(Settings.of("best").to_dict()), encoding="utf-8")
    assert read_settings(file).notes() == []


def test_fit_notes_what_has_no_effect(tmp_path: Path) -> None:
    heard: list[str] = []
    model = Reshuffle(num_channels=80, num_slots=2, max_epochs=0, device="cpu")
    model.fit([("a", "r", "b")], notes=heard.append).save(tmp_path)
    (told,) = [note for note in heard if "has no effect" in note]
    assert told == "note: num_channels has no effect with initial = 'head' (it is for random channels)"
    heard.clear()
    Reshuffle.load(tmp_path, device="cpu").fit([("a", "r", "b")], notes=heard.append)
    assert not [note for note in heard if "has no effect" in note]


def test_a_missing_settings_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_settings(tmp_path / "none.toml")


def test_settings_as_typed() -> None:
    assert setting_from_text("identity=false") == ("identity", False)
    assert setting_from_text("symmetric=['a', 'b']") == ("symmetric", ["a", "b"])
    with pytest.raises(ReshuffleError, match="'num_slots' is not a setting\n  hint: write key=value"):
        setting_from_text("num_slots")
    assert Settings().changed(symmetric=["a"]).architecture.symmetric == ("a",)


def test_toml_keeps_odd_names() -> None:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    names = ["/film/film", 'a"b', "tab\there", "\x7f", "Zürich 😀", "back\\slash"]
    assert tomllib.loads(to_toml({"names": names}, {"t": {"hits@10": 1e-05}})) == {
        "names": names,
        "t": {"hits@10": 1e-05},
    }


# --- memory ---------------------------------------------------------------------------------------------------


def summed_up_to(most: int, tried: list[int]):
    def step(parts: Sequence[torch.Tensor]) -> int:
        tried.append(len(parts))
        if max(map(len, parts)) > most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. And more.")
        return int(sum(part.sum() for part in parts))

    return step


def test_a_batch_that_does_not_fit_is_halved_until_it_does_and_this_is_said() -> None:
    tried: list[int] = []
    said: list[str] = []
    batch = torch.arange(100)
    assert run_in_pieces(summed_up_to(30, tried), batch, pieces=1, notes=said.append) == (4950, 4)
    assert tried == [1, 2, 4]
    assert said == [
        f"out of GPU memory: continuing with batches in {pieces} pieces (CUDA out of memory)"
        for pieces in (2, 4)
    ]
    assert run_in_pieces(summed_up_to(30, tried), batch, pieces=4, notes=said.append) == (4950, 4)
    assert len(said) == 2


def test_what_does_not_fit_at_all_is_an_error() -> None:
    with pytest.raises(
        ReshuffleError, match="not enough GPU memory for a single triple: CUDA out of memory\n  hint: lower"
    ):
        run_in_pieces(summed_up_to(0, []), torch.arange(3), pieces=1, notes=lambda _text: None)


def test_memory_in_use_grows_with_what_is_held() -> None:
    device, size = torch.device("cpu"), 1 << 26
    before = memory_in_use(device)
    with mmap.mmap(-1, size) as held:  # straight from the system, since the C library may reuse what it has
        held.write(b"x" * size)
        assert memory_in_use(device) - before > 0.9 * size


# --- held-out facts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_the_last_fact_of_a_relation_is_never_held_out(seed: int) -> None:
    facts = KnowledgeGraph(
        [(f"p{n}", "knows", f"p{n + 1}") for n in range(17)]
        + [("p0", "married", "p1"), ("p2", "likes", "p3"), ("p4", "likes", "p5")]
    )
    graph, data = examples_of(facts, None, seed=seed, symmetric=["married", "likes"])
    assert set(graph.relations) == {"knows", "married", "likes"}
    assert len(data.valid) == 2
    assert len(data.triples) == 18


@pytest.mark.parametrize("seed", range(5))
def test_where_no_relation_would_vanish_the_draw_is_by_rows_alone(seed: int) -> None:
    rows = [(f"p{n}", "r", f"p{n + 1}") for n in range(40)] + [(f"p{n}", "s", f"p{n}") for n in range(40)]
    facts = KnowledgeGraph(rows)
    drawn = np.sort(np.random.default_rng(seed).permutation(80)[:8])
    graph, data = examples_of(facts, None, seed=seed)
    all_ids = np.stack([facts.heads, facts.relation_ids, facts.tails], axis=1)
    assert data.valid.tolist() == all_ids[drawn].tolist()
    assert data.triples.tolist() == np.delete(all_ids, drawn, axis=0).tolist()
    assert list(graph.entities) == list(facts.entities)


def test_facts_of_as_many_relations_are_all_trained_on() -> None:
    said: list[str] = []
    facts = KnowledgeGraph([("a", f"r{n}", "b") for n in range(12)])
    _, data = examples_of(facts, None, seed=1, notes=said.append)
    assert (len(data.triples), len(data.valid)) == (12, 0)
    assert said == [
        "there are no validation triples for early stopping: all epochs run, and the last one is kept"
    ]
