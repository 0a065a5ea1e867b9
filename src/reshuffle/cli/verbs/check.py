"""Say which class a rule base is in, whether its geometry is exact, and what was proved about its rule graph.

With --consistent, whether what follows from rules, axioms and facts breaks a constraint, with proofs.

Exit status 1 where answers are not exact and no bound is given, or where what follows breaks a constraint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import graph_of, rules_of, sort_files
from reshuffle.cli.options import NODE_BUDGET, add_facts, add_rule_options
from reshuffle.cli.summaries import report_consistency, some_violations, tell_violations
from reshuffle.errors import BudgetError, with_hint
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.reasoning.violations import Violation
    from reshuffle.rulegraphs import RuleGraph
    from reshuffle.rulegraphs.checks import Check
    from reshuffle.rules import RuleBase
    from reshuffle.rules.classes import Classification

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
        help="is there a clash? exit status 1, and proofs, where there is",
    )
    parser.set_defaults(engine="auto", memory=None, prefixes=None, labels=None, usage_error=parser.error)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Classify, build, check, report."""
    from reshuffle.rulegraphs import build
    from reshuffle.rulegraphs.checks import check_graph
    from reshuffle.rules.classes import classify
    from reshuffle.rules.exactness import listed

    sort_files(arguments, console)
    if arguments.consistent:
        return report_consistency(arguments, console)
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
    console.result(_text(base, data, graph, checks), data)
    tell_violations(broken, console)
    for name, reason in classification.why_not.items():
        console.detail(f"not {name}: {reason}")
    is_exact = graph is not None or not base.not_read
    return 0 if is_exact and not broken else 1


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
                "`infer --engine chase` answers exactly, without geometry; --bound M answers within M steps",
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
