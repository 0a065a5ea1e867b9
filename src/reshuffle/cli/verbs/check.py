"""Say which class a rule base is in, whether its geometry is exact, and what was proved about its rule graph.

Of an ontology also how many classes there are, which of its axioms are not used between classes, and which classes can
have no members, with the reasons.

With --consistent, whether what follows from rules, axioms and facts breaks a constraint, with proofs. An ontology of
classes without facts is consistent unless nothing at all can be; classes that can have no members are listed.

Exit status 1 where answers are not exact and no bound is given, or where what follows breaks a constraint.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import graph_of, rules_of, sort_files
from reshuffle.cli.options import NODE_BUDGET, add_facts, add_rule_options
from reshuffle.cli.summaries import report_consistency, some_violations, tell_violations
from reshuffle.errors import BudgetError, with_hint
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.reasoning.classes.class_answers import ClassAnswers
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.violations import Violation
    from reshuffle.rulegraphs import RuleGraph
    from reshuffle.rulegraphs.checks import Check
    from reshuffle.rules import RuleBase
    from reshuffle.rules.classes import Classification

_MOST_PROVED = 3  # classes without members

HELP = "the class of a rule base, and whether its geometry is exact"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_rule_options(parser)
    add_facts(
        parser, may_be_missing=True, more="; those in RULES, where it is an ontology, are looked at anyway"
    )
    parser.add_argument(
        "--consistent",
        action="store_true",
        help="look for broken constraints: exit status 1, with proofs, if there are any",
    )
    parser.set_defaults(engine="auto", memory=None, prefixes=None, labels=None, usage_error=parser.error)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Classify, build, check, report."""
    from reshuffle.rulegraphs import build
    from reshuffle.rulegraphs.checks import check_graph
    from reshuffle.rules.classes import classify
    from reshuffle.rules.exactness import listed
    from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone

    sort_files(arguments, console)
    beside = arguments.facts or getattr(arguments, "more_rules", ())
    is_of_classes = holds_axioms_alone(arguments.rules) and not beside
    if arguments.consistent and not is_of_classes:
        return report_consistency(arguments, console)
    classes = _classes(arguments, console)
    if classes is not None and arguments.consistent:
        return _report_classes(classes, console)
    if classes is not None and is_of_classes:
        said = {"not_read": listed(classes.read_rules.not_read), "violations": []}
        console.result(_told_classes(classes, console), said | {"classes": _of_classes(classes)})
        return 0
    base = rules_of(arguments, console)
    classification = classify(base)
    graph, checks = None, {}
    if classification.faithful or arguments.bound is not None:
        try:
            graph = build(base, bound=arguments.bound, node_budget=arguments.node_budget)
            checks = check_graph(graph, node_budget=arguments.node_budget)
        except BudgetError as error:
            if arguments.bound is not None or arguments.node_budget < NODE_BUDGET:
                raise
            graph = None
            console.message(f"no geometry: {error.message}; the chase answers exactly, without one")
    broken = _violations(base, arguments, console)
    data = _data(base, classification, graph, checks)
    data |= {"not_read": listed(base.not_read), "violations": [one.to_dict() for one in broken]}
    text = _text(base, data, graph, checks)
    if classes is not None:
        data["classes"] = _of_classes(classes)
        text = f"{_told_classes(classes, console)}\n{text}"
    console.result(text, data)
    tell_violations(broken, console)
    for name, reason in classification.why_not.items():
        console.detail(f"not {name}: {reason}")
    is_exact = graph is not None or not base.not_read
    return 0 if is_exact and not broken else 1


def _classes(arguments: argparse.Namespace, console: Console) -> ClassAnswers | None:
    """The classes of an ontology; None where the file has none."""
    from reshuffle.reasoning.classes.class_answers import ClassAnswers
    from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone, read_ontology
    from reshuffle.theories.kinds import kind_at

    if kind_at(Path(arguments.rules)) != "ontology_files":
        return None
    answers = ClassAnswers(read_ontology(arguments.rules), progress=console.progress)
    return answers if answers.num_classes or holds_axioms_alone(arguments.rules) else None


def _report_classes(answers: ClassAnswers, console: Console) -> int:
    """Say whether the axioms of an ontology without individuals contradict each other, and list empty classes."""
    from reshuffle.rules.ontologies.axioms import THING

    claim, consistent = answers.claim_of_consistency, answers.is_consistent
    lines = [
        ("consistent (exact)" if claim else f"no clash follows; {claim}")
        if consistent
        else "inconsistent: 1 clash"
    ]
    if consistent:
        lines += _told_empty(answers, console)
        broken = []
    else:
        proof = _why_empty(answers, THING)
        lines.append(str(proof))
        broken = [{"constraint": "owl:Nothing", "first": proof.to_dict(), "second": proof.to_dict()}]
    data = {
        "consistent": consistent,
        **claim.to_dict(),
        "violations": broken,
        "without_members": answers.empty_classes,
    }
    console.result("\n".join(lines), data, fold=True)
    return 0 if consistent else 1


def _of_classes(answers: ClassAnswers) -> dict[str, Any]:
    from reshuffle.rules.exactness import listed
    from reshuffle.rules.rule import NOT_READ

    unread = answers.read_rules.not_read
    return {
        "classes": answers.num_classes,
        "properties": len(answers.relations) - 1,
        "axioms": answers.num_axioms,
        "exactness": answers.exactness,
        "not_read": listed([one for one in unread if one.lack == NOT_READ]),
        "not_used": listed([one for one in unread if one.lack != NOT_READ]),
        "without_members": {name: _why_empty(answers, name).to_dict() for name in answers.empty_classes},
    }


def _why_empty(answers: ClassAnswers, name: str) -> Proof:
    from reshuffle.rules.ontologies.axioms import NOTHING

    return answers.proofs(name, answers.is_a, NOTHING)[0]


def _told_classes(answers: ClassAnswers, console: Console) -> str:
    """How many classes there are, what is not used, and why some have no members."""
    lines = [
        f"classes: {answers.num_classes:,}, properties: {len(answers.relations) - 1:,}, axioms: {answers.num_axioms:,}",
        f"edges between classes: {answers.exactness}",
        *(f"  {unread}" for unread in answers.read_rules.not_read),
        *_told_empty(answers, console),
    ]
    return "\n".join(lines)


def _told_empty(answers: ClassAnswers, console: Console) -> list[str]:
    """How many classes can have no members, and why: of a few, or with -v of all."""
    empty = answers.empty_classes
    lines = [f"classes that can have no members: {len(empty):,}"]
    console.names.know(answers.names.labels)
    lines += [
        str(_why_empty(answers, name)) for name in empty[: None if console.verbosity > 0 else _MOST_PROVED]
    ]
    if len(empty) > _MOST_PROVED and console.verbosity <= 0:
        lines.append(f"and {len(empty) - _MOST_PROVED:,} more, which -v shows")
    return lines


def _violations(base: RuleBase, arguments: argparse.Namespace, console: Console) -> list[Violation]:
    """What the facts break, those that stand in the rule file, too, as far as there are any."""
    from reshuffle.kg import KnowledgeGraph, read_graph
    from reshuffle.reasoning import Reasoner
    from reshuffle.rules.class_axioms import forbidden

    if not forbidden(base):
        return []
    reasoner, facts = Reasoner(base), KnowledgeGraph(base.facts)
    if arguments.facts:
        facts = graph_of(arguments, console, [reasoner])
    elif base.stated is not None:
        facts = read_graph(arguments.rules, literals_suffice=True, may_be_empty=True)
    return some_violations(reasoner.on(facts), console) if len(facts) else []


def _data(
    base: RuleBase, classification: Classification, graph: RuleGraph | None, checks: dict[str, Check]
) -> dict[str, Any]:
    from reshuffle.kg.vocabulary import base_relation

    bound = graph.bound if graph else None
    return {
        "rules": len(base),
        "relations": len({base_relation(relation) for relation in base.relations}),
        "nodes": graph.num_nodes if graph else 0,
        "class": classification.name,
        "faithful": classification.faithful and bound is None,
        "bound": bound,
        "reason": classification.reason,
        "checks": {name: check.to_dict() for name, check in checks.items()},
    }


def _worded(base: RuleBase, graph: RuleGraph) -> str:
    from reshuffle.rules.exactness import Exactness, within

    return str(Exactness.of(within(graph.bound), base))


def _text(base: RuleBase, data: dict[str, Any], graph: RuleGraph | None, checks: dict[str, Check]) -> str:
    lines = [
        f"rules: {data['rules']}, relations: {data['relations']}",
        f"class: {data['class']}" + (f" ({data['reason']})" if data["reason"] else ""),
    ]
    if graph is None:
        lines.append(
            with_hint(
                "no exact geometry exists for this class",
                "`infer --engine chase` answers exactly, without geometry"
                + ("" if base.constant_rules else "; --bound M answers within M steps"),
            )
        )
        return "\n".join(lines)
    lines.append(
        f"rule graph: {counted(graph.num_nodes, 'node')} ({graph.unreduced_nodes} before reduction), "
        f"{counted(len(graph.edges), 'edge')}, "
        f"identity relations: {len(graph.identities)}; {_worded(base, graph)}"
    )
    lines += [f"  {name}: {check}" for name, check in checks.items()]
    return "\n".join(lines)
