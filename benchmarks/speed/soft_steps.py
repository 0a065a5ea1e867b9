"""Processor seconds of a step of the recipe `best`, with questions of one head side by side and without.

Both train on the same facts, in processes of their own that take turns. Without, each question has a channel of its
own, as in release 0.2.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result
from benchmarks.speed.rule_models import drawn

GRAPHS = {"FB15k-237": 0, "FB15k-237, 100,000 facts": 100_000}
_STEPS, _SKIPPED, _TURNS = 8, 2, 2
_REQUIRED = 3.0
"""How many times faster a step on FB15k-237 has to be."""


def run() -> None:
    """Measure and store; says whether it is fast enough."""
    rows: list[dict[str, Any]] = []
    for name, most in GRAPHS.items():
        seconds: dict[str, list[float]] = {"apart": [], "together": []}
        for _ in range(_TURNS):
            for how, found in seconds.items():
                found.append(run_fresh("benchmarks.speed.soft_steps:timed", str(most), how).value)
        apart, together = (min(found) for found in seconds.values())
        rows.append(
            {
                "graph": name,
                "apart": round(apart, 3),
                "together": round(together, 3),
                "times_faster": round(apart / together, 2),
            }
        )
        print(rows[-1])
    write_result(
        "soft_steps",
        {
            "what": "processor seconds of a training step of best without its rule list, the best of "
            f"{_TURNS} means over {_STEPS - _SKIPPED} steps; questions of one head apart and together",
            "command": "python -m benchmarks.speed soft_steps; facts are drawn by seed 0",
            **describe(["reshuffle", "torch", "numpy", "numba"]),
            "required": _REQUIRED,
            "rows": rows,
        },
    )
    print("" if rows[0]["times_faster"] >= _REQUIRED else "TOO SLOW")


def timed(most: str, how: str) -> float:
    """Contender: the mean processor seconds of steps, the first ones left out."""
    from reshuffle import Reshuffle
    from reshuffle.learning.training import trainer as module

    if how == "apart":
        module.MANY_FACTS = 10**9
    marks: list[float] = []
    step = module.Trainer._step

    def measured(self: module.Trainer, batch: Any) -> Any:
        marks.append(time.process_time())
        return step(self, batch)

    module.Trainer._step = measured  # type: ignore[method-assign] # the steps alone, without what comes before and after
    model = Reshuffle(
        seed=1,
        device="cpu",
        rules_weight=0.0,
        epoch_steps=_STEPS + 1,
        max_epochs=1,
        look_every=1,
    )
    model.fit(drawn("FB15k-237", int(most)), valid=drawn("FB15k-237", 20))
    return (marks[_STEPS] - marks[_SKIPPED]) / (_STEPS - _SKIPPED)
