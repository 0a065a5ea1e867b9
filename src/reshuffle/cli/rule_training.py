"""`reshuffle train --recipe rules`: mine rules, fit their weights, write the list; or fit an edited list again."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import bad_rows_of, facts_of, valid_of
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist import RuleModel, RuleSettings
    from reshuffle.rules import Rule

_NOT_FOR_RULES = ("config", "inject", "inject_mode", "inject_slots")


def train_rules(arguments: argparse.Namespace, console: Console) -> int:
    """Learn, save, report."""
    from reshuffle.kg.io.files import made_directory
    from reshuffle.locks import alone_in
    from reshuffle.rulelist import save_rule_model
    from reshuffle.rulelist.files.fit_checkpoints import FILE, remove_checkpoint
    from reshuffle.rulelist.model_text import read_model_text

    _check_options(arguments)
    settings = _settings(arguments)
    started = time.perf_counter()
    facts, valid = _given(arguments, console)
    folder = made_directory(arguments.output)
    with alone_in(folder, "training"):
        before = read_model_text(folder) if arguments.refit else None
        try:
            model = _learned(arguments, facts, valid, settings, console)
        except KeyboardInterrupt:
            if (folder / FILE).exists():
                console.message("the same command with --resume goes on from here")
            raise
        path = save_rule_model(model, folder, remarks_of=before)
        remove_checkpoint(folder)
    seconds = round(time.perf_counter() - started, 1)
    constants = (
        f", {counted(len(model.constants), 'rule')} about particular entities" if model.constants else ""
    )
    told = f"{counted(len(model), 'rule')} with weights{constants}, in {seconds} s"
    counts = {"rules": len(model), "constants": len(model.constants)}
    console.result(
        f"{path}: {told}; read it, and edit it as you like",
        {"directory": arguments.output, **counts, "seconds": seconds},
    )
    return 0


def _given(arguments: argparse.Namespace, console: Console) -> tuple[KnowledgeGraph, KnowledgeGraph | None]:
    """The facts, and the validation triples, if there are any; a benchmark brings both."""
    from reshuffle.kg.splits import GraphSplit

    with bad_rows_of(arguments, console) as bad:
        given = facts_of(arguments, console, bad_rows=bad)
        valid = valid_of(arguments, console, bad_rows=bad)
    if isinstance(given, GraphSplit):
        return given.facts, given.valid if valid is None else valid
    return given, valid


def _learned(
    arguments: argparse.Namespace,
    facts: KnowledgeGraph,
    valid: KnowledgeGraph | None,
    settings: RuleSettings,
    console: Console,
) -> RuleModel:
    from reshuffle.rulelist import learn_rules, load_rule_model, refit

    if arguments.refit:
        before = load_rule_model(arguments.output).with_rules(_rules(arguments, facts, console))
        facts, decided = _decided(arguments, facts, console)
        return refit(before, facts, valid=valid, settings=settings, progress=console.progress, **decided)
    minutes = _minutes(arguments, facts, console)
    return learn_rules(
        facts,
        valid=valid,
        relations=arguments.relation,
        minutes=minutes,
        rules=_rules(arguments, facts, console),
        settings=settings,
        directory=arguments.output,
        resume=arguments.resume,
        progress=console.progress,
        notes=console.message,
        **arguments.spark,
    )


def _decided(
    arguments: argparse.Namespace, facts: KnowledgeGraph, console: Console
) -> tuple[KnowledgeGraph, dict[str, Any]]:
    """The facts with the accepted links, and what to do with the rejected ones."""
    from reshuffle.explorer.decisions import ACCEPT, REJECT, read_decisions
    from reshuffle.kg import KnowledgeGraph

    if arguments.decisions is None:
        return facts, {}
    decisions = read_decisions(arguments.decisions)
    accepted, rejected = decisions.of_kind(ACCEPT), decisions.of_kind(REJECT)
    told = f"{counted(len(accepted), 'accepted link')} as facts, {counted(len(rejected), 'rejected link')}"
    console.message(f"{told} as wrong answers")
    options: dict[str, Any] = {"rejected": rejected}
    if arguments.rejected_weight is not None:
        options["weight"] = arguments.rejected_weight
    return (facts | KnowledgeGraph(accepted) if accepted else facts), options


def _minutes(arguments: argparse.Namespace, facts: KnowledgeGraph, console: Console) -> float | None:
    """How long it may take, told before it begins."""
    if arguments.minutes is not None:
        minutes, at_most = arguments.minutes, ""
    elif arguments.quick:
        minutes, at_most = quick_minutes(len(facts)), "at most "
    else:
        return None
    told = f"{minutes:.1f}".removesuffix(".0") if minutes >= 0.1 else f"{minutes:g}"
    noun = "minute" if told == "1" else "minutes"
    console.message(f"learning from {counted(len(facts), 'fact')} takes {at_most}{told} {noun}")
    return float(minutes)


def quick_minutes(facts: int) -> float:
    """A minute up to 300,000 facts, ten at five million and more."""
    return min(10.0, 1.0 + 9.0 * max(0, facts - 300_000) / 4_700_000)


def _check_options(arguments: argparse.Namespace) -> None:
    given = [name for name in _NOT_FOR_RULES if getattr(arguments, name) is not None]
    if given:
        arguments.usage_error(f"--{given[0].replace('_', '-')} is not for --recipe rules")
    if arguments.refit and arguments.resume:
        arguments.usage_error("--refit begins anew: leave out --resume")


def _settings(arguments: argparse.Namespace) -> RuleSettings:
    from reshuffle.kg.io.toml import setting_from_text
    from reshuffle.rulelist import RuleSettings

    settings = RuleSettings().changed(**dict(map(setting_from_text, arguments.changes)))
    return replace(settings, constants=None) if arguments.no_constants else settings


def _rules(arguments: argparse.Namespace, facts: KnowledgeGraph, console: Console) -> list[Rule]:
    """The rules of all files and models, each once."""
    from reshuffle.theories import load

    found: dict[Rule, None] = {}
    for source in arguments.rules:
        theory = load(source, skip_unsupported=True, device="cpu", notes=console.message)
        found.update(dict.fromkeys(theory.readable_rules(facts, progress=console.progress).rules))
    return list(found)
