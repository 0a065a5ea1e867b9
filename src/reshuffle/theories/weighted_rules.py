"""Weighted rule lists, learned from facts or made of rules with confidences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reshuffle.progress import UNHEARD
from reshuffle.rulelist import load_rule_model
from reshuffle.rulelist.constants.constant_edits import edited
from reshuffle.rulelist.rule_model import DIGITS, prior_of
from reshuffle.rules import RuleBase
from reshuffle.rules.rule import ConstantRule
from reshuffle.theories.rule_files import RuleTheory, tell_sure
from reshuffle.theories.theory import Theory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes
    from reshuffle.rulelist import RuleModel
    from reshuffle.rulelist.rule_answers import RuleAnswers
    from reshuffle.rules import Rule
    from reshuffle.theories.theory import Reading


@dataclass(frozen=True, repr=False)
class RuleListTheory(Theory):
    """A rule list."""

    model: RuleModel
    name: str = "rule list"

    kind = "rule model"
    ranks = True
    trained = True

    @property
    def relations(self) -> tuple[str, ...]:
        """Those that the list knows."""
        return self.model.relations

    @property
    def rules(self) -> RuleBase:
        """The rules of the list, without weights."""
        return self.model.rule_base()

    def weighted(self) -> RuleModel:
        """The list itself."""
        return self.model

    def sources(self) -> tuple[RuleBase]:
        """The rules without an exception."""
        return (self.model.sure_rules(),)

    def certain(self, *, least: float | None = None, notes: Notes = UNHEARD) -> RuleTheory:
        """The rules without an exception in the training facts, or those of at least that confidence."""
        sure = self.model.sure_rules(least)
        if notes is not UNHEARD:
            tell_sure(self.name, len(sure), len(self.model), least, notes)
        return RuleTheory(sure, self.name)

    def edited(self, *, without: Iterable[Rule] = (), written: Iterable[Rule] = ()) -> RuleListTheory:
        """The list without some rules, and with others, weighted by their confidences."""
        return replace(self, model=model_after(self.model, without, written))

    def ranker(self, graph: KnowledgeGraph, *, notes: Notes = UNHEARD) -> RuleAnswers:
        """The list on a graph."""
        return self.model.on(graph, notes=notes)


def model_after(model: RuleModel, without: Iterable[Rule], written: Iterable[Rule]) -> RuleModel:
    """A list without some rules, and with others, weighted by their confidences."""
    struck, new = frozenset(without), tuple(written)
    gone = [rule for rule in struck if isinstance(rule, ConstantRule)]
    about = [(rule, round(prior_of(rule.quality), DIGITS)) for rule in new if isinstance(rule, ConstantRule)]
    left = replace(
        model,
        rules=tuple(one for one in model.rules if one.rule not in struck),
        constants=edited(model.constants, gone, about),
    )
    left = left.knowing(left.constants.relations)
    return left.with_rules(RuleBase(new)) if new else left


def read(path: Path, reading: Reading) -> RuleListTheory:
    """The list of a directory, or of its file."""
    del reading
    return RuleListTheory(load_rule_model(path), str(path))
