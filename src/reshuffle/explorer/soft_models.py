"""Subjects that are trained models: ranked links with confidences, reasons, and extracted rules."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from reshuffle.explorer.rule_bases import rules_after
from reshuffle.explorer.shared_work import held
from reshuffle.explorer.subject import RankedWorld, Subject
from reshuffle.explorer.views.training_page import SETTINGS
from reshuffle.extraction import extract_rules
from reshuffle.progress import SILENT, in_one_step
from reshuffle.rules import RuleBase

if TYPE_CHECKING:
    from reshuffle.evaluation.scorer import Side
    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import Source
    from reshuffle.extraction import ExtractedRules
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.progress import Progress
    from reshuffle.rules import Rule

_LONGEST = 2  # atoms of the bodies that are read: a longer search takes minutes


class SoftModelSubject(Subject):
    """A trained model on facts. Rules are read from its weights; striking one out changes no weight."""

    kind = "soft model"
    edits_rules = False

    def __init__(self, model: Reshuffle, source: Source) -> None:
        self.model, self.source = model, source
        self._extracted: ExtractedRules | None = None
        self._extracting = Lock()

    @property
    def given_rules(self) -> frozenset[Rule]:
        """Those read from the weights; none before somebody has looked at them."""
        found = self._extracted
        return frozenset() if found is None else frozenset(found.to_rule_base().given)

    @property
    def written(self) -> str:
        """Its settings, which name the digests of its arrays."""
        folder = self.source.directory
        file = None if folder is None else folder / SETTINGS
        return file.read_text(encoding="utf-8") if file is not None and file.is_file() else ""

    def world(self, edits: Edits, progress: Progress = SILENT) -> SoftModelWorld:
        """The same model on the facts as they would be."""
        del progress
        return SoftModelWorld(self, self.source.facts_after(edits), edits)

    def extracted(self, progress: Progress = SILENT) -> ExtractedRules:
        """The rules of the weights, measured on the facts where there are some; found once."""
        with held(self._extracting, progress):
            if self._extracted is None:
                on = self.source.facts if len(self.source.facts) else None
                self._extracted = extract_rules(self.model, on=on, max_length=_LONGEST, progress=progress)
            return self._extracted


class SoftModelWorld(RankedWorld):
    """What a model says over facts."""

    rules_at_hand = False
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
        return rules_after(RuleBase(()) if found is None else found.to_rule_base(), self._edits)

    def why(
        self, triple: Triple, *, most: int, side: Side = "tail", progress: Progress = SILENT
    ) -> tuple[dict[str, Any], str]:
        """What the score is made of, and the reasons."""
        with in_one_step(progress, "looking for reasons"):
            found = self.scorer.explain(*triple, most=most, side=side)
        return found.to_dict(), str(found)

    def rule_rows(self, progress: Progress = SILENT) -> list[dict[str, Any]]:
        """The rules of the weights, best first."""
        struck = set(self._edits.rejected)
        found = self._subject.extracted(progress)
        return [one.row() for one in found if one.rule not in struck]
