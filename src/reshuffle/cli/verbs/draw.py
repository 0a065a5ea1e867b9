"""Draw rules: the relations that are derived, in order, and the chains of relations that lead to each.

reshuffle draw family.rules -o family.svg
reshuffle draw family.rules -o family.svg --slots

The ending names the format: .svg, .dot, or .mmd (Mermaid). With --slots the picture shows the rule graph, which decides
what is derived; its nodes are slots of the constraints. Its .svg needs Graphviz.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import rules_of
from reshuffle.cli.options import add_naming_options, add_rule_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.errors import InputError
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.rules import RuleBase

HELP = "a picture of rules, or of their rule graph"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_rule_options(parser)
    add_naming_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="FILE",
        required=True,
        help="the picture; its ending names the format",
    )
    parser.add_argument("--slots", action="store_true", help="the rule graph, with a node for each slot")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Draw the rules, or build their rule graph and draw that."""
    from reshuffle.kg.io.files import check_writable
    from reshuffle.rulegraphs.draw import ENDINGS

    check_writable(arguments.output, endings=ENDINGS)
    if arguments.bound is not None and not arguments.slots:
        raise InputError(
            "--bound is for rule graphs, and the picture is of the rules",
            hint="add --slots to draw the rule graph, or leave --bound out",
        )
    told, size = (_draw_slots if arguments.slots else _draw_rules)(arguments, console)
    console.result(f"{arguments.output}: {told}", {"file": arguments.output, **size})
    return 0


def _draw_rules(arguments: argparse.Namespace, console: Console) -> tuple[str, dict[str, int]]:
    from reshuffle.cli.picture_files import write_drawing
    from reshuffle.rules.rule_pictures import MOST_RULES, rules_diagram, rules_scene

    rules = _shown(rules_of(arguments, console), arguments, console)
    diagram, path = rules_diagram(rules), Path(arguments.output)
    if len(rules) > MOST_RULES and path.suffix == ".svg":
        console.message(
            f"{arguments.rules}: the picture has the first {MOST_RULES:,} of {len(rules):,} rules"
        )
    write_drawing(path, rules_scene(rules), diagram)
    size = {"nodes": len(diagram.nodes), "edges": diagram.num_edges, "rules": len(rules)}
    return diagram.title, {**size, "relations": len(diagram.nodes) - len(rules)}


def _shown(rules: RuleBase, arguments: argparse.Namespace, console: Console) -> RuleBase:
    """The rules with short names."""
    console.names.learn(arguments, arguments.rules)
    short = console.names.short
    own = (rule.renamed(short) for rule in rules.given)
    pairs = (pair.renamed(short) for pair in rules.disjointness)
    return replace(rules, given=tuple(own), disjointness=tuple(pairs))


def _draw_slots(arguments: argparse.Namespace, console: Console) -> tuple[str, dict[str, int]]:
    from reshuffle.rulegraphs import build
    from reshuffle.rulegraphs.draw import draw

    graph = build(rules_of(arguments, console), bound=arguments.bound, node_budget=arguments.node_budget)
    draw(graph, arguments.output)
    size = {"nodes": graph.num_nodes, "edges": len(graph.edges)}
    return f"{counted(graph.num_nodes, 'node')}, {counted(len(graph.edges), 'edge')}", size
