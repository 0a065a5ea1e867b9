"""Commands that write are killed at a random moment; what they leave must be whole, and they must go on."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

_SLOW = ["--set=num_slots=4", "--set=num_layers=2", "--set=max_epochs=30", "--set=epoch_steps=5"]


class Kills(Part):
    """SIGKILL while a training or a writer works, then resume or read."""

    name, seconds = "kills", 300

    def made(self, random: Random) -> Case:
        return {
            "verb": random.choice(["train", "infer", "compile"]),
            "after": round(random.uniform(0.3, 8), 2),
        }

    def run(self, case: Case, folder: Path) -> Counts:
        facts = "".join(f"e{n}\tr{n % 3}\te{n * 7 % 101}\n" for n in range(400))
        (folder / "facts.tsv").write_text(facts, "utf-8")
        (folder / "rules.txt").write_text("r0(X, Y) & r0(Y, Z) -> r0(X, Z)\nr1(X, Y) -> r2(Y, X)\n", "utf-8")
        arguments = {
            "train": ["train", "facts.tsv", "-o", "model", *_SLOW, "--device=cpu"],
            "infer": ["infer", "rules.txt", "facts.tsv", "-o", "out.tsv"],
            "compile": ["compile", "rules.txt", "-o", "out.json"],
        }[case["verb"]]
        process = subprocess.Popen(
            _command(arguments), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(case["after"])
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        if case["verb"] == "train":
            _whole(folder, [*arguments, "--resume"] if (folder / "model").exists() else arguments)
            _whole(folder, ["rules", "model"])
        elif (folder / arguments[-1]).exists():
            before = (folder / arguments[-1]).read_bytes()
            _whole(folder, arguments)
            if before != (folder / arguments[-1]).read_bytes():
                raise WrongAnswerError(f"{arguments[-1]} was left half written")
        else:
            _whole(folder, arguments)
        return {"killed": int(process.returncode < 0)}

    def smaller(self, case: Case) -> Iterator[Case]:
        del case  # it is one moment
        yield from ()


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "reshuffle", "-q", *arguments]


def _whole(folder: Path, arguments: list[str]) -> None:
    """Run a command that must succeed."""
    ran = subprocess.run(_command(arguments), cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1) or "Traceback" in ran.stderr:
        raise WrongAnswerError(f"{' '.join(arguments)}: status {ran.returncode}: {ran.stderr[-500:]}")


PARTS = (Kills(),)
