"""Rules as they were written: everything that follows, by geometry where that is exact, else by the chase."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from reshuffle.errors import NotExpressibleError
from reshuffle.explorer.subject import Subject, World
from reshuffle.extraction.measure import measured
from reshuffle.extraction.result import ExtractedRule
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.proofs import spelled

if TYPE_CHECKING:
    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import Source
    from reshuffle.kg import Triple
    from reshuffle.progress import Progress
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rules import RuleBase

_NEAREST = 5  # partial derivations of what does not follow


class RuleBaseSubject(Subject):
    """A rule base on facts."""

    kind = "rules"

    def __init__(
        self, rules: RuleBase, source: Source, *, engine: str = "auto", bound: int | None = None
    ) -> None:
        self.rules, self.source, self._engine, self._bound = rules, source, engine, bound

    def world(self, edits: Edits, progress: Progress = SILENT) -> RuleBaseWorld:
        """Everything anew: the facts are few enough to read again, and nobody else's answers change."""
        rules = rules_after(self.rules, edits)
        facts = self.source.facts_after(edits)
        return RuleBaseWorld(rules, facts, self._reasoner(rules).on(facts, progress=progress))

    def _reasoner(self, rules: RuleBase) -> Reasoner:
        try:
            return Reasoner(rules, engine=self._engine, bound=self._bound)
        except NotExpressibleError:
            if self._engine != "auto":
                raise
            return Reasoner(rules, engine="chase")  # as exact, and an explorer should answer


def rules_after(rules: RuleBase, edits: Edits) -> RuleBase:
    """The rules without those struck out and with those written."""
    struck = frozenset(edits.rejected)
    return replace(rules, given=(*(rule for rule in rules.given if rule not in struck), *edits.written))


class RuleBaseWorld(World):
    """What rules say over facts."""

    def __init__(self, rules: RuleBase, facts: KnowledgeGraph, answers: Answers) -> None:
        self.rules, self.facts, self.answers = rules, facts, answers
        self._rows: list[dict[str, Any]] | None = None
        self._measuring = Lock()

    @property
    def exactness(self) -> str:
        """As the engine tells it."""
        return self.answers.exactness

    @cached_property
    def asked_relations(self) -> tuple[str, ...]:
        """Those that rules conclude, without the helpers of class axioms."""
        hidden = frozenset[str]() if self.rules.classes is None else self.rules.classes.relations
        heads = dict.fromkeys(map(base_relation, self.rules.head_relations))
        return tuple(name for name in heads if name not in hidden)

    @cached_property
    def derived(self) -> KnowledgeGraph:
        """All that follows and is no fact; to be asked for only where `answers.count()` is small."""
        return KnowledgeGraph.from_arrow(self.answers.to_arrow())

    def why(self, triple: Triple, *, most: int) -> tuple[dict[str, Any], str]:
        """Proofs, or the nearest partial derivations."""
        proofs = self.answers.proofs(*triple, most=most)
        data: dict[str, Any] = {
            "follows": bool(proofs),
            "exactness": self.exactness,
            "proofs": [proof.to_dict() for proof in proofs],
        }
        if proofs:
            return data, "\n\n".join(map(str, proofs))
        nearest = self.answers.why_not(*triple, most=_NEAREST)
        data["nearest"] = [partial.to_dict() for partial in nearest]
        lines = [f"{spelled(triple)} does not follow ({self.exactness})", *map(str, nearest)]
        return data, "\n".join(lines)

    def warm_up(self) -> None:
        """Who is reached from one entity, and a proof of it."""
        entity = self.facts.entities[int(self.facts.heads[0])]
        for relation in self.asked_relations[:3]:
            for tail in islice(self.answers.tails(entity, relation), 1):
                self.answers.proofs(entity, relation, tail)
            list(self.answers.heads(relation, entity))
        _ = self.facts.by_head, self.facts.by_tail

    def rule_rows(self, progress: Progress = SILENT) -> list[dict[str, Any]]:
        """The rules measured on the facts; where a file brings measures, with these."""
        with self._measuring:
            if self._rows is None:
                listed = self.listed_rules
                counts = measured(listed, self.facts, progress=progress) if len(self.facts) else {}
                self._rows = [
                    _with_quality(ExtractedRule(rule, measures=counts.get(rule))) for rule in listed
                ]
            return self._rows


def _with_quality(one: ExtractedRule) -> dict[str, Any]:
    row, given = one.row(), one.rule.quality
    if given is not None:
        row |= {name: value for name, value in vars(given).items() if value is not None}
    return row
