"""Attack for some minutes, and tell what came of it; status 1 where something failed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks.attack.registry import PARTS
from benchmarks.attack.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.attack.part import Case

_MOST_TRIES = 300  # to make a failure smaller


@dataclass
class Tally:
    """How many cases of a part were run, and the files of those that failed."""

    cases: int = 0
    failures: list[Path] = field(default_factory=list)


def attack(
    parts: Sequence[str], *, seed: int, folder: Path, seconds: float, most_cases: int | None = None
) -> dict[str, Tally]:
    """Run the parts in turn until the time is over, or each has run so many cases.

    The case number n of a part depends on the seed, the part and n alone.
    """
    worker, ends = Worker(), time.monotonic() + seconds
    tallies = {part: Tally() for part in parts}
    try:
        number = 0
        while time.monotonic() < ends and number != most_cases and parts:
            for part in parts:
                tallies[part].cases += 1
                case = PARTS[part].made(Random(f"{seed}/{part}/{number}"))
                if (found := worker.failure(part, case)) is not None:
                    tallies[part].failures.append(
                        _stored(worker, part, case, found, folder / f"{part}-{seed}-{number}.json")
                    )
            number += 1
    finally:
        worker.stop()
    return tallies


def _stored(worker: Worker, part: str, case: Case, found: str, path: Path) -> Path:
    """Make a failing case smaller while it stays one, and write it down."""
    case, found = shrunk(worker, part, case, found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"part": part, "case": case, "failure": found}, indent=1), encoding="utf-8")
    print(f"{path}: {found.strip().splitlines()[-1][:160]}", file=sys.stderr)
    return path


def shrunk(worker: Worker, part: str, case: Case, found: str) -> tuple[Case, str]:
    """The smallest case that was reached, and how it fails."""
    tries, made_smaller = 0, True
    while made_smaller:
        made_smaller = False
        for smaller in PARTS[part].smaller(case):
            tries += 1
            if tries > _MOST_TRIES:
                return case, found
            if (now := worker.failure(part, smaller)) is not None:
                case, found, made_smaller = smaller, now, True
                break
    return case, found


def replay(path: Path) -> int:
    """Run a stored case again: 1 where it still fails."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    worker = Worker()
    try:
        found = worker.failure(stored["part"], stored["case"])
    finally:
        worker.stop()
    print("passes now" if found is None else found)
    return int(found is not None)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cases", type=int, metavar="N", help="at most N cases of each part")
    parser.add_argument("--seed", type=int, help="of the random cases; by default another one every time")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("attack-failures"), help="where failures go"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run a stored failure again")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        return replay(options.replay)
    seed = int(time.time()) if options.seed is None else options.seed
    print(f"seed {seed}")
    for part in options.parts:
        if (missing := PARTS[part].missing()) is not None:
            print(f"{part}: skipped, {missing}")
    parts = [part for part in options.parts if PARTS[part].missing() is None]
    tallies = attack(
        parts, seed=seed, folder=options.output, seconds=60 * options.minutes, most_cases=options.cases
    )
    for part, tally in tallies.items():
        print(f"{part}: {tally.cases} cases, {len(tally.failures)} failures")
    return int(any(tally.failures for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
