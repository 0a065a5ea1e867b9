"""Trained networks: a score for every triple; hardened matrices and injected rules for what is certain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from reshuffle.errors import ReshuffleError
from reshuffle.extraction import extract_rules
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.model_files import INJECTED_RULES
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.text import counted
from reshuffle.theories.constraint_files import ConstraintTheory, refuse_confidence
from reshuffle.theories.theory import Theory, cannot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.extraction.extract import Model
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.progress import Notes, Progress
    from reshuffle.rules import Rule, RuleBase
    from reshuffle.theories.theory import Reading


@dataclass(frozen=True, repr=False)
class NetworkTheory(Theory):
    """A trained network."""

    model: Reshuffle
    name: str = "network"

    kind = "soft model"
    ranks = True
    trained = True
    edits_rules = False
    shown_reasons = 3
    shares_questions = True

    @property
    def relations(self) -> tuple[str, ...]:
        """Those that it was trained on."""
        return tuple(self.model.relations)

    def sources(self) -> tuple[OrderingConstraints, ...]:
        """The constraints nearest to its matrices, and those of injected rules."""
        block = self.model.model.injected
        hard = self.model.harden()
        return (hard,) if block is None else (hard, block.constraints)

    def certain(self, *, least: float | None = None, notes: Notes = UNHEARD) -> ConstraintTheory:
        """The hardened matrices with the injected rules."""
        if least is not None:
            refuse_confidence(self.name)
        told = f"{self.name}: reasoning with the hard constraints nearest to what was learned"
        block = self.model.model.injected
        injected = 0 if block is None else len(block.constraints.rules or ())
        notes(f"{told}, and with {counted(injected, 'injected rule')}" if block is not None else told)
        return ConstraintTheory(self.sources(), self.name, learned=True)

    @property
    def heading(self) -> str:
        """What it is, in a few words."""
        return repr(self.model)[1:-1]

    @property
    def remark(self) -> str | None:
        """Injected rules are not extracted: they are in a file of their own."""
        if (block := self.model.model.injected) is None:
            return None
        rules = counted(len(block.constraints.rules or ()), "injected rule")
        return f"{rules} beside what was learned: {Path(self.name) / INJECTED_RULES}"

    def matrices(self, *, hard: bool = False) -> Model:
        """The soft matrices, or the hard ones nearest to them."""
        return self.model.harden() if hard else self.model

    def remark_on(self, graph: KnowledgeGraph, triple: Triple) -> str | None:
        """Whether the hardened matrices entail the triple in as many steps as the model has layers.

        `infer` takes any number of steps, but may need minutes to prepare.
        """
        try:
            hard = self.model.hardened()
        except ReshuffleError:  # the squared variant, or one with a bias, has no hard form
            return None
        if not hard.on(graph).explain(*triple, most=1).follows:
            return None
        return "it follows from the hardened matrices, which `infer` goes by: `explain --hard` shows how"

    def readable_rules(self, facts: KnowledgeGraph, *, progress: Progress = SILENT) -> RuleBase:
        """The rules that its matrices capture, measured on facts."""
        return extract_rules(self.model, on=facts, progress=progress).to_rule_base()

    def edited(self, *, without: Iterable[Rule] = (), written: Iterable[Rule] = ()) -> NoReturn:
        """Refused: a network has weights, and no rules to strike out."""
        del without, written
        raise cannot(
            self, "has no rules to edit", "`reshuffle distil` makes a rule list of it, which can be edited"
        )

    def ranker(self, graph: KnowledgeGraph, *, notes: Notes = UNHEARD) -> ModelAnswers:
        """The network on a graph."""
        return self.model.on(graph, notes=notes)


def read(path: Path, reading: Reading) -> NetworkTheory:
    """The network of a directory."""
    return NetworkTheory(Reshuffle.load(path, device=reading.device), str(path))
