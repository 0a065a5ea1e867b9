"""Rules as walks on a graph: the bodies of each relation and each inverse, as arrays of numbers.

A question (h, r, ?) walks the bodies of the rules of r from h; a question (?, r, t) walks the same bodies backwards
from t, as the bodies of r^-1. A rule has one number, and one weight, whichever way it is walked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from reshuffle.kg import inverse_name
from reshuffle.kg.rows import starts_in
from reshuffle.rules import IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.rules import Rule

_Row: TypeAlias = "tuple[int, bool, tuple[int, ...], int]"
"""The relation, is it an intersection, its body, and the number of its rule."""


class Walks(NamedTuple):
    """The arrays that kernels take; rows are sorted by relation, then paths before intersections, then by body."""

    firsts: NDArray[np.int64]  # directed relation + 1: its first row
    bodies: NDArray[np.int32]  # row step: codes, -1 behind the end
    lengths: NDArray[np.int64]  # row
    jumps: NDArray[np.int64]  # row step: the next row that differs in one of the codes up to that step
    meets: NDArray[np.bool_]  # row: are all atoms between the same two entities?
    rules: NDArray[np.int32]  # row: the number of its rule
    loops: NDArray[np.bool_]  # directed relation: may an entity be its own answer?


@dataclass(frozen=True)
class Program:
    """Numbered rules over the relations of a graph; a rule about a relation that the graph lacks has no row."""

    walks: Walks
    num_relations: int

    @classmethod
    def of(
        cls, rules: Sequence[Rule], relations: Sequence[str], *, loops: Collection[str] | None = None
    ) -> Program:
        """The program of rules, numbered in the order given; `loops`: the relations that have some, None for all."""
        names = list(relations)
        codes = {name: code for code, name in enumerate([*names, *map(inverse_name, names)])}
        rows = [row for number, rule in enumerate(rules) for row in _both_ways(number, rule, codes)]
        may = np.array([loops is None or name in loops for name in names], dtype=np.bool_)
        return cls(_walks(sorted(rows), 2 * len(names), np.concatenate([may, may])), len(names))

    @classmethod
    def of_bodies(
        cls, bodies: Sequence[tuple[int, ...]], num_relations: int, *, loops: bool = False
    ) -> Program:
        """Bodies of codes, numbered in the order given; questions about a body's first code walk it.

        With `loops` a body may lead from an entity to itself.
        """
        rows = [(body[0], False, body, number) for number, body in enumerate(bodies)]
        may = np.full(2 * num_relations, loops, dtype=np.bool_)
        return cls(_walks(sorted(rows), 2 * num_relations, may), num_relations)


def _both_ways(number: int, rule: Rule, codes: Mapping[str, int]) -> Iterator[_Row]:
    """The rows of a rule and of its reversal; none where a relation has no code.

    Thousands of rules are turned around for each change that is looked at, so that it is done with codes, not names.
    """
    body = [codes.get(name, -1) for name in rule.body]
    head = codes.get(rule.head, -1)
    if head < 0 or min(body, default=0) < 0:
        return
    meets, half, count = isinstance(rule, IntersectionRule), len(codes) // 2, len(codes)
    back = [(code + half) % count for code in (body if meets else reversed(body))]
    yield head, meets, tuple(body), number
    yield (head + half) % count, meets, tuple(back), number


def _walks(rows: list[_Row], num_directed: int, loops: NDArray[np.bool_]) -> Walks:
    longest = max((len(body) for _, _, body, _ in rows), default=1)
    bodies = np.full((len(rows), longest), -1, dtype=np.int32)
    for place, (_, _, body, _) in enumerate(rows):
        bodies[place, : len(body)] = body
    targets = np.array([target for target, _, _, _ in rows], dtype=np.int64)
    meets = np.array([meet for _, meet, _, _ in rows], dtype=np.bool_)
    return Walks(
        starts_in(targets, num_rows=num_directed),
        bodies,
        (bodies >= 0).sum(axis=1),
        _jumps(bodies, targets, meets),
        meets,
        np.array([number for _, _, _, number in rows], dtype=np.int32),
        loops,
    )


def _jumps(
    bodies: NDArray[np.int32], targets: NDArray[np.int64], meets: NDArray[np.bool_]
) -> NDArray[np.int64]:  # row step
    """For each row and step the next row that differs in a code up to there, or is of another kind or relation."""
    count, longest = bodies.shape
    differs = np.ones((count + 1, longest), dtype=np.bool_)
    if count:
        other = (targets[1:] != targets[:-1]) | (meets[1:] != meets[:-1])
        differs[1:count] = np.logical_or.accumulate(bodies[1:] != bodies[:-1], axis=1) | other[:, None]
    places = np.where(differs, np.arange(count + 1)[:, None], count)
    following = np.minimum.accumulate(places[::-1], axis=0)[::-1]
    return np.ascontiguousarray(following[1:])
