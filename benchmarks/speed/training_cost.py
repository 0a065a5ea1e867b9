"""How long the default training takes on two cores, beside the minutes that it may take and the recipe of release 0.1.

Each training is a process of its own that may use two cores, after a small one has been trained there, so that kernels
are compiled. `best` is trained to the end: steps, validation, rule list and calibration. Of `best-0.1`, which takes an
hour, some steps are timed, and the time of all its steps follows.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result
from benchmarks.speed.rule_models import CORES, drawn

if TYPE_CHECKING:
    from reshuffle import Reshuffle
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.learning.recipes import Recipe

GRAPHS = {"WN18RR-v1": (None, 300), "FB15k-237": (100_000, 1200)}
"""The training facts of which benchmarks, how many of them at most, and the seconds that are allowed."""
_FEW, _MORE = 5, 25  # steps of the recipe of release 0.1: the difference is what twenty steps take


def run() -> None:
    """Measure and store; says which took longer than allowed."""
    runs = [measured(dataset, most) | {"allowed_seconds": bar} for dataset, (most, bar) in GRAPHS.items()]
    write_result(
        "training_cost",
        {
            "what": "time to train the recipe best on two cores, to the end; of best-0.1 the steps alone, from the "
            f"time of {_MORE - _FEW} of them; kernels compiled before",
            "command": "python -m benchmarks.speed training_cost; facts of FB15k-237 are drawn by seed 0",
            **describe(["reshuffle", "torch", "numpy", "numba"]),
            "cores_used": CORES,
            "runs": runs,
        },
    )
    for one in runs:
        late = "" if one["seconds"] <= one["allowed_seconds"] else ": TOO SLOW"
        print(f"{one['dataset']}: {one['seconds']} s of {one['allowed_seconds']} s{late}")


def measured(dataset: str, most: int | None) -> dict[str, Any]:
    """One graph, both recipes, each in a fresh process."""
    found = run_fresh("benchmarks.speed.training_cost:trained", dataset, str(most or 0))
    print(f"  {dataset}: {found.value}", file=sys.stderr)
    before = run_fresh("benchmarks.speed.training_cost:steps_of_before", dataset, str(most or 0))
    print(f"  {dataset}, best-0.1: {before.value}", file=sys.stderr)
    peak = round(found.peak_megabytes / 1000, 2)
    return {"dataset": dataset, **found.value, "peak_gigabytes": peak, "best-0.1": before.value}


def trained(dataset: str, most: str) -> dict[str, Any]:
    """Contender: the recipe `best`, to the end, on so many facts of a benchmark at most (0 for all)."""
    facts = _prepared(dataset, int(most))
    started, clock = time.perf_counter(), time.process_time()
    model = _model("best").fit(facts)
    return {
        "facts": len(facts),
        "entities": facts.num_entities,
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(time.process_time() - clock, 1),
        "epochs": model.summary()["epochs"],
    }


def steps_of_before(dataset: str, most: str) -> dict[str, Any]:
    """Contender: a few steps of the recipe of release 0.1, and what all of them would take."""
    facts, seconds = _prepared(dataset, int(most)), []
    full = _model("best-0.1")
    total = full.settings.training.max_epochs * (full.settings.training.epoch_steps or 0)
    valid = drawn(dataset, 20)  # a look at few triples costs next to nothing, and the same in both
    for steps in (_FEW, _MORE):
        started = time.perf_counter()
        _model("best-0.1", epoch_steps=steps, max_epochs=1, look_every=1).fit(facts, valid=valid)
        seconds.append(time.perf_counter() - started)
    each = (seconds[1] - seconds[0]) / (_MORE - _FEW)
    return {"seconds_per_step": round(each, 3), "steps": total, "seconds_of_all_steps": round(total * each)}


def _model(recipe: Recipe, **changes: Any) -> Reshuffle:
    from reshuffle import Reshuffle

    return Reshuffle(recipe=recipe, seed=1, device="cpu", **changes)


def _prepared(dataset: str, most: int) -> KnowledgeGraph:
    """The facts, when kernels are compiled and two cores are chosen."""
    from reshuffle.data.families import families

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    small = families(size=20).benchmark.train.facts
    recipes: tuple[Recipe, ...] = ("best", "best-0.1")
    for recipe in recipes:
        _model(recipe, epoch_steps=2, max_epochs=1, look_every=1).fit(small)
    return drawn(dataset, most)
