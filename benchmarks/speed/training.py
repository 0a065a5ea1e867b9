"""Training: our step against a plain transcription of the official way of computing (`official.py`), in one run.

Same parameters, triples, batch and settings (the paper's for WN18RR-v1 and FB15k-237-v1). On the CPU the contenders run
with one thread each, of which the processor time counts, so that what else a shared machine does changes little, and
with all threads, of which the wall time counts. On a GPU it is wall time after a warm-up. Ratios are of the best runs.

Much of the plain way's time on a CPU goes into memory that the C library gives back and takes anew in every step. Our
trainings ask it to keep the memory; so that this is not taken for a gain of the kernels, the plain way is also measured
with the same request.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import RESULTS, run_fresh, write_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from reshuffle.learning.training.trainer import Trainer

DATASETS = ("WN18RR-v1", "FB15k-237-v1")
FASTER = 10.0  # what is asked of us: at least
REPEATS = 2
OURS, PLAIN, KEEPING = "reshuffle", "official way", "official way, memory kept"
STEPS = {"cpu": {OURS: 5, PLAIN: 2, KEEPING: 2}, "cuda": {OURS: 40, PLAIN: 10}}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
_MODES: dict[str, dict[str, dict[str, str]]] = {
    "cpu": {"one thread": _ONE_THREAD, "all threads": {"OMP_WAIT_POLICY": "PASSIVE"}},
    "cuda": {"gpu": {}},
}


def run() -> None:
    """Measure on the GPU where there is one, else on the CPU; results of the other are kept."""
    device, known = by_device("training")
    result = {
        "what": "seconds per epoch of training; one thread: processor time, all threads and GPU: wall time",
        "command": "python -m benchmarks.speed training",
        "required": {"times_faster": FASTER, "than": PLAIN},
        "devices": known,
    }
    for dataset in DATASETS:
        modes = {mode: _compared(dataset, device, mode) for mode in _MODES[device]}
        known[device]["datasets"][dataset] = modes
        write_result("training", result)  # a run that is cut short keeps what it has
        for mode, found in modes.items():
            for name, ratio in found["times_faster"].items():
                print(f"{dataset}, {device}, {mode}: {ratio} times faster than the {name}")


def by_device(name: str) -> tuple[str, dict[str, Any]]:
    """The device to measure on, and what is stored of each, with this one's place made anew."""
    import torch
    from benchmarks.result_files import read_document

    device = "cuda" if torch.cuda.is_available() else "cpu"
    stored = RESULTS / f"{name}.json"
    known = read_document(stored)["devices"] if stored.exists() else {}
    known[device] = {**describe(["reshuffle", "torch", "numba"], gpu=device == "cuda"), "datasets": {}}
    return device, known


def _compared(dataset: str, device: str, mode: str) -> dict[str, Any]:
    """The best run of each contender and their ratio; they take turns."""
    best: dict[str, dict[str, Any]] = {}
    for number in range(REPEATS):
        for name, steps in STEPS[device].items():
            found = run_fresh(
                "benchmarks.speed.training:seconds_per_epoch",
                *(dataset, name, device, str(steps), mode),
                environment=_MODES[device][mode],
            )
            value = found.value | {"peak_megabytes": round(found.peak_megabytes)}
            print(f"  {number + 1}/{REPEATS} {dataset}, {mode}, {name}: {value}", file=sys.stderr)
            if name not in best or value["seconds_per_epoch"] < best[name]["seconds_per_epoch"]:
                best[name] = value
    ours, others = best[OURS], [name for name in best if name != OURS]
    if any(abs(ours["loss"] - best[name]["loss"]) > 0.05 for name in others):
        raise SystemExit(f"they do not compute the same: {best}")
    ratios = {name: best[name]["seconds_per_epoch"] / ours["seconds_per_epoch"] for name in others}
    return {"runs": best, "times_faster": {name: round(ratio, 1) for name, ratio in ratios.items()}}


def seconds_per_epoch(dataset: str, contender: str, device: str, steps: str, mode: str) -> dict[str, Any]:
    """Contender: a few steps after one to warm up, as seconds per epoch; and the first loss, to compare."""
    from benchmarks.speed.official import PlainTraining

    from reshuffle.learning.training.loop import keep_freed_memory

    trainer, batches = trainer_and_batches(dataset, device)
    if device == "cpu" and contender != PLAIN:
        keep_freed_memory()
    step = trainer._step if contender == OURS else PlainTraining(trainer).step
    loss = float(step(batches[0]))
    clock = {"one thread": time.process_time, "all threads": time.perf_counter}.get(mode, _synchronised)
    started = clock()
    for number in range(int(steps)):
        step(batches[1 + number % (len(batches) - 2)])  # whole ones
    seconds = (clock() - started) / int(steps) * len(trainer.examples) / trainer.settings.batch_size
    return {"seconds_per_epoch": round(seconds, 5), "steps": int(steps), "loss": round(loss, 4)}


def trainer_and_batches(dataset: str, device: str) -> tuple[Trainer, Sequence[Tensor]]:
    """In the paper's settings, with the batches of a first epoch; all but the last are whole."""
    import torch
    from benchmarks.paper import cell_settings

    from reshuffle.data.load import load_benchmark
    from reshuffle.kg.splits import InductiveBenchmark
    from reshuffle.learning.training.examples import examples_of
    from reshuffle.learning.training.trainer import Trainer

    settings = cell_settings(dataset)
    bench = load_benchmark(dataset)
    assert isinstance(bench, InductiveBenchmark)
    _, data = examples_of(bench.train, None, seed=1)
    trainer = Trainer(data, settings.architecture, settings.training, device=torch.device(device))
    order = torch.randperm(len(trainer.examples), generator=trainer.generator, device=trainer.device)
    return trainer, order.split(settings.training.batch_size)


def _synchronised() -> float:
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()
