"""Parsing rules as AnyBURL mines them: 2,000 rules over 200 relations, well within a second."""

from __future__ import annotations

import itertools
import random
import time

from benchmarks.speed.measure import describe, write_result

from reshuffle.rules import parse_rules

RULES, RELATIONS, REPEATS = 2_000, 200, 5
BUDGET_SECONDS = 1.0


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
    """Store and print the best of a few runs beside the budget."""
    text = mined_text()
    assert len(parse_rules(text).given) == RULES
    seconds = min(_seconds(text) for _ in range(REPEATS))
    print(f"parsing {RULES} rules over {RELATIONS} relations: {seconds:.3f} s (budget {BUDGET_SECONDS} s)")
    found = {"rules": RULES, "relations": RELATIONS, "seconds": seconds, "budget_seconds": BUDGET_SECONDS}
    write_result("rules", {**describe(["reshuffle"]), **found})


def _seconds(text: str) -> float:
    start = time.perf_counter()
    parse_rules(text)
    return time.perf_counter() - start
