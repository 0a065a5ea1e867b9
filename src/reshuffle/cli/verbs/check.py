"""Say which class a rule base is in, whether its geometry is exact, and what was proved about its rule graph.

Exit status 1 where no exact geometry exists and no bound is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import rules_of
from reshuffle.cli.options import add_rule_options
from reshuffle.errors import with_hint
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.rulegraphs import RuleGraph
    from reshuffle.rulegraphs.checks import Check
    from reshuffle.rules import RuleBase
    from reshuffle.rules.classes import Classification

HELP = "the class of a rule base, and whether its geometry is exact"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_rule_options(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Classify, build, check, report."""
    from reshuffle.rulegraphs import build  # noqa: PLC0415 - verbs import when they run
    from reshuffle.rulegraphs.checks import check_graph  # noqa: PLC0415
    from reshuffle.rules.classes import classify  # noqa: PLC0415

    base = rules_of(arguments, console)
    classification = classify(base)
    graph, checks = None, {}
    if classification.faithful or arguments.bound is not None:
        graph = build(base, bound=arguments.bound, node_budget=arguments.node_budget)
        checks = check_graph(graph, node_budget=arguments.node_budget)
    data = _data(base, classification, graph, checks)
    console.result(_text(data, graph, checks), data)
    for name, reason in classification.why_not.items():
        console.detail(f"not {name}: {reason}")
    return 0 if graph is not None else 1


def _data(
    base: RuleBase, classification: Classification, graph: RuleGraph | None, checks: dict[str, Check]
) -> dict[str, Any]:
    from reshuffle.kg.vocabulary import base_relation  # noqa: PLC0415 - verbs import when they run

    bound = graph.bound if graph else None
    return {
        "rules": _num_rules(base),
        "relations": len({base_relation(relation) for relation in base.own_relations}),
        "nodes": graph.num_nodes if graph else 0,
        "class": classification.name,
        "faithful": classification.faithful and bound is None,
        "bound": bound,
        "reason": classification.reason,
        "checks": {name: check.to_dict() for name, check in checks.items()},
    }


def _num_rules(base: RuleBase) -> int:
    """The rules and class axioms; several axioms may be one path rule of the geometry."""
    if base.classes is None:
        return len(base)
    return sum(rule not in base.classes.rules for rule in base.rules) + len(base.classes.axioms)


def _text(data: dict[str, Any], graph: RuleGraph | None, checks: dict[str, Check]) -> str:
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
    exact = "exact" if data["faithful"] else f"exact for what follows in {counted(data['bound'], 'step')}"
    lines.append(
        f"rule graph: {counted(graph.num_nodes, 'node')} ({graph.unreduced_nodes} before reduction), "
        f"{counted(len(graph.edges), 'edge')}, "
        f"identity relations: {len(graph.identities)}; {exact}"
    )
    lines += [f"  {name}: {check}" for name, check in checks.items()]
    return "\n".join(lines)
