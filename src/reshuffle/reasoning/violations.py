"""Violations of disjointness constraints, with a proof of each side."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reshuffle.errors import UnknownNameError
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.reasoning.proofs import Proof, atom_triple, oriented
from reshuffle.rules.rule import SAME, DisjointEnds, Disjointness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.kg import Triple
    from reshuffle.reasoning.answers import Answers
    from reshuffle.rules.rule import Constraint


@dataclass(frozen=True)
class Violation:
    """A pair that is in both relations of a constraint, or an entity that leads to both of its ends.

    What a constraint forbids by itself (`SAME` is its second relation) has one proof, which stands for both.
    """

    constraint: Constraint
    first: Proof
    second: Proof

    def __str__(self) -> str:
        return "\n".join(map(str, dict.fromkeys((self.constraint, self.first, self.second))))

    def to_dict(self) -> dict[str, Any]:
        """The constraint and both proofs as plain data for JSON."""
        return {
            "constraint": str(self.constraint),
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
        }


def violations(answers: Answers, disjointness: Sequence[Constraint]) -> Iterator[Violation]:
    """Every violation of the constraints, in one pass over what holds; proofs are made as they are asked for."""
    yield from _of_pairs(answers, (pair for pair in disjointness if isinstance(pair, Disjointness)))
    yield from _of_ends(answers, (pair for pair in disjointness if isinstance(pair, DisjointEnds)))


def _of_ends(answers: Answers, disjointness: Iterable[DisjointEnds]) -> Iterator[Violation]:
    """The entities that lead to both ends of a constraint."""
    unchanged = answers.shared.unchanged()
    members: dict[tuple[str, str], set[str]] = {}
    for pair in disjointness:
        with unchanged():
            members |= {side: leading_to(answers, *side) for side in pair.sides if side not in members}
        first, second = pair.sides
        for entity in sorted(members[first] & members[second]):
            with unchanged():
                proofs = [
                    _proof(answers, atom_triple(relation, entity, end))
                    for relation, end in pair.sides
                    if relation != SAME
                ]
            yield Violation(pair, proofs[0], proofs[-1])


def leading_to(answers: Answers, relation: str, end: str) -> set[str]:
    """The entities from which a relation, or an inverse one, leads to an entity."""
    try:
        if is_inverse(relation):
            return set(answers.tails(end, inverse_name(relation)))
        return set(answers.heads(relation, end))
    except UnknownNameError:  # neither a fact nor a rule names it
        return set()


def _of_pairs(answers: Answers, disjointness: Iterable[Disjointness]) -> Iterator[Violation]:
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
    if constraint.second == SAME:
        if triple.head != triple.tail:
            return None
        proof = _proof(answers, triple)
        return Violation(constraint, proof, proof)
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
