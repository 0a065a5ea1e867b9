"""The union of several answers over the same facts."""

from __future__ import annotations

from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.progress import SILENT
from reshuffle.reasoning.answers import Answers, counted_once
from reshuffle.reasoning.sharing import Shared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Progress
    from reshuffle.reasoning.answers import Count
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules import RuleBase
    from reshuffle.rules.exactness import Exactness, Way


class JoinedAnswers(Answers):
    """The answers of each together. What one derives is no premise of another."""

    def __init__(self, each: Sequence[Answers]) -> None:
        self.each, self.shared = tuple(each), Shared()

    def __repr__(self) -> str:
        return f"<answers over {self.facts!r}: {self.exactness}>"

    @property
    def way(self) -> Way:
        """How the least exact of them answers."""
        return self.claim.way

    @property
    def read_rules(self) -> RuleBase | None:
        """None for all together: each has its own."""
        return None

    @property
    def claim(self) -> Exactness:
        """As exact as the least exact of them."""
        return min((answers.claim for answers in self.each), key=bool)

    @property
    def facts(self) -> KnowledgeGraph:
        """The facts, the same for each."""
        return self.each[0].facts

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow by one of them (or stand in the graph)?"""
        with self.shared.reading():
            return any(answers.holds(head, relation, tail) for answers in self.each)

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds."""
        with self.shared.reading():
            found = chain.from_iterable(answers.tails(head, relation) for answers in self.each)
            return iter(dict.fromkeys(found))

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds."""
        with self.shared.reading():
            found = chain.from_iterable(answers.heads(relation, tail) for answers in self.each)
            return iter(dict.fromkeys(found))

    def triples(self) -> Iterator[Triple]:
        """The derived triples that are not facts, each once."""
        for place, answers in enumerate(self.each):
            before = self.each[:place]
            for triple in answers.triples():
                if not any(triple in other for other in before):
                    yield triple

    def sorted_triples(self) -> Iterator[Triple]:
        """The derived triples in order, each once."""
        last = None
        for triple in merge(*(answers.sorted_triples() for answers in self.each)):
            if triple != last:
                yield triple
                last = triple

    def counts(self) -> dict[str, Count]:
        """Per relation, how many are derived and how many hold; those that several derive count once."""
        return counted_once(self.each, self.triples())

    @property
    def deduction(self) -> Deduction:
        """Refused: an engine outside of this process takes one set of constraints."""
        raise InputError(
            "these answers join several sets of constraints; only the in-memory engine supports this",
            hint="leave out the engine",
        )

    def add(self, triples: Triples) -> None:
        """Add facts for each."""
        given = list(triples)
        with self.shared.writing():
            for answers in self.each:
                answers.add(given)

    def remove(self, triples: Triples) -> None:
        """Take facts back from each."""
        given = list(triples)
        with self.shared.writing():
            for answers in self.each:
                answers.remove(given)

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Up to `most` derivations; those by rules that somebody wrote stand last in `each`, and come first."""
        with self.shared.reading():
            found = chain.from_iterable(
                answers.proofs(head, relation, tail, most=most) for answers in reversed(self.each)
            )
            return list(islice(dict.fromkeys(found), most))

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The rules that come nearest; none where the triple follows by one of them."""
        with self.shared.reading():
            if self.holds(head, relation, tail):
                return []
            found = chain.from_iterable(
                answers.why_not(head, relation, tail, most=most, progress=progress) for answers in self.each
            )
            return list(islice(found, most))

    def violations(self) -> Iterator[Violation]:
        """What breaks a constraint of one of them."""
        return chain.from_iterable(answers.violations() for answers in self.each)
