"""This checkout beside an older one, in one run: `python -m benchmarks.beside OLD_CHECKOUT [-o FILE]`.

Each piece of work runs in fresh processes, old and new in turns, by public names that both have. What counts is
processor time with one thread, the best of several runs, so that what else a shared machine does changes little.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.speed.workloads import our_rules

HERE = Path(__file__).parents[1]
REPEATS = 7

# Each defines `work`, which is called once to warm up and then timed.
_REASONING = """
from reshuffle import Reasoner, parse_rules
from reshuffle.kg import read_graph
graph, reasoner = read_graph({train!r}), Reasoner(parse_rules({rules!r}))
def work():
    reasoner.on(graph).counts()
"""
_TRAINING = """
from reshuffle import Reshuffle, load_benchmark
data = load_benchmark({dataset!r}).train
def work():
    Reshuffle(recipe={recipe!r}, epoch_steps={steps}, max_epochs=1, device="cpu").fit(data)
"""
_IMPORT = (
    "import subprocess, sys\ndef work():\n    subprocess.run([sys.executable, '-c', 'import reshuffle'])\n"
)
_HELP = (
    "import subprocess, sys\ndef work():\n"
    "    subprocess.run([sys.executable, '-m', 'reshuffle', '--help'], stdout=subprocess.DEVNULL)\n"
)
_TIMED = """
work()
import resource
def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
best = None
for _ in range({times}):
    before = spent()
    work()
    taken = spent() - before
    best = taken if best is None else min(best, taken)
print(best)
"""


def pieces(train: str) -> dict[str, tuple[str, int]]:
    """Code and how often it is timed in a process."""
    reasoning = {
        name: (_REASONING.format(train=train, rules=our_rules(name)), times)
        for name, times in {"W1": 10, "W2": 5, "W3": 1}.items()
    }
    training = {
        f"training, {recipe}, {dataset}": (
            _TRAINING.format(dataset=dataset, recipe=recipe, steps=steps),
            1,
        )
        for recipe, dataset, steps in (("best", "FB15k-237-v1", 10), ("paper", "NELL-995-v1", 10))
    }
    return {**reasoning, **training, "import reshuffle": (_IMPORT, 20), "--help": (_HELP, 10)}


def seconds(checkout: Path, code: str, times: int) -> float:
    """Of one process."""
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code + _TIMED.format(times=times)],
        env={**os.environ, **one_thread, "PYTHONPATH": str(checkout / "src")},
        cwd=checkout,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout.splitlines()[-1])


def compared(old: Path, code: str, times: int) -> dict[str, float]:
    """The best of each, and new over old."""
    runs = [(seconds(old, code, times), seconds(HERE, code, times)) for _ in range(REPEATS)]
    before, after = (min(found) for found in zip(*runs, strict=True))
    return {"old": round(before, 4), "new": round(after, 4), "ratio": round(after / before, 3)}


def main() -> None:
    """Measure everything and print it."""
    from reshuffle.data import card_of, file_cards, find_files

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="a checkout of the older version")
    parser.add_argument("-o", "--output", type=Path, help="a JSON file for the result")
    parser.add_argument("--only", help="pieces whose names hold this text")
    options = parser.parse_args()
    files = find_files(card_of("WN18RR", file_cards()))
    if files is None:
        raise SystemExit(
            "the files of WN18RR are not here; set RESHUFFLE_DATA to the directory that holds them"
        )
    result = {}
    for name, (code, times) in pieces(str(files.directory / "train.txt")).items():
        if options.only is None or options.only in name:
            result[name] = compared(options.old.resolve(), code, times)
            print(f"{name:36} {result[name]}", flush=True)
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
