"""How much a rejected link should count when a rule list is fitted again: `python -m benchmarks.decisions`.

A quarter of the facts of a training graph is hidden. A list is learned from the rest. A judge who knows the hidden
facts decides about its most likely links: hidden facts are accepted, others rejected. Then the list is fitted again
with the accepted links as facts, and with the rejected ones at each weight (`reshuffle.rulelist.rejected_links`).
Measured are the share of hidden facts among the next links, which nobody has decided about, and the MRR of hidden facts
that nobody has accepted. No test graph is looked at.

Rule of decision, written down before the run: of the weights whose mean MRR is less than .002 below that of weight 1,
the one with the largest mean share; of equal ones the smallest.
"""

from __future__ import annotations

import sys
import time
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.machine import describe
from benchmarks.result_files import RESULTS, Results, read_results, write_results

from reshuffle.data.load import load_benchmark
from reshuffle.evaluation import evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.rulelist import learn_rules, refit

if TYPE_CHECKING:
    from reshuffle.kg import Triple
    from reshuffle.rulelist import RuleModel

DATASETS = ("FB15k-237-v2", "NELL-995-v2", "WN18RR-v2")
SEEDS = (1, 2)
WEIGHTS = (1, 3, 10, 30, 100)
DECIDED, NEXT, RANKED = 200, 200, 1_000
TARGET = RESULTS / "decisions.jsonl"
_NOT_WORSE = 0.002


def cells(dataset: str, seed: int) -> list[dict[str, Any]]:
    """One row for each weight, and one for the list as it was."""
    every = load_benchmark(dataset).train.facts  # type: ignore[union-attr] # all of them have two graphs
    order = np.random.default_rng(seed).permutation(len(every))
    triples = list(every)
    shown = KnowledgeGraph(triples[place] for place in order[len(order) // 4 :])
    hidden = KnowledgeGraph(triples[place] for place in order[: len(order) // 4])
    before = learn_rules(shown)
    judged = [link.triple for link in before.on(shown).missing(top=DECIDED)]
    accepted = [triple for triple in judged if triple in hidden]
    rejected = [triple for triple in judged if triple not in hidden]
    asked = _asked(hidden, shown, accepted, seed)
    about = {"dataset": dataset, "seed": seed, "accepted": len(accepted), "rejected": len(rejected)}
    rows = [{**about, "weight": None, **_measured(before, shown, hidden, asked, set(judged))}]
    known = shown | KnowledgeGraph(accepted) if accepted else shown
    for weight in WEIGHTS:
        started = time.process_time()
        model = refit(before, known, rejected=rejected, weight=weight)
        seconds = round(time.process_time() - started, 1)
        measured = _measured(model, known, hidden, asked, set(judged))
        rows.append({**about, "weight": weight, **measured, "processor_seconds": seconds})
    return rows


def _asked(
    hidden: KnowledgeGraph, shown: KnowledgeGraph, accepted: list[Triple], seed: int
) -> KnowledgeGraph:
    """Hidden facts to rank: of known entities and relations, and not accepted."""
    gone = set(accepted)
    left = [
        triple
        for triple in hidden
        if triple not in gone
        and triple.head in shown.entities
        and triple.tail in shown.entities
        and triple.relation in shown.relations
    ]
    places = np.random.default_rng(seed).permutation(len(left))[:RANKED]
    return KnowledgeGraph(left[place] for place in places)


def _measured(
    model: RuleModel,
    facts: KnowledgeGraph,
    hidden: KnowledgeGraph,
    asked: KnowledgeGraph,
    decided: set[Triple],
) -> dict[str, Any]:
    answers = model.on(facts)
    links = [link.triple for link in answers.missing(top=DECIDED + NEXT)]
    new = [triple for triple in links if triple not in decided][:NEXT]
    report = evaluate(answers, asked, protocol="full", known=[facts, hidden], baseline=False)
    return {"share": mean(triple in hidden for triple in new), "links": len(new), "mrr": report["mrr"]}


def chosen(rows: list[dict[str, Any]]) -> int:
    """The weight that the rule of decision takes."""
    means = {weight: _means(rows, weight) for weight in WEIGHTS}
    good = [weight for weight in WEIGHTS if means[weight][1] > means[WEIGHTS[0]][1] - _NOT_WORSE]
    return max(good, key=lambda weight: (round(means[weight][0], 6), -weight))


def _means(rows: list[dict[str, Any]], weight: int | None) -> tuple[float, float]:
    here = [row for row in rows if row["weight"] == weight]
    return mean(row["share"] for row in here), mean(row["mrr"] for row in here)


def main() -> None:
    """Run the cells that are missing, and print the means."""
    results = read_results(TARGET)
    if not results.about:
        results = Results({"command": "python -m benchmarks.decisions", **describe(["numpy", "numba"])})
    for dataset in DATASETS:
        for seed in SEEDS:
            if not any((row["dataset"], row["seed"]) == (dataset, seed) for row in results.rows):
                results.rows += cells(dataset, seed)
                write_results(TARGET, results)
    for weight in (None, *WEIGHTS):
        share, mrr = _means(results.rows, weight)
        print(f"{'not fitted again' if weight is None else weight}: share {share:.3f}, MRR {mrr:.4f}")
    print(f"chosen: {chosen(results.rows)}", file=sys.stderr)


if __name__ == "__main__":
    main()
