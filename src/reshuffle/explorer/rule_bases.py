"""Subjects that are rule bases: derived triples, by geometry if it is exact, else by the chase."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from reshuffle.explorer.shared_work import asked_by, held, whoever_asks
from reshuffle.explorer.subject import Subject, World
from reshuffle.extraction.measure import measured
from reshuffle.extraction.result import ExtractedRule
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, in_one_step
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.proofs import spelled

if TYPE_CHECKING:
    from reshuffle.evaluation.scorer import Side
    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import Source
    from reshuffle.kg import Triple
    from reshuffle.progress import Progress
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rules import Rule, RuleBase

_NEAREST = 5  # partial derivations of what does not follow


class RuleBaseSubject(Subject):
    """A rule base on facts."""

    kind = "rules"

    def __init__(
        self, rules: RuleBase, source: Source, *, engine: str = "auto", bound: int | None = None
    ) -> None:
        self.rules, self.source, self._engine, self._bound = rules, source, engine, bound

    @property
    def given_rules(self) -> frozenset[Rule]:
        """Those that were read."""
        return frozenset(self.rules.given)

    def world(self, edits: Edits, progress: Progress = SILENT) -> RuleBaseWorld:
        """Everything anew: the facts are few enough to read again, and nobody else's answers change."""
        rules = rules_after(self.rules, edits)
        facts = self.source.facts_after(edits)
        with asked_by(progress):
            return RuleBaseWorld(rules, facts, self._reasoner(rules).on(facts, progress=whoever_asks))

    def _reasoner(self, rules: RuleBase) -> Reasoner:
        return Reasoner(rules, engine=self._engine, bound=self._bound)


def rules_after(rules: RuleBase, edits: Edits) -> RuleBase:
    """The rules without those struck out and with those written."""
    struck, there = frozenset(edits.rejected), frozenset(rules.given)
    left = (rule for rule in rules.given if rule not in struck)
    return replace(rules, given=(*left, *(rule for rule in edits.kept if rule not in there)))


class RuleBaseWorld(World):
    """What rules say over facts."""

    def __init__(self, rules: RuleBase, facts: KnowledgeGraph, answers: Answers) -> None:
        self.rules, self.facts, self.answers = rules, facts, answers
        self.entailed = answers
        self._rows: list[dict[str, Any]] | None = None
        self._measuring = Lock()

    @property
    def exactness(self) -> str:
        """As the engine tells it."""
        return self.answers.exactness

    @cached_property
    def asked_relations(self) -> tuple[str, ...]:
        """Those that rules conclude."""
        return tuple(dict.fromkeys(map(base_relation, self.rules.head_relations)))

    @cached_property
    def derived(self) -> KnowledgeGraph:
        """All that follows and is no fact; to be asked for only where `answers.count()` is small."""
        return KnowledgeGraph.from_arrow(self.answers.to_arrow())

    def why(
        self, triple: Triple, *, most: int, side: Side = "tail", progress: Progress = SILENT
    ) -> tuple[dict[str, Any], str]:
        """Proofs, or the nearest partial derivations; what follows does so whichever end is asked for."""
        del side
        with in_one_step(progress, "looking for proofs"):
            proofs = self.answers.proofs(*triple, most=most)
        claim = self.answers.claim.about(triple.relation)
        data: dict[str, Any] = {
            "follows": bool(proofs),
            **claim.to_dict(),
            "proofs": [proof.to_dict() for proof in proofs],
        }
        if proofs:
            return data, "\n\n".join(map(str, proofs))
        nearest = self.answers.why_not(*triple, most=_NEAREST, progress=progress)
        data["nearest"] = [partial.to_dict() for partial in nearest]
        lines = [f"{spelled(triple)} {claim.does_not_follow}", *map(str, nearest)]
        return data, "\n".join(lines)

    def warm_up(self) -> None:
        """The entities reached from one entity, with proofs."""
        entity = self.facts.entities[int(self.facts.heads[0])]
        for relation in self.asked_relations[:3]:
            for tail in islice(self.answers.tails(entity, relation), 1):
                self.answers.proofs(entity, relation, tail)
            list(self.answers.heads(relation, entity))
        _ = self.facts.by_head, self.facts.by_tail

    def rule_rows(self, progress: Progress = SILENT) -> list[dict[str, Any]]:
        """The rules measured on the facts; where a file brings measures, with these."""
        with held(self._measuring, progress):
            if self._rows is None:
                listed = self.listed_rules
                told = len(self.facts) and self.is_a is None  # edges that follow are no facts
                counts = measured(listed, self.facts, progress=progress) if told else {}
                self._rows = [
                    _with_quality(ExtractedRule(rule, measures=counts.get(rule))) for rule in listed
                ]
            return self._rows


def _with_quality(one: ExtractedRule) -> dict[str, Any]:
    row, given = one.row(), one.rule.quality
    if given is not None:
        row |= {name: value for name, value in vars(given).items() if value is not None}
    return row
