"""Draw the rule graph of a rule base: .svg or .png (these need Graphviz), .dot, or .mmd (Mermaid)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.cli.inputs import add_rule_options, rules_of
from reshuffle.cli.outputs import OutputFile
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console

HELP = "a picture of the rule graph"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_rule_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="FILE",
        required=True,
        help="the picture; its ending says which kind",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Build, draw."""
    from reshuffle.kg.io.files import check_writable  # noqa: PLC0415 - verbs import when they run
    from reshuffle.rulegraphs import build  # noqa: PLC0415
    from reshuffle.rulegraphs.draw import ENDINGS, draw  # noqa: PLC0415

    check_writable(arguments.output, endings=ENDINGS)
    graph = build(rules_of(arguments, console), bound=arguments.bound, node_budget=arguments.node_budget)
    draw(graph, arguments.output)
    size = {"nodes": graph.num_nodes, "edges": len(graph.edges)}
    console.result(
        f"{arguments.output}: {counted(graph.num_nodes, 'node')}, {counted(len(graph.edges), 'edge')}",
        {"file": arguments.output, **size},
    )
    return 0
