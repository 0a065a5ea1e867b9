"""Trained models: ranked links with confidences, reasons, and the rules that can be read from the weights."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from reshuffle.explorer.subject import RankedWorld, Subject
from reshuffle.extraction import extract_rules
from reshuffle.progress import SILENT
from reshuffle.rules import RuleBase

if TYPE_CHECKING:
    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import Source
    from reshuffle.extraction import ExtractedRules
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.progress import Progress

_LONGEST = 2  # atoms of the bodies that are read: a longer search takes minutes


class SoftModelSubject(Subject):
    """A trained model on facts. Rules are read from its weights; striking one out changes no weight."""

    kind = "soft model"
    edits_rules = False

    def __init__(self, model: Reshuffle, source: Source) -> None:
        self.model, self.source = model, source
        self._extracted: ExtractedRules | None = None
        self._extracting = Lock()

    def world(self, edits: Edits, progress: Progress = SILENT) -> SoftModelWorld:
        """The same model on the facts as they would be."""
        del progress
        return SoftModelWorld(self, self.source.facts_after(edits), edits)

    def extracted(self, progress: Progress = SILENT) -> ExtractedRules:
        """The rules of the weights, measured on the facts where there are some; found once."""
        with self._extracting:
            if self._extracted is None:
                on = self.source.facts if len(self.source.facts) else None
                self._extracted = extract_rules(self.model, on=on, max_length=_LONGEST, progress=progress)
            return self._extracted


class SoftModelWorld(RankedWorld):
    """What a model says over facts."""

    exactness = "a score decides the order; reasons are the facts and rules that support it"

    def __init__(self, subject: SoftModelSubject, facts: KnowledgeGraph, edits: Edits) -> None:
        self._subject, self.facts, self._edits = subject, facts, edits

    @cached_property
    def scorer(self) -> ModelAnswers:  # type: ignore[override]
        """The model on the facts."""
        return self._subject.model.on(self.facts)

    @property
    def rules(self) -> RuleBase:  # type: ignore[override]
        """Those read from the weights, but for what was struck out; none before somebody has looked at them."""
        found = self._subject._extracted
        given = () if found is None else found.to_rule_base().given
        struck = set(self._edits.rejected)
        return RuleBase((*(rule for rule in given if rule not in struck), *self._edits.written))

    def why(self, triple: Triple, *, most: int) -> tuple[dict[str, Any], str]:
        """What the score is made of, and the reasons."""
        found = self.scorer.explain(*triple, most=most)
        return found.to_dict(), str(found)

    def rule_rows(self, progress: Progress = SILENT) -> list[dict[str, Any]]:
        """The rules of the weights, best first."""
        struck = set(self._edits.rejected)
        found = self._subject.extracted(progress)
        return [one.row() for one in found if one.rule not in struck]
