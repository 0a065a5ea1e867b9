"""Does it help to inject known rules where there are few facts? `python -m benchmarks.injection run`, then `page`.

Families, of whose training facts a small share is kept. Each way is trained with each learning rate, and the one that
ranks the validation triples of the training population best is evaluated on the other population, with all its facts.
Cells that stand in the result file are not run again.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import mean, stdev
from typing import Any

import numpy as np
from benchmarks.machine import processor_name
from benchmarks.pages import markdown_table, rewrite
from benchmarks.result_files import RESULTS, ROOT, Results, read_results, write_results

from reshuffle.data.families import families
from reshuffle.evaluation import evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.settings import Settings
from reshuffle.rules import RuleBase

INJECTION = RESULTS / "injection.jsonl"
PAGE = ROOT / "docs" / "how-to" / "inject-rules.md"
SHARES, SEEDS, RATES = (0.05, 0.1), (1, 2, 3), (0.01, 0.03)
SETTINGS: dict[str, Any] = {"num_slots": 40, "max_epochs": 4, "epoch_steps": 50, "look_every": 1}
WAYS = {
    "no": "nothing",
    "half": "every other rule, frozen",
    "refine": "all rules, refined",
    "frozen": "all rules, frozen",
}


def some_facts(facts: KnowledgeGraph, share: float, seed: int) -> KnowledgeGraph:
    """A share of the facts of each relation, and at least one: without any, nobody could be asked about it."""
    chance = np.random.default_rng(seed)
    kept = []
    for relation in range(len(facts.relations)):
        rows = np.flatnonzero(facts.relation_ids == relation)
        kept.append(chance.permutation(rows)[: max(1, round(share * len(rows)))])
    rows = np.sort(np.concatenate(kept))
    columns = (facts.heads[rows], facts.relation_ids[rows], facts.tails[rows])
    return KnowledgeGraph.from_ids(*columns, entities=facts.entities, relations=facts.relations)


def cell(way: str, share: float, seed: int, rate: float) -> dict[str, Any]:
    """Train on a share of the facts, and rank the queries of the other population."""
    demo = families(seed=seed)
    rules = {"no": None, "half": RuleBase(demo.rules.rules[::2])}.get(way, demo.rules)
    train, test = demo.benchmark.train, demo.benchmark.test
    model = Reshuffle(recipe="best-0.1", device="cpu", seed=seed, learning_rate=rate, **SETTINGS)
    started = time.perf_counter()
    facts = some_facts(train.facts, share, seed)
    model.fit(facts, valid=train.valid, inject=rules, inject_mode="refine" if way == "refine" else "frozen")
    seconds = time.perf_counter() - started
    report = evaluate(model.on(test.facts), test.queries, protocol="full", known=test)
    metrics = {name: report.to_dict()["metrics"][name] for name in ("mrr", "hits@1", "hits@10")}
    return {
        "way": way, "share": share, "seed": seed, "learning_rate": rate, "facts": len(facts),
        "rules": 0 if rules is None else len(rules), "validation": model.summary()["mrr"], "metrics": metrics,
        "seconds": round(seconds, 1),
    }  # fmt: skip


def stored() -> Results:
    """What has been run, if it was run with the present settings."""
    settings = Settings.of("best-0.1", **SETTINGS)
    found = read_results(INJECTION)
    if settings.differences(found.about.get("settings", {})) and found.about:
        raise SystemExit(
            f"{INJECTION.name} is of other settings than this would be\n  hint: remove it, and all is run again"
        )
    made = {
        "command": "python -m benchmarks.injection run",
        "hardware": f"{processor_name()}, one thread",
        "settings": settings,
        "protocol": "full",
    }
    return Results(found.about or made, found.rows)


def run() -> None:
    """Run the cells that are missing."""
    for share in SHARES:
        for seed in SEEDS:
            for way in WAYS:
                for rate in RATES:
                    _run_one(way, share, seed, rate)


def _run_one(way: str, share: float, seed: int, rate: float) -> None:
    results = stored()
    key = (way, share, seed, rate)
    if any((c["way"], c["share"], c["seed"], c["learning_rate"]) == key for c in results.rows):
        return
    results.rows.append(cell(*key))
    print(json.dumps(results.rows[-1]), file=sys.stderr, flush=True)
    write_results(INJECTION, results)


def chosen(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each way, share and seed the cell with the best validation result."""
    best: dict[tuple[str, float, int], dict[str, Any]] = {}
    for one in cells:
        key = (one["way"], one["share"], one["seed"])
        if key not in best or one["validation"] > best[key]["validation"]:
            best[key] = one
    return list(best.values())


def table() -> str:
    """Means over seeds, by share of facts and way to inject."""
    cells = chosen(stored().rows)
    header = ["training facts", "injected", "MRR", "spread", "Hits@1", "Hits@10"]
    lines: list[list[str]] = []
    for share in SHARES:
        for way, words in WAYS.items():
            rows = [one for one in cells if (one["way"], one["share"]) == (way, share)]
            mrr, first, tenth = (
                [one["metrics"][name] for one in rows] for name in ("mrr", "hits@1", "hits@10")
            )
            facts = (
                f"{share:.0%} ({min(one['facts'] for one in rows)} to {max(one['facts'] for one in rows)})"
            )
            numbers = (mean(mrr), stdev(mrr), mean(first), mean(tenth))
            lines.append([facts, words, *(f"{number:.3f}" for number in numbers)])
    return markdown_table(header, lines, right=[name for name in header if name != "injected"])


def made_tables() -> dict[str, str]:
    """All tables of the page, by name."""
    return {"table": table()}


def page() -> None:
    """Rewrite the page."""
    rewrite(PAGE, made_tables())


if __name__ == "__main__":
    {"run": run, "page": page}[sys.argv[1]]()
