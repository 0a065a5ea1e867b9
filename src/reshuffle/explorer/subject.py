"""The interfaces that pages use: a subject, and its answers after some edits.

The kinds of subjects are in `rule_bases`, `rule_lists` and `soft_models`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from reshuffle.errors import InputError
from reshuffle.explorer.changes import Edits
from reshuffle.explorer.relation_counts import RelationCounts
from reshuffle.kg import KnowledgeGraph, refuse_inverse_names
from reshuffle.progress import SILENT
from reshuffle.rulelist import RuleModel

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.evaluation.ranked_links import Link, Predictions
    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import Triple
    from reshuffle.model.answers.model_answers import ModelAnswers
    from reshuffle.progress import Progress
    from reshuffle.reasoning import Answers
    from reshuffle.rulelist.constants.constant_rules import ConstantRules
    from reshuffle.rulelist.rule_answers import RuleAnswers
    from reshuffle.rules import Rule, RuleBase


@dataclass(frozen=True)
class Source:
    """The facts that a subject stands on, and where things come from."""

    name: str
    """What people read in the heading."""
    facts: KnowledgeGraph = field(default_factory=KnowledgeGraph)
    held_out: KnowledgeGraph = field(default_factory=KnowledgeGraph)
    """True triples that are no facts, to try rules on."""
    directory: Path | None = None
    """Of a model."""

    def facts_after(self, edits: Edits) -> KnowledgeGraph:
        """The facts with those added and without those taken back."""
        facts = self.facts
        if edits.removed:
            facts = facts - KnowledgeGraph(edits.removed)
        if edits.added:
            refuse_inverse_names(triple.relation for triple in edits.added)
            facts = facts | KnowledgeGraph(edits.added)
        return facts


class World(ABC):
    """A subject after some edits. It never changes; what is slow is computed when first asked for."""

    facts: KnowledgeGraph
    rules: RuleBase
    """The rules that answers go by, as far as they are known."""
    entailed: Answers | None = None
    """What follows by the rules; None where a score decides."""
    rules_at_hand: ClassVar[bool] = True
    """Are all rules known at once? Reading those of weights takes minutes."""
    about_entities: ConstantRules | None = None
    """Rules about particular entities, where there are so many that they are not listed among the others."""
    is_a: str | None = None
    """Where all facts are edges between classes: the relation to the classes above."""

    @property
    @abstractmethod
    def exactness(self) -> str:
        """What the answers are, in a few words."""

    @cached_property
    def relation_counts(self) -> RelationCounts:
        """What the facts of each relation look like."""
        return RelationCounts(self.facts)

    @property
    def listed_rules(self) -> tuple[Rule, ...]:
        """The rules that people read."""
        return self.rules.rules

    @property
    @abstractmethod
    def asked_relations(self) -> tuple[str, ...]:
        """The relations about which something may follow or be predicted."""

    @abstractmethod
    def why(
        self, triple: Triple, *, most: int, side: Side = "tail", progress: Progress = SILENT
    ) -> tuple[dict[str, Any], str]:
        """An explanation as `explain --json` has it, and as text; `side` says which end a score is asked for."""

    def predictions(self, **question: Any) -> Predictions[Link] | None:
        """New links with their scores; None where links follow or do not."""
        del question
        return None

    def weighted(self) -> RuleModel:
        """The rules as a rule list, to be saved."""
        return RuleModel.from_rules(self.rules)

    @abstractmethod
    def warm_up(self) -> None:
        """Ask something, so that compiled code is loaded and rows are sorted."""

    @abstractmethod
    def rule_rows(self, progress: Progress = SILENT) -> list[dict[str, Any]]:
        """The rules with what is known of each, as `rules --json` has them."""


class RankedWorld(World):
    """Answers that a scorer ranks, whichever kind of model it is."""

    scorer: ModelAnswers | RuleAnswers

    @cached_property
    def ranked(self) -> dict[tuple[Triple, ...], dict[str, float]]:
        """How well it ranks held-out facts, for those that were asked about."""
        return {}

    @property
    def asked_relations(self) -> tuple[str, ...]:
        """All that the model knows."""
        return self.scorer.relations

    def predictions(self, **question: Any) -> Predictions[Link]:
        """As `predict` has them."""
        return self.scorer.predict(**question)

    def missing(
        self, relation: str, *, top: int, progress: Progress = SILENT, **about: Any
    ) -> Predictions[Link]:
        """The best new links of a relation; about `heads` alone, where they are given for a rule list."""
        return self.scorer.missing(relation=relation, top=top, progress=progress, **about)

    def warm_up(self) -> None:
        """The best links from one entity, and what speaks for a fact."""
        fact = next(iter(self.facts))
        self.predictions(head=fact.head, top=1)
        if fact.relation in self.asked_relations:
            self.why(fact, most=1)
        _ = self.facts.by_head, self.facts.by_tail


class Subject(ABC):
    """Something to explore. `kind` is one of "rules", "rule model", "soft model" and "training"."""

    kind: ClassVar[str]
    source: Source
    edits_rules: ClassVar[bool] = True
    """Do answers go by the rules, so that striking one out changes them?"""

    @property
    @abstractmethod
    def given_rules(self) -> frozenset[Rule]:
        """The rules without edits, as far as they are known."""

    @cached_property
    def digest(self) -> str:
        """What decisions name the model by: it changes with the rules and their weights."""
        return hashlib.sha256(self.written.encode()).hexdigest()

    @property
    def written(self) -> str:
        """The model as text."""
        return "\n".join(sorted(map(str, self.given_rules)))

    def changed_by(self, edits: Edits) -> Edits:
        """Those of the edits that change something here."""
        return edits.on(self.source.facts, self.given_rules)

    @abstractmethod
    def world(self, edits: Edits, progress: Progress = SILENT) -> World:
        """The subject after some edits; raises where they do not fit."""

    @cached_property
    def as_given(self) -> World:
        """The subject without edits."""
        return self.world(Edits())

    def prepare(self, progress: Progress = SILENT) -> None:
        """Do what the first question would wait for: make the world, and ask it something."""
        world = self.world(Edits(), progress)
        if len(world.facts):
            with progress("making ready"):
                world.warm_up()
                _ = world.relation_counts
        self.__dict__["as_given"] = world

    def need_facts(self) -> None:
        """Refuse questions about facts where there are none."""
        if not len(self.source.facts):
            raise InputError(
                "there are no facts to show",
                hint="give them after the model: reshuffle serve MODEL FACTS",
            )
