"""Does a graph of a million facts and 100,000 entities train, and in how much memory?

Some steps are timed and a look at validation triples is taken, by the recipe `best` without its rule list, on the GPU
where there is one and on two cores otherwise; memory does not depend on the number of steps. The row of the other
device stays in the result file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np
from benchmarks.machine import describe
from benchmarks.speed.measure import RESULTS, run_fresh, write_result
from benchmarks.speed.rule_models import CORES

FACTS, ENTITIES, RELATIONS, SEED = 1_000_000, 100_000, 50, 0
ALLOWED_GIGABYTES = 16
_STEPS = {"cpu": 2, "cuda": 50}  # of an epoch; of three epochs the second is timed
_VALID = 200  # triples


def run() -> None:
    """Measure on the GPU where there is one, and on two cores otherwise."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    found = run_fresh("benchmarks.speed.training_size:trained", device)
    row = {"device": device, **found.value, "peak_gigabytes": round(found.peak_megabytes / 1000, 1)}
    print(f"  {row}", file=sys.stderr)
    file = RESULTS / "training_size.json"
    before = json.loads(file.read_text(encoding="utf-8"))["runs"] if file.is_file() else []
    about = describe(["reshuffle", "torch", "numpy", "numba"], gpu=device == "cuda")
    runs = [one for one in before if one["device"] != device] + [row | about]
    write_result(
        "training_size",
        {
            "what": f"steps of the recipe best on {FACTS:,} random facts about {ENTITIES:,} entities, {RELATIONS} "
            "relations, and a validation; without its rule list",
            "command": f"python -m benchmarks.speed training_size; facts are drawn by seed {SEED}",
            "allowed_gigabytes": ALLOWED_GIGABYTES,
            "runs": sorted(runs, key=lambda one: str(one["device"])),
        },
    )
    late = "" if row["peak_gigabytes"] <= ALLOWED_GIGABYTES else ": TOO MUCH"
    print(f"{device}: {row['seconds_per_step']} s per step, {row['peak_gigabytes']} GB{late}")


def triples(count: int, seed: int) -> np.ndarray:  # fact column
    """Random facts: heads alike, tails and relations by power laws, so that some entities have very many."""
    random = np.random.default_rng(seed)
    heads = random.integers(0, ENTITIES, count)
    tails = (ENTITIES * random.random(count) ** 3).astype(np.int64)
    relations = (RELATIONS * random.random(count) ** 2).astype(np.int64)
    return np.stack([heads, relations, tails], axis=1)


def trained(device: str) -> dict[str, Any]:
    """Contender: a few steps on a device."""
    import torch

    from reshuffle import Reshuffle
    from reshuffle.kg import KnowledgeGraph

    def graph(count: int, seed: int) -> KnowledgeGraph:
        return KnowledgeGraph((f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples(count, seed).tolist())

    few: dict[str, Any] = {
        "epoch_steps": _STEPS[device],
        "max_epochs": 3,
        "look_every": 3,
        "rules_weight": 0.0,
    }
    if device == "cpu" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    facts, valid = graph(FACTS, SEED), graph(_VALID, SEED + 1)
    model, started = Reshuffle(seed=1, device=device, **few), time.perf_counter()
    marks: list[float] = []
    model.fit(facts, valid=valid, after_epoch=lambda _epoch: marks.append(time.perf_counter()))
    training = model.settings.training
    memory = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else None
    return {
        "facts": len(facts),
        "entities": facts.num_entities,
        "steps": training.epoch_steps * training.max_epochs,
        "seconds_per_step": round((marks[1] - marks[0]) / training.epoch_steps, 3),
        "seconds": round(time.perf_counter() - started, 1),
        "gpu_gigabytes": None if memory is None else round(memory, 1),
    }
