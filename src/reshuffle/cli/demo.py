"""A tour on embedded data: families, the rules that hold among them, what follows, why, and an update.

Nothing is read and nothing is written.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.reasoning import Answers
    from reshuffle.rules.families import Families

HELP = "the tour on embedded data"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--seed", type=int, default=0, help="which families (default 0)")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Rules, class, answers, a proof, an update; each a few lines."""
    from reshuffle.reasoning import Reasoner  # noqa: PLC0415 - verbs import when they run
    from reshuffle.rules.classes import classify  # noqa: PLC0415
    from reshuffle.rules.families import families  # noqa: PLC0415

    started = time.perf_counter()
    demo = families(arguments.seed)
    facts = demo.benchmark.test.facts
    answers = Reasoner(demo.rules).on(facts, progress=console.progress)
    chapters = [
        _rules(demo, classify(demo.rules).name),
        _answers(demo, facts, answers),
        _proof(demo, answers),
        _update(answers),
    ]
    data: dict[str, Any] = {"seconds": round(time.perf_counter() - started, 2)}
    for _, chapter in chapters:
        data.update(chapter)
    text = "\n\n".join(text for text, _ in chapters)
    console.result(f"{text}\n\n{data['seconds']} seconds. `reshuffle --help` lists the verbs.", data)
    return 0


def _rules(demo: Families, name: str) -> tuple[str, dict[str, Any]]:
    shown = [demo.rules.by_head[head][-1] for head in ("uncle", "ancestor", "twin")]
    lines = [
        f"1. RULES. {len(demo.rules)} rules say how families work, for example",
        *(f"     {rule}" for rule in shown),
        f"   Their class is `{name}`: they have an exact geometry, so answers are neither missing nor wrong.",
    ]
    return "\n".join(lines), {"rules": len(demo.rules), "class": name}


def _answers(demo: Families, facts: KnowledgeGraph, answers: Answers) -> tuple[str, dict[str, Any]]:
    queries = demo.benchmark.test.queries
    found = sum(answers.holds(*query) for query in queries)
    derived = answers.count()
    lines = [
        f"2. ANSWERS. From {len(facts):,} facts about {facts.num_entities} persons {derived:,} more follow.",
        f"   Of {len(queries)} facts that had been taken out, {found} are among them.",
    ]
    return "\n".join(lines), {
        "facts": len(facts),
        "derived": derived,
        "queries": len(queries),
        "queries_found": found,
    }


def _proof(demo: Families, answers: Answers) -> tuple[str, dict[str, Any]]:
    """Of the cousins that had been taken out, the one that takes the most steps to see."""
    cousins = [query for query in demo.benchmark.test.queries if query.relation == "cousin"]
    proof = max(
        (found for query in cousins for found in answers.proofs(*query)), key=lambda proof: proof.size
    )
    head, _, tail = proof.triple
    lines = [f"3. REASONS. Why is {tail} a cousin of {head}?", *_indented(str(proof))]
    return "\n".join(lines), {"proof": proof.to_dict()}


def _update(answers: Answers) -> tuple[str, dict[str, Any]]:
    """Two children, one after the other; the first may have to wait for compilation, so the second is timed."""
    father = next(triple.tail for triple in answers.facts if triple.relation == "father")
    answers.add([("Firstborn", "father", father)])
    before = answers.count()
    started = time.perf_counter()
    answers.add([("Secondborn", "father", father)])
    milliseconds = 1000 * (time.perf_counter() - started)
    new = answers.count() - before
    ancestors = sorted(answers.tails("Secondborn", "ancestor"))
    lines = [
        f"4. UPDATES. Two children of {father} are born. About the second {new} things follow; adding it",
        f"   took {milliseconds:.2f} ms. Its first ancestors by name: {', '.join(ancestors[:3])}.",
    ]
    return "\n".join(lines), {"update_derived": new, "update_milliseconds": round(milliseconds, 2)}


def _indented(text: str) -> list[str]:
    return [f"     {line}" for line in text.splitlines()]
