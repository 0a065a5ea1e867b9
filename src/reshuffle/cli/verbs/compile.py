"""Compile rules to ordering constraints: the 0/1 matrices of the model, as a JSON file.

`infer` and `explain` take the file in place of rules. Rules without exact geometry are refused unless a bound is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.cli.inputs import rules_of
from reshuffle.cli.options import add_rule_options
from reshuffle.cli.outputs import OutputFile
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console

HELP = "write the 0/1 matrices of a rule base to a file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_rule_options(parser)
    parser.add_argument(
        "-o", "--output", type=OutputFile, metavar="FILE", required=True, help="the output file"
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Build, compile, write."""
    from reshuffle.kg.io.files import check_writable
    from reshuffle.rulegraphs import constraints_for

    check_writable(arguments.output)
    base = rules_of(arguments, console)
    constraints = constraints_for(base, bound=arguments.bound, node_budget=arguments.node_budget)
    if base.facts:
        console.message(f"{arguments.rules}: {counted(len(base.facts), 'fact')} among the rules left out")
    constraints.save(arguments.output)
    size = {"relations": len(constraints.relations), "slots": constraints.num_slots}
    console.result(
        f"{arguments.output}: {counted(size['slots'], 'slot')}, {counted(size['relations'], 'relation')}",
        {"file": arguments.output, **size, "bound": constraints.bound},
    )
    return 0
