"""Pairs that a disjointness constraint forbids and that hold all the same, with a proof of either side."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.kg.vocabulary import base_relation
from reshuffle.reasoning.proofs import Proof, atom_triple, oriented

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.kg import Triple
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rules import Disjointness
    from reshuffle.rules.class_axioms import DisjointClasses


@dataclass(frozen=True)
class Violation:
    """A pair that is in both relations of a constraint."""

    constraint: Disjointness | DisjointClasses
    first: Proof
    second: Proof

    def __str__(self) -> str:
        return f"{self.constraint}\n{self.first}\n{self.second}"

    def to_dict(self) -> dict[str, Any]:
        """The constraint and both proofs as plain data for JSON."""
        return {
            "constraint": str(self.constraint),
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
        }


def violations(answers: Answers, disjointness: Iterable[Disjointness]) -> Iterator[Violation]:
    """Every violation of the constraints, in one pass over what holds; proofs are made as they are asked for."""
    by_relation: dict[str, list[Disjointness]] = {}
    for constraint in disjointness:
        by_relation.setdefault(base_relation(constraint.first), []).append(constraint)
    if not by_relation:
        return
    unchanged = answers.shared.unchanged()
    for triple in itertools.chain(answers.facts, answers.triples()):
        for constraint in by_relation.get(triple.relation, ()):
            with unchanged():
                violation = _violation(answers, constraint, triple)
            if violation is not None:
                yield violation


def _violation(answers: Answers, constraint: Disjointness, triple: Triple) -> Violation | None:
    other = atom_triple(constraint.second, *oriented(constraint.first, triple))
    if not answers.holds(*other):
        return None
    return Violation(constraint, _proof(answers, triple), _proof(answers, other))


def _proof(answers: Answers, triple: Triple) -> Proof:
    proof = answers.explain(*triple)
    assert proof, f"{triple} holds but has no proof"
    return proof


def warning_lines(found: Sequence[Violation], most: int | None, more: str) -> Iterator[str]:
    """A warning of what was found, as text: up to `most` of them, and `more` says where the others are shown."""
    shown = found[:most]
    cut = "" if len(shown) == len(found) else f"; the first {len(shown)}, {more}"
    yield f"warning: what follows breaks a constraint{cut}:"
    yield from map(str, shown)
