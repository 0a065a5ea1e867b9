"""How far soft matrices capture a rule, and the rules they capture best.

Freeze the body r1;...;rn into entities 0, ..., n and let each slot of entity 0 hold a value 1 in a channel of its own.
A_k[i, s] is what surely arrives of slot s in slot i of entity k:

    A_0 = F_0                          F_0: best identity walks within one entity
    A_k = F_k ∘ (B_rk A_{k-1})         F_k: best walks by identities, and by round trips B_rk ∘ F_{k-1} ∘ B_rk^-1

where ∘ is the product with max in place of the sum (a value takes one of several free ways) and round trips exist for
relations whose inverse is known. Without identities and inverses A_n is B_rn ... B_r1. The *degree* of the rule is

    1 - (max over slots x of  sum over s of  max(0, B_r[x, s] - A_n[x, s])) / b_r
    b_r = max over slots x of  sum over s of  B_r[x, s]

that is, 1 less the largest unmet demand of a row, as a share of the largest demand: a head that demands little is not
captured by any body just for that. Without identities and inverses it means: whatever the embeddings are, B_r Z_0
exceeds Z_n in no slot by more than (1 - degree) b_r times the largest value of Z_0. It is 1 iff B_r ⪯ A_n. On 0/1
matrices it is 1 iff the rule is captured, else 0.

**The bound.** Rows sum to at most 1 and free ways multiply by at most 1, so no continuation of a prefix raises the
highest value of a column: A_n[x, s] <= m_x * max_i A_k[i, s], where m_x is the largest sum that a row of some B_r
leaves in slot x. Putting that in place of A_n bounds the degree of all continuations from above, for all heads at
once. Prefixes are taken by falling bound, so rules come out by falling degree, and what is cut off by the budget has
a known bound.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.extraction.capturing import check_length, forward
from reshuffle.extraction.kernels import best_products, best_walks, degree_bounds, degrees
from reshuffle.progress import SILENT
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.extraction.matrices import SoftMatrices
    from reshuffle.progress import Progress, Report

    Matrix = NDArray[np.float64]

_NOTHING = 1e-9
"""A degree below this is none, and a bound is raised by this share so that rounding cannot make it too low."""


@dataclass(frozen=True)
class Graded:
    """Rules by falling grade, a degree or an evidence.

    `cut`: where the budget did not allow all of the search, the highest grade that a rule not looked at may have.
    """

    grades: dict[PathRule, float]
    cut: float | None = None


class Flow(NamedTuple):
    """A_k and F_k of a prefix."""

    arrived: Matrix
    free: Matrix


class Flows:
    """The flows of bodies through soft matrices."""

    def __init__(self, matrices: SoftMatrices) -> None:
        self.matrices = matrices
        slots = matrices.num_slots
        identities = [matrices.values[matrices.id_of(name)] for name in sorted(matrices.identities)]
        self._identity = best_walks(np.max([np.zeros((slots, slots)), *identities], axis=0))
        self.empty = Flow(self._identity, self._identity)

    def after(self, flow: Flow, letter: int) -> Flow:
        """The flow one letter further."""
        step, inverse = self.matrices.values[letter], int(self.matrices.inverse_ids[letter])
        free = self._identity
        if inverse >= 0:
            trips = best_products(best_products(step, flow.free), self.matrices.values[inverse])
            free = best_walks(np.maximum(trips, self._identity))
        return Flow(best_products(free, step @ flow.arrived), free)

    def of(self, body: Sequence[str]) -> Flow:
        """The flow of a whole body."""
        flow = self.empty
        for relation in body:
            flow = self.after(flow, self.matrices.id_of(relation))
        return flow

    def shares(self) -> Matrix:  # slot
        """m_x: the most that a row of some letter leaves in slot x, identities after it included.

        A round trip ends with a row of a letter too.
        """
        sums = self.matrices.values[self.matrices.letters].sum(axis=2).max(axis=0, initial=0.0)
        shares: Matrix = (self._identity * sums[None, :]).max(axis=1, initial=0.0)
        return shares


def degree(matrices: SoftMatrices, rule: PathRule) -> float:
    """How far the matrices capture one rule, from 0 to 1.

    >>> from reshuffle.extraction.matrices import SoftMatrices
    >>> soft = SoftMatrices(("a", "b"), np.array([[[0.75, 0.0], [0.0, 1.0]], [[0.5, 0.0], [0.25, 0.75]]]))
    >>> degree(soft, PathRule(("a",), "b")), degree(soft, PathRule(("b",), "a"))
    (0.75, 0.75)
    """
    flow = Flows(matrices).of(rule.body)
    head = matrices.values[[matrices.id_of(rule.head)]]
    return float(degrees(head, flow.arrived, 0.0)[0].clip(0.0))


def graded_by_degree(
    matrices: SoftMatrices,
    *,
    max_length: int = 2,
    min_degree: float = 0.0,
    most: int = 1000,
    budget: int = 1000,
    progress: Progress = SILENT,
) -> Graded:
    """The `most` rules of highest degree, at least `min_degree`, from at most `budget` grown prefixes.

    Heads without any constraint (no row sums to half or more) are left out, since every body captures them. A rule
    about an inverse is given as the same rule about the relation, with the higher degree of the two.
    """
    check_length(max_length)
    search = _Search(matrices, max_length, min_degree, most)
    grades: dict[PathRule, float] = {}
    with progress("extracting rules", total=budget, unit="prefixes") as report:
        for rule, grade in search.rules(budget, report):
            grades.setdefault(rule, grade)
            if len(grades) == most:
                break
    return Graded(grades, search.cut)


class _Search:
    """Prefixes and rules in one queue. Floors rise as soon as enough rules are known."""

    def __init__(self, matrices: SoftMatrices, max_length: int, floor: float, most: int) -> None:
        self._flows, self._matrices = Flows(matrices), matrices
        self._max_length, self._floor = max_length, max(floor, _NOTHING)
        self._heads = matrices.letters[matrices.constrained[matrices.letters]]
        self._shares = self._flows.shares()
        self._best: list[float] = []
        self._enough = 2 * most  # a rule and its reversal are one rule
        self._tie = count()
        self._waiting: list[tuple[float, int, int, tuple[int, ...], int, Flow | None]] = []
        self.cut: float | None = None

    def rules(self, budget: int, report: Report) -> Iterator[tuple[PathRule, float]]:
        """By falling degree. Once the budget is spent, what has been found so far."""
        self._grow((), self._flows.empty)
        while self._waiting:
            negative, _, _, body, head, flow = heapq.heappop(self._waiting)
            if flow is None:
                yield self._rule(body, head), -negative
            elif budget <= 0:
                self.cut = max(self.cut or 0.0, -negative)
            else:
                budget -= 1
                report(1, note=f"degree {-negative:.3f}")
                self._grow(body, flow)

    def _rule(self, body: tuple[int, ...], head: int) -> PathRule:
        names = self._matrices.relations
        return forward(PathRule(tuple(names[letter] for letter in body), names[head]))

    def _grow(self, body: tuple[int, ...], flow: Flow) -> None:
        heads = self._matrices.values[self._heads]
        for letter in self._matrices.letters.tolist():
            grown, further = (*body, letter), self._flows.after(flow, letter)
            reached = degrees(heads, further.arrived, self._floor)
            for place in np.flatnonzero(reached >= 0):
                head = int(self._heads[place])
                if grown != (head,):
                    self._found(float(reached[place]), grown, head)
            if len(grown) < self._max_length:
                highest = further.arrived.max(axis=0, initial=0.0) * (1 + _NOTHING)
                bound = degree_bounds(heads, highest, self._shares, self._floor).max(initial=-1.0)
                if bound >= 0:
                    self._push(float(bound), grown, -1, further)

    def _found(self, degree: float, body: tuple[int, ...], head: int) -> None:
        self._push(degree, body, head, None)
        heapq.heappush(self._best, degree)
        if len(self._best) > self._enough:
            self._floor = max(self._floor, heapq.heappop(self._best))

    def _push(self, number: float, body: tuple[int, ...], head: int, flow: Flow | None) -> None:
        heapq.heappush(self._waiting, (-number, len(body), next(self._tie), body, head, flow))
