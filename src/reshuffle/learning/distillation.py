"""Distil a soft model into a rule model: extract its rules, and fit them to the facts and to its ranking.

A rule model is fitted to training questions; each question hides its own fact. The soft model answers the same
questions on the same facts. The rule model is fitted to the mean of two targets: the true answer, and the soft model's
distribution over all candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import torch

from reshuffle.extraction import extract_rules
from reshuffle.extraction.fidelity import fidelity
from reshuffle.kg import KnowledgeGraph
from reshuffle.model.channels.query import HeadChannels
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.learner import RuleSettings, learn_rules, measured_on

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Scorer, Side
    from reshuffle.extraction.fidelity import Fidelity
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.model.answers.model_on_graph import ModelOnGraph
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.features import Questions
    from reshuffle.rulelist.rule_model import RuleModel
    from reshuffle.rules import RuleBase

HELD_OUT = 0.05
"""The share of the facts that is kept for the comparison, and not fitted to."""
_MOST_HELD_OUT = 2_000
_MOST_RULES, _RULES_PER_RELATION = 2_000, 40  # whichever is more
_MOST_NUMBERS = 1 << 26  # of the states of the questions at a time


@dataclass(frozen=True)
class SoftTeacher:
    """Scores training questions by a soft model on the facts that they are about."""

    model: Reshuffle
    facts: KnowledgeGraph
    _one_at_a_time: Lock = field(default_factory=Lock, repr=False)

    @cached_property
    def _on_graph(self) -> ModelOnGraph:
        return self.model.on_graph(self.facts)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """A number for each fact, ascending as the facts are sorted."""
        return self._key(self.facts.heads, self.facts.relation_ids, self.facts.tails)

    def _key(
        self, heads: NDArray[np.int32], relations: NDArray[np.int32], tails: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        count = np.int64(self.facts.num_entities)
        return (relations.astype(np.int64) * count + heads) * count + tails

    def scores(self, questions: Questions) -> NDArray[np.float32]:  # question entity
        """The scores of all entities as answers, with the facts that are asked about hidden.

        Those of some questions are hidden together, as in training. A model whose channels are not those of single
        questions sees all facts.
        """
        with self._one_at_a_time, torch.no_grad():  # each uses all threads already
            return self._scores(questions)

    def _scores(self, questions: Questions) -> NDArray[np.float32]:
        on, count = self._on_graph, len(self.facts.relations)
        inverse = questions.relations >= count
        relations = questions.relations % count
        if not on.kind.per_query:
            found = np.empty((len(relations), self.facts.num_entities), dtype=np.float32)
            sides: tuple[tuple[Side, NDArray[np.bool_]], ...] = (("tail", ~inverse), ("head", inverse))
            for side, those in sides:
                if those.any():
                    found[those] = on.totals(questions.anchors[those], relations[those], None, side=side)
            return found
        heads = np.where(inverse, questions.answers, questions.anchors)
        tails = np.where(inverse, questions.anchors, questions.answers)
        places = np.searchsorted(self._keys, self._key(heads, relations, tails))
        # The model's tensors hold the facts of relations that it knows, in the same order.
        known = on.numbers[self.facts.relation_ids] >= 0
        positions = (np.cumsum(known) - 1)[places]
        asked = on.numbers[relations] + np.where(inverse, on.model.num_relations, 0)
        channels = HeadChannels(on.tensors, on.tensors.messages)
        step = max(1, _MOST_NUMBERS // max(1, self.facts.num_entities * on.model.architecture.num_slots))
        step = min(step, self.model.settings.training.batch_size)
        rows = []
        for start in range(0, len(asked), step):
            piece = slice(start, start + step)
            hidden = on.on_device(np.unique(positions[piece]))
            anchors, numbers = on.on_device(questions.anchors[piece]), on.on_device(asked[piece])
            found_scores = channels.scores(on.matrices, anchors, numbers, hidden=hidden)
            rows.append(found_scores.total.float().cpu().numpy())
        return np.concatenate(rows)


@dataclass(frozen=True)
class Distilled:
    """A rule model, and how it compares with the soft one on facts that neither the rules nor the weights saw."""

    model: RuleModel
    compared: Fidelity | None
    """None where there were too few facts to hold some out."""
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
    taught = learn_rules(
        known,
        rules=rules_of(model, known, max_length=max_length, progress=progress),
        mine=mine,
        teacher=SoftTeacher(model, known),
        settings=settings,
        directory=directory,
        resume=resume,
        progress=progress,
        notes=notes,
    )
    if not len(held_out):
        return Distilled(taught, None, 0)
    scorers: dict[str, Scorer] = {"soft": model.on(known), "rules": taught.on(known)}
    compared = fidelity(
        scorers, held_out, protocol="full", known=facts, seed=seed, unknown="skip", progress=progress
    )
    return Distilled(measured_on(taught, facts, progress=progress), compared, len(held_out))


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

    def part(rows: NDArray[np.int64]) -> KnowledgeGraph:
        columns = (facts.heads[rows], facts.relation_ids[rows], facts.tails[rows])
        return KnowledgeGraph.from_ids(*columns, entities=facts.entities, relations=facts.relations)

    return part(rest), part(drawn)
