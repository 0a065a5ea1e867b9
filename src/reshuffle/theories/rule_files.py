"""Rule files and ontologies: all rules entail; rules with confidences also rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.errors import InputError, Place
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import UNHEARD
from reshuffle.rules import RuleBase, read_rules
from reshuffle.text import counted
from reshuffle.theories.theory import Theory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes
    from reshuffle.rulelist.aggregation.aggregated_answers import AggregatedAnswers
    from reshuffle.rulelist.aggregation.aggregates import Aggregate
    from reshuffle.rulelist.rule_answers import RuleAnswers
    from reshuffle.rules import Rule
    from reshuffle.theories.theory import Reading


@dataclass(frozen=True, repr=False)
class RuleTheory(Theory):
    """A rule base."""

    base: RuleBase
    name: str = "rules"
    aggregate: Aggregate | None = None
    """How the rules that lead to an answer rank it; None weighs paths by their confidences."""

    kind = "rules"

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """Those that the rules name."""
        return tuple(dict.fromkeys(map(base_relation, self.base.relations)))

    @property
    def rules(self) -> RuleBase:
        """The rules themselves."""
        return self.base

    @property
    def facts(self) -> tuple[tuple[str, str, str], ...]:
        """Triples that stand among the rules."""
        return self.base.facts

    def sources(self) -> tuple[RuleBase]:
        """The rules."""
        return (self.base,)

    def certain(self, *, least: float | None = None, notes: Notes = UNHEARD) -> RuleTheory:
        """All rules, or those of at least that confidence; a rule without a confidence is sure."""
        if least is None:
            return self
        sure = self.base.at_least(least)
        tell_sure(self.name, len(sure.rules), len(self.base.rules), least, notes)
        return replace(self, base=sure)

    def paths_alone(self, *, notes: Notes = UNHEARD) -> RuleTheory:
        """Without rules that have constants."""
        if not self.base.constant_rules:
            return self
        left = self.base.paths_alone()
        notes(str(left.unread[-1]))
        return replace(self, base=left)

    def edited(self, *, without: Iterable[Rule] = (), written: Iterable[Rule] = ()) -> RuleTheory:
        """The rules without some and with others."""
        struck = frozenset(without)
        given = (*(rule for rule in self.base.given if rule not in struck), *written)
        return replace(self, base=replace(self.base, given=given))

    def aggregated(self, by: Aggregate) -> RuleTheory:
        """The same rules, constants included, whose confidences rank as `by` says: max-plus, noisy-or or top5."""
        return replace(self, aggregate=by)

    def ranker(self, graph: KnowledgeGraph, *, notes: Notes = UNHEARD) -> RuleAnswers | AggregatedAnswers:
        """The rules by their aggregate, or weighted by their confidences."""
        if self.aggregate is not None:
            from reshuffle.rulelist.aggregation.aggregated_answers import (  # noqa: PLC0415 - few rank
                AggregatedAnswers,
            )

            return AggregatedAnswers(self.base, graph, by=self.aggregate)
        if more := len(self.base.constant_rules):
            notes(
                f"{self.name}: {counted(more, 'rule')} with constants not used: answers are ranked by paths"
            )
        return self.weighted().on(graph, notes=notes)


def tell_sure(name: str, sure: int, of: int, least: float | None, notes: Notes) -> None:
    """Say how many rules are sure enough to reason with; refuse where there are none."""
    told = "without an exception in the training facts" if least is None else f"of confidence {least} or more"
    notes(f"{name}: {sure:,} of {counted(of, 'rule')}, those {told}")
    if not sure:
        raise InputError(
            "no rule is sure enough to reason with",
            place=Place(name),
            hint="give a lower --min-confidence; `reshuffle predict` ranks by all of them",
        )


def read(path: Path, reading: Reading) -> RuleTheory:
    """The rules of a file; duplicates and tautologies are told."""
    base = read_rules(
        path, skip_unsupported=reading.skip_unsupported, prefixes=reading.prefixes, notes=reading.notes
    )
    return told(base, str(path), reading)


def told(base: RuleBase, path: str, reading: Reading) -> RuleTheory:
    """The rules as a theory, after duplicates and tautologies are told."""
    for what, rules in (("given more than once", base.duplicates), ("says nothing", base.tautologies)):
        for rule in rules:
            reading.notes(f"{path}: {what}: {rule}")
    return RuleTheory(base, path)
