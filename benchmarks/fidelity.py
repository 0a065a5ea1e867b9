"""How far a model, its hardened form and the rules read off it agree: `python -m benchmarks.fidelity MODELS`.

MODELS is a folder of trained models as `reshuffle bench paper --recipe best --models MODELS` leaves them, named by
their cells. Each is compared on the queries of its test graph; results go to `benchmarks/results/fidelity.json`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.reproduction import ROOT
from benchmarks.speed.measure import describe

from reshuffle.extraction import extract_rules
from reshuffle.extraction.fidelity import fidelity
from reshuffle.kg import written_whole
from reshuffle.learning.estimator import Reshuffle
from reshuffle.rules.benchmarks import load_benchmark

RESULTS = ROOT / "benchmarks" / "results" / "fidelity.json"
LENGTH, MOST_RULES = 3, 2000


def compared(folder: Path) -> dict[str, Any]:
    """One model: soft, hardened with its weights and evidence, and as a list of rules with confidences."""
    bench = load_benchmark(folder.name.split(".")[0])
    model = Reshuffle.load(folder, device="cpu")
    started = time.perf_counter()
    rules = extract_rules(model, on=bench.train.facts, max_length=LENGTH, most=MOST_RULES)
    seconds = time.perf_counter() - started
    graph = bench.test.facts
    scorers = {"soft": model.on(graph), "hardened": model.hardened().on(graph), "rules": rules.on(graph)}
    found: dict[str, Any] = {
        "cell": folder.name,
        "rules": len(rules),
        "seconds_to_extract": round(seconds, 1),
    }
    for protocol in ("sampled-50", "full"):
        result = fidelity(scorers, bench.test.queries, protocol=protocol, known=bench.test, unknown="skip")
        found[protocol] = {name: dict(report.to_dict()["metrics"]) for name, report in result.reports.items()}
        found["agreements"] = [vars(agreement) for agreement in result.agreements]
        found["skipped"] = result.skipped
    return found


def main() -> None:
    """Compare every model of a folder."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m benchmarks.fidelity MODELS")
    folders = sorted(path for path in Path(sys.argv[1]).iterdir() if (path / "settings.toml").exists())
    rows = []
    for folder in folders:
        rows.append(compared(folder))
        print(rows[-1], file=sys.stderr)
    result = {
        "what": "soft model, hardened model and extracted rules on the test queries",
        "command": "python -m benchmarks.fidelity MODELS",
        "max_length": LENGTH,
        "most_rules": MOST_RULES,
        **describe(["reshuffle", "torch"]),
        "rows": rows,
    }
    with written_whole(RESULTS) as aside:
        aside.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
