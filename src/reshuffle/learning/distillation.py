"""Distil a soft model into a rule model: extract its rules, and fit their weights to the facts.

Fitting to the soft model's ranking as well made the list more like the model and less accurate
(docs/explanation/extraction.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.evaluation import evaluate
from reshuffle.extraction import extract_rules
from reshuffle.kg import KnowledgeGraph
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.learner import RuleSettings, learn_rules, measured_on

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.evaluation import Report
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.rule_model import RuleModel
    from reshuffle.rules import RuleBase

HELD_OUT = 0.05
"""The share of the facts that is kept for the comparison, and not fitted to."""
_MOST_HELD_OUT = 2_000
_MOST_RULES, _RULES_PER_RELATION = 2_000, 40  # whichever is more


@dataclass(frozen=True)
class Distilled:
    """A rule model, and how it compares with the soft one on facts that neither the rules nor the weights saw."""

    model: RuleModel
    compared: tuple[Report, Report] | None
    """The reports of the soft model and of the rules; None where there were too few facts to hold some out."""
    held_out: int


def distilled(  # noqa: PLR0913 - each has a default, and all are keywords
    model: Reshuffle,
    facts: KnowledgeGraph,
    *,
    max_length: int = 3,
    mine: bool = True,
    settings: RuleSettings | None = None,
    directory: str | Path | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> Distilled:
    """The rule model of a soft model's rules, fitted to most of the facts and compared on the others.

    Its rules are then measured on all facts, and listed in the order in which they are read there. With `mine`, rules
    that the facts show and the soft model does not give take part as well; their bodies have up to `max_length` atoms,
    too.
    """
    settings = settings or RuleSettings()
    settings = settings.changed(longest=min(max_length, settings.finding.longest))
    known, held_out = parted(facts, seed=seed)
    learned = learn_rules(
        known,
        rules=rules_of(model, known, max_length=max_length, progress=progress),
        mine=mine,
        settings=settings,
        directory=directory,
        resume=resume,
        progress=progress,
        notes=notes,
    )
    asked = KnowledgeGraph(triple for triple in held_out if triple.relation in model.relations)
    reports = None
    if len(asked):
        soft, rules = (
            evaluate(
                one.on(known),
                asked,
                protocol="full",
                known=facts,
                seed=seed,
                unknown="skip",
                baseline=False,
                progress=progress,
            )
            for one in (model, learned)
        )
        reports = soft, rules
    return Distilled(measured_on(learned, facts, progress=progress), reports, len(held_out))


def rules_of(
    model: Reshuffle, facts: KnowledgeGraph, *, max_length: int, progress: Progress = SILENT
) -> RuleBase:
    """The extracted rules that find some fact, with their confidences on the facts."""
    most = max(_MOST_RULES, _RULES_PER_RELATION * len(model.relations))
    found = extract_rules(model, on=facts, max_length=max_length, min_support=1, most=most, progress=progress)
    return found.to_rule_base()


def parted(facts: KnowledgeGraph, *, seed: int) -> tuple[KnowledgeGraph, KnowledgeGraph]:
    """Most of the facts, and some for the comparison, drawn by seed; both over the same names."""
    number = min(_MOST_HELD_OUT, int(len(facts) * HELD_OUT))
    drawn = np.sort(np.random.default_rng(seed).permutation(len(facts))[:number])
    rest = np.setdiff1d(np.arange(len(facts)), drawn)
    return facts.part(rest), facts.part(drawn)
