"""Ordering constraints: what `reshuffle compile` writes, and the hardened matrices of a network."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NoReturn

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError, Place
from reshuffle.evaluation.queries import passed_over
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.theories.theory import Theory, cannot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning import Answers, Reasoner
    from reshuffle.rules import Rule, RuleBase
    from reshuffle.theories.theory import Reading


@dataclass(frozen=True, repr=False)
class ConstraintTheory(Theory):
    """Ordering constraints; several sets of them entail together."""

    each: tuple[OrderingConstraints, ...]
    name: str = "constraints"
    learned: bool = False
    """Do they come from training, rather than from rules?"""

    kind = "constraints"
    edits_rules = False

    @property
    def relations(self) -> tuple[str, ...]:
        """Those that can be asked about."""
        return tuple(dict.fromkeys(chain.from_iterable(one.answerable for one in self.each)))

    @property
    def rules(self) -> RuleBase | None:
        """The rules that they were compiled from."""
        return self.each[0].rules

    def sources(self) -> tuple[OrderingConstraints, ...]:
        """The constraints."""
        return self.each

    def certain(self, *, least: float | None = None, notes: Notes = UNHEARD) -> ConstraintTheory:
        """All of it. Constraints have no confidences."""
        del notes
        if least is not None:
            refuse_confidence(self.name)
        return self

    def edited(self, *, without: Iterable[Rule] = (), written: Iterable[Rule] = ()) -> NoReturn:
        """Refused: constraints are compiled."""
        del without, written
        raise cannot(self, "cannot be edited", "edit the rules, and compile them again")

    def ranker(self, graph: KnowledgeGraph, *, notes: Notes = UNHEARD) -> NoReturn:
        """Refused: constraints say yes or no."""
        del graph, notes
        raise cannot(self, "have no scores", "`reshuffle train` learns what has")

    def matrices(self, *, hard: bool = False) -> OrderingConstraints:
        """The constraints; of several those that were learned."""
        del hard
        return self.each[0]

    @property
    def nothing_follows(self) -> str | None:
        """Hardened matrices may entail nothing where the soft ones rank well."""
        told = "nothing follows from the hardened matrices; `reshuffle predict` ranks by the soft ones"
        return told if self.learned else None

    def answered(
        self,
        reasoners: Sequence[Reasoner],
        graph: KnowledgeGraph,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> Answers:
        """What follows; of learned constraints `notes` hears which facts they know nothing about."""
        known = {name for one in self.each for name in one.relation_ids}
        if self.learned and (told := passed_over(graph, known)) is not None:
            notes(told)
        return super().answered(reasoners, graph, progress=progress, notes=notes)


def refuse_confidence(name: str) -> NoReturn:
    """Refuse a least confidence where there are no rules with confidences."""
    raise InputError(
        "--min-confidence is for rules, and this holds constraints",
        place=Place(name),
        hint="leave it out; `reshuffle rules` gives the rules of a model with their confidences",
    )


def read(path: Path, reading: Reading) -> ConstraintTheory:
    """The constraints of a file."""
    del reading
    return ConstraintTheory((OrderingConstraints.load(path),), str(path))
