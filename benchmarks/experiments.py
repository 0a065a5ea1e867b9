"""The paper's experiments, cell by cell: a data set, a recipe, a variant, a seed.

A cell is trained in pieces: it leaves a checkpoint when its time is up, when it is interrupted, and now and then
before, in case it is killed, and the next run goes on from there. A finished cell is stored (`benchmarks.cells`) and
never run again; one that was run with other settings is refused.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from benchmarks.machine import device_name, versions

from reshuffle.data.load import load_benchmark
from reshuffle.errors import InputError
from reshuffle.evaluation import evaluate
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg.splits import InductiveBenchmark
from reshuffle.learning.checkpoints import load_checkpoint
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.listed import rule_list_of
from reshuffle.learning.training.examples import TrainingData
from reshuffle.learning.training.loop import Pace, progress_note
from reshuffle.learning.training.saving import SECONDS_BETWEEN, Saving, stop_requests
from reshuffle.learning.training.trainer import Trainer
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.hardening import hardened
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.cells import Bench, Cell
    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.learning.settings import Settings
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.progress import Progress
    from reshuffle.rulelist.rule_model import RuleModel

PROTOCOLS = ("sampled-50", "sampled-50-official-code", "full")
FACTS_ONLY = "full-facts"  # of the best recipe besides: what others report


def run_cell(
    cell: Cell,
    bench: Bench,
    *,
    device: torch.device,
    seconds: float | None = None,
    seconds_between: float = SECONDS_BETWEEN,
    progress: Progress = SILENT,
    models: Path | None = None,
) -> dict[str, Any] | None:
    """Train and evaluate a cell, or return what is stored; None when the time was up before the training was done.

    `seconds`: until then, reading the data included; one epoch is trained in any case.
    `seconds_between`: checkpoints, that is how much a kill may lose. `models`: a folder to keep the trained models in.
    """
    deadline = None if seconds is None else time.perf_counter() + seconds
    if (finished := bench.finished(cell)) is not None:
        return finished
    data = load_benchmark(cell.dataset)
    if not isinstance(data, InductiveBenchmark):
        raise InputError(
            f"'{cell.dataset}' is not an inductive benchmark", hint="`reshuffle data list` shows the kinds"
        )
    settings = bench.settings_of(cell)
    trainer = _trainer(data, settings, device)
    rest = bench.checkpoint_path(cell)
    if rest.exists():
        load_checkpoint(trainer, rest)
    if not _train(trainer, rest, deadline, seconds_between, progress):
        return None
    listed = rule_list_of(data.train.facts, settings, progress=progress)
    result = {
        **_described(cell, settings, trainer, device),
        "results": _evaluated(trainer.model, listed, cell, data, progress),
    }
    if cell.recipe != "paper":  # its page has no table of hardened models
        result["hardened"] = _evaluated(hardened(trainer.model, paths=True), listed, cell, data, progress)
    if models is not None:
        Reshuffle.trained(trainer, data.train.facts, settings, listed=listed).save(models / cell.name)
    bench.store(result)
    rest.unlink(missing_ok=True)
    return result


def _trainer(data: InductiveBenchmark, settings: Settings, device: torch.device) -> Trainer:
    facts, valid = data.train.facts, data.train.valid
    triples = TrainingData(_ids(facts), _ids(valid), facts.num_entities, len(facts.relations))
    return Trainer(triples, settings.architecture, settings.training, device=device)


def _ids(graph: KnowledgeGraph) -> NDArray[np.int64]:
    """The parts of a benchmark share their vocabularies, so ids need no mapping."""
    return np.stack([graph.heads, graph.relation_ids, graph.tails], axis=1).astype(np.int64)


def _train(
    trainer: Trainer, rest: Path, deadline: float | None, seconds_between: float, progress: Progress
) -> bool:
    """Train to the end, or to the first epoch after the time is up."""
    rest.parent.mkdir(parents=True, exist_ok=True)
    trainer.progress = progress
    with (
        stop_requests() as request,
        progress("training", total=trainer.settings.max_epochs, unit="epoch") as report,
    ):
        saving = Saving(trainer, rest, request, seconds_between=seconds_between)
        report(len(trainer.history.epochs))
        pace = Pace(trainer)
        trainer.after_step = lambda step: report(0, pace.after_step(step))
        for epoch in trainer.epochs():
            pace.told = note = progress_note(trainer, epoch)
            report(1, note)
            time_is_up = deadline is not None and time.perf_counter() > deadline
            if time_is_up or trainer.finished or saving.is_due:
                saving.save()
            if time_is_up:
                return False
            request.follow()
    return True


def _evaluated(
    model: ReshuffleModel,
    listed: RuleModel | None,
    cell: Cell,
    data: InductiveBenchmark,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The best epoch on the test graph, under every protocol; the type baseline is fitted on the training facts."""
    protocols = (*PROTOCOLS, FACTS_ONLY) if cell.recipe == "best" else PROTOCOLS
    answers = ModelAnswers(
        model.eval(),
        tuple(data.train.facts.relations),
        data.test.facts,
        seed=cell.seed,
        training_types=TypeBaseline.fit(data.train.facts),
        listed=listed,
    )
    reports = [
        evaluate(
            answers,
            data.test.queries,
            protocol=protocol,
            known=data.test,
            seed=cell.seed,
            progress=progress,
        )
        for protocol in protocols
    ]
    return [report.to_dict() for report in reports]


def _described(cell: Cell, settings: Settings, trainer: Trainer, device: torch.device) -> dict[str, Any]:
    looked = [epoch for epoch in trainer.history.epochs if epoch.hits_at_10 is not None]
    best = next((epoch for epoch in looked if epoch.number == trainer.history.best_epoch), None)
    return {
        "dataset": cell.dataset,
        "recipe": cell.recipe,
        "variant": cell.variant,
        "seed": cell.seed,
        "command": f"reshuffle bench paper --dataset {cell.dataset} --seeds {cell.seed} --recipe {cell.recipe} "
        f"--variant {cell.variant}",
        "hardware": device_name(device),
        "versions": versions(["reshuffle", "torch", "numpy"]),
        "settings": settings.to_dict(),
        "training": {
            "seconds": round(trainer.history.seconds, 1),
            "epochs": len(trainer.history.epochs),
            "best_epoch": trainer.history.best_epoch,
            "validation": None if best is None else {"hits@10": best.hits_at_10, "mrr": best.mrr},
            "peak_gigabytes": round(torch.cuda.max_memory_allocated(device) / 2**30, 2)
            if device.type == "cuda"
            else None,
        },
    }
