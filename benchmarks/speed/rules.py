"""What is done with rules as AnyBURL mines them, 2,000 over 200 relations; and the embedded families."""

from __future__ import annotations

import itertools
import random
import time
from typing import TYPE_CHECKING

from benchmarks.machine import describe
from benchmarks.speed.measure import write_result

from reshuffle.data.families import families
from reshuffle.learning.injection import choose_rules
from reshuffle.rules import parse_rules
from reshuffle.rules.classes import classify

if TYPE_CHECKING:
    from collections.abc import Callable

RULES, RELATIONS, REPEATS = 2_000, 200, 5


def mined_text(seed: int = 0) -> str:
    """Rules of one to three atoms with Freebase-like names, a third of the atoms backwards."""
    chance = random.Random(seed)
    relations = [f"/film/film/relation_{number}./award/nomination" for number in range(RELATIONS)]
    return "\n".join(_mined_rule(chance, relations) for _ in range(RULES))


def _mined_rule(chance: random.Random, relations: list[str]) -> str:
    variables = ["X", *"AB"[: chance.randrange(3)], "Y"]
    atoms = []
    for ends in itertools.pairwise(variables):
        start, end = reversed(ends) if chance.random() < 1 / 3 else ends
        atoms.append(f"{chance.choice(relations)}({start},{end})")
    predictions = chance.randint(10, 1_000)
    support = chance.randint(1, predictions)
    columns = f"{predictions}\t{support}\t{support / predictions}"
    return f"{columns}\t{chance.choice(relations)}(X,Y) <= {', '.join(atoms)}"


def run() -> None:
    """Store and print the best of a few runs of each, beside the seconds it may take."""
    text = mined_text()
    rules = parse_rules(text)
    assert len(rules.given) == RULES
    found = {
        "parse": _measured("parse the rules", lambda: parse_rules(text), budget=1.0),
        "classify": _measured("classify them", lambda: classify(rules), budget=1.0),
        "choose": _measured("choose those to inject", lambda: choose_rules(rules), budget=10.0, repeats=1),
        "families": _measured("generate the families", lambda: families(3), budget=0.5),
    }
    write_result("rules", {**describe(["reshuffle"]), "rules": RULES, "relations": RELATIONS, **found})


def _measured(
    name: str, work: Callable[[], object], *, budget: float, repeats: int = REPEATS
) -> dict[str, float]:
    seconds = min(_seconds(work) for _ in range(repeats))
    print(f"{name}: {seconds:.3f} s (budget {budget} s)")
    return {"seconds": round(seconds, 4), "budget_seconds": budget}


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
