"""What can be ranked, and what `evaluate` says of the rest."""

from __future__ import annotations

import pytest

import reshuffle
from reshuffle.errors import InputError
from reshuffle.evaluation import RuleBaseline, evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.splits import TransductiveBenchmark
from reshuffle.rules import PathRule, Quality, RuleBase

FACTS = KnowledgeGraph([("ada", "bornIn", "uk"), ("bob", "bornIn", "italy"), ("eve", "livesIn", "italy")])
RULES = RuleBase((PathRule(("bornIn",), "livesIn", Quality(10, 8, 0.8)),))


@pytest.mark.parametrize("what", ["model", "rules", "answers"])
def test_what_has_no_scores_is_refused(what: str) -> None:
    reasoner = reshuffle.Reasoner(RULES)
    given = {"model": RuleBaseline(RULES), "rules": reasoner, "answers": reasoner.on(FACTS)}[what]
    with pytest.raises(InputError) as caught:
        evaluate(given, [("bob", "livesIn", "italy")])  # type: ignore[arg-type]
    name = {"model": "RuleBaseline", "rules": "Reasoner", "answers": "GeometryAnswers"}[what]
    assert str(caught.value) == (
        f"{name} has no scores for ranking\n"
        "  hint: put a model on a graph first, model.on(facts); rules rank by their confidences as "
        "reshuffle.evaluation.RuleBaseline(rules).on(facts)"
    )


def test_what_are_no_queries_is_refused() -> None:
    bench = TransductiveBenchmark.from_graphs("tiny", facts=FACTS, queries=FACTS)
    scorer = RuleBaseline(RULES).on(FACTS)
    for given, found in ((bench, "TransductiveBenchmark"), (bench.graph, "GraphSplit")):
        with pytest.raises(InputError, match=f"found {found}, expected a graph\n  hint: give its .queries"):
            evaluate(scorer, given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"found 'queries\.tsv', expected a graph or triples"):
        evaluate(scorer, "queries.tsv")  # type: ignore[arg-type]
