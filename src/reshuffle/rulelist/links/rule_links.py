"""The most plausible links of a graph, found by walking from every entity along the bodies of rules.

Links of different questions are compared by their value (`likelihood`): the log-odds of their probability,
where the model has one, else

    plausibility = score + log(share),

where the share is the softmax of the scores over all answers of the question, known ones included: a question that has
its answers already leaves little for new ones. Only entities found by a rule are proposed.

Entities are processed in blocks: all rules of all relations are walked from a block, so the sums of its questions are
final, and only the best links are kept. The links kept so far set a threshold. If no link of a question can reach it,
no distances are searched for (`link_bounds`), and the other entities of the question are not scored. Entities whose
links may be good come first, in small blocks: they set the threshold, and have most of the work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.evaluation.link_limits import ALL_LINKS
from reshuffle.evaluation.questions import other_side
from reshuffle.progress import SILENT
from reshuffle.rulelist.features import Questions, in_order, pieces_of
from reshuffle.rulelist.kernels.link_sums import links_of_questions
from reshuffle.rulelist.links.link_bounds import LinkBounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.evaluation.link_limits import LinkLimits
    from reshuffle.evaluation.scorer import Side
    from reshuffle.progress import Progress
    from reshuffle.rulelist.features import FeatureGraph
    from reshuffle.rulelist.rule_answers import RulesOnGraph

BLOCK, _LARGEST_BLOCK = 64, 1024
"""Entities that are looked at together, of a small graph and of a large one: of most, no question is promising."""
_BLOCKS = 2_000
_SMALL_BLOCKS = 256  # that come first, so that shares of the blocks have a like part of the work
_SEARCHED = 64  # distance searches in one pass
LOWEST = -float(np.finfo(np.float64).max)
"""The least value; whatever is below is not wanted."""
_Run: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]"
_Asked: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]"
_Added: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]"
_ROOM = 1 << 14  # links of a task before it looks at which of them are good enough


@dataclass(frozen=True)
class Links:
    """Links by id, with what they are compared by."""

    ids: NDArray[np.int64]  # link (relation head tail)
    values: NDArray[np.float64]  # link

    @classmethod
    def none(cls) -> Links:
        """No link."""
        return cls(np.zeros((0, 3), dtype=np.int64), np.zeros(0))

    @classmethod
    def joined(cls, parts: Sequence[Links]) -> Links:
        """The links of all."""
        return cls(np.concatenate([one.ids for one in parts]), np.concatenate([one.values for one in parts]))

    def __len__(self) -> int:
        return len(self.values)

    def part(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> Links:
        """Some of the links."""
        return Links(self.ids[places], self.values[places])


@dataclass(frozen=True)
class Wanted:
    """The requested links: how many in total and per relation, and their least value."""

    top: int | None = None
    per_relation: int | None = None
    least: float = LOWEST
    reasons_only: bool = False
    """Leave out links of which the tables say more than the rules."""
    by_plausibility: bool = False
    """Compare links so even where the model says how likely they are."""

    def best(self, links: Links) -> Links:
        """The best ones, best first."""
        links = links.part(links.values >= self.least)
        return links.part(self.order(links.ids, links.values, links.ids[:, 0]))

    def order(
        self, ids: NDArray[np.int64], values: NDArray[np.float64], relations: NDArray[np.int64]
    ) -> NDArray[np.int64]:  # place
        """The places of as many of some links as are wanted, best first; equal ones by id, so that the order of the
        questions does not matter.
        """
        places = np.lexsort((*ids.T[::-1], -values))
        if self.per_relation is not None:
            places = places[_places_in_groups(relations[places]) < self.per_relation]
        return places[: self.top]

    def floors(self, kept: Links, number: int) -> NDArray[np.float64]:  # relation
        """For each relation, the value that another link must reach, given the links kept, best first."""
        floor = self.least
        if self.top is not None and len(kept) >= self.top:
            floor = max(floor, float(kept.values[-1]))
        floors = np.full(number, floor)
        if self.per_relation is not None:
            last = kept.part(_places_in_groups(kept.ids[:, 0]) == self.per_relation - 1)
            floors[last.ids[:, 0]] = np.maximum(floor, last.values)
        return floors


def _places_in_groups(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row how many rows of the same group are before it."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    places = np.empty(len(groups), dtype=np.int64)
    places[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
    return places


@dataclass(frozen=True)
class LinkQuestions:
    """Questions about some entities or all, over some relations."""

    relations: tuple[int, ...]
    anchors: tuple[int, ...] | None
    """The entities that they are about; None for all."""
    side: Side
    limits: LinkLimits = ALL_LINKS

    def blocks(
        self, state: RulesOnGraph, worth: Callable[[NDArray[np.int32]], NDArray[np.float64]] | None = None
    ) -> list[NDArray[np.int32]]:
        """The entities to ask about, some at a time: those where a body of a rule begins, the most worth first."""
        starts, codes, _ = state.features.edges
        rows = state.directed(np.array(self.relations, np.int64), self.side)
        leading: NDArray[np.bool_] = np.logical_or.reduce(_leading_codes(state)[rows], axis=0)
        before = np.concatenate([[0], np.cumsum(leading[codes])])  # edges with which a body begins
        begins = before[starts[1:]] > before[starts[:-1]]
        if (typed := self.limits.typed(state.graph, other_side(self.side))) is not None:
            begins &= typed
        if self.anchors is None:
            asked = np.flatnonzero(begins).astype(np.int32)
        else:
            asked = np.unique(np.array(self.anchors, dtype=np.int32))
            asked = asked[begins[asked]]
        if worth is not None:
            asked = asked[np.argsort(-worth(asked), kind="stable")]
        size, small = min(_LARGEST_BLOCK, max(BLOCK, len(asked) // _BLOCKS)), _SMALL_BLOCKS * BLOCK
        first = pieces_of(min(small, len(asked)), BLOCK)
        rest = [slice(start, start + size) for start in range(small, len(asked), size)]
        return [asked[block] for block in (*first, *rest)]


def best_links(
    state: RulesOnGraph,
    asked: LinkQuestions,
    wanted: Wanted,
    *,
    share: slice = slice(None),
    begun: Links | None = None,
    keep: Callable[[Links, int], None] = lambda _kept, _done: None,
    progress: Progress = SILENT,
) -> Links:
    """The best new answers to all questions, or to those of a share of the blocks.

    `begun` are those of the blocks before the share, where they are known; `keep` hears of the best links so far, and
    of how many blocks are done.
    """
    finding = _Finding(state, asked, wanted, Links.none() if begun is None else begun)
    blocks = finding.blocks()[share]
    with progress("missing links", total=sum(map(len, blocks)), unit=" entities") as report:
        for done, found in enumerate(in_order(finding.links_from, blocks, cores=state.features.cores)):
            finding.kept = wanted.best(Links.joined([finding.kept, found]))
            report(len(blocks[done]))
            keep(finding.kept, done + 1)
    return finding.kept


@dataclass
class _Finding:
    """What is found from block to block. Threads read `kept`, and may read an older one: they only find more then."""

    state: RulesOnGraph
    asked: LinkQuestions
    wanted: Wanted
    kept: Links
    _rows: NDArray[np.int64] = field(init=False)
    _order: tuple[float, float, float, NDArray[np.float64], bool] = field(init=False)
    _bounds: LinkBounds = field(init=False)

    def __post_init__(self) -> None:
        state = self.state
        relations = np.array(self.asked.relations, dtype=np.int64)
        self._directed = state.directed(relations, self.asked.side)
        self._rows = np.array([state.row_of(int(one)) for one in self._directed], dtype=np.int64)
        self._relations = relations
        self._leading = _leading_codes(state)[self._directed].astype(np.float32)
        limits, everyone = self.asked.limits, np.zeros(0, np.bool_)
        typed = limits.typed(state.graph, self.asked.side)
        self._limits = everyone if typed is None else typed, limits.seen_ends, limits.not_linked
        self._order = state.plain_order if self.wanted.by_plausibility else state.link_order
        self._bounds = LinkBounds.of(state, self._order)
        if self.asked.anchors is None:
            self._bounds = self._bounds.of_all(state)

    def blocks(self) -> list[NDArray[np.int32]]:
        """The entities, some at a time."""
        if (reach := self._bounds.reach) is None:
            return self.asked.blocks(self.state)
        rows = np.full(2 * len(self.state.graph.relations), -1, dtype=np.int64)
        rows[self._directed] = self._rows
        return self.asked.blocks(self.state, lambda anchors: reach.worth(anchors, rows, self._bounds.order))

    def links_from(self, anchors: NDArray[np.int32]) -> Links:
        """The links of the questions about a block of entities that are good enough beside those kept so far."""
        kept = [Links.none()]
        for some, places, which in self._asked(anchors, kept):
            for of, answers, values, _ in self.runs(some, places, which, lambda: self._floors(kept[0])):
                about = some[places[of]].astype(np.int64)
                ends = (about, answers) if self.asked.side == "tail" else (answers, about)
                ids = np.column_stack([self._relations[which[of]], *ends])
                kept[0] = self.wanted.best(Links.joined([kept[0], Links(ids, values.copy())]))
        return kept[0]

    def _asked(self, anchors: NDArray[np.int32], kept: list[Links]) -> Iterator[_Asked]:
        """The questions that may have links, of a few entities at a time: distances take room, and a pass each."""
        (places, which), floors = self.questions_of(anchors), np.zeros(0)
        while len(places):
            now = self._floors(kept[0])
            if not np.array_equal(now, floors):
                floors = now
                promising = self._promising(anchors[places], which, floors)
                places, which = places[promising], which[promising]
            asked, lines = np.unique(places, return_inverse=True)
            count = int(np.searchsorted(lines, _SEARCHED))
            if count:
                yield anchors[asked[:_SEARCHED]], lines[:count], which[:count]
            places, which = places[count:], which[count:]

    def _promising(
        self, anchors: NDArray[np.int32], which: NDArray[np.int64], floors: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Which questions may have a link that reaches the floor of their row."""
        found = np.ones(len(which), dtype=np.bool_)
        if floors[self._rows].max() <= LOWEST:
            return found
        directed = self._directed[which]
        for rows, constants in self._constants(anchors, directed):
            questions = anchors[rows], directed[rows], self._rows[which[rows]]
            found[rows] = self._bounds.may_reach(self.state, questions, floors, constants)
        return found

    def questions_of(self, anchors: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The questions that a rule may answer: the place of the entity, and that of the relation."""
        led = self._codes(anchors, self.state.features) @ self._leading.T > 0
        if self.asked.limits.seen_ends:
            led &= self._codes(anchors, self.state.facts)[:, self._directed] > 0
        places, which = np.nonzero(led)
        return places, which

    def runs(
        self,
        anchors: NDArray[np.int32],
        places: NDArray[np.int64],
        which: NDArray[np.int64],
        floors: Callable[[], NDArray[np.float64]],
    ) -> Iterator[_Run]:
        """The links of questions that are good enough, as many at a time as there is room for."""
        if not len(places):
            return
        nobody = np.full(len(anchors), -1, dtype=np.int32)
        steps = self.state.features.steps(Questions(anchors, np.zeros_like(anchors), nobody))
        room = max(_ROOM, self.state.graph.num_entities)
        columns = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room), np.empty((room, 3))
        model = self.state.link_tables, (*self._order, self.wanted.reasons_only)
        for rows, constants in self._constants(anchors[places], self._directed[which]):
            lines, of_rows = places[rows], which[rows]
            questions = anchors[lines], self._directed[of_rows], self._rows[of_rows], lines, steps
            first = 0
            while first < len(lines):
                first, filled = links_of_questions(
                    self.state.link_graph,
                    questions,
                    first,
                    self._limits,
                    *model,
                    floors(),
                    constants,
                    columns,
                )
                of, answers, values, parts = columns
                yield of[:filled] + rows.start, answers[:filled], values[:filled], parts[:filled]

    def _constants(
        self, anchors: NDArray[np.int32], directed: NDArray[np.int32]
    ) -> Iterator[tuple[slice, _Added]]:
        """What rules about particular entities add, for some of the questions at a time."""
        count = len(anchors)
        if self.state.constants is None:
            yield slice(0, count), (np.zeros(count + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
            return
        asked = Questions(anchors, directed, np.full(count, -1, dtype=np.int32))
        for rows, fired, values in self.state.constants.added(asked):
            yield rows, (fired.starts, fired.answers, values)

    def parts(
        self,
        anchors: NDArray[np.int32],
        places: NDArray[np.int64],
        which: NDArray[np.int64],
        floors: NDArray[np.float64],
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]]:
        """What the scores of links are made of, their rows of the tables, and the places of their entities."""
        for of, _, _, parts in self.runs(anchors, places, which, lambda: floors):
            yield parts.copy(), self._rows[which[of]], places[of]

    def _codes(self, anchors: NDArray[np.int32], facts: FeatureGraph) -> NDArray[np.float32]:  # entity code
        """Which edges begin at each entity."""
        starts, codes, _ = facts.edges
        found = np.zeros((len(anchors), self._leading.shape[1]), dtype=np.float32)
        for place, anchor in enumerate(anchors.tolist()):
            found[place, codes[starts[anchor] : starts[anchor + 1]]] = 1
        return found

    def _floors(self, found: Links) -> NDArray[np.float64]:  # row of the tables
        """How good a link must be, for each directed relation of the model."""
        number = len(self.state.graph.relations)
        by_relation = np.maximum(self.wanted.floors(self.kept, number), self.wanted.floors(found, number))
        floors = np.full(len(self.state.model.tables.distances), np.inf)
        floors[self._rows] = by_relation[self._relations]
        return floors


def pairs_reached(
    state: RulesOnGraph,
    asked: LinkQuestions,
    anchors: NDArray[np.int32],
    *,
    most: int,
    chance: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], float]:
    """Pairs that rules lead to and that are no facts, from a sample of questions about some entities.

    Gives what each score is made of (rules, tables, log of the share), the row of the tables, the place of the entity,
    and the share of the questions that were asked.
    """
    finding = _Finding(state, asked, Wanted(), Links.none())
    places, which = finding.questions_of(anchors)
    chosen = np.sort(chance.permutation(len(places))[:most])
    everything = np.full(len(state.model.tables.distances), LOWEST)
    part = places[chosen], which[chosen]
    runs = list(finding.parts(anchors, *part, everything))
    nothing = np.zeros(0, np.int64)
    parts = np.concatenate([np.zeros((0, 3)), *(parts for parts, _, _ in runs)])
    rows = np.concatenate([nothing, *(rows for _, rows, _ in runs)])
    about = np.concatenate([nothing, *(about for _, _, about in runs)])
    return parts, rows, about, len(chosen) / len(places) if len(places) else 1.0


def _leading_codes(state: RulesOnGraph) -> NDArray[np.bool_]:  # directed relation, code
    """For each directed relation the codes that an entity has of which a rule may answer it."""
    walks, count = state.program.walks, 2 * len(state.graph.relations)
    found = np.zeros((count, count), dtype=np.bool_)
    if len(walks.lengths):
        found[np.repeat(np.arange(count), np.diff(walks.firsts)), walks.bodies[:, 0]] = True
    return found if state.constants is None else found | state.constants.leading
