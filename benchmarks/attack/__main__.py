"""Attack for some minutes, and tell what came of it; status 1 where something failed."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.attack.registry import PARTS
from benchmarks.attack.worker import Worker
from benchmarks.machine import describe
from benchmarks.result_files import write_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.attack.part import Case

_MOST_TRIES = 300  # to make a failure smaller
_MOST_SECONDS = 300.0  # for the same
_MOST_FAILURES = 20  # of a part, which then has shown enough
_COMPARED_WITH = ("numpy", "numba", "pyarrow")


@dataclass
class Tally:
    """How many cases of a part were run and for how long, what they counted, and the files of those that failed."""

    cases: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        counted = "".join(f", {count:,} {what}" for what, count in sorted(self.counts.items()))
        return f"{self.cases:,} cases, {len(self.failures)} failures{counted}"

    def is_over(self, most_cases: int | None) -> bool:
        """Were there enough cases, or enough failures?"""
        return self.cases == most_cases or len(self.failures) >= _MOST_FAILURES

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without paths."""
        return {
            "cases": self.cases,
            "failures": len(self.failures),
            "seconds": round(self.seconds, 1),
            "counts": dict(sorted(self.counts.items())),
        }


def attack(
    parts: Sequence[str],
    *,
    seed: int,
    folder: Path,
    seconds: float,
    most_cases: int | None = None,
    first: int = 0,
) -> dict[str, Tally]:
    """Run the parts until the time is over, or each has run so many cases; all get the same share of the time.

    The case number n of a part depends on the seed, the part and n alone.
    """
    worker, ends = Worker(), time.monotonic() + seconds
    tallies = {part: Tally() for part in parts}
    waiting = list(parts)
    try:
        while waiting and time.monotonic() < ends:
            part = min(waiting, key=lambda name: tallies[name].seconds)
            _one_more(worker, part, tallies[part], seed=seed, folder=folder, first=first)
            waiting = [name for name in parts if not tallies[name].is_over(most_cases)]
    finally:
        worker.stop()
    return tallies


def _one_more(worker: Worker, part: str, tally: Tally, *, seed: int, folder: Path, first: int) -> None:
    """Run the next case of a part; a failure is told, with how to see it again."""
    began, number = time.monotonic(), first + tally.cases
    case = PARTS[part].made(Random(f"{seed}/{part}/{number}"))
    found = worker.outcome(part, case)
    tally.cases += 1
    tally.counts.update(found.counts)
    if found.failure is not None:
        path = folder / f"{part}-{seed}-{number}.json"
        tally.failures.append(_stored(worker, part, case, found.failure, path))
        again = f"--seed {seed} --parts {part} --first {number} --cases 1"
        print(f"  again: python -m benchmarks.attack {again}", file=sys.stderr)
        print(
            f"  made smaller: python -m benchmarks.attack --replay {shlex.quote(str(path))}", file=sys.stderr
        )
    tally.seconds += time.monotonic() - began


def _stored(worker: Worker, part: str, case: Case, found: str, path: Path) -> Path:
    """Make a failing case smaller while it stays one, and write it down."""
    case, found = shrunk(worker, part, case, found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"part": part, "case": case, "failure": found}, indent=1), encoding="utf-8")
    print(f"{path}: {found.strip().splitlines()[-1][:160]}", file=sys.stderr)
    return path


def shrunk(worker: Worker, part: str, case: Case, found: str) -> tuple[Case, str]:
    """The smallest case that was reached, and how it fails."""
    tries, ends, made_smaller = 0, time.monotonic() + _MOST_SECONDS, True
    while made_smaller:
        made_smaller = False
        for smaller in PARTS[part].smaller(case):
            tries += 1
            if tries > _MOST_TRIES or time.monotonic() > ends:
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


def document(tallies: dict[str, Tally], *, seed: int, command: str, skipped: Sequence[str]) -> dict[str, Any]:
    """The run as a result file holds it: how it was made, and the counts of each part."""
    return {
        "about": {"command": command, "seed": seed, **describe(_COMPARED_WITH)},
        "parts": {part: tally.to_dict() for part, tally in tallies.items()},
        "skipped": list(skipped),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cases", type=int, metavar="N", help="at most N cases of each part")
    parser.add_argument("--first", type=int, metavar="N", default=0, help="begin with case N of each part")
    parser.add_argument("--seed", type=int, help="of the random cases; by default another one every time")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("attack-failures"), help="where failures go"
    )
    parser.add_argument("--result", type=Path, metavar="FILE", help="write the counts as JSON")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run a stored failure again")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = _parser().parse_args(arguments)
    if options.replay is not None:
        return replay(options.replay)
    seed = int(time.time()) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    skipped = {part: why for part in options.parts if (why := PARTS[part].missing()) is not None}
    for part, why in skipped.items():
        print(f"{part}: skipped, {why}", flush=True)
    tallies = attack(
        [part for part in options.parts if part not in skipped],
        seed=seed,
        folder=options.output,
        seconds=60 * options.minutes,
        most_cases=options.cases,
        first=options.first,
    )
    for part, tally in tallies.items():
        print(f"{part}: {tally}")
    if options.result is not None:
        command = f"python -m benchmarks.attack --minutes {options.minutes:g} --seed {seed}"
        write_document(options.result, document(tallies, seed=seed, command=command, skipped=list(skipped)))
    return int(any(tally.failures for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
