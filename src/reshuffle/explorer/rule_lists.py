"""Subjects that are rule models: weighted rules whose sums rank unknown triples."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.explorer.shared_work import held
from reshuffle.explorer.subject import RankedWorld, Subject
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT, in_one_step
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.why_not import why_not
from reshuffle.rulelist.constants.constant_edits import claim_of, place_of
from reshuffle.rules import RuleBase
from reshuffle.rules.rule import ConstantRule
from reshuffle.text import json_text
from reshuffle.theories.weighted_rules import model_after

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.evaluation.scorer import Side
    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import Source
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.progress import Progress
    from reshuffle.rulelist import RuleModel
    from reshuffle.rules import Rule

_NEAREST = 5
_TRIED = 50  # rules of a relation, the heaviest first, that are looked at for what is missing


class RuleListSubject(Subject):
    """A rule model on facts."""

    kind = "rule model"

    def __init__(self, model: RuleModel, source: Source) -> None:
        self.model, self.source = model, source

    @cached_property
    def given_rules(self) -> frozenset[Rule]:
        """Those of the list; of those about particular entities there may be too many to name them."""
        return frozenset(one.rule for one in self.model.rules)

    @property
    def written(self) -> str:
        """The rules with their weights."""
        told, constants = json_text(self.model.to_dict()), self.model.constants
        columns = (constants.bodies, constants.heads, constants.weights)
        numbers = [hashlib.sha256(np.ascontiguousarray(one).tobytes()).hexdigest() for one in columns]
        names = [*constants.relations, *constants.entities]
        return "\n".join([told, *names, *numbers]) if constants else told

    def changed_by(self, edits: Edits) -> Edits:
        """Those of the edits that change something here, rules about particular entities looked up."""
        return edits.on(self.source.facts, _RulesOf(self.model, self.given_rules))

    def world(self, edits: Edits, progress: Progress = SILENT) -> RuleListWorld:
        """The model with the rules that are left, on the facts as they would be."""
        del progress
        return RuleListWorld(
            model_after(self.model, edits.rejected, edits.kept), self.source.facts_after(edits)
        )


@dataclass(frozen=True)
class _RulesOf:
    """What a list has: rules by name, and rules about particular entities by what they say."""

    model: RuleModel
    named: frozenset[Rule]

    def __contains__(self, rule: object) -> bool:
        if isinstance(rule, ConstantRule):
            return place_of(self.model.constants, rule) is not None
        return rule in self.named


class RuleListWorld(RankedWorld):
    """What a rule model says over facts."""

    exactness = "a score is the sum of what rules, a distance and a type add"

    def __init__(self, model: RuleModel, facts: KnowledgeGraph) -> None:
        self.model, self.facts = model, facts
        self.about_entities = model.constants
        self._answers = model.on(facts)
        self._rows: list[dict[str, Any]] | None = None
        self._listing = Lock()
        self.scorer = self._answers

    def led_from(self, rules: Sequence[Rule], *, most: int) -> tuple[list[str], int]:
        """The entities that rules lead from, up to `most`, and how many there are."""
        paths = tuple(rule for rule in rules if not isinstance(rule, ConstantRule))
        names, found = self._answers.led_from(RuleBase(paths), most=most) if paths else ([], 0)
        asked = [name for rule in rules if isinstance(rule, ConstantRule) for name in self._asked_by(rule)]
        both = list(dict.fromkeys([*names, *asked]))
        return both[:most], max(found, len(both))

    def _asked_by(self, rule: ConstantRule) -> list[str]:
        """The heads of the links that a rule about particular entities concludes."""
        claim = claim_of(rule)
        if claim is None:
            return []
        body, named, head, entity = claim
        if is_inverse(head):
            return [entity]
        code = self.facts.relations.find(base_relation(body))
        if code is None:
            return []
        heads, tails = self.facts.edges(code)
        whose, others = (tails, heads) if is_inverse(body) else (heads, tails)
        if named is not None:
            whose = whose[others == self.facts.entities.find(named)]
        return list(self.facts.entities[np.unique(whose)])

    def weighted(self) -> RuleModel:
        """The list itself."""
        return self.model

    @cached_property
    def rules(self) -> RuleBase:  # type: ignore[override]
        """Those of the list."""
        return self.model.rule_base()

    def why(
        self, triple: Triple, *, most: int, side: Side = "tail", progress: Progress = SILENT
    ) -> tuple[dict[str, Any], str]:
        """The sum behind a score; where no rule leads to it, the rules that come nearest."""
        with in_one_step(progress, "adding up rules"):
            found = self.scorer.explain(*triple, most=most, side=side)
        data = {**found.to_dict(), "probability": self._probability(triple, side)}
        if not found:
            data["nearest"] = [partial.to_dict() for partial in self._nearest(triple, progress)]
        return data, str(found)

    def _probability(self, triple: Triple, side: Side) -> float | None:
        """How likely the link is, as an answer to its question; None where the model does not say, or it is a fact."""
        if self.model.likelihood is None or triple in self.facts:
            return None
        return self._answers.probability_of(*triple, side=side)

    def _nearest(self, triple: Triple, progress: Progress) -> list[Any]:
        concluding = (one for one in self.model.rules if one.rule.head == triple.relation)
        heaviest = sorted(concluding, key=lambda one: -one.weight)[:_TRIED]
        rules: tuple[Rule, ...] = tuple(one.rule for one in heaviest)
        if not rules:
            return []
        return why_not(self._bare_facts, RuleBase(rules), *triple, most=_NEAREST, progress=progress)

    @cached_property
    def _bare_facts(self) -> Any:
        """The facts as answers of no rules, which is what rules of a list walk over."""
        return Reasoner(RuleBase(()), engine="chase").on(self.scorer.graph)

    def warm_up(self) -> None:
        """As of all models, and the rows of the rules."""
        super().warm_up()
        self.rule_rows()

    def rule_rows(self, progress: Progress = SILENT) -> list[dict[str, Any]]:
        """The rules with weights and measures, as the model has them."""
        with held(self._listing, progress):
            if self._rows is None:
                self._rows = self.model.to_dict()["rules"]
            return self._rows
