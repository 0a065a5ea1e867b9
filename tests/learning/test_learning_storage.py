"""Model directories: there and back, and every way they can be bad."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from reshuffle.errors import InputError
from reshuffle.evaluation import evaluate
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning import checkpoints, model_files
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.model_files import ARRAYS, CUT_OR_EDITED
from reshuffle.locks import alone_in
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import PathRule, RuleBase

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


# --- saving over an old model ------------------------------------------------------------------------------------


class KilledError(Exception):
    """Ends a process, as far as files can tell."""


def saved_until(change: int, model: Reshuffle, directory: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Save, and be killed before the change of that number in the directory; False where there are fewer."""
    seen: list[Path] = []

    def counted(real: Any) -> Any:
        def killed(path: Path, *rest: Any, **options: Any) -> Any:
            if len(seen) == change:
                raise KilledError
            seen.append(path)
            return real(path, *rest, **options)

        return killed

    with monkeypatch.context() as patched:
        for name in ("replace", "unlink"):
            patched.setattr(Path, name, counted(getattr(Path, name)))
        try:
            model.save(directory)
        except KilledError:
            return True
    return False


INJECT = RuleBase((PathRule(("s", "s"), "s"),))


def best(seed: int, **options: Any) -> Reshuffle:
    settings = {"num_slots": 3, "num_layers": 2, "max_epochs": 1, "epoch_steps": 2, "seed": seed}
    return Reshuffle(device="cpu", **settings).fit(FACTS, **options)


@pytest.mark.parametrize("injected", [False, True])
def test_a_kill_at_any_moment_of_saving_leaves_the_old_model_or_the_new_one(
    injected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = best(1, inject=INJECT), best(2, **({"inject": INJECT} if injected else {}))
    scores = [all_scores(model, "tail") for model in (old, new)]
    found, change = [], 0
    while True:
        directory = tmp_path / str(change)
        old.save(directory)
        if not saved_until(change, new, directory, monkeypatch):
            break
        loaded = all_scores(Reshuffle.load(directory, device="cpu"), "tail")
        found.append([np.array_equal(loaded, one) for one in scores].index(True))
        new.save(directory)
        left = sorted(file.name for file in directory.iterdir())
        rules = ["injected.json", "injected.rules"] if injected else []
        assert left == [*rules, "list.rules", "model.safetensors", "settings.toml"]
        change += 1
    assert found == sorted(found)  # from some moment on it is the new one
    assert set(found) == {0, 1}


def test_who_reads_while_a_model_is_saved_gets_a_whole_one(tmp_path: Path) -> None:
    models = [best(1), best(2)]
    scores = [all_scores(model, "tail") for model in models]
    models[0].save(tmp_path)
    end = threading.Event()

    def save() -> None:
        while not end.is_set():
            for model in models:
                model.save(tmp_path)

    writer = threading.Thread(target=save)
    writer.start()
    try:
        for _ in range(100):
            found = all_scores(Reshuffle.load(tmp_path, device="cpu"), "tail")
            assert any(np.array_equal(found, one) for one in scores)
    finally:
        end.set()
        writer.join()


def test_two_do_not_save_in_one_directory_at_a_time(tmp_path: Path) -> None:
    model = fitted()
    with alone_in(tmp_path, "training"), pytest.raises(InputError, match="another training uses"):
        model.save(tmp_path)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def damaged(directory: Path, file: str, change: Any) -> InputError:
    fitted().save(directory)
    path = directory / file
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError) as caught:
        Reshuffle.load(directory, device="cpu")
    assert "\n  hint: " in str(caught.value)
    return caught.value


def replaced(old: str, new: str) -> Any:
    def change(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode())

    return change


OTHER_SETTINGS = "these are not the settings that the model was saved with"


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
        (
            "settings.toml",
            lambda content: content[: content.index(b"patience")],
            "cut short: training missing",
        ),
        ("settings.toml", lambda content: content[: content.index(b"mrr = ")], OTHER_SETTINGS),
        ("settings.toml", lambda _content: b"", "not the settings of a model, or incomplete"),
        ("settings.toml", lambda content: content[:25], "not TOML"),
        (
            "settings.toml",
            replaced("version = 3", "version = 7"),
            "a model of version 7; this reshuffle reads versions 1, 2, 3",
        ),
        ("settings.toml", replaced("version = 3", "version = [3]"), "a model of version [3]; this reshuffle"),
        (
            "settings.toml",
            replaced("version = 3", "version = true"),
            "a model of version True; this reshuffle",
        ),
        ("settings.toml", replaced("version = 3", "version = 1"), OTHER_SETTINGS),
        ("settings.toml", replaced("num_slots", "num_slot"), OTHER_SETTINGS),
        ("settings.toml", replaced("num_slots = 3", "num_slots = 4"), OTHER_SETTINGS),
        ("settings.toml", replaced("inverse = true", "inverse = false"), OTHER_SETTINGS),
        ("settings.toml", replaced('"s"]', '"t"]'), OTHER_SETTINGS),
        ("settings.toml", replaced("num_slots = 3", "num_slots = 2026-11-15"), OTHER_SETTINGS),
        ("settings.toml", replaced('digest = "', 'digest = "0'), OTHER_SETTINGS),
        ("settings.toml", replaced('digest = "', 'digests = "'), OTHER_SETTINGS),
    ],
)
def test_bad_model_directories(file: str, change: Any, message: str, tmp_path: Path) -> None:
    error = damaged(tmp_path, file, change)
    assert error.message.startswith(message)
    assert str(tmp_path) in str(error.place)


def rewritten(directory: Path, **values: str) -> None:
    """Other values of top names of the settings, as somebody with an editor would write them."""
    path = directory / "settings.toml"
    lines = path.read_text(encoding="utf-8").split("\n")
    names = [line.partition(" = ")[0] for line in lines]
    for name, value in values.items():
        lines[names.index(name)] = f"{name} = {value}"
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("relations", "5", "relations is 5; it must be a list of names"),
        ("relations", "[1, 2]", "relations is [1, 2]; it must be a list of names"),
        ("identities", '"eq"', "identities is 'eq'; it must be a list of names"),
        ("heads_through_inverse", '"no"', "heads_through_inverse is 'no'; it must be true or false"),
        ("heads_through_inverse", "1", "heads_through_inverse is 1; it must be true or false"),
        ("arrays", "7", "arrays is 7; it must be the digest of the arrays, a text"),
    ],
)
def test_settings_of_the_wrong_kind(name: str, value: str, message: str, tmp_path: Path) -> None:
    fitted().save(tmp_path)
    rewritten(tmp_path, **{name: value})
    with pytest.raises(InputError) as caught:
        Reshuffle.load(tmp_path, device="cpu")
    assert caught.value.message == message
    assert caught.value.hint == CUT_OR_EDITED


@pytest.mark.parametrize("table", ["settings", "training", "injected"])
def test_a_table_that_is_none(table: str, tmp_path: Path) -> None:
    fitted().save(tmp_path)
    path = tmp_path / "settings.toml"
    content = path.read_text(encoding="utf-8").replace(f"[{table}]", "[other]")
    path.write_text(content.replace("version = 3", f"version = 3\n{table} = 3"), encoding="utf-8")
    with pytest.raises(
        InputError, match=f"settings.toml: {table} is 3; it must be a table\n  hint: cut short"
    ):
        Reshuffle.load(tmp_path, device="cpu")


def test_a_setting_that_was_edited_says_that_it_cannot_be_changed(tmp_path: Path) -> None:
    best = Reshuffle(num_slots=3, num_layers=2, max_epochs=1, epoch_steps=2, device="cpu").fit(FACTS)
    best.save(tmp_path)
    path = tmp_path / "settings.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"head"', '"bits"'), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Reshuffle.load(tmp_path, device="cpu")
    assert str(caught.value) == (
        f"{path}: these are not the settings that the model was saved with\n"
        "  hint: cut short or edited; train again or copy it again. Settings of a trained model cannot be changed: "
        "they say what its arrays mean"
    )


def test_comments_and_line_ends_are_nobodys_business(tmp_path: Path) -> None:
    saved = fitted()
    saved.save(tmp_path)
    path = tmp_path / "settings.toml"
    text = "# of last Tuesday\n\n" + path.read_text(encoding="utf-8")
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert Reshuffle.load(tmp_path, device="cpu").settings == saved.settings


def test_the_arrays_of_another_model_are_refused(tmp_path: Path) -> None:
    fitted(seed=1).save(tmp_path / "one")
    fitted(seed=2).save(tmp_path / "two")
    (tmp_path / "two" / "model.safetensors").replace(tmp_path / "one" / "model.safetensors")
    with pytest.raises(
        InputError, match=r"these arrays do not match the settings\.toml in the same directory"
    ):
        Reshuffle.load(tmp_path / "one", device="cpu")


# --- models of older versions -----------------------------------------------------------------------------------


def as_version(version: int, directory: Path, change: Any = lambda text: text) -> None:
    """Versions 1 and 2 are version 3 without the digest of the settings."""
    path = directory / "settings.toml"
    lines = path.read_text(encoding="utf-8").replace("version = 3", f"version = {version}").split("\n")
    text = "\n".join(line for line in lines if not line.startswith("digest = "))
    path.write_text(change(text), encoding="utf-8")


@pytest.mark.parametrize("version", [1, 2])
def test_models_of_older_versions_are_read_as_before(version: int, tmp_path: Path) -> None:
    best = Reshuffle(num_slots=3, num_layers=2, max_epochs=1, epoch_steps=2, device="cpu").fit(FACTS)
    saved = best if version == 1 else best.hardened()
    saved.save(tmp_path)
    as_version(version, tmp_path)
    loaded = Reshuffle.load(tmp_path, device="cpu")
    assert (loaded.settings, loaded.summary()) == (saved.settings, saved.summary())
    for side in ("tail", "head"):
        np.testing.assert_array_equal(all_scores(loaded, side), all_scores(saved, side))
    loaded.save(tmp_path)
    assert "\nversion = 3\n" in (tmp_path / "settings.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_slots", "num_slot", "unknown setting 'num_slot'; did you mean 'num_slots'"),
        (
            "num_slots = 3",
            "num_slots = 4",
            "the shapes of the arrays do not match the settings",
        ),
        ("heads_through_inverse = true", "heads_through_inverse = 0", "heads_through_inverse is 0; it must"),
    ],
)
def test_bad_models_of_an_older_version(old: str, new: str, message: str, tmp_path: Path) -> None:
    fitted().save(tmp_path)
    as_version(1, tmp_path, lambda text: text.replace(old, new))
    with pytest.raises(InputError) as caught:
        Reshuffle.load(tmp_path, device="cpu")
    assert caught.value.message.startswith(message)


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


# --- directories from strangers, whose digests are right ----------------------------------------------------------


def forge(directory: Path, *, arrays: dict[str, Any] | None = None, **changes: Any) -> None:
    """Change arrays, settings or top values of a saved model, and make all digests fit."""
    path = directory / model_files.ARRAYS
    save_file({**load_file(path), **(arrays or {})}, path)
    values = model_files.read_toml(directory / model_files.SETTINGS)
    values["arrays"] = hashlib.sha256(path.read_bytes()).hexdigest()
    for name, value in changes.items():
        (values if name in values else values["settings"])[name] = value
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    top = {name: value for name, value in values.items() if name not in tables and name != "digest"}
    top["digest"] = model_files._digest_of_values({**top, **tables})
    (directory / model_files.SETTINGS).write_text(model_files.to_toml(top, tables), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_slots": 10**12}, "num_slots is 1000000000000; a model has at most 10000"),
        ({"num_slots": 9_000}, "matrices.logits has (5, 3, 4), expected (5, 9000, 9001)"),
        ({"num_hops": 10**12}, "num_hops is 1000000000000; a model has at most 10000"),
        ({"num_layers": 10**9}, "num_layers is 1000000000; a model has at most 10000"),
        ({"relations": ["s", "s"]}, "relations has a duplicate or empty name"),
        ({"relations": ["s", ""]}, "relations has a duplicate or empty name"),
        (
            {"arrays": {"calibration": torch.ones(3)}},
            "calibration has (3,), expected (2,)",
        ),
        (
            {"arrays": {"calibration": torch.tensor(1.0)}},
            "calibration has (), expected (2,)",
        ),
        (
            {"arrays": {"types.confidences": torch.ones(2, 4)}},
            "types.confidences has (2, 4), expected (4, 4)",
        ),
        (
            {"arrays": {"types.confidences": torch.full((4, 4), torch.inf)}},
            "the array types.confidences holds numbers that are not finite",
        ),
        (
            {"arrays": {"matrices.logits": torch.full((5, 3, 4), torch.nan)}},
            "the array matrices.logits holds numbers that are not finite",
        ),
        (
            {"arrays": {"matrices.logits": torch.full((5, 3, 4), torch.inf)}},
            "the array matrices.logits holds numbers that are not finite",
        ),
    ],
)
def test_a_directory_from_a_stranger_is_checked_before_it_is_used(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    fitted().save(tmp_path)
    forge(tmp_path)
    Reshuffle.load(tmp_path, device="cpu")  # nothing changed, and nothing to object to
    forge(tmp_path, **changes)
    with pytest.raises(InputError) as caught:
        Reshuffle.load(tmp_path, device="cpu")
    assert message in str(caught.value) and str(caught.value).startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("tensor", "note"),
    [
        ({"model.matrices.logits": torch.ones(2)}, {}),
        ({"draw": torch.ones(2)}, {}),
        ({"generator": torch.ones(2)}, {}),
        ({"adam.x.y": torch.ones(1)}, {}),
        ({}, {"history": "[1]"}),
        ({}, {"patience": "[]"}),
        ({}, {"settings": "3"}),
        ({}, {"history": "[" * 100_000}),
    ],
)
def test_a_checkpoint_from_a_stranger_is_one_clear_error(
    tensor: dict[str, Any], note: dict[str, str], tmp_path: Path
) -> None:
    unfinished = fitted_in(tmp_path)
    with safe_open(unfinished, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        notes = {name: text for name, text in file.metadata().items() if name != "digest"}
    tensors, notes = {**tensors, **tensor}, {**notes, **note}
    save_file(tensors, unfinished, metadata={**notes, "digest": checkpoints._digest(tensors, notes)})
    with pytest.raises(InputError) as caught:
        fitted_in(tmp_path, resume=True, max_epochs=3)
    assert str(caught.value).startswith(f"{unfinished}: ")


def fitted_in(directory: Path, *, resume: bool = False, max_epochs: int = 2) -> Path:
    settings = {"num_slots": 3, "num_channels": 4, "num_layers": 2, "look_every": 1, "max_epochs": max_epochs}
    model = Reshuffle(recipe="paper", device="cpu", **settings)
    model.fit(FACTS, valid=KnowledgeGraph([("p0", "s", "p2")]), directory=directory, resume=resume)
    return directory / "checkpoint.safetensors"


def test_files_hold_the_roles_of_heads_first(tmp_path: Path) -> None:
    """Models of before were written so, and load as they are."""
    train = KnowledgeGraph([("ada", "r", "uk"), ("bob", "r", "uk"), ("bob", "s", "it")])
    model = Reshuffle(num_slots=2, num_layers=1, epoch_steps=1, max_epochs=1, device="cpu").fit(train)
    model.save(tmp_path)
    written, fitted = load_file(tmp_path / ARRAYS)["types.confidences"], model.on(train).type_baseline
    head_of_r, head_of_s = 0, 1
    assert written[head_of_s, head_of_r] == 0.5  # one of the two heads of r is a head of s
    assert fitted.confidences[2 + head_of_s, 2 + head_of_r] == 0.5
    loaded = Reshuffle.load(tmp_path, device="cpu").on(train).type_baseline
    assert np.array_equal(loaded.confidences, fitted.confidences)
    assert np.array_equal(fitted.confidences, TypeBaseline.fit(train).confidences)
