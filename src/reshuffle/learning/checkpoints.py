"""Checkpoints: the complete state of a training in one file, written completely or not at all.

Tensors and plain data only (safetensors with a JSON header), so that nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import written_whole
from reshuffle.learning.settings import Settings
from reshuffle.learning.training.history import Epoch, Glance, History, Patience, Underway

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from reshuffle.learning.training.examples import TrainingData
    from reshuffle.learning.training.trainer import Trainer

VERSIONS = ("1", "2")
"""Version 1 was written between epochs only. Both are read; the last is written."""


def save_checkpoint(trainer: Trainer, path: str | Path) -> None:
    """Write the state between two steps: parameters, the best so far, Adam's moments, the generator, the history."""
    chance = trainer.generator.get_state() if trainer.before_look is None else trainer.before_look
    tensors: dict[str, Tensor] = {"generator": chance, "draw": trainer.draw_state}
    if trainer.underway is not None:
        tensors |= {"underway.start": trainer.underway.start, "underway.total": trainer.underway.total}
    for name, value in trainer.model.state_dict().items():
        tensors[f"model.{name}"] = value
    for name, value in trainer.best.items():
        tensors[f"best.{name}"] = value
    for index, moments in trainer.optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            tensors[f"adam.{index}.{name}"] = value
    notes = {
        "version": VERSIONS[-1],
        "settings": json.dumps([asdict(trainer.model.architecture), asdict(trainer.settings)]),
        "data": fingerprint(trainer.data),
        "injected": _injected(trainer),
        "patience": json.dumps(asdict(trainer.patience)),
        "history": json.dumps(asdict(trainer.history)),
        "steps": str(0 if trainer.underway is None else trainer.underway.steps),
    }
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    with written_whole(path) as aside:
        # Not by `save_file`, whose own errors do not say when the disk is full.
        aside.write_bytes(save(tensors, metadata={**notes, "digest": _digest(tensors, notes)}))


def load_checkpoint(trainer: Trainer, path: str | Path) -> None:
    """Restore what `save_checkpoint` wrote; data and settings must be the same, except for the number of epochs."""
    tensors, notes = _read(path)
    try:
        _take_up(trainer, tensors, notes, path)
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        # A digest says that the file is as it was written, not that this program wrote it.
        raise _damaged(path) from error


def _take_up(trainer: Trainer, tensors: dict[str, Tensor], notes: dict[str, str], path: str | Path) -> None:
    _check_same(trainer, notes, Place(str(path)))
    trainer.model.load_state_dict(_part(tensors, "model."))
    trainer.best = {name: value.to(trainer.device) for name, value in _part(tensors, "best.").items()}
    trainer.optimizer.load_state_dict(_adam(trainer.optimizer, _part(tensors, "adam.")))
    trainer.generator.set_state(tensors["generator"])
    if tensors["draw"].shape != trainer.draw_state.shape:
        raise ValueError("draw")
    trainer.draw_state = tensors["draw"]
    if "underway.start" in tensors:
        total = tensors["underway.total"].to(trainer.device)
        trainer.underway = Underway(tensors["underway.start"], total, int(notes["steps"]))
    trainer.patience = Patience(**json.loads(notes["patience"]))
    history = json.loads(notes["history"])
    trainer.history = History(
        [Epoch(**epoch) for epoch in history["epochs"]],
        history["best_epoch"],
        history["seconds"],
        [Glance(**one) for one in history.get("glances", ())],  # older checkpoints have none
    )


def fingerprint(data: TrainingData) -> str:
    """A digest of the triples of a training, validation triples included."""
    digest = hashlib.sha256(f"{data.num_entities} {data.num_relations} {data.symmetric}".encode())
    for triples in (data.triples, data.valid):
        digest.update(triples.tobytes())
    return digest.hexdigest()


def _injected(trainer: Trainer) -> str:
    """A digest of the injected rules; empty where there are none."""
    block, start = trainer.model.injected, trainer.start
    if block is not None:
        return hashlib.sha256(json.dumps(block.constraints.to_dict()).encode()).hexdigest()
    return "" if start is None else hashlib.sha256(start.cpu().numpy().tobytes()).hexdigest()


def _check_same(trainer: Trainer, notes: dict[str, str], place: Place) -> None:
    architecture, training = json.loads(notes["settings"])
    # How long to train may change, unless the learning rate falls over just that time and there is more to train.
    done = len(json.loads(notes["history"])["epochs"])
    if trainer.settings.max_epochs <= done or trainer.settings.schedule == "constant":
        training["max_epochs"] = trainer.settings.max_epochs
    settings = Settings(trainer.model.architecture, trainer.settings)
    if other := settings.differences({**architecture, **training}):
        raise InputError(
            f"this checkpoint was made with other settings: {', '.join(other)}",
            place=place,
            hint="use the original settings, or start again in another directory",
        )
    if notes.get("injected", "") != _injected(trainer):
        raise InputError(
            "this checkpoint was made with other injected rules, or with none",
            place=place,
            hint="give the original rules (--inject), or start again in another directory",
        )
    if notes.get("data", fingerprint(trainer.data)) != fingerprint(trainer.data):
        raise InputError(
            "this checkpoint was made with other triples",
            place=place,
            hint="give the original facts, or start again in another directory",
        )


def _read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            notes = file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise _damaged(path) from error
    if notes.get("version") not in VERSIONS:
        raise InputError(
            f"a checkpoint of version {notes.get('version', 'unknown')}; "
            f"this reshuffle reads versions {', '.join(VERSIONS)}",
            place=Place(str(path)),
            hint="remove it to start again",
        )
    told = {name: note for name, note in notes.items() if name != "digest"}
    # Those of an older reshuffle have none.
    if "digest" in notes and notes["digest"] != _digest(tensors, told):
        raise _damaged(path)
    return tensors, notes


def _damaged(path: str | Path) -> InputError:
    return InputError(
        "not a checkpoint, or an incomplete or damaged one",
        place=Place(str(path)),
        hint="remove it to start again",
    )


def _digest(tensors: dict[str, Tensor], notes: dict[str, str]) -> str:
    """A digest of all that a checkpoint holds, so that a bit that flipped on the disk is noticed."""
    digest = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def _adam(optimizer: torch.optim.Optimizer, moments: dict[str, Tensor]) -> dict[str, object]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in moments.items():
        index, moment = name.split(".")
        state.setdefault(int(index), {})[moment] = value
    return {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
