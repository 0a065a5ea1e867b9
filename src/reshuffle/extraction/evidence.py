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

With a graph, bodies that cannot join anything there (`joining`) are not grown.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError
from reshuffle.extraction.capturing import check_length, forward
from reshuffle.extraction.degrees import Flows, Graded
from reshuffle.extraction.kernels import best_products
from reshuffle.progress import SILENT
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.extraction.joining import Joins
    from reshuffle.extraction.matrices import SoftMatrices
    from reshuffle.progress import Progress

    Vector = NDArray[np.float64]
    Vectors = NDArray[np.float64]

_ROUNDING = 1 + 1e-9
_NOTHING = 1e-12
"""Less evidence than this is none."""


def evidence(matrices: SoftMatrices, rule: PathRule) -> float:
    """What one path with the rule's body says for its head."""
    paths = _Paths(matrices)
    head = matrices.id_of(rule.head)
    vector = paths.start(head)
    for relation in rule.body:
        vector = paths.moved(matrices.values[matrices.id_of(relation)] @ vector)
    return float(paths.weights[head] @ vector)


def graded_by_evidence(
    matrices: SoftMatrices,
    *,
    max_length: int = 2,
    min_evidence: float = 0.0,
    most_per_relation: int = 20,
    budget: int = 100,
    joins: Joins | None = None,
    progress: Progress = SILENT,
) -> Graded:
    """For each relation and inverse the rules of highest evidence, from at most `budget` grown prefixes each.

    With `joins` only rules that its graph does not rule out are given.

    Evidence is compared within a relation only, so each has its own list. A rule about an inverse is given as the same
    rule about the relation, with the higher evidence of the two.
    """
    check_length(max_length)
    paths = _Paths(matrices)
    grades: dict[PathRule, float] = {}
    cuts: list[float] = []
    with progress("extracting rules", total=len(matrices.letters), unit="relations") as report:
        for head in matrices.letters.tolist():
            search = _Search(paths, head, max_length, min_evidence, most_per_relation, joins)
            for rule, grade in search.rules(budget):
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
        self.places = {letter: place for place, letter in enumerate(matrices.letters.tolist())}
        self._free = Flows(matrices).empty.free
        self._still = bool((self._free == np.eye(matrices.num_slots)).all())
        self._steps = matrices.values[matrices.letters]  # letter slot slot
        self._bounding = self._steps if self._still else self._free @ self._steps

    def start(self, head: int) -> Vector:
        """F p_r."""
        return self.moved(self._starts[head])

    def after(self, vector: Vector) -> Vectors:  # letter slot
        """F B v for every letter."""
        return self.moved(self._steps @ vector)

    def moved(self, vectors: Vectors) -> Vectors:  # ... slot
        """F v: each slot takes the best that identity walks bring."""
        if self._still:
            return vectors
        best: Vectors = best_products(np.atleast_2d(vectors), self._free.T)
        return best.reshape(vectors.shape)

    def bounds(self, head: int, steps: int) -> Vectors:  # steps slot
        """y_1, ..., y_steps."""
        rows, row = [], self.weights[head]
        for _ in range(steps):
            row = (row @ self._bounding).max(axis=0, initial=0.0)
            rows.append(row)
        return np.array(rows).reshape(steps, self.matrices.num_slots) * _ROUNDING


class _Search:
    """Prefixes and rules of one head in one queue. The floor rises as soon as enough rules are known."""

    def __init__(
        self, paths: _Paths, head: int, max_length: int, floor: float, most: int, joins: Joins | None
    ) -> None:
        self._paths, self._head, self._max_length, self._joins = paths, head, max_length, joins
        self._floor, self._most = max(floor, _NOTHING), most
        self._letters = paths.matrices.letters.tolist()
        self._bounds = paths.bounds(head, max_length)
        self._total = float(paths.weights[head].sum()) * _ROUNDING
        self._best: list[float] = []
        self._tie = count()
        self._waiting: list[tuple[float, int, int, tuple[int, ...], Vector | None]] = []
        self.cut: float | None = None

    def rules(self, budget: int) -> Iterator[tuple[PathRule, float]]:
        """By falling evidence. Once the budget is spent, what has been found so far."""
        names, given = self._paths.matrices.relations, 0
        self._grow((), self._paths.start(self._head))
        while self._waiting and given < self._most:
            negative, _, _, body, vector = heapq.heappop(self._waiting)
            if vector is None:
                given += 1
                yield forward(PathRule(tuple(names[letter] for letter in body), names[self._head])), -negative
            elif budget <= 0:
                self.cut = max(self.cut or 0.0, -negative)
            elif -negative >= self._floor:
                budget -= 1
                self._grow(body, vector)

    def _grow(self, body: tuple[int, ...], vector: Vector) -> None:
        further = self._paths.after(vector)
        values = further @ self._paths.weights[self._head]
        can_follow, can_end = self._allowed(body)
        for place in np.flatnonzero(can_end & (values >= self._floor)).tolist():
            if (*body, self._letters[place]) != (self._head,):
                self._found(float(values[place]), (*body, self._letters[place]))
        bounds = self._highest(further, self._max_length - len(body) - 1)
        for place in np.flatnonzero(can_follow & (bounds >= self._floor)).tolist():
            self._push(float(bounds[place]), (*body, self._letters[place]), further[place])

    def _allowed(
        self, body: tuple[int, ...]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:  # letter, letter
        """Which letters may come next, and which of them last."""
        if self._joins is None:
            everything = np.ones(len(self._letters), dtype=np.bool_)
            return everything, everything
        places, joins = self._paths.places, self._joins
        head = places[self._head]
        follow = joins.follows[places[body[-1]]] if body else joins.begins[head]
        return follow, follow & joins.ends[head]

    def _highest(self, vectors: Vectors, letters_left: int) -> Vector:
        """What no continuation of each prefix exceeds."""
        if letters_left == 0:
            return np.zeros(len(vectors))
        ahead = (vectors @ self._bounds[:letters_left].T).max(axis=1)
        smaller: Vector = np.minimum(ahead, self._total * vectors.max(axis=1, initial=0.0))
        return smaller

    def _found(self, value: float, body: tuple[int, ...]) -> None:
        self._push(value, body, None)
        heapq.heappush(self._best, value)
        if len(self._best) > self._most:
            self._floor = max(self._floor, heapq.heappop(self._best))

    def _push(self, number: float, body: tuple[int, ...], vector: Vector | None) -> None:
        heapq.heappush(self._waiting, (-number, len(body), next(self._tie), body, vector))
