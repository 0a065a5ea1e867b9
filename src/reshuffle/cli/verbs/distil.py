"""Turn a soft model into a rule model: its rules, with weights fitted to facts.

reshuffle distil model --on facts.tsv -o rules
reshuffle distil model --on facts.tsv -o rules --no-mine      only the rules of the soft model

MODEL is a directory that `reshuffle train` wrote. One of twenty facts is held out, and the answer has MRR and
Hits@10 of both models there. The soft model may have been trained on these facts, which flatters it.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import InputFacts, InputModel, learned_facts_of
from reshuffle.cli.options import add_columns
from reshuffle.cli.outputs import OutputDirectory
from reshuffle.text import counted

if TYPE_CHECKING:
    from reshuffle.cli.console import Console
    from reshuffle.learning.distillation import Distilled

HELP = "turn a soft model into a weighted rule list"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=InputModel, metavar="MODEL", help="a model directory")
    parser.add_argument(
        "--on",
        dest="facts",
        type=InputFacts,
        action="append",
        metavar="FACTS",
        required=True,
        help="the facts to fit to: a file, a folder or a pattern, may be repeated; or a benchmark's name or directory",
    )
    add_columns(parser)
    parser.add_argument(
        "-o", "--output", type=OutputDirectory, metavar="DIR", required=True, help="where the rule model goes"
    )
    parser.add_argument("--max-length", type=int, default=3, metavar="N", help="atoms in a body (default 3)")
    parser.add_argument(
        "--mine",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also mine rules in the facts (default)",
    )
    parser.add_argument("--resume", action="store_true", help="go on where a run was cut off")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws what is held out (default 0)")
    parser.add_argument("--device", default="auto", help="of the soft model: cpu, cuda, or auto (default)")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Load, extract, fit, save, compare."""
    from reshuffle.kg.io.files import made_directory
    from reshuffle.learning.distillation import distilled
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.locks import alone_in
    from reshuffle.rulelist import save_rule_model
    from reshuffle.rulelist.files.fit_checkpoints import remove_checkpoint

    started = time.perf_counter()
    model = Reshuffle.load(arguments.model, device=arguments.device)
    facts = learned_facts_of(arguments, console)
    folder = made_directory(arguments.output)
    with alone_in(folder, "training"):
        found = distilled(
            model,
            facts,
            max_length=arguments.max_length,
            mine=arguments.mine,
            directory=folder,
            resume=arguments.resume,
            seed=arguments.seed,
            progress=console.progress,
            notes=console.message,
        )
        path = save_rule_model(found.model, folder)
        remove_checkpoint(folder)
    seconds = round(time.perf_counter() - started, 1)
    told = f"{path}: {counted(len(found.model), 'rule')} with weights, in {seconds} s"
    data = {"directory": arguments.output, "rules": len(found.model), "seconds": seconds}
    console.result("\n".join([told, *_compared(found)]), {**data, **_numbers(found)})
    return 0


def _compared(found: Distilled) -> list[str]:
    """Both models on the facts that were held out, in words."""
    if found.compared is None:
        return ["too few facts to hold some out: not compared with the soft model"]
    soft, rules = found.compared
    return [
        f"on {counted(found.held_out, 'held-out fact')}: MRR {rules['mrr']:.3f}, soft model {soft['mrr']:.3f}; "
        f"Hits@10 {rules['hits@10']:.3f}, soft model {soft['hits@10']:.3f}"
    ]


def _numbers(found: Distilled) -> dict[str, Any]:
    if found.compared is None:
        return {"held_out": found.held_out}
    soft, rules = found.compared
    metrics = ("mrr", "hits@10")
    own = {metric: rules[metric] for metric in metrics}
    return {"held_out": found.held_out, **own, **{f"soft_{metric}": soft[metric] for metric in metrics}}
