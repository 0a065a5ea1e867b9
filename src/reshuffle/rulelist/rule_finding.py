"""Finding rules in facts: the bodies that lead from the head of a fact to its tail, without the fact itself.

`rules.mining` joins every body with every relation, so that its work grows with the number of words. Here the facts
say which words are worth counting: for each fact the words of all walks between its ends are listed, which is work
in proportion to the walks from one end. What is measured is the same,

    support      facts of the relation that the body finds without them
    predictions  pairs that the body joins, less those that it joins by means of their own fact alone
    confidence   support / (predictions + 5)

and where the walks are too many for the budget, both are counted on a sample and scaled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import is_inverse
from reshuffle.progress import SILENT
from reshuffle.rulelist.features import AT_ONCE, FeatureGraph, Questions, in_order, pieces_of
from reshuffle.rulelist.kernels.closed_paths import closing_words
from reshuffle.rulelist.programs import Program
from reshuffle.rules import IntersectionRule, PathRule, Quality
from reshuffle.rules.mining import CAUTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress, Report
    from reshuffle.rulelist.features import WalkRows
    from reshuffle.rules import Rule

Codes = tuple[int, ...]
Words: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
"""Bodies, each as one number, ascending; and for how many facts each."""

_STARTS_AT_ONCE = 1024
_FACTS_AT_ONCE = 256  # of one task
_MOST_BETWEEN = 12  # codes between two entities whose pairs are looked at
_DIGITS = 4  # of a confidence
_SHORT = 2  # atoms of a body: longer ones come behind


@dataclass(frozen=True)
class Budget:
    """How much work finding may do, counted in steps of walks, and how many rules it may keep.

    `work` is for each length of bodies, of listing and of counting. A length of which less than `least_share` of the
    facts could be looked at is left out, and all longer ones.
    """

    work: int = 500_000_000
    least_share: float = 0.1
    longest: int = 3
    rules: int = 300
    """For each relation: bodies of up to two atoms before longer ones, then the most confident ones."""
    listed: int = 3_000
    """For each relation, by support, before confidences are counted."""
    min_support: int = 2
    min_confidence: float = 0.01


@dataclass(frozen=True)
class Found:
    """Rules by relation, short ones first, by falling confidence, and what part of the facts was looked at."""

    rules: tuple[Rule, ...]
    shares: dict[int, float]
    """For each length of bodies the share of the facts whose walks were listed."""


def find_rules(
    graph: KnowledgeGraph,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
    counter: WalkCounter | None = None,
) -> Found:
    """The shortest and most confident path rules and intersections of two relations, within a budget.

    `counter` counts walks elsewhere; what is found is the same.
    """
    features = FeatureGraph(graph)
    return _Finding(features, counter or WalksHere(features), budget or Budget(), seed, progress).found()


class WalkCounter(Protocol):
    """Who counts walks: all the work of finding that grows with them."""

    def words(
        self, facts: Sequence[NDArray[np.int64]], length: int, *, hide: bool, simple: bool
    ) -> Iterator[Words]:
        """For the facts of each relation the words of that length between their ends, without themselves if `hide`.

        `simple` walks meet no entity twice.
        """
        ...

    def pairs(
        self, bodies: Sequence[Codes], starts: NDArray[np.int32], *, most: int, progress: Progress
    ) -> tuple[NDArray[np.int64], int]:
        """How many pairs each body joins from the first starts, up to `most` in all; and how many starts these are."""
        ...


@dataclass(frozen=True)
class WalksHere:
    """Counts walks in this process, by the cores that `features` may use."""

    features: FeatureGraph

    def words(
        self, facts: Sequence[NDArray[np.int64]], length: int, *, hide: bool, simple: bool
    ) -> Iterator[Words]:
        """As `WalkCounter.words`, relation after relation."""
        for own in facts:
            yield self._words(own, length, hide=hide, simple=simple)

    def _words(self, facts: NDArray[np.int64], length: int, *, hide: bool, simple: bool) -> Words:
        def of(piece: slice) -> Words:
            return added(list(self._words_of(facts[piece], length, hide=hide, simple=simple)))

        pieces = pieces_of(len(facts), _FACTS_AT_ONCE)
        return added(list(in_order(of, pieces, cores=self.features.cores)))

    def _words_of(
        self, facts: NDArray[np.int64], length: int, *, hide: bool, simple: bool
    ) -> Iterator[Words]:
        """The same in one thread, as many facts at a time as fit."""
        graph, room = self.features.graph, 1 << 20
        while len(facts):
            buffer = np.empty(room, dtype=np.int64)
            given = (graph.heads[facts], graph.relation_ids[facts], graph.tails[facts])
            done, bounds = closing_words(
                self.features.edges, self.features.num_relations, given, length, buffer, hide, simple
            )
            if done == 0:
                room *= 2
                continue
            yield np.unique(buffer[: bounds[done]], return_counts=True)
            facts = facts[done:]

    def pairs(
        self, bodies: Sequence[Codes], starts: NDArray[np.int32], *, most: int, progress: Progress
    ) -> tuple[NDArray[np.int64], int]:
        """As `WalkCounter.pairs`."""
        counts, sizes = self.pairs_in_pieces(bodies, starts, most=most, progress=progress)
        return counts, min(len(sizes) * AT_ONCE, len(starts))

    def pairs_in_pieces(
        self,
        bodies: Sequence[Codes],
        starts: NDArray[np.int32],
        *,
        most: int | None = None,
        progress: Progress = SILENT,
    ) -> tuple[NDArray[np.int64], list[int]]:
        """The counts, and how many pairs each piece of the starts has, up to the piece that reaches the limit."""
        program = Program.of_bodies(bodies, self.features.num_relations)
        counts, sizes = np.zeros(len(bodies), dtype=np.int64), list[int]()
        nothing = np.zeros(len(starts), dtype=np.int32)
        asked = Questions(starts, nothing, nothing - 1)
        with progress("counting pairs", total=len(starts), unit="entities") as report:
            for piece, found in self.features.counts_in_pieces(program, asked, len(bodies)):
                counts += found
                sizes.append(int(found.sum()))
                report(piece.stop - piece.start)
                if most is not None and sum(sizes) >= most:
                    break
        return counts, sizes


class _Finding:
    def __init__(
        self, features: FeatureGraph, counter: WalkCounter, budget: Budget, seed: int, progress: Progress
    ) -> None:
        self.graph, self.budget, self.progress = features.graph, budget, progress
        self.features, self.counter = features, counter
        self.chance = np.random.default_rng(seed)
        self.names = [*self.graph.relations, *map(inverse_name, self.graph.relations)]

    def found(self) -> Found:
        """List, count, choose."""
        shares: dict[int, float] = {}
        candidates: list[tuple[int, Codes, float, float]] = []  # relation, body, support, found by themselves
        walks = np.ones(self.graph.num_entities)
        for length in range(1, self.budget.longest + 1):
            before, walks = walks, self._longer(walks)
            share = self._affordable(before, walks)
            if share < self.budget.least_share:
                break
            shares[length] = share
            candidates += self._listed(length, share)
        return Found(tuple(self._chosen(candidates)), shares)

    def _longer(self, walks: NDArray[np.float64]) -> NDArray[np.float64]:  # entity
        """The number of walks that are one step longer."""
        ends = np.concatenate([self.graph.tails, self.graph.heads])
        starts = np.concatenate([self.graph.heads, self.graph.tails])
        return np.bincount(starts, weights=walks[ends], minlength=self.graph.num_entities).astype(np.float64)

    def _affordable(self, before: NDArray[np.float64], walks: NDArray[np.float64]) -> float:
        """The share of the facts whose walks the budget allows to list; the kernel's cost is bounded as it says."""
        degrees = np.diff(self.features.edges[0])
        heads, tails = self.graph.heads, self.graph.tails
        turned = degrees[tails] < degrees[heads]
        start, end = np.where(turned, tails, heads), np.where(turned, heads, tails)
        work = np.minimum(walks[start], before[start] * degrees[end]).sum()
        return float(min(1.0, self.budget.work / max(1.0, work)))

    def _listed(self, length: int, share: float) -> Iterator[tuple[int, Codes, float, float]]:
        graph = self.graph
        chosen = self.chance.random(len(graph)) < share if share < 1 else np.ones(len(graph), dtype=np.bool_)
        with self.progress(
            f"bodies of length {length}", total=len(graph.relations), unit="relations"
        ) as report:
            facts = [
                np.flatnonzero(chosen & (graph.relation_ids == relation))
                for relation in range(len(graph.relations))
            ]
            for relation, found in enumerate(self._words(facts, length)):
                yield from self._listed_of(relation, *found, share)
                report(1)

    def _words(self, facts: Sequence[NDArray[np.int64]], length: int) -> Iterator[tuple[Words, Words, Words]]:
        """For each relation the words of simple walks, and of all walks with and without the fact itself."""
        simple = self.counter.words(facts, length, hide=True, simple=True)
        if length <= 2:
            yield from ((found, found, found) for found in simple)
            return
        hidden, plain = (self.counter.words(facts, length, hide=hide, simple=False) for hide in (True, False))
        yield from zip(simple, hidden, plain, strict=True)

    def _listed_of(
        self, relation: int, simple: Words, hidden: Words, plain: Words, share: float
    ) -> Iterator[tuple[int, Codes, float, float]]:
        """The words that find enough facts of a relation by walks that meet no entity twice.

        Bodies of which only walks to and fro find facts say what a shorter one says already.
        """
        words, counts = simple
        enough = counts >= max(1.0, self.budget.min_support * share)
        words, counts = words[enough], counts[enough]
        words = words[np.lexsort((words, -counts))[: self.budget.listed]]
        supports, alone = (
            counts[np.searchsorted(found, words)].tolist() for found, counts in (hidden, plain)
        )
        for word, support, with_itself in zip(words.tolist(), supports, alone, strict=True):
            body = self._codes(word)
            if body != (relation,):
                yield relation, body, support / share, (with_itself - support) / share

    def _codes(self, word: int) -> Codes:
        base, codes = len(self.names) + 1, []
        while word:
            word, digit = divmod(word, base)
            codes.append(digit - 1)
        return tuple(reversed(codes))

    def _chosen(self, candidates: Iterable[tuple[int, Codes, float, float]]) -> list[Rule]:
        listed = list(candidates)
        predictions = self._predictions(sorted({body for _, body, _, _ in listed}))
        by_relation: dict[int, list[Rule]] = defaultdict(list)
        for relation, body, support, own in listed:
            joined = max(support, predictions[body] - own)
            names = tuple(self.names[code] for code in body)
            rule = PathRule(names, self.names[relation], quality_of(support, joined))
            if confidence_of(rule) >= self.budget.min_confidence:
                by_relation[relation].append(rule)
        for relation, meeting in self._intersections(by_relation):
            by_relation[relation].append(meeting)
        return [
            rule
            for relation in sorted(by_relation)
            for rule in sorted(by_relation[relation], key=_short_and_sure)[: self.budget.rules]
        ]

    def _predictions(self, bodies: list[Codes]) -> dict[Codes, float]:
        """How many pairs each body joins, counted from all entities or from as many as the budget allows."""
        starts = self.chance.permutation(np.flatnonzero(np.diff(self.features.edges[0]))).astype(np.int32)
        counts, done = self.counter.pairs(bodies, starts, most=self.budget.work, progress=self.progress)
        return dict(zip(bodies, (counts * (len(starts) / max(1, done))).tolist(), strict=True))

    def _intersections(self, paths: Mapping[int, Iterable[Rule]]) -> list[tuple[int, Rule]]:
        """Pairs of relations between the same two entities that say more together than either alone."""
        alone = {(relation, rule.body[0]): confidence_of(rule) for relation in paths for rule in paths[relation]
                 if len(rule.body) == 1}  # fmt: skip
        joined, right = _pairs_of_codes(self.graph)
        found: list[tuple[int, Rule]] = []
        for (first, second, relation), support in right.items():
            names = self.names[first], self.names[second]
            rule = IntersectionRule(names, self.names[relation], quality_of(support, joined[first, second]))
            best = max(alone.get((relation, name), 0.0) for name in names)
            if support >= self.budget.min_support and confidence_of(rule) > max(
                best, self.budget.min_confidence
            ):
                found.append((relation, rule))
        return found


def added(parts: Sequence[Words]) -> Words:
    """Words with their counts, of several parts: each word once, ascending, with the sum of its counts."""
    nothing = np.zeros(0, dtype=np.int64)
    words = np.concatenate([nothing, *(words for words, _ in parts)])
    counts = np.concatenate([nothing, *(counts for _, counts in parts)])
    distinct, places = np.unique(words, return_inverse=True)
    return distinct, np.bincount(places, counts, minlength=len(distinct)).astype(np.int64)


def _pairs_of_codes(graph: KnowledgeGraph) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int, int]]]:
    """For two codes how many pairs of entities both join; with a relation, how many of these pairs it joins, too.

    Each pair of entities is looked at from both ends, so that a relation finds all its facts.
    """
    count = len(graph.relations)
    starts, ends = np.concatenate([graph.heads, graph.tails]), np.concatenate([graph.tails, graph.heads])
    codes = np.concatenate([graph.relation_ids, graph.relation_ids + np.int32(count)])
    order = np.lexsort((codes, ends, starts))
    starts, ends, codes = starts[order], ends[order], codes[order]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(starts) != 0) | (np.diff(ends) != 0)]))
    sizes = np.diff(np.append(first, len(codes)))
    several = (sizes >= 2) & (sizes <= _MOST_BETWEEN)
    joined: Counter[tuple[int, int]] = Counter()
    right: Counter[tuple[int, int, int]] = Counter()
    for start, size in zip(first[several].tolist(), sizes[several].tolist(), strict=True):
        some = codes[start : start + size].tolist()
        for pair in combinations(some, 2):
            joined[pair] += 1
            right.update((*pair, other) for other in some if other < count and other not in pair)
    return joined, right


def measured(
    rules: Iterable[Rule], graph: KnowledgeGraph, *, budget: Budget | None = None, seed: int = 0,
    progress: Progress = SILENT,
) -> list[Rule]:  # fmt: skip
    """Given rules of any kind with their qualities on a graph; a confidence that a rule brings is kept."""
    listed = [rule.reversed() if is_inverse(rule.head) else rule for rule in rules]
    strange = [rule for rule in listed if rule.quality is None or rule.quality.confidence is None]
    qualities = _Measuring(graph, strange, budget or Budget(), seed, progress).qualities()
    found = dict(zip(strange, qualities, strict=True))
    return [replace(rule, quality=found[rule]) if rule in found else rule for rule in listed]


@dataclass(frozen=True)
class _Measuring:
    """Counts what given rules find: facts of their heads, hidden or not, and all pairs."""

    graph: KnowledgeGraph
    rules: list[Rule]
    budget: Budget
    seed: int
    progress: Progress

    def qualities(self) -> list[Quality]:
        """The quality of each rule."""
        graph, features = self.graph, FeatureGraph(self.graph)
        program = Program.of(self.rules, list(graph.relations), loops=loops_of(graph))
        facts = np.isin(
            graph.relation_ids, np.flatnonzero(np.diff(program.walks.firsts)[: len(graph.relations)])
        )
        asked = Questions(graph.heads[facts], graph.relation_ids[facts], graph.tails[facts])
        shown = asked._replace(answers=np.full_like(asked.answers, -1))
        with self.progress("measuring rules", total=2 * len(asked.anchors), unit="questions") as report:
            hidden = self._right(features, program, asked, asked.answers, report)
            plain = self._right(features, program, shown, asked.answers, report)
        joined = self._joined(features, program) - (plain - hidden)
        return [
            quality_of(support, max(support, pairs)) for support, pairs in zip(hidden, joined, strict=True)
        ]

    def _right(
        self,
        features: FeatureGraph,
        program: Program,
        questions: Questions,
        answers: NDArray[np.int32],
        report: Report,
    ) -> NDArray[np.float64]:  # rule
        def right(rows: slice, walks: WalkRows) -> NDArray[np.int32]:
            found: NDArray[np.bool_] = walks.ends == np.repeat(answers[rows], np.diff(walks.starts))
            return walks.rules[found]

        counts = np.zeros(len(self.rules))
        for piece, found in features.counts_in_pieces(program, questions, len(self.rules), right):
            counts += found
            report(piece.stop - piece.start)
        return counts

    def _joined(self, features: FeatureGraph, program: Program) -> NDArray[np.float64]:  # rule
        relations = np.flatnonzero(np.diff(program.walks.firsts)[: features.num_relations]).astype(np.int32)
        everyone = np.flatnonzero(np.diff(features.edges[0])).astype(np.int32)
        starts = np.random.default_rng(self.seed).permutation(everyone)
        counts, done, work = np.zeros(len(self.rules)), 0, 0
        with self.progress("counting pairs", total=len(starts), unit="entities") as report:
            while done < len(starts) and work < self.budget.work:
                some = starts[done : done + _STARTS_AT_ONCE]
                anchors, asked = np.repeat(some, len(relations)), np.tile(relations, len(some))
                questions = Questions(anchors, asked, np.full_like(anchors, -1))
                for _, found in features.counts_in_pieces(program, questions, len(self.rules)):
                    counts += found
                    work += int(found.sum())
                done += len(some)
                report(len(some))
        return counts * (len(starts) / max(1, done))


def loops_of(graph: KnowledgeGraph) -> frozenset[str]:
    """The relations that have a fact from an entity to itself."""
    return frozenset(
        graph.relations[int(number)] for number in np.unique(graph.relation_ids[graph.heads == graph.tails])
    )


def quality_of(support: float, predictions: float) -> Quality:
    """Counts as whole numbers, and the confidence, with as many digits as are shown."""
    confidence = round(float(support / (predictions + CAUTION)), _DIGITS)
    return Quality(round(float(predictions)), round(float(support)), confidence)


def confidence_of(rule: Rule) -> float:
    """The confidence of a rule that was measured."""
    quality = rule.quality
    assert quality is not None and quality.confidence is not None
    return quality.confidence


def _short_and_sure(rule: Rule) -> tuple[int, float, int, bool, tuple[str, ...]]:
    """Of long bodies there are so many that some seem sure by chance, so they come last."""
    length = len(rule.body)
    is_meeting = isinstance(rule, IntersectionRule)
    return max(_SHORT, length), -confidence_of(rule), length, is_meeting, rule.body
