"""Find the rules that soft matrices capture best: by degree, or by evidence if the model has starts and weights.

**Degree.** Freeze the body r1;...;rn into entities 0, ..., n and let each slot of entity 0 hold a value 1 in a channel
of its own. A_k[i, s] is what surely arrives of slot s in slot i of entity k:

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

*The bound.* Rows sum to at most 1 and free ways multiply by at most 1, so no continuation of a prefix raises the
highest value of a column: A_n[x, s] <= m_x * max_i A_k[i, s], where m_x is the largest sum that a row of some B_r
leaves in slot x. Putting that in place of A_n bounds the degree of all continuations from above, for all heads at
once. Prefixes are taken by falling bound, so rules come out by falling degree, and what is cut off by the budget has
a known bound.

**Evidence.** A query (e, r, ?) puts the vector p_r into entity e; a path r1;...;rn from e carries it on, and w_r reads
it off:

    evidence(r1;...;rn -> r) = w_r · (F B_rn F ... F B_r1 F p_r)

where F are the best identity walks (max in place of the sum; without identities F does nothing). There are no round
trips here: a path that goes back is a path of its own.

*The bound.* Everything is non-negative, and a sum is at least the maximum. So with y_0 = w_r and
y_{d+1}[j] = max over letters of (y_d F B)[j] in plain matrix products, no continuation by d letters of a prefix that
left the vector v says more than y_d · v. Nor, since rows sum to at most 1, more than the sum of w_r times the largest
value of v. The smaller of the two, largest over the d that are left, bounds all continuations. Per relation, prefixes
are taken by falling bound, so rules come out by falling evidence. With a graph, bodies that cannot join anything there
(`Joins`) are not grown.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from reshuffle.errors import InputError
from reshuffle.extraction.hard import check_length, forward
from reshuffle.extraction.kernels import best_products, best_walks, degree_bounds, degrees
from reshuffle.kg.roles import Roles, role_of
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT
from reshuffle.rules import PathRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.extraction.soft_matrices import SoftMatrices
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress, Report

    Body = tuple[int, ...]  # letters
    Matrix = NDArray[np.float64]
    Vector = NDArray[np.float64]
    Vectors = NDArray[np.float64]

_NO_DEGREE = 1e-9
"""A degree below this is none, and a bound is raised by this share so that rounding cannot make it too low."""
_ROUNDING = 1 + 1e-9
_NO_EVIDENCE = 1e-12
"""Less evidence than this is none."""


@dataclass(frozen=True)
class Graded:
    """Rules with their grades (degree or evidence), highest first.

    `cut`: where the budget did not allow all of the search, the highest grade that a rule not looked at may have.
    """

    grades: dict[PathRule, float]
    cut: float | None = None


State = TypeVar("State")


class _Queue(Generic[State]):
    """Prefixes and rules that wait, taken by falling number: a rule by its grade, a prefix by its bound.

    Equal ones come shortest first, then in the order they were put in. `floor` is the least grade that still counts; it
    rises as soon as `enough` better rules are known.
    """

    def __init__(self, floor: float, enough: int) -> None:
        self.floor, self._enough = floor, enough
        self.cut: float | None = None
        self._best: list[float] = []
        self._tie = count()
        self._waiting: list[tuple[float, int, int, Body, int, State | None]] = []

    def put_rule(self, grade: float, body: Body, head: int) -> None:
        """A rule that was found."""
        heapq.heappush(self._waiting, (-grade, len(body), next(self._tie), body, head, None))
        heapq.heappush(self._best, grade)
        if len(self._best) > self._enough:
            self.floor = max(self.floor, heapq.heappop(self._best))

    def put_prefix(self, bound: float, body: Body, state: State) -> None:
        """A prefix that may be grown, with what it carries."""
        heapq.heappush(self._waiting, (-bound, len(body), next(self._tie), body, -1, state))

    def falling(self) -> Iterator[tuple[float, Body, int, State | None]]:
        """Number, body, head and state of each: a rule has no state, a prefix no head (-1)."""
        while self._waiting:
            negative, _, _, body, head, state = heapq.heappop(self._waiting)
            yield -negative, body, head, state

    def cut_off(self, bound: float) -> None:
        """Note a prefix that is not grown, since the budget is spent."""
        self.cut = max(self.cut or 0.0, bound)


def _named_rule(matrices: SoftMatrices, body: Body, head: int) -> PathRule:
    names = matrices.relations
    return forward(PathRule(tuple(names[letter] for letter in body), names[head]))


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
        """The flow of a prefix continued by one letter."""
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

    >>> from reshuffle.extraction.soft_matrices import SoftMatrices
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
    search = _DegreeSearch(matrices, max_length, min_degree, most)
    grades: dict[PathRule, float] = {}
    with progress("extracting rules", total=budget, unit="prefixes") as report:
        for rule, grade in search.rules(budget, report):
            grades.setdefault(rule, grade)
            if len(grades) == most:
                break
    return Graded(grades, search.cut)


class _DegreeSearch:
    """The rules of all heads, by falling degree."""

    def __init__(self, matrices: SoftMatrices, max_length: int, floor: float, most: int) -> None:
        self._flows, self._matrices, self._max_length = Flows(matrices), matrices, max_length
        self._heads = matrices.letters[matrices.constrained[matrices.letters]]
        self._shares = self._flows.shares()
        enough = 2 * most  # a rule and its reversal are one rule
        self._queue: _Queue[Flow] = _Queue(max(floor, _NO_DEGREE), enough)

    @property
    def cut(self) -> float | None:
        """The highest degree that a rule not looked at may have; None where all were looked at."""
        return self._queue.cut

    def rules(self, budget: int, report: Report) -> Iterator[tuple[PathRule, float]]:
        """The rules by falling degree. Once the budget is spent, what has been found so far."""
        self._grow((), self._flows.empty)
        for number, body, head, flow in self._queue.falling():
            if flow is None:
                yield _named_rule(self._matrices, body, head), number
            elif budget <= 0:
                self._queue.cut_off(number)
            else:
                budget -= 1
                report(1, note=f"degree {number:.3f}")
                self._grow(body, flow)

    def _grow(self, body: Body, flow: Flow) -> None:
        heads, queue = self._matrices.values[self._heads], self._queue
        for letter in self._matrices.letters.tolist():
            grown, further = (*body, letter), self._flows.after(flow, letter)
            reached = degrees(heads, further.arrived, queue.floor)
            for place in np.flatnonzero(reached >= 0):
                head = int(self._heads[place])
                if grown != (head,):
                    queue.put_rule(float(reached[place]), grown, head)
            if len(grown) < self._max_length:
                highest = further.arrived.max(axis=0, initial=0.0) * (1 + _NO_DEGREE)
                bound = degree_bounds(heads, highest, self._shares, queue.floor).max(initial=-1.0)
                if bound >= 0:
                    queue.put_prefix(float(bound), grown, further)


def evidence(matrices: SoftMatrices, rule: PathRule) -> float:
    """The evidence that one path with the rule's body gives for its head."""
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
            search = _EvidenceSearch(paths, head, max_length, min_evidence, most_per_relation, joins)
            for rule, grade in search.rules(budget):
                grades[rule] = max(grade, grades.get(rule, 0.0))
            cuts += [] if search.cut is None else [search.cut]
            report(1)
    ordered = sorted(grades, key=lambda rule: (-grades[rule], len(rule.body), str(rule)))
    return Graded({rule: grades[rule] for rule in ordered}, max(cuts, default=None))


class _Paths:
    """Moves vectors along bodies, starting from p_r."""

    def __init__(self, matrices: SoftMatrices) -> None:
        if matrices.starts is None or matrices.weights is None:
            raise InputError(
                "these matrices have no starts and weights, so there is no evidence",
                hint="sort the rules by degree",
            )
        self.matrices, self._starts, self.weights = matrices, matrices.starts, matrices.weights
        self.places = {letter: place for place, letter in enumerate(matrices.letters.tolist())}
        self._free = Flows(matrices).empty.free
        self._still = bool((self._free == np.eye(matrices.num_slots)).all())
        self._steps = matrices.values[matrices.letters]  # letter slot slot
        self._bounding = self._steps if self._still else self._free @ self._steps

    def start(self, head: int) -> Vector:
        """F p_r: the vector of a query about the head before any step."""
        return self.moved(self._starts[head])

    def after(self, vector: Vector) -> Vectors:  # letter slot
        """F B v: the vector one step further, for every letter."""
        return self.moved(self._steps @ vector)

    def moved(self, vectors: Vectors) -> Vectors:  # ... slot
        """F v: each slot takes the best that identity walks bring."""
        if self._still:
            return vectors
        best: Vectors = best_products(np.atleast_2d(vectors), self._free.T)
        return best.reshape(vectors.shape)

    def bounds(self, head: int, steps: int) -> Vectors:  # steps slot
        """The bounding rows y_1, ..., y_steps of the head."""
        rows, row = [], self.weights[head]
        for _ in range(steps):
            row = (row @ self._bounding).max(axis=0, initial=0.0)
            rows.append(row)
        return np.array(rows).reshape(steps, self.matrices.num_slots) * _ROUNDING


class _EvidenceSearch:
    """The rules of one head, by falling evidence."""

    def __init__(
        self, paths: _Paths, head: int, max_length: int, floor: float, most: int, joins: Joins | None
    ) -> None:
        self._paths, self._head, self._max_length, self._joins = paths, head, max_length, joins
        self._most = most
        self._letters = paths.matrices.letters.tolist()
        self._bounds = paths.bounds(head, max_length)
        self._total = float(paths.weights[head].sum()) * _ROUNDING
        self._queue: _Queue[Vector] = _Queue(max(floor, _NO_EVIDENCE), most)

    @property
    def cut(self) -> float | None:
        """The highest evidence that a rule not looked at may have; None where all were looked at."""
        return self._queue.cut

    def rules(self, budget: int) -> Iterator[tuple[PathRule, float]]:
        """The `most` rules by falling evidence. Once the budget is spent, what has been found so far."""
        given, queue = 0, self._queue
        self._grow((), self._paths.start(self._head))
        for number, body, head, vector in queue.falling():
            if given >= self._most:
                break
            if vector is None:
                given += 1
                yield _named_rule(self._paths.matrices, body, head), number
            elif budget <= 0:
                queue.cut_off(number)
            elif number >= queue.floor:
                budget -= 1
                self._grow(body, vector)

    def _grow(self, body: Body, vector: Vector) -> None:
        further, queue = self._paths.after(vector), self._queue
        values = further @ self._paths.weights[self._head]
        can_follow, can_end = self._allowed(body)
        for place in np.flatnonzero(can_end & (values >= queue.floor)).tolist():
            if (*body, self._letters[place]) != (self._head,):
                queue.put_rule(float(values[place]), (*body, self._letters[place]), self._head)
        bounds = self._highest(further, self._max_length - len(body) - 1)
        for place in np.flatnonzero(can_follow & (bounds >= queue.floor)).tolist():
            queue.put_prefix(float(bounds[place]), (*body, self._letters[place]), further[place])

    def _allowed(self, body: Body) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:  # letter, letter
        """Which letters may come next, and which of them last."""
        if self._joins is None:
            everything = np.ones(len(self._letters), dtype=np.bool_)
            return everything, everything
        places, joins = self._paths.places, self._joins
        head = places[self._head]
        follow = joins.follows[places[body[-1]]] if body else joins.begins[head]
        return follow, follow & joins.ends[head]

    def _highest(self, vectors: Vectors, letters_left: int) -> Vector:
        """For each prefix the bound of its continuations by up to `letters_left` letters."""
        if letters_left == 0:
            return np.zeros(len(vectors))
        ahead = (vectors @ self._bounds[:letters_left].T).max(axis=1)
        smaller: Vector = np.minimum(ahead, self._total * vectors.max(axis=1, initial=0.0))
        return smaller


class Joins:
    """Which letters may follow each other, begin or end a body on a graph; `matrices.letters` gives their order.

    With hundreds of relations most bodies join nothing: nobody is both a tail of `bornIn` and a head of `directedBy`.
    A rule is ruled out where no entity stands between two neighbouring atoms, or none begins, or none ends, both the
    body and a fact of the head: such a rule has no support. What is left need not have any, but it is the model that
    chooses among it: measuring every rule would find the same ones for a model that has learned nothing.
    """

    begins: NDArray[np.bool_]  # letter letter: some entity is a head of both
    follows: NDArray[np.bool_]  # letter letter: some entity is a tail of the first and a head of the second
    ends: NDArray[np.bool_]  # letter letter: some entity is a tail of both

    def __init__(self, matrices: SoftMatrices, graph: KnowledgeGraph) -> None:
        together = Roles.of(graph).pair_counts() > 0
        # One more role, which nobody has: that of relations without facts.
        together = np.pad(together, (0, 1))
        names = [matrices.relations[letter] for letter in matrices.letters]
        heads, tails = np.array([_roles(name, graph) for name in names], dtype=np.int64).reshape(-1, 2).T
        self.begins = together[np.ix_(heads, heads)]
        self.follows = together[np.ix_(tails, heads)]
        self.ends = together[np.ix_(tails, tails)]


def _roles(name: str, graph: KnowledgeGraph) -> tuple[int, int]:
    """The roles of the heads and of the tails of a relation or an inverse."""
    count, base = len(graph.relations), base_relation(name)
    if base not in graph.relations:
        return 2 * count, 2 * count
    number = int(graph.relations.ids([base])[0])
    heads, tails = role_of(number, "head", count), role_of(number, "tail", count)
    return (heads, tails) if name == base else (tails, heads)
