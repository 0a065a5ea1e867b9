"""`reshuffle train --recipe rules`: mine rules, fit their weights, write the list; or fit an edited list again."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from reshuffle.cli.inputs import is_model, is_rule_list, learned_facts_of
from reshuffle.errors import InputError
from reshuffle.text import counted

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist import RuleModel, RuleSettings
    from reshuffle.rules import Rule

_NOT_FOR_RULES = ("valid", "config", "inject", "inject_mode", "inject_slots")


def train_rules(arguments: argparse.Namespace, console: Console) -> int:
    """Learn, save, report."""
    from reshuffle.kg.io.files import made_directory  # noqa: PLC0415 - verbs import when they run
    from reshuffle.locks import alone_in  # noqa: PLC0415
    from reshuffle.rulelist import save_rule_model  # noqa: PLC0415
    from reshuffle.rulelist.fit_checkpoints import FILE  # noqa: PLC0415

    _check_options(arguments)
    settings = _settings(arguments)
    started = time.perf_counter()
    facts = learned_facts_of(arguments, console)
    folder = made_directory(arguments.output)
    with alone_in(folder, "training"):
        try:
            model = _learned(arguments, facts, settings, console)
        except KeyboardInterrupt:
            if (folder / FILE).exists():
                console.message("the same command with --resume goes on from here")
            raise
        path = save_rule_model(model, folder)
        (folder / FILE).unlink(missing_ok=True)
    seconds = round(time.perf_counter() - started, 1)
    text = f"{path}: {counted(len(model), 'rule')} with weights, in {seconds} s; read it, and edit it as you like"
    console.result(text, {"directory": arguments.output, "rules": len(model), "seconds": seconds})
    return 0


def _learned(
    arguments: argparse.Namespace, facts: KnowledgeGraph, settings: RuleSettings, console: Console
) -> RuleModel:
    from reshuffle.rulelist import learn_rules, load_rule_model, refit  # noqa: PLC0415

    if arguments.refit:
        before = load_rule_model(arguments.output).with_rules(_rules(arguments, facts, console))
        return refit(before, facts, settings=settings, progress=console.progress)
    return learn_rules(
        facts,
        rules=_rules(arguments, facts, console),
        settings=settings,
        directory=arguments.output,
        resume=arguments.resume,
        progress=console.progress,
        notes=console.message,
        **arguments.spark,
    )


def _check_options(arguments: argparse.Namespace) -> None:
    given = [name for name in _NOT_FOR_RULES if getattr(arguments, name) is not None]
    if given:
        arguments.usage_error(f"--{given[0].replace('_', '-')} is not for --recipe rules")
    if arguments.refit and arguments.resume:
        arguments.usage_error("--refit begins anew: leave out --resume")


def _settings(arguments: argparse.Namespace) -> RuleSettings:
    from reshuffle.rulelist import RuleSettings  # noqa: PLC0415

    return RuleSettings().changed(**dict(map(_setting, arguments.changes)))


def _setting(text: str) -> tuple[str, Any]:
    """`key=value` as typed: a number, true or false."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"'{text}' is not a setting", hint="write key=value, such as longest=2")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _rules(arguments: argparse.Namespace, facts: KnowledgeGraph, console: Console) -> list[Rule]:
    """The rules of all files and models, each once."""
    found: dict[Rule, None] = {}
    for source in arguments.rules:
        found.update(dict.fromkeys(_rules_of(source, facts, console)))
    return list(found)


def _rules_of(source: str, facts: KnowledgeGraph, console: Console) -> tuple[Rule, ...]:
    from reshuffle.rulelist import load_rule_model  # noqa: PLC0415
    from reshuffle.rules import read_rules  # noqa: PLC0415

    if is_rule_list(source):
        return load_rule_model(source).rule_base().rules
    if not is_model(source):
        return read_rules(source, skip_unsupported=True, notes=console.message).rules
    from reshuffle.extraction import extract_rules  # noqa: PLC0415
    from reshuffle.learning.estimator import Reshuffle  # noqa: PLC0415 - torch

    model = Reshuffle.load(source, device="cpu")
    return extract_rules(model, on=facts, progress=console.progress).to_rule_base().rules
