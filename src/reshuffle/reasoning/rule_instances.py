"""Rules that no engine takes, answered by their instances: those whose conditions lie on a path, as in

    type(X, "Person") & hasMother(X, Y) & hasMother(X, Z) -> sameAs(Y, Z)

Each instance whose body holds, and whose conclusion does not, is a rule about entities alone. Engines take these, and
proofs show them. An instance stays right whatever facts come and go; new facts may bring new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reshuffle.errors import UnknownNameError
from reshuffle.rules.class_axioms import SAME_AS
from reshuffle.rules.rule import ConstantRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.reasoning.answers import Answers
    from reshuffle.rules.rule import Term, Terms

_Bound: TypeAlias = dict[int, str]


def new_instances(answers: Answers, rules: Iterable[ConstantRule]) -> tuple[ConstantRule, ...]:
    """The instances whose body holds and whose conclusion does not; of an equality one direction."""
    found: dict[tuple[str, str, str], ConstantRule] = {}
    for rule in rules:
        for bound in _ways(answers, list(rule.atoms), {}):
            relation, head, tail = _put(rule.conclusion, bound)
            known = (relation, head, tail) in found or (relation, tail, head) in found
            if known and relation == SAME_AS:
                continue
            if not (relation == SAME_AS and head == tail) and not _holds(answers, relation, head, tail):
                atoms = tuple(dict.fromkeys(_put(atom, bound) for atom in rule.atoms))
                found[relation, head, tail] = ConstantRule(atoms, (relation, head, tail))
    return tuple(found.values())


def _put(atom: Terms, bound: _Bound) -> tuple[str, str, str]:
    relation, *ends = atom
    start, end = (name if isinstance(name, str) else bound[name] for name in ends)
    return relation, start, end


def _holds(answers: Answers, relation: str, head: str, tail: str) -> bool:
    try:
        return answers.holds(head, relation, tail)
    except UnknownNameError:
        return False


def _ways(answers: Answers, atoms: Sequence[Terms], bound: _Bound) -> Iterator[_Bound]:
    """What the variables can stand for; the atom with the most known ends goes first."""
    if not atoms:
        yield bound
        return
    first = max(atoms, key=lambda atom: sum(_known(end, bound) is not None for end in atom[1:]))
    left = [atom for atom in atoms if atom is not first]
    for more in _matches(answers, first, bound):
        yield from _ways(answers, left, more)


def _known(term: Term, bound: _Bound) -> str | None:
    return term if isinstance(term, str) else bound.get(term)


def _matches(answers: Answers, atom: Terms, bound: _Bound) -> Iterator[_Bound]:
    """What is bound, and what one atom binds."""
    relation, start, end = atom
    head, tail = _known(start, bound), _known(end, bound)
    try:
        if head is not None and tail is not None:
            if answers.holds(head, relation, tail):
                yield bound
        elif head is not None:
            yield from (bound | {int(end): name} for name in sorted(answers.tails(head, relation)))
        elif tail is not None:
            yield from (bound | {int(start): name} for name in sorted(answers.heads(relation, tail)))
        else:
            yield from _pairs(answers, relation, int(start), int(end), bound)
    except UnknownNameError:  # nothing is known of it
        return


def _pairs(answers: Answers, relation: str, start: int, end: int, bound: _Bound) -> Iterator[_Bound]:
    heads = {triple.head for triple in (*answers.facts, *answers.triples()) if triple.relation == relation}
    for head in sorted(heads):
        for tail in sorted(answers.tails(head, relation)):
            if start != end or head == tail:
                yield bound | {start: head, end: tail}
