"""Model directories: there and back, and every way they can be bad."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from reshuffle.errors import InputError
from reshuffle.evaluation import evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import PathRule, RuleBase

if TYPE_CHECKING:
    from pathlib import Path

FACTS = KnowledgeGraph([(f"p{n}", '/odd/name "x"', f"p{n + 1}") for n in range(9)] + [("p1", "s", "p2")])


def fitted(**changes: Any) -> Reshuffle:
    settings = {"num_slots": 3, "num_channels": 4, "num_layers": 2, "max_epochs": 2, "look_every": 1}
    return Reshuffle(recipe="paper", device="cpu", **settings, **changes).fit(
        FACTS, valid=KnowledgeGraph([("p0", "s", "p2")])
    )


def all_scores(model: Reshuffle, side: str) -> Any:
    anchors = np.arange(FACTS.num_entities, dtype=np.int32)
    return model.on(FACTS).scores(anchors, np.zeros_like(anchors), side=side, candidates=None)


@pytest.mark.parametrize(
    "changes",
    [{}, {"bias": True}, {"symmetric": ["s"]}, {"identity": False}, {"row_function": "square"}],
    ids=lambda changes: next(iter(changes), "plain"),
)
def test_a_loaded_model_answers_as_the_saved_one(changes: dict[str, Any], tmp_path: Path) -> None:
    saved = fitted(**changes)
    saved.save(tmp_path / "model")
    loaded = Reshuffle.load(tmp_path / "model", device="cpu")
    assert loaded.relations == saved.relations
    assert loaded.settings == saved.settings
    assert loaded.summary() == saved.summary()
    assert {"epochs", "best_epoch", "hits@10", "mrr"} == set(loaded.summary())
    for side in ("tail", "head"):
        np.testing.assert_array_equal(all_scores(loaded, side), all_scores(saved, side))
    if "symmetric" in changes:
        rows = loaded.model.matrices()
        assert torch.equal(rows[1], rows[3])


def test_the_type_baseline_comes_along(tmp_path: Path) -> None:
    saved = fitted()
    saved.save(tmp_path)
    reports = [
        evaluate(model.on(FACTS), FACTS, protocol="full")
        for model in (saved, Reshuffle.load(tmp_path, device="cpu"))
    ]
    assert reports[0].baseline.metrics == reports[1].baseline.metrics


def test_constraints_can_be_saved_as_a_model(tmp_path: Path) -> None:
    constraints = constraints_for(RuleBase((PathRule(("r", "r"), "r"),)))
    Reshuffle.from_constraints(constraints, num_layers=6, device="cpu").save(tmp_path)
    loaded = Reshuffle.load(tmp_path, device="cpu")
    assert loaded.harden().source_of("r").tolist() == constraints.source_of("r").tolist()
    assert loaded.harden().identities == constraints.identities
    chain = KnowledgeGraph([("a", "r", "b"), ("b", "r", "c")])
    scores = loaded.on(chain).scores(
        np.array([2], dtype=np.int32), np.array([0], dtype=np.int32), side="head", candidates=None
    )
    assert (scores[0] == 0).tolist() == [True, True, False]


def test_saving_again_replaces_the_old_model(tmp_path: Path) -> None:
    fitted(seed=1).save(tmp_path)
    second = fitted(seed=2)
    second.save(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.safetensors", "settings.toml"]
    np.testing.assert_array_equal(
        all_scores(Reshuffle.load(tmp_path, device="cpu"), "tail"), all_scores(second, "tail")
    )


def damaged(directory: Path, file: str, change: Any) -> InputError:
    fitted().save(directory)
    path = directory / file
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError) as caught:
        Reshuffle.load(directory, device="cpu")
    assert "\n  hint: " in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("model.safetensors", lambda content: content[:-20], "damaged or cut short"),
        ("model.safetensors", lambda content: content[:4], "damaged or cut short"),
        (
            "settings.toml",
            lambda content: content.split(b"[settings]")[0],
            "cut short: settings, training missing",
        ),
        ("settings.toml", lambda _content: b"", "not the settings of a model"),
        ("settings.toml", lambda content: content[:25], "not TOML"),
        (
            "settings.toml",
            lambda content: content.replace(b"version = 1", b"version = 7"),
            "a model of version 7; this reshuffle reads versions 1 and 2",
        ),
        (
            "settings.toml",
            lambda content: content.replace(b"num_slots", b"num_slot"),
            "unknown setting 'num_slot'; did you mean 'num_slots'",
        ),
        (
            "settings.toml",
            lambda content: content.replace(b"num_slots = 3", b"num_slots = 4"),
            "the arrays do not have the shapes that the settings ask for",
        ),
        (
            "settings.toml",
            lambda content: content.replace(b'arrays = "', b'arrays = "0'),
            "these arrays do not belong to the settings.toml beside them",
        ),
    ],
)
def test_bad_model_directories(file: str, change: Any, message: str, tmp_path: Path) -> None:
    error = damaged(tmp_path, file, change)
    assert error.message.startswith(message)
    assert str(tmp_path) in str(error.place)


@pytest.mark.parametrize("missing", ["model.safetensors", "settings.toml"])
def test_a_directory_without_one_of_the_files(missing: str, tmp_path: Path) -> None:
    fitted().save(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(InputError, match=f"not a model directory: it has no {missing}"):
        Reshuffle.load(tmp_path)


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("")
    with pytest.raises(InputError, match="cannot be made a directory: File exists"):
        fitted().save(tmp_path / "model")


def test_nothing_is_pickled(tmp_path: Path) -> None:
    fitted().save(tmp_path)
    content = (tmp_path / "model.safetensors").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert set(header) - {"__metadata__"} == {"matrices.logits", "types.confidences", "calibration"}
