"""Rules with confidences on a graph: ranks by an aggregate of the rules that lead to an answer, and takes new facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.evaluation.questions import (
    Question,
    anchor_of,
    check_about_one,
    check_known,
    check_top,
    learned_relation,
    question_of,
)
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.vocabulary import base_relation
from reshuffle.rulelist.aggregation.aggregated_predictions import AggregatedPrediction, ranked_links
from reshuffle.rulelist.aggregation.aggregates import check_aggregate, ordered
from reshuffle.rulelist.aggregation.stored_rules import StoredRules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.questions import Known
    from reshuffle.evaluation.ranked_links import Predictions
    from reshuffle.evaluation.scorer import Side
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.coerce import Triples
    from reshuffle.rulelist.aggregation.aggregates import Aggregate, Ordered
    from reshuffle.rulelist.aggregation.stored_rules import Entries
    from reshuffle.rules import Quality, RuleBase


def counted_confidence(quality: Quality | None) -> float:
    """What a rule counts with: support / (predictions + 5) as PyClause does, or what its file says, or 1."""
    confidence = None if quality is None else quality.recomputed().confidence
    return 1.0 if confidence is None else confidence


class AggregatedAnswers:
    """Answers by all rules of a base. Every rule counts whose body is true in the facts as they stand.

    With `distinct`, different variables of a rule stand for different entities and nobody is an answer about itself,
    as in AnyBURL.
    """

    def __init__(self, base: RuleBase, graph: Triples, *, by: Aggregate, distinct: bool = True) -> None:
        check_aggregate(by)
        self.base, self.by, self.distinct = base, by, distinct
        self.relations = tuple(dict.fromkeys(map(base_relation, base.relations)))
        each = [counted_confidence(rule.quality) for rule in base.rules]
        self._confidences, self._levels = np.unique(np.array(each, dtype=np.float64), return_inverse=True)
        self._stored = self._on(as_graph(graph))

    def _on(self, graph: KnowledgeGraph) -> StoredRules:
        return StoredRules(self.base.rules, graph.naming(self.relations), distinct=self.distinct)

    @property
    def graph(self) -> KnowledgeGraph:
        """The facts, and behind their relations all others of the rules."""
        return self._stored.facts.graph

    @property
    def name(self) -> str:
        """What stands in reports."""
        return f"rules by {self.by}"

    @property
    def learned_relations(self) -> NDArray[np.bool_]:
        """For each relation of the graph: do the rules name it?"""
        known = frozenset(self.relations)
        return np.array([name in known for name in self.graph.relations], dtype=np.bool_)

    @property
    def type_baseline(self) -> TypeBaseline:
        """The type baseline of the facts: rules come without any of their own."""
        return TypeBaseline.fit(self.graph)

    def on(self, graph: Triples) -> AggregatedAnswers:
        """The same rules on another graph."""
        return AggregatedAnswers(self.base, graph, by=self.by, distinct=self.distinct)

    # --- scores -------------------------------------------------------------------------------------

    def scores(
        self,
        anchors: NDArray[np.int32],
        relations: NDArray[np.int32],
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,
    ) -> NDArray[np.float32]:
        """`Scorer.scores`: the places of the answers in their question's order, 0 where no rule leads."""
        stored = self._stored
        rows = np.zeros((len(anchors), stored.facts.graph.num_entities), dtype=np.float32)
        for row, question in enumerate(zip(anchors.tolist(), relations.tolist(), strict=True)):
            found, _ = self._ordered(stored, Question(*question, side))
            rows[row, found.answers] = found.places + 1
        return rows if candidates is None else np.take_along_axis(rows, candidates, axis=1)

    def _ordered(self, stored: StoredRules, question: Question) -> tuple[Ordered, Entries]:
        shift = stored.facts.num_relations if question.side == "head" else 0
        entries = stored.entries(question.anchor, question.relation + shift)
        return ordered(self.by, entries.answers, self._levels[entries.rules], self._confidences), entries

    # --- answers ------------------------------------------------------------------------------------

    def predict(
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int = 10,
        known: Known = "exclude",
    ) -> Predictions[AggregatedPrediction]:
        """The best new tails of (head, relation, ?), or heads of (?, relation, tail); "mark" shows facts, too.

        Without a relation, all of them are asked about, and the links come by score.
        """
        check_known(known)
        check_top(top)
        stored = self._stored
        if relation is not None:
            question = question_of(stored.facts.graph, self.relations, relation, head=head, tail=tail)
            return ranked_links(self._best(stored, question, top, known))
        check_about_one(head=head, tail=tail, known=known)
        anchor, side = anchor_of(stored.facts.graph, head=head, tail=tail)
        assert anchor is not None
        numbers = (learned_relation(stored.facts.graph, self.relations, name) for name in self.relations)
        links = [
            link
            for number in numbers
            for link in self._best(stored, Question(anchor, number, side), top, known)
        ]
        links.sort(key=lambda link: -link.score)
        return ranked_links(links[:top], several=True)

    def _best(
        self, stored: StoredRules, question: Question, top: int, known: Known
    ) -> list[AggregatedPrediction]:
        found, entries = self._ordered(stored, question)
        facts = question.known(stored.facts.graph)[found.answers]
        order = np.argsort(-found.places, kind="stable")  # equal ones by id
        best = order if known == "mark" else order[~facts[order]]
        return [
            AggregatedPrediction(
                question.triple(stored.facts.graph, int(found.answers[row])),
                float(found.values[row]),
                question.side,
                self._surest(entries.rules[entries.answers == found.answers[row]]),
                known=bool(facts[row]),
            )
            for row in best[:top].tolist()
        ]

    def _surest(self, rules: NDArray[np.int64]) -> tuple[Any, ...]:
        levels = self._levels[rules]
        order = np.lexsort((rules, -levels))
        surest = zip(rules[order].tolist(), self._confidences[levels[order]].tolist(), strict=True)
        return tuple((self.base.rules[rule], confidence) for rule, confidence in surest)

    def missing(self, **options: object) -> NoReturn:
        """Links of a whole graph are not searched for: places compare within a question alone."""
        del options
        raise InputError(
            "an aggregate ranks the answers of one question, and none is asked",
            hint="give head=... or tail=... to predict(); or rank without an aggregate",
        )

    def explain(self, head: str, relation: str, tail: str) -> AggregatedPrediction | None:
        """The triple as an answer to (head, relation, ?), with its rules; None where no rule leads to it."""
        asked = self.predict(relation=relation, head=head, top=self.graph.num_entities or 1, known="mark")
        return next((link for link in asked if link.triple.tail == tail), None)

    # --- updates ------------------------------------------------------------------------------------

    def add(self, triples: Triples) -> None:
        """New facts, new entities included."""
        self._stored = self._on(self.graph | as_graph(triples))

    def remove(self, triples: Triples) -> None:
        """Take facts back."""
        self._stored = self._on(self.graph - as_graph(triples))
