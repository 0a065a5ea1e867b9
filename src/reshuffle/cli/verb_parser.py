"""The parser of a verb, which says itself what is wrong with its arguments."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reshuffle.errors import near_names, with_hint

if TYPE_CHECKING:
    from collections.abc import Sequence


class VerbParser(argparse.ArgumentParser):
    """Refuses arguments that it does not know, with its own usage and what is near.

    argparse hands them up instead, to the parser of all verbs, whose usage says nothing about them.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it, but unknown arguments are an error of this verb."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown and self._take_more(options, unknown):
            unknown = []
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._way_out(unknown, args)}")
        if getattr(options, "report", None) is not None and options.bad_rows != "skip":
            self.error("--report lists the rows that are skipped: give --bad-rows skip, too")
        return options, unknown

    def _take_more(self, options: Any, unknown: Sequence[str]) -> bool:
        """Take the words behind an option as further facts: argparse takes positional arguments in one go.

        What comes after the facts, such as the triple of `explain`, is always the last words.
        """
        positional = self._get_positional_actions()
        at = next((place for place, action in enumerate(positional) if action.dest == "facts"), None)
        if at is None or positional[at].nargs not in ("*", "+"):
            return False
        if any(word.startswith("-") and word != "-" for word in unknown):
            return False
        facts, *behind = positional[at:]
        words = [*options.facts, *(getattr(options, action.dest) for action in behind), *unknown]
        for action, word in zip(behind, words[len(words) - len(behind) :], strict=True):
            setattr(options, action.dest, str(word))
        given = words[: len(words) - len(behind)]
        options.facts = [facts.type(word) if callable(facts.type) else word for word in given]
        return True

    def _way_out(self, unknown: Sequence[str], given: Sequence[str]) -> str:
        """The nearest option, or setting where the verb takes settings; empty where nothing unknown is an option."""
        typed = next((argument for argument in unknown if argument.startswith("--")), None)
        if typed is None:
            return ""
        option, _, value = typed.partition("=")
        known = {name.lstrip("-"): name for name in self._option_string_actions if name.startswith("--")}
        takes_settings = "set" in known
        if takes_settings:
            value = value or _following(typed, given)
            known |= {name: f"--set {name}={value or 'VALUE'}" for name in _setting_names()}
        near = near_names(option.lstrip("-"), known, most=1)
        if near:
            return f"; did you mean {known[near[0]]}?"
        if takes_settings:
            return with_hint("", "settings are given as --set NAME=VALUE, such as --set max_epochs=2")
        return ""


def _following(option: str, given: Sequence[str]) -> str:
    """The word after the unknown option: its value, which argparse may have taken for another argument."""
    behind = given[given.index(option) + 1 :]
    return behind[0] if behind and not behind[0].startswith("-") else ""


def _setting_names() -> list[str]:
    try:
        from reshuffle.learning.settings import SETTINGS
    except ImportError:  # nothing can be learned here, which the verb itself says better
        return []
    return list(SETTINGS)
