"""Rules about particular entities, found, struck out and written one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.rulelist.constants.constant_rules import ConstantRules
    from reshuffle.rules.rule import ConstantRule, Terms

Claim: TypeAlias = "tuple[str, str | None, str, str]"
"""Relation and entity of a body, relation and entity of a head; no entity for any."""


def claim_of(rule: ConstantRule) -> Claim | None:
    """What a rule says, as `ConstantRules.claim` has it; None where it has another form.

    >>> from reshuffle.rules.rule import Constant, ConstantRule
    >>> claim_of(ConstantRule.of([("plays", "?who", "?what")], ("speaks", "?who", Constant("english"))))
    ('plays', None, 'speaks', 'english')
    """
    about = [end for end in rule.conclusion[1:] if isinstance(end, int)]
    if len(rule.atoms) != 1 or len(about) != 1:
        return None
    body, head = _from(rule.atoms[0], about[0]), _from(rule.conclusion, about[0])
    if body is None or head is None:
        return None
    return None if head[1] is None else (*body, head[0], head[1])


def _from(atom: Terms, who: int) -> tuple[str, str | None] | None:
    """The directed relation by which an atom leads from a variable, and to whom; None where it does not."""
    relation, first, second = atom
    if (first == who) == (second == who):
        return None
    directed, other = (relation, second) if first == who else (inverse_name(relation), first)
    return directed, other if isinstance(other, str) else None


def place_of(rules: ConstantRules, rule: ConstantRule) -> int | None:
    """Where a rule stands among others; None where it does not."""
    claim = claim_of(rule)
    if claim is None:
        return None
    try:
        row = _row(
            claim,
            *(
                {name: place for place, name in enumerate(names)}
                for names in (rules.relations, rules.entities)
            ),
        )
    except KeyError:  # a name that none of them has
        return None
    columns = np.column_stack([rules.bodies, rules.heads])
    found = np.flatnonzero((columns == row).all(axis=1))
    return int(found[0]) if len(found) else None


def _row(claim: Claim, relations: Mapping[str, int], entities: Mapping[str, int]) -> list[int]:
    body, end, head, entity = claim
    return [
        _code(body, relations),
        -1 if end is None else entities[end],
        _code(head, relations),
        entities[entity],
    ]


def _code(relation: str, relations: Mapping[str, int]) -> int:
    return relations[base_relation(relation)] + len(relations) * is_inverse(relation)


def edited(
    rules: ConstantRules, without: Iterable[ConstantRule], written: Sequence[tuple[ConstantRule, float]]
) -> ConstantRules:
    """The rules without some, and with others, each with the weight that stands for both questions."""
    places = [place for rule in without if (place := place_of(rules, rule)) is not None]
    if places:
        kept = np.ones(len(rules), dtype=np.bool_)
        kept[places] = False
        rules = rules.part(kept)
    new = [(rule, weight) for rule, weight in written if place_of(rules, rule) is None]
    return _with(rules, new) if new else rules


def _with(rules: ConstantRules, new: Sequence[tuple[ConstantRule, float]]) -> ConstantRules:
    claims = [_claimed(rule) for rule, _ in new]
    counts = [
        (quality.predictions or 0, quality.support or 0) if (quality := rule.quality) else (0, 0)
        for rule, _ in new
    ]
    return _joined(rules, claims, np.array([[weight] * 2 for _, weight in new]), np.array(counts))


def keeping(rules: ConstantRules, others: ConstantRules) -> ConstantRules:
    """The rules, and behind them the others that are not among them, with their weights and counts."""
    there = {rules.claim(place) for place in range(len(rules))}
    left = [place for place in range(len(others)) if others.claim(place) not in there]
    if not left:
        return rules
    return _joined(rules, [others.claim(place) for place in left], others.weights[left], others.counts[left])


def _joined(
    rules: ConstantRules, claims: Sequence[Claim], weights: NDArray[np.float64], counts: NDArray[np.int64]
) -> ConstantRules:
    used = [base_relation(name) for body, _, head, _ in claims for name in (body, head)]
    relations = tuple(dict.fromkeys([*rules.relations, *used]))
    named = [end for _, end, _, entity in claims for end in (end, entity) if end is not None]
    entities = tuple(dict.fromkeys([*rules.entities, *named]))
    numbers, ids = ({name: place for place, name in enumerate(names)} for names in (relations, entities))
    rows = np.array([_row(claim, numbers, ids) for claim in claims], dtype=np.int32)
    moved = len(relations) - len(rules.relations)
    return replace(
        rules,
        relations=relations,
        entities=entities,
        bodies=np.concatenate([_shifted(rules.bodies, len(rules.relations), moved), rows[:, :2]]),
        heads=np.concatenate([_shifted(rules.heads, len(rules.relations), moved), rows[:, 2:]]),
        weights=np.concatenate([rules.weights, weights]),
        counts=np.concatenate([rules.counts, counts.astype(np.int64)]),
    )


def _shifted(columns: NDArray[np.int32], number: int, moved: int) -> NDArray[np.int32]:
    """Codes with as many more relations before the inverses."""
    shifted = columns.copy()
    shifted[:, 0] += np.int32(moved) * (columns[:, 0] >= number)
    return shifted


def _claimed(rule: ConstantRule) -> Claim:
    found = claim_of(rule)
    if found is None:
        raise InputError(
            f"a rule list has no place for {rule}",
            hint='a rule about an entity has one atom in its body: bornIn(X, "london") -> speaks(X, "english")',
        )
    return found
