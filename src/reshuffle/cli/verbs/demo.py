"""A tour on embedded data: rules of families, what follows, why, an update; then learning, and rules read back.

The model is not told the rules. It trains on one population and is asked about another, of which it has not seen a
single person. That needs the extra `learn`; without it the tour ends before. Nothing is read. What is learned is kept
in the cache directory (~/.cache/reshuffle/demo), where `reshuffle serve families` finds it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeAlias

from reshuffle.errors import MissingPackageError
from reshuffle.text import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reshuffle.cli.console import Console
    from reshuffle.data.families import Families
    from reshuffle.evaluation.report import Report
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.reasoning import Answers

Chapter: TypeAlias = "tuple[str, dict[str, Any]]"  # for people, and as data

HELP = "the tour on embedded data: rules, answers, reasons, learning"

# Changes of the best recipe, chosen by the validation triples of the training population alone: small, and in a minute.
SETTINGS: dict[str, Any] = {
    "recipe": "best-0.1",  # no rule list beside the matrices: the tour reads what they have learned
    "num_slots": 16,
    "num_layers": 3,
    "learning_rate": 0.03,
    "max_epochs": 4,
}
PROTOCOLS = ("sampled-50", "full")  # the first makes the headline
METRICS = ("hits@10", "mrr")
LISTED = 100  # rules of the list that predicts
READ = 30  # how many extracted rules are compared with the generating ones


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--seed", type=int, default=0, help="which families (default 0)")
    parser.add_argument(
        "--epochs",
        type=int,
        default=SETTINGS["max_epochs"],
        metavar="N",
        help="of learning (default %(default)s)",
    )
    parser.set_defaults(usage_error=parser.error)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Print one chapter after another, each as soon as it is done."""
    from reshuffle.data.families import families

    if arguments.epochs < 1:
        arguments.usage_error("--epochs: at least one")
    started = time.perf_counter()
    data: dict[str, Any] = {"seconds": 0.0}
    demo = families(arguments.seed)
    for text, chapter in _chapters(demo, arguments.epochs, console):
        data.update(chapter)
        if not console.json:
            console.result(f"{text}\n", None)
    data["seconds"] = round(time.perf_counter() - started, 2)
    ending = "`reshuffle serve families` opens all of this in a browser; `reshuffle --help` lists the verbs."
    console.result(f"{data['seconds']} seconds. {ending}", data)
    return 0


def _chapters(demo: Families, epochs: int, console: Console) -> Iterator[Chapter]:
    from reshuffle.reasoning import Reasoner

    yield _rules(demo)
    facts = demo.benchmark.test.facts
    answers = Reasoner(demo.rules).on(facts, progress=console.progress)
    yield _answers(demo, facts, answers)
    yield _proof(demo, answers)
    yield _update(answers)
    try:
        model = _learned(demo, epochs, console)
    except MissingPackageError as error:
        console.message(f"the chapter on learning is left out: {error}")
        yield "5. LEARNING is left out.", _nothing_learned(demo)
    else:
        _kept(demo, "model", lambda directory: _save_model(model, directory), console)
        yield _learning(demo, model)
        yield _read_back(demo, model, console)
    yield _rule_list(demo, console)


def _rules(demo: Families) -> Chapter:
    from reshuffle.rules.classes import classify

    name = classify(demo.rules).name
    shown = [demo.rules.by_head[head][-1] for head in ("uncle", "ancestor", "twin")]
    lines = [
        f"1. RULES. {len(demo.rules)} rules say how families work, for example",
        *(f"     {rule}" for rule in shown),
        f"   Their class is `{name}`: they have an exact geometry, so answers are neither missing nor wrong.",
    ]
    return "\n".join(lines), {"rules": len(demo.rules), "class": name}


def _answers(demo: Families, facts: KnowledgeGraph, answers: Answers) -> Chapter:
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


def _proof(demo: Families, answers: Answers) -> Chapter:
    """The longest proof among the held-out facts about cousins."""
    cousins = [query for query in demo.benchmark.test.queries if query.relation == "cousin"]
    proof = max(
        (found for query in cousins for found in answers.proofs(*query)), key=lambda proof: proof.size
    )
    head, _, tail = proof.triple
    lines = [f"3. REASONS. Why is {tail} a cousin of {head}?", *_indented(str(proof))]
    return "\n".join(lines), {"proof": proof.to_dict()}


def _update(answers: Answers) -> Chapter:
    """Add two children. The second is timed, since the first may wait for kernels to be compiled."""
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


def _learned(demo: Families, epochs: int, console: Console) -> Reshuffle:
    """A model trained on the first population, without the rules."""
    from reshuffle.learning.estimator import Reshuffle

    model = Reshuffle(device="cpu", **{**SETTINGS, "max_epochs": epochs})
    return model.fit(demo.benchmark.train, progress=console.progress, notes=console.message)


def _learning(demo: Families, model: Reshuffle) -> Chapter:
    """Evaluate the model on the second population, beside the entity-type baseline and mined rules."""
    from reshuffle.evaluation import RuleBaseline, evaluate

    test = demo.benchmark.test
    answers, mined = model.on(test.facts), RuleBaseline.fit(demo.benchmark.train.facts)
    reports = [
        evaluate(answers, test.queries, protocol=protocol, known=test, rules=mined) for protocol in PROTOCOLS
    ]
    headline = reports[0].to_dict()
    return _learning_text(demo, reports), {
        "protocol": headline["protocol"],
        "hits@10": headline["metrics"]["hits@10"],
        "type_baseline_hits@10": headline["type_baseline"]["metrics"]["hits@10"],
        "training": model.summary(),
        "evaluation": [report.to_dict() for report in reports],
    }


def _learning_text(demo: Families, reports: list[Report]) -> str:
    train, test = demo.benchmark.train.facts, demo.benchmark.test.facts
    rows = [
        [report.protocol.name, ranked.name, *(ranked.metrics[metric] for metric in METRICS)]
        for report in reports
        for ranked in report.ranked
    ]
    lines = [
        f"5. LEARNING. A model was told no rule, only {len(train):,} facts about {train.num_entities} others. Then",
        f"   it met the {test.num_entities} from above, and ranked what had been taken out among wrong answers:",
        *_indented(table(["protocol", "scorer", *METRICS], rows)),
        "   The type baseline knows what kind of person somebody is, and nothing about relatives.",
        "   Mined rules have it easy here: rules made the data.",
    ]
    return "\n".join(lines)


def _read_back(demo: Families, model: Reshuffle, console: Console) -> Chapter:
    """How many of the generating rules are among the first extracted rules."""
    from reshuffle.extraction import extract_rules

    known = demo.benchmark.train.triples  # all that is known of the first population, held out or not
    captured = extract_rules(model, on=known, max_length=2, progress=console.progress)
    made = set(demo.rules)
    read = [one.rule for one in captured.top(READ)]
    recovered = [rule for rule in read if rule in made]
    lines = [
        "6. RULES AGAIN. Its weights can be read as rules, those first that explain most where it trained. Of the",
        f"   {len(made)} rules that made the data {len(recovered)} are among the first {len(read)} it tells"
        f"{':' if recovered else '.'}",
        *(f"     {rule}" for rule in recovered),
    ]
    return "\n".join(lines), {
        "rules_captured": len(captured),
        "rules_read": [str(rule) for rule in read],
        "rules_recovered": len(recovered),
        "rules_total": len(made),
    }


def _rule_list(demo: Families, console: Console) -> Chapter:
    """A weighted rule list, and the shortest sum behind one of its predictions."""
    from reshuffle.evaluation import evaluate
    from reshuffle.rulelist import RuleSettings, learn_rules, refit, save_rule_model

    started, test = time.perf_counter(), demo.benchmark.test
    settings = RuleSettings().changed(longest=2)
    known = demo.benchmark.train.triples
    every = learn_rules(known, settings=settings, progress=console.progress)
    model = refit(every.top(LISTED), known, settings=settings, progress=console.progress)
    seconds = time.perf_counter() - started
    _kept(demo, "rules", lambda directory: save_rule_model(model, directory), console)
    answers = model.on(test.facts)
    report = evaluate(answers, test.queries, protocol="full", known=test, baseline=False)
    cousins = [query for query in test.queries if query.relation == "cousin"]
    told = min(
        (answers.explain(*query, most=1) for query in cousins), key=lambda one: (not one, len(one.parts))
    )
    lines = [
        f"7. RULES THAT PREDICT. {len(model)} weighted rules, learned in {seconds:.0f} s without torch, rank",
        f"   the same answers among all persons with MRR {report['mrr']:.2f}. Every score is a sum that one can read:",
        *_indented(str(told)),
    ]
    data = {"list_rules": len(model), "list_mrr": report["mrr"], "list_sum": told.to_dict()}
    return "\n".join(lines), data


def _kept(demo: Families, name: str, save: Callable[[Path], object], console: Console) -> None:
    """Keep what was learned where the explorer looks for it; a tour of other families leaves it alone."""
    from reshuffle.data.finding import demo_directory
    from reshuffle.errors import ReshuffleError

    if demo.seed:
        return
    try:
        save(demo_directory() / name)
    except (OSError, ReshuffleError) as error:  # no place to write: the tour goes on
        console.message(f"what was learned is not kept for `reshuffle serve families`: {error}")


def _save_model(model: Reshuffle, directory: Path) -> None:
    from reshuffle.learning.training.saving import write_log

    model.save(directory)
    assert model.history is not None  # it was trained just now
    write_log(directory / "log.csv", model.history)


def _nothing_learned(demo: Families) -> dict[str, Any]:
    """The data of the chapters on learning where there is no model: the same keys without values."""
    return {
        "hits@10": None,
        "type_baseline_hits@10": None,
        "rules_recovered": None,
        "rules_total": len(demo.rules),
    }


def _indented(text: str) -> list[str]:
    return [f"     {line}" for line in text.splitlines()]
