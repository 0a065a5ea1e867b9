"""Would bfloat16 or `torch.compile` help training? Both measured on the plain way of `official.py`, beside our step.

Our loops are kernels of our own, which `torch.compile` cannot change: at most it could save what the step does outside
of them, and that share is measured, too. Shorter numbers are judged by what they do to scores: those of the first
batch's positives, against the same draw in float32.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.speed.measure import run_fresh, write_result
from benchmarks.speed.training import DATASETS, by_device, trainer_and_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OURS, PLAIN, COMPILED, SHORT = "reshuffle", "official way", "compiled", "bfloat16"
STEPS = {"cpu": 2, "cuda": 20}
REPEATS = 2


def run() -> None:
    """Measure on the GPU where there is one, else on the CPU; results of the other are kept."""
    device, known = by_device("alternatives")
    result = {
        "what": "seconds per training step, wall time; the first one of `compiled` compiles",
        "command": "python -m benchmarks.speed alternatives",
        "devices": known,
    }
    for dataset in DATASETS:
        known[device]["datasets"][dataset] = _compared(dataset, device)
        write_result("alternatives", result)


def _compared(dataset: str, device: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number in range(REPEATS):
        for name in (OURS, PLAIN, COMPILED, SHORT):
            one = run_fresh("benchmarks.speed.alternatives:timed", dataset, name, device).value
            print(f"  {number + 1}/{REPEATS} {dataset}, {device}, {name}: {one}", file=sys.stderr)
            if name not in found or one["seconds"] < found[name]["seconds"]:
                found[name] = one
    share = run_fresh("benchmarks.speed.alternatives:outside_of_kernels", dataset, device).value
    rounding = run_fresh("benchmarks.speed.alternatives:rounding", dataset, device).value
    print(f"  {dataset}, {device}: outside of kernels {share}, bfloat16 {rounding}", file=sys.stderr)
    return {"runs": found, "share_outside_of_kernels": share, "bfloat16": rounding}


def timed(dataset: str, contender: str, device: str) -> dict[str, Any]:
    """Contender: the first step, and the mean of some more."""
    import torch
    from benchmarks.speed.official import PlainTraining

    from reshuffle.learning.training.loop import keep_freed_memory

    trainer, batches = trainer_and_batches(dataset, device)
    keep_freed_memory()
    step: Callable[[torch.Tensor], torch.Tensor] = trainer._step
    if contender != OURS:
        plain = PlainTraining(trainer, torch.bfloat16 if contender == SHORT else torch.float32)
        if contender == COMPILED:
            plain._scores = torch.compile(plain._scores)  # type: ignore[method-assign]
        step = plain.step
    seconds = []
    for number in range(1 + STEPS[device]):
        started = _now(device)
        loss = float(step(batches[number % (len(batches) - 1)]))  # whole ones
        seconds.append(_now(device) - started)
    mean = sum(seconds[1:]) / (len(seconds) - 1)
    return {"seconds": round(mean, 5), "first": round(seconds[0], 2), "loss": round(loss, 4)}


def outside_of_kernels(dataset: str, device: str) -> float:
    """The share of our step's time that is not spent in kernels of our own."""
    from reshuffle.learning.training.loop import keep_freed_memory

    trainer, batches = trainer_and_batches(dataset, device)
    keep_freed_memory()
    trainer._plain_step(batches[0])  # compiles
    share = _outside_on_gpu if device == "cuda" else _outside_on_cpu
    return round(share(trainer._plain_step(batch) for batch in batches[1:4]), 3)


def _outside_on_cpu(steps: Iterator[Any]) -> float:
    from reshuffle.model.kernels import cpu

    inside, depth = 0.0, 0

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal inside, depth
            started, depth = time.perf_counter(), depth + 1
            result = function(*arguments, **options)
            depth -= 1
            if depth == 0:  # some call others
                inside += time.perf_counter() - started
            return result

        return call

    own = {
        name: value for name, value in vars(cpu).items() if getattr(value, "__module__", "") == cpu.__name__
    }
    for name, value in own.items():
        if not name.startswith("_"):
            setattr(cpu, name, watched(value))
    started = time.perf_counter()
    for _ in steps:
        pass
    return 1 - inside / (time.perf_counter() - started)


def _outside_on_gpu(steps: Iterator[Any]) -> float:
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in steps:
            pass
        torch.cuda.synchronize()
    times = {event.key: event.self_device_time_total for event in seen.key_averages()}
    # As our functions of Triton are called.
    ours = sum(spent for name, spent in times.items() if name.startswith("_"))
    return 1 - float(ours / sum(times.values()))


def rounding(dataset: str, device: str) -> dict[str, Any]:
    """What bfloat16 does to the scores of positives, from the same draw."""
    import torch
    from benchmarks.speed.official import PlainTraining

    trainer, batches = trainer_and_batches(dataset, device)
    triples, drawn, scores = trainer.examples[batches[0]], trainer.generator.get_state(), []
    with torch.no_grad():
        for kind in (torch.float32, torch.bfloat16):
            trainer.generator.set_state(drawn)
            scores.append(PlainTraining(trainer, kind)._scores(*triples.T))
    long, short = scores
    wrong = ((long == 0) != (short == 0)).float().mean()
    return {
        "mean_difference_in_standard_deviations": round(float((long - short).abs().mean() / long.std()), 4),
        "share_captured": round(float((long == 0).float().mean()), 4),
        "share_captured_in_one_only": round(float(wrong), 4),
    }


def _now(device: str) -> float:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
