"""What soft models miss of a graph's best links when they ask the best questions of their rule list alone, and what
that saves.

    python -m benchmarks.soft_links umls=MODEL,FACTS family=MODEL,FACTS

MODEL is a directory that `reshuffle train FACTS -o MODEL` wrote; the time of the longer trainings was limited
(`--minutes 8`). All questions are asked first, then those alone to which the list has the best answers, however few
questions there are. Times are processor seconds of all threads; kernels are compiled before. Each data set has a row in
`results/soft_links.jsonl`, which a new run replaces.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from benchmarks.machine import describe
from benchmarks.result_files import RESULTS, changed_results

from reshuffle.model.answers.missing_links import (
    Links,
    LinkSearch,
    _best_of,
    asked_ids,
    predictions_of,
    questions_about,
)
from reshuffle.rulelist.links.rule_links import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from reshuffle.model.answers.model_answers import ModelAnswers

TOPS = (100, 1_000)
PER_RELATION = 10
FILE = RESULTS / "soft_links.jsonl"


def main(arguments: list[str]) -> int:
    """Measure each data set, and store its row."""
    for argument in arguments:
        name, files = argument.split("=", maxsplit=1)
        row = {"dataset": name, **measured(*files.split(",", maxsplit=1))}
        print(row)
        with changed_results(FILE) as results:
            results.about = {
                "what": "the best links of whole graphs by soft models: how many of those of all questions are found "
                "by asking the best questions of the rule list alone, and processor seconds",
                "command": "python -m benchmarks.soft_links NAME=MODEL,FACTS ...",
                "models": "reshuffle train FACTS -o MODEL --recipe best --device cpu [--minutes M], seed 0",
                **describe(["reshuffle", "numpy", "numba", "torch"]),
            }
            results.rows = [*(one for one in results.rows if one["dataset"] != name), row]
    return 0


def measured(model: str, facts: str) -> dict[str, Any]:
    """The overlaps and the costs for one model."""
    from reshuffle import Reshuffle, read_graph

    graph = read_graph(facts)
    answers = Reshuffle.load(model, device="cpu").on(graph)
    _some(answers, top=1)  # kernels are compiled
    (every, each), seconds = _timed(lambda: _of_all_questions(answers))
    row: dict[str, Any] = {"facts": len(graph), "entities": graph.num_entities}
    row |= {"relations": len(answers.relations), "seconds_all_questions": round(seconds, 1)}
    for top in TOPS:
        row[f"first_{top}"] = _beside(answers, every.best(Wanted(top)), top=top)
    row[f"{PER_RELATION}_per_relation"] = _beside(answers, each, top=None, per_relation=PER_RELATION)
    return row


def _of_all_questions(answers: ModelAnswers) -> list[Links]:
    """The best links of all, and the best ones of each relation, by the answers to all questions."""
    model = answers.on_graph
    asked = asked_ids(model, relation=None, head=None, tail=None)
    searches = [LinkSearch(asked, Wanted(TOPS[-1])), LinkSearch(asked, Wanted(None, PER_RELATION))]
    kept: list[Links] = []
    for some in questions_about(answers, model, asked).pieces():
        scores = model.scores(some.asked[:, 0], some.asked[:, 1], side=some.side)
        found = [_best_of(scores, some, search, None) for search in searches]
        if kept:
            found = [one.and_also(more) for one, more in zip(kept, found, strict=True)]
        kept = [one.best(search.wanted) for one, search in zip(found, searches, strict=True)]
    return kept


def _some(answers: ModelAnswers, **options: Any) -> Any:
    """The links of the questions that the list leaves, also where these are hardly fewer."""
    with patch("reshuffle.model.answers.link_candidates._WORTH", 0):
        return answers.missing(**options)


def _beside(answers: ModelAnswers, wanted: Links, **options: Any) -> dict[str, Any]:
    """How many of the links are found, the place of the first that is not, and how many questions were asked."""
    told: list[str] = []
    found, seconds = _timed(lambda: _some(answers, **options, notes=told.append))
    there = {row.triple for row in found}
    links = predictions_of(answers, wanted, "tail")
    missed = [place for place, row in enumerate(links, start=1) if row.triple not in there]
    asked, _, count, *_ = told[-1].replace(",", "").split()
    return {
        "links": len(links),
        "found": len(links) - len(missed),
        "first_missed": missed[0] if missed else None,
        "questions_asked": int(asked),
        "questions": int(count),
        "seconds": round(seconds, 1),
    }


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    return work(), time.process_time() - begun


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
