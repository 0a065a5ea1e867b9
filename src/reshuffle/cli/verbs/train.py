"""Learn ordering constraints from facts; the model goes to a directory.

reshuffle train facts.tsv -o model                        10 % of the facts are held out for early stopping
reshuffle train WN18RR-v1 -o model --config paper.toml    the benchmark's training graph and its validation triples
reshuffle train facts.tsv -o model --set num_slots=30 --set learning_rate=0.005
reshuffle train facts.tsv -o model --inject my.rules      keep rules that are known to hold, and learn the rest
reshuffle train facts.tsv -o model --quick                a first look: a rule model in a minute, of large graphs in ten
reshuffle train facts.tsv -o model --minutes 30           the best rule model that half an hour gives
reshuffle train facts.tsv -o model --recipe best --minutes 30    its rule list first, then as many steps as fit
reshuffle train facts.tsv -o model --quick --relation treats     rules for one relation, with the whole budget on it
reshuffle train facts.tsv -o model --recipe rules         a weighted rule list: a text that predicts; needs no torch
reshuffle train facts.tsv -o model --recipe rules --engine spark     workers of Spark share the search for rules
torchrun --nproc-per-node 2 -m reshuffle train facts.tsv -o model    two processes share every step
reshuffle train facts.tsv -o model --resume               go on after a kill, as if nothing had happened

The directory gets model.safetensors and settings.toml, and on the way log.csv, TensorBoard events, and a checkpoint.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import InputFile, InputModel, bad_rows_of, facts_of, settings_of, valid_of
from reshuffle.cli.options import RECIPE_NAMES, add_training_options
from reshuffle.cli.outputs import OutputDirectory
from reshuffle.cli.processes import is_first
from reshuffle.cli.spark_options import add_spark_engine, spark_choice
from reshuffle.cli.training_curve import TrainingCurve

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.learning.settings import Settings
    from reshuffle.learning.team import Team
    from reshuffle.learning.training.history import Epoch, Glance
    from reshuffle.rules import RuleBase

HELP = "learn ordering constraints from facts"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", type=OutputDirectory, metavar="DIR", required=True, help="where the model goes"
    )
    parser.add_argument(
        "--valid",
        type=InputFile,
        metavar="FILE",
        help="validation triples (default: held out of the facts); for --recipe rules they say how likely answers are",
    )
    parser.add_argument(
        "--resume", action="store_true", help="take up the training in DIR where it was cut off"
    )
    _add_injection(parser)
    parser.add_argument(
        "--rules",
        type=InputModel,
        metavar="FILE_OR_MODEL",
        action="append",
        default=[],
        help="recipe rules: rules that take part beside the mined ones, of a file or of a model; repeatable",
    )
    parser.add_argument(
        "--pieces",
        type=int,
        default=1,
        metavar="N",
        help="cut each step into N pieces, one after the other, as N processes of torchrun do at once",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a first look: a rule model, in a minute up to 300,000 facts, in ten at five million",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="M",
        help="the model is there after M minutes, as good as that time allows; a rule list, unless --recipe says more",
    )
    parser.add_argument(
        "--relation",
        metavar="R",
        action="append",
        help="recipe rules: learn about this relation alone; repeatable",
    )
    parser.add_argument(
        "--refit", action="store_true", help="recipe rules: fit the weights of the rules in DIR again"
    )
    parser.add_argument(
        "--decisions",
        type=InputFile,
        metavar="FILE",
        help="with --refit: decisions made in the explorer; accepted links are facts, and rejected ones count as wrong",
    )
    parser.add_argument(
        "--rejected-weight",
        type=int,
        metavar="W",
        help="with --decisions: a rejected link counts as W wrong answers, any unknown link as one (default 10)",
    )
    parser.add_argument(
        "--no-constants",
        action="store_true",
        help="no rules about particular entities: a list for other graphs alone",
    )
    add_training_options(parser, recipes=(*RECIPE_NAMES, "rules"))
    add_spark_engine(
        parser, help="recipe rules: look for rules on the workers of Spark, with the same result"
    )


def _add_injection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--inject",
        type=InputFile,
        metavar="RULES",
        help="rules to start from; those that do not fit together are named",
    )
    parser.add_argument(
        "--inject-mode",
        choices=["frozen", "refine"],
        help="frozen: in a block of their own that never changes (default); refine: as the start of what is learned",
    )
    parser.add_argument(
        "--inject-slots",
        metavar="N",
        type=int,
        help="the most slots the rules may take (default: 256 frozen ones, or all of the model's)",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Train, save, report."""
    if arguments.quick and arguments.recipe not in (None, "rules"):
        arguments.usage_error(f"--quick is --recipe rules: leave out --recipe {arguments.recipe}")
    if arguments.quick or (arguments.minutes is not None and arguments.recipe is None):
        arguments.recipe = "rules"
    _check_options(arguments)
    _check_minutes(arguments)
    arguments.spark = spark_choice(arguments, beside=arguments.output)
    if is_first():
        _check_free(Path(arguments.output))
    if arguments.recipe == "rules":
        from reshuffle.cli.rule_training import train_rules

        return train_rules(arguments, console)
    from reshuffle.learning.team import joined_team

    settings = settings_of(arguments)
    if arguments.no_constants:
        settings = settings.changed(rules_constants=False)
    with joined_team(arguments.device) as (team, arguments.device):
        model = _trained(arguments, settings, team, console)
        if team.is_first:
            model.save(arguments.output)
            _report(model, arguments.output, console)
    return 0


def _trained(arguments: argparse.Namespace, settings: Settings, team: Team, console: Console) -> Reshuffle:
    """Read, train; with a team, this process's part of it."""
    from reshuffle.learning.estimator import Reshuffle

    with bad_rows_of(arguments, console) as bad:
        facts = facts_of(arguments, console, bad_rows=bad)
        valid = valid_of(arguments, console, bad_rows=bad)
    rules = None if arguments.inject is None else _rules(arguments.inject, console)
    curve = TrainingCurve(console.progress, measure=settings.training.select_by)

    def after_epoch(epoch: Epoch) -> None:
        curve.after_epoch(epoch)
        _tell(epoch, console)

    def after_glance(glance: Glance) -> None:
        curve.after_glance(glance)
        _tell_glance(glance, console)

    try:
        return Reshuffle(settings, device=arguments.device).fit(
            facts,
            valid=valid,
            inject=rules,
            inject_mode=arguments.inject_mode or "frozen",
            inject_slots=arguments.inject_slots,
            minutes=arguments.minutes,
            directory=arguments.output,
            resume=arguments.resume,
            progress=curve.progress,
            notes=console.message,
            after_epoch=after_epoch,
            after_glance=after_glance,
            pieces=arguments.pieces,
            team=team,
        )
    except KeyboardInterrupt:
        if arguments.minutes is None:
            console.message(_way_on(Path(arguments.output)))
        raise


def _check_options(arguments: argparse.Namespace) -> None:
    if arguments.pieces < 1:
        arguments.usage_error("--pieces: at least one")
    if arguments.inject_slots is not None and arguments.inject_slots < 1:
        arguments.usage_error("--inject-slots: at least one")
    for name in ("mode", "slots"):
        if arguments.inject is None and getattr(arguments, f"inject_{name}") is not None:
            arguments.usage_error(f"--inject-{name} needs --inject RULES")

    if arguments.engine is not None and (arguments.recipe != "rules" or arguments.refit):
        arguments.usage_error(
            "--engine spark looks for rules: it needs --recipe rules, without --refit; torchrun shares other trainings"
        )
    if arguments.relation and (arguments.recipe != "rules" or arguments.refit):
        arguments.usage_error("--relation needs --recipe rules or --quick, without --refit")
    _check_decisions(arguments)
    if arguments.recipe != "rules" and (arguments.rules or arguments.refit):
        arguments.usage_error(
            "--rules and --refit need --recipe rules; --inject puts rules into other models"
        )


def _check_decisions(arguments: argparse.Namespace) -> None:
    if arguments.decisions is not None and not arguments.refit:
        arguments.usage_error("--decisions needs --refit: decisions are about links of a model that is there")
    if arguments.rejected_weight is not None and arguments.decisions is None:
        arguments.usage_error("--rejected-weight needs --decisions")


def _check_minutes(arguments: argparse.Namespace) -> None:
    if arguments.minutes is None:
        return
    if not 0 < arguments.minutes < math.inf:
        arguments.usage_error(f"--minutes {arguments.minutes}: more than 0")
    if arguments.refit:
        arguments.usage_error("--minutes is for learning: leave out --refit")
    if arguments.resume and arguments.recipe != "rules":
        arguments.usage_error("--minutes plans the steps that fit: leave out --resume")


def _check_free(directory: Path) -> None:
    """Refuse a directory that another training is using, before anything is read."""
    from reshuffle.locks import alone_in

    if directory.is_dir():
        with alone_in(directory, "training"):
            pass


def _way_on(directory: Path) -> str:
    from reshuffle.learning.training.saving import CHECKPOINT

    if (directory / CHECKPOINT).exists():
        return "the same command with --resume goes on from the last checkpoint"
    return "there is no checkpoint yet: the same command starts again"


def _rules(path: str, console: Console) -> RuleBase:
    from reshuffle.rules import read_rules

    return read_rules(path, skip_unsupported=True, notes=console.message)


def _tell(epoch: Epoch, console: Console) -> None:
    if epoch.hits_at_10 is not None:
        console.detail(
            f"epoch {epoch.number}: loss {epoch.loss:.4f}, validation hits@10 {epoch.hits_at_10:.3f}, "
            f"mrr {epoch.mrr:.3f}"
        )


def _tell_glance(seen: Glance, console: Console) -> None:
    console.detail(f"step {seen.step:,}: validation mrr {seen.mrr:.3f} ± {seen.mrr_error:.3f} on a sample")


def _report(model: Reshuffle, directory: str, console: Console) -> None:
    summary: dict[str, Any] = model.summary()
    looked = f", validation hits@10 {summary['hits@10']:.3f}" if "hits@10" in summary else ""
    text = f"{directory}: the model of epoch {summary['best_epoch']} of {summary['epochs']}{looked}"
    injected = {} if model.injection is None else {"injected": model.injection.to_dict()}
    console.result(text, {"directory": directory, **summary, **injected})
