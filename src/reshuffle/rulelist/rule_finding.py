"""Mine rules from facts: the bodies that lead from the head of a fact to its tail, without the fact itself.

`rules.mining` joins every body with every relation, so its work grows with the number of words. This module counts only
words that occur: for each fact it lists the words of all walks between its ends, and the work is proportional to the
walks from one end. The measures are the same,

    support      facts of the relation that the body finds without them
    predictions  pairs that the body joins, less those that it joins by means of their own fact alone
    confidence   support / (predictions + 5)

and where the walks are too many for the budget, both are counted on samples and scaled: as many
facts of each relation as the budget allows, small relations whole (`fact_samples`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.extraction.measure import pairs_met
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT
from reshuffle.reasoning.sharing import usable_cores
from reshuffle.rulelist.features import FeatureGraph, Questions
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.sampling.fact_samples import Budget, Sample, drawn, starts_by_code, starts_of_codes
from reshuffle.rulelist.sampling.walk_counting import WalksHere
from reshuffle.rules import IntersectionRule, PathRule, Quality
from reshuffle.rules.mining import CAUTION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress, Report
    from reshuffle.rulelist.sampling.walk_counting import Codes, WalkCounter, Words
    from reshuffle.rules import Rule

_MOST_BETWEEN = 12  # codes between two entities whose pairs are looked at
_DIGITS = 4  # of a confidence
_SHORT = 2  # atoms of a body: longer ones come behind
_LARGEST_WORD = 2**61  # as one number, with two bits for flags


class _Candidate(NamedTuple):
    """A body for a relation, how many facts it finds without them, and how many more it finds by means of them."""

    relation: int
    body: Codes
    support: float
    alone: float


@dataclass(frozen=True)
class Found:
    """Rules by relation, short ones first, by falling confidence, and what part of the facts was looked at."""

    rules: tuple[Rule, ...]
    samples: dict[int, Sample]
    """For each length of bodies the facts whose walks were listed."""

    @property
    def notes(self) -> list[str]:
        """What was not looked at, in words."""
        return [told for length, sample in self.samples.items() if (told := sample.told(length)) is not None]


def find_rules(
    graph: KnowledgeGraph,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
    counter: WalkCounter | None = None,
    about: Collection[str] | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> Found:
    """The shortest and most confident path rules and intersections of two relations, within a budget.

    `counter` counts walks elsewhere; what is found is the same. `about` names the relations that rules are wanted for,
    None for all. With a deadline the budget is what can be done until then.
    """
    features = FeatureGraph(graph)
    allowed = (budget or Budget()).within(deadline, features.cores or usable_cores())
    finding = _Finding(features, counter or WalksHere(features), allowed, seed, progress, deadline)
    return finding.found(about)


class _Finding:
    def __init__(
        self,
        features: FeatureGraph,
        counter: WalkCounter,
        budget: Budget,
        seed: int,
        progress: Progress,
        deadline: Deadline,
    ) -> None:
        self.deadline = deadline
        self.graph, self.budget, self.progress = features.graph, budget, progress
        self.features, self.counter = features, counter
        self.chance = np.random.default_rng(seed)
        self.names = [*self.graph.relations, *map(inverse_name, self.graph.relations)]

    def found(self, about: Collection[str] | None) -> Found:
        """List, count, choose."""
        asked = np.array([about is None or name in about for name in self.graph.relations], dtype=np.bool_)
        samples: dict[int, Sample] = {}
        candidates: list[_Candidate] = []
        for length in range(1, self.budget.longest + 1):
            if (len(self.names) + 1) ** length > _LARGEST_WORD:
                break
            sample = drawn(self.features, length, self.budget, self.chance, asked)
            listed, samples[length] = self._listed(length, sample)
            candidates += listed
        return Found(tuple(self._chosen(candidates, asked)), samples)

    def _listed(self, length: int, sample: Sample) -> tuple[list[_Candidate], Sample]:
        """The bodies of a length, and the facts that were looked at until the deadline."""
        deadline = self.deadline.part(1 / (self.budget.longest - length + 2))
        listed: list[_Candidate] = []
        found = self.counter.words(sample.facts, length, most=self.budget.most_of_a_fact)
        name = f"bodies of length {length}"
        with self.progress(name, total=sum(map(len, sample.facts)), unit="facts") as report:
            for relation, words in enumerate(found):
                if len(sample.facts[relation]):
                    listed += self._listed_of(relation, words, length, sample.share(relation))
                report(len(sample.facts[relation]))
                if length > 1 and deadline.is_over:
                    return listed, sample.until(relation + 1)
        return listed, sample

    def _listed_of(self, relation: int, words: Words, length: int, share: float) -> Iterator[_Candidate]:
        """The words that find enough facts of a relation by walks that meet no entity twice.

        Walks that revisit an entity add nothing to shorter bodies.
        """
        simple = words.counts[:, 0]
        enough = np.flatnonzero(simple >= max(1.0, self.budget.min_support * share))
        order = enough[np.lexsort((words.words[enough], -simple[enough]))]
        most = self.budget.listed if length <= _SHORT else self.budget.long_listed
        for place in order[:most].tolist():
            body, (_, support, alone) = self._codes(int(words.words[place])), words.counts[place].tolist()
            if body != (relation,):
                yield _Candidate(relation, body, support / share, (alone - support) / share)

    def _codes(self, word: int) -> Codes:
        base, codes = len(self.names) + 1, []
        while word:
            word, digit = divmod(word, base)
            codes.append(digit - 1)
        return tuple(reversed(codes))

    def _chosen(self, candidates: Iterable[_Candidate], asked: NDArray[np.bool_]) -> list[Rule]:
        listed = list(candidates)
        predictions, reach = self._predictions(sorted({one.body for one in listed}))
        by_relation: dict[int, list[Rule]] = defaultdict(list)
        for relation, body, support, own in listed:
            if body not in predictions:
                continue
            joined = max(support, predictions[body] - own)
            names = tuple(self.names[code] for code in body)
            rule = PathRule(names, self.names[relation], quality_of(support, joined))
            if confidence_of(rule) >= self.budget.min_confidence:
                by_relation[relation].append(rule)
        for relation, meeting in self._intersections(by_relation):
            if not asked[relation]:
                continue
            by_relation[relation].append(meeting)
        return [
            rule
            for relation in sorted(by_relation)
            for rule in self._kept(sorted(by_relation[relation], key=_short_and_sure), reach)
        ]

    def _kept(self, rules: list[Rule], reach: Mapping[tuple[str, ...], float]) -> list[Rule]:
        """The first ones; of long ones those that do not lead to too many entities together."""
        reached: float = 0.0
        kept: list[Rule] = []
        for rule in rules:
            if isinstance(rule, PathRule) and len(rule.body) > _SHORT:
                reached += reach[rule.body]
                if reached > self.budget.long_reach:
                    break
            kept.append(rule)
        return kept[: self.budget.rules]

    def _predictions(self, bodies: list[Codes]) -> tuple[dict[Codes, float], dict[tuple[str, ...], float]]:
        """How many pairs each body joins, and to how many entities it leads from one that has its first edge.

        Both are counted from all who have one, or from as many as the budget allows; bodies that it allows from nobody
        are left out.
        """
        counted = _PairsCounted(self.counter, self.budget, self.chance, self.deadline, self.progress)
        joined, reached = counted.of(self.features, bodies)
        return joined, {tuple(self.names[code] for code in body): count for body, count in reached.items()}

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


@dataclass(frozen=True)
class _PairsCounted:
    """Counts the pairs that bodies join, from all who have their first edges or as many as the budget allows."""

    counter: WalkCounter
    budget: Budget
    chance: np.random.Generator
    deadline: Deadline
    progress: Progress

    def of(
        self, features: FeatureGraph, bodies: Sequence[Codes]
    ) -> tuple[dict[Codes, float], dict[Codes, float]]:
        """How many pairs each body joins, and to how many entities it leads from one that has its first edge."""
        firsts = np.array(sorted({body[0] for body in bodies}), dtype=np.int32)
        asked = starts_by_code(features, firsts, self.chance)
        counts, done = self.counter.pairs(
            bodies, asked, most=self.budget.work, deadline=self.deadline, progress=self.progress
        )
        size = 2 * features.num_relations
        there, looked = (np.bincount(asked.relations[:last], minlength=size) for last in (None, done))
        seen = {body: count for body, count in zip(bodies, counts.tolist(), strict=True) if looked[body[0]]}
        joined = {
            body: count * float(there[body[0]] / looked[body[0]]) for body, count in seen.items()
        }  # exact where all were looked at
        return joined, {body: count / float(looked[body[0]]) for body, count in seen.items()}


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
        features, loops = FeatureGraph(self.graph), loops_of(self.graph)
        program = self._program(self.rules, loops)
        own = [place for place, rule in enumerate(self.rules) if _mentions_itself(rule)]
        of_own = self._program([self.rules[place] for place in own], loops)
        facts, of_some = self._questions(features, program), self._questions(features, of_own)
        total = len(facts.anchors) + len(of_some.anchors)
        shown = of_some._replace(answers=np.full_like(of_some.answers, -1))
        alone = np.zeros(len(self.rules))
        with self.progress("measuring rules", total=total, unit="questions") as report:
            support = self._found(features, program, facts, facts.answers, report)
            plain = self._found(features, of_own, shown, of_some.answers, report)
            alone[own] = plain[: len(own)] - support[own]
        joined = self._joined(features, loops) - alone
        return [quality_of(found, max(found, pairs)) for found, pairs in zip(support, joined, strict=True)]

    def _program(self, rules: Sequence[Rule], loops: frozenset[str]) -> Program:
        return Program.of(rules, list(self.graph.relations), loops=loops)

    def _questions(self, features: FeatureGraph, program: Program) -> Questions:
        """The facts of the relations that have rules, each asked from the end that has fewer edges."""
        graph, number = self.graph, len(self.graph.relations)
        rows = np.isin(graph.relation_ids, np.flatnonzero(np.diff(program.walks.firsts)[:number]))
        heads, relations, tails = graph.heads[rows], graph.relation_ids[rows], graph.tails[rows]
        degrees = np.diff(features.edges[0])
        turned = degrees[tails] < degrees[heads]
        return Questions(
            np.where(turned, tails, heads),
            np.where(turned, relations + np.int32(number), relations),
            np.where(turned, heads, tails),
        )

    def _found(
        self,
        features: FeatureGraph,
        program: Program,
        questions: Questions,
        answers: NDArray[np.int32],
        report: Report,
    ) -> NDArray[np.int64]:  # rule
        """From how many of the questions each rule leads to the answer."""
        counts = np.zeros(len(self.rules), dtype=np.int64)
        for piece, found in features.found_in_pieces(program, questions, answers, len(self.rules)):
            counts += found
            report(piece.stop - piece.start)
        return counts

    def _joined(self, features: FeatureGraph, loops: frozenset[str]) -> NDArray[np.float64]:  # rule
        """How many pairs each body joins; an entity with itself only where the head has such facts."""
        joined, codes = np.zeros(len(self.rules)), features.codes
        known = [
            (place, rule) for place, rule in enumerate(self.rules) if codes.keys() >= {rule.head, *rule.body}
        ]
        for place, rule in known:
            if isinstance(rule, IntersectionRule):
                joined[place] = _number_met(rule, self.graph, loops=rule.head in loops)
        for with_loops in (False, True):
            paths = [
                (place, tuple(codes[name] for name in rule.body))
                for place, rule in known
                if isinstance(rule, PathRule) and (rule.head in loops) is with_loops
            ]
            joined[[place for place, _ in paths]] = self._pairs(
                features, [body for _, body in paths], loops=with_loops
            )
        return joined

    def _pairs(self, features: FeatureGraph, bodies: list[Codes], *, loops: bool) -> list[float]:
        """How many pairs each body joins. It is walked from that end of it where fewer entities can begin."""
        if not bodies:
            return []
        starters = np.bincount(starts_of_codes(features)[1], minlength=2 * features.num_relations)
        walked = [
            min(body, _turned(body, features.num_relations), key=lambda way: int(starters[way[0]]))
            for body in bodies
        ]
        counter, chance = WalksHere(features, loops), np.random.default_rng(self.seed)
        counted = _PairsCounted(counter, self.budget, chance, NO_DEADLINE, self.progress)
        found, _ = counted.of(features, sorted(set(walked)))
        return [found.get(body, 0.0) for body in walked]


def _turned(body: Codes, num_relations: int) -> Codes:
    return tuple((code + num_relations) % (2 * num_relations) for code in reversed(body))


def _number_met(rule: IntersectionRule, graph: KnowledgeGraph, *, loops: bool) -> int:
    met = pairs_met(rule, graph)
    return len(met) if loops else int((met // graph.num_entities != met % graph.num_entities).sum())


def _mentions_itself(rule: Rule) -> bool:
    """Whether a fact of the head may be an edge of the body."""
    return rule.head in {base_relation(name) for name in rule.body}


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
    """There are very many long bodies, and some have high confidence by chance, so they come last."""
    length = len(rule.body)
    is_meeting = isinstance(rule, IntersectionRule)
    return max(_SHORT, length), -confidence_of(rule), length, is_meeting, rule.body
