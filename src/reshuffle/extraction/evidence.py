"""What one path says for a relation, where a model has starts and weights, and the paths that say most.

A query (e, r, ?) puts the vector p_r into entity e; a path r1;...;rn from e carries it on, and w_r reads it off:

    evidence(r1;...;rn -> r) = w_r · (F B_rn F ... F B_r1 F p_r)

where F are the best identity walks (max in place of the sum; without identities F does nothing). There are no round
trips here: a path that goes back is a path of its own.

**The bound.** Everything is non-negative, and a sum is at least the maximum. So with y_0 = w_r and
y_{d+1}[j] = max over letters of (y_d F B)[j] in plain matrix products, no continuation by d letters of a prefix that
left the vector v says more than y_d · v. Nor, since rows sum to at most 1, more than the sum of w_r times the largest
value of v. The smaller of the two, largest over the d that are left, bounds all continuations. Per relation, prefixes
are taken by falling bound, so rules come out by falling evidence.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError
from reshuffle.extraction.capturing import check_length, forward
from reshuffle.extraction.degrees import Flows, Graded
from reshuffle.progress import SILENT
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.extraction.matrices import SoftMatrices
    from reshuffle.progress import Progress

    Vector = NDArray[np.float64]

_ROUNDING = 1 + 1e-9


def evidence(matrices: SoftMatrices, rule: PathRule) -> float:
    """What one path with the rule's body says for its head."""
    paths = _Paths(matrices)
    vector = paths.start(matrices.id_of(rule.head))
    for relation in rule.body:
        vector = paths.after(vector, matrices.id_of(relation))
    return paths.read(matrices.id_of(rule.head), vector)


def graded_by_evidence(
    matrices: SoftMatrices,
    *,
    max_length: int = 2,
    min_evidence: float = 0.0,
    most_per_relation: int = 20,
    budget: int = 2_000,
    progress: Progress = SILENT,
) -> Graded:
    """For each relation and inverse the rules of highest evidence, from at most `budget` grown prefixes each.

    Evidence is compared within a relation only, so each has its own list. A rule about an inverse is given as the same
    rule about the relation, with the higher evidence of the two.
    """
    check_length(max_length)
    paths = _Paths(matrices)
    grades: dict[PathRule, float] = {}
    cuts: list[float] = []
    with progress("extracting rules", total=len(matrices.letters), unit="relations") as report:
        for head in matrices.letters.tolist():
            search = _Search(paths, head, max_length, min_evidence)
            for rule, grade in search.rules(budget, most_per_relation):
                grades[rule] = max(grade, grades.get(rule, 0.0))
            cuts += [] if search.cut is None else [search.cut]
            report(1)
    ordered = sorted(grades, key=lambda rule: (-grades[rule], len(rule.body), str(rule)))
    return Graded({rule: grades[rule] for rule in ordered}, max(cuts, default=None))


class _Paths:
    """How vectors go along a body."""

    def __init__(self, matrices: SoftMatrices) -> None:
        if matrices.starts is None or matrices.weights is None:
            raise InputError(
                "these matrices have no starts and weights, so a path gives no evidence",
                hint="grade the rules by degree",
            )
        self.matrices, self._starts, self.weights = matrices, matrices.starts, matrices.weights
        self._free = Flows(matrices).empty.free
        self._still = bool((self._free == np.eye(matrices.num_slots)).all())
        letters = matrices.values[matrices.letters]
        self.steps = letters if self._still else np.einsum("xy,ryj->rxj", self._free, letters)

    def start(self, head: int) -> Vector:
        """F p_r."""
        return self._moved(self._starts[head])

    def after(self, vector: Vector, letter: int) -> Vector:
        """F B v."""
        return self._moved(self.matrices.values[letter] @ vector)

    def _moved(self, vector: Vector) -> Vector:
        return vector if self._still else (self._free * vector[None, :]).max(axis=1, initial=0.0)

    def read(self, head: int, vector: Vector) -> float:
        """w_r · v."""
        return float(self.weights[head] @ vector)

    def bounds(self, head: int, steps: int) -> NDArray[np.float64]:  # steps slot
        """y_1, ..., y_steps."""
        rows, row = [], self.weights[head]
        for _ in range(steps):
            row = np.einsum("x,rxj->rj", row, self.steps).max(axis=0, initial=0.0)
            rows.append(row)
        return np.array(rows).reshape(steps, self.matrices.num_slots) * _ROUNDING


class _Search:
    def __init__(self, paths: _Paths, head: int, max_length: int, floor: float) -> None:
        self._paths, self._head, self._max_length, self._floor = paths, head, max_length, floor
        self._bounds = paths.bounds(head, max_length)
        self._total = float(paths.weights[head].sum()) * _ROUNDING
        self._tie = count()
        self._waiting: list[tuple[float, int, int, tuple[int, ...], Vector | None]] = []
        self.cut: float | None = None

    def rules(self, budget: int, most: int) -> Iterator[tuple[PathRule, float]]:
        """By falling evidence."""
        names = self._paths.matrices.relations
        self._push(np.inf, (), self._paths.start(self._head))
        while self._waiting and most > 0:
            negative, _, _, body, vector = heapq.heappop(self._waiting)
            if vector is None:
                most -= 1
                yield forward(PathRule(tuple(names[letter] for letter in body), names[self._head])), -negative
            elif budget <= 0:
                self.cut = max(self.cut or 0.0, -negative)
            else:
                budget -= 1
                self._grow(body, vector)

    def _grow(self, body: tuple[int, ...], vector: Vector) -> None:
        for letter in self._paths.matrices.letters.tolist():
            grown, further = (*body, letter), self._paths.after(vector, letter)
            value = self._paths.read(self._head, further)
            if value > 0 and value >= self._floor and grown != (self._head,):
                self._push(value, grown, None)
            bound = self._bound(further, self._max_length - len(grown))
            if bound > 0 and bound >= self._floor:
                self._push(bound, grown, further)

    def _bound(self, vector: Vector, letters_left: int) -> float:
        if letters_left == 0:
            return 0.0
        ahead = float((self._bounds[:letters_left] @ vector).max())
        return min(ahead, self._total * float(vector.max(initial=0.0)))

    def _push(self, number: float, body: tuple[int, ...], vector: Vector | None) -> None:
        heapq.heappush(self._waiting, (-number, len(body), next(self._tie), body, vector))
