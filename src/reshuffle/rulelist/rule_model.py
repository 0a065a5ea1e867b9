"""The rule model: rules with weights, a table of distances and a table of types, as data that a person can read.

    score(h, r, t) =  sum over the rules of r:  weight + count weight * log c     where c > 0 walks lead from h to t
                    + distance_r(steps from h to t)
                    + types_r(t)

Walks use the facts; facts of relations in `both_ways` can be used in both directions.

For a question (?, r, t) the rules are the same, walked backwards, and the tables are those of r^-1. Weights and count
weights are not negative: the rules' part of a score never falls when facts are added. The tables are
different: a new fact may shorten a distance or change roles, and so lower a score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import InputError
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.kg import Vocabulary
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.pictures.markup import SHOWN
from reshuffle.pictures.notebook import shown_rows
from reshuffle.progress import UNHEARD
from reshuffle.rulelist.constants.constant_rules import ConstantRules
from reshuffle.rulelist.features import NUM_DISTANCES
from reshuffle.rulelist.fitting import NUM_SCALES
from reshuffle.rulelist.rule_answers import RuleAnswers
from reshuffle.rulelist.type_tables import KINDS
from reshuffle.rules import Quality, RuleBase
from reshuffle.rules.parsing import as_rules
from reshuffle.rules.rule import ConstantRule
from reshuffle.text import counted, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Notes
    from reshuffle.rulelist.links.likelihood import Likelihood
    from reshuffle.rules import Rule
    from reshuffle.rules.parsing import Rules

LARGEST = 1e9
"""No weight is larger: sums of such ones keep to what numbers can hold."""
MOST_CONFIDENT = 0.999
"""Confidences above count as this one: -log(1 - 1) would outweigh everything."""
UNMEASURED = 0.9
"""The confidence of a rule that somebody wrote without a weight and without a confidence."""
DIGITS = 4
"""Behind the point of fitted numbers, so that a file shows all there is."""
SORT_KEYS = ("reading", "weight", "confidence", "support", "head")
COLUMNS = ("weight", "count_weight", "support", "confidence", "rule")
"""Of the rows that are shown."""
_SHOWN = 20


def prior_of(quality: Quality | None) -> float:
    """-log(1 - confidence): what a rule adds to a score by noisy-or.

    >>> round(prior_of(Quality(confidence=0.5)), 3), round(prior_of(Quality(confidence=1.0)), 3)
    (0.693, 6.908)
    """
    given = None if quality is None else quality.confidence
    return -math.log1p(-min(UNMEASURED if given is None else given, MOST_CONFIDENT))


def scale_of(rule: Rule) -> int:
    """Which of the scales is that of a rule."""
    return min(len(rule.body), NUM_SCALES) - 1


@dataclass(frozen=True)
class WeightedRule:
    """A rule, what it adds to a score, and what each further factor e of walks adds."""

    rule: Rule
    weight: float
    count_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("weight", "count_weight"):
            if not 0 <= getattr(self, name) <= LARGEST:
                raise InputError(
                    f"found the {name.replace('_', ' ')} {getattr(self, name)} of {self.rule}",
                    hint=f"weights are numbers from 0 to {LARGEST:g}: a rule speaks for what it finds, or says nothing",
                )

    def part(self, walks: float) -> float:
        """The score that it adds for that number of walks between two entities."""
        return self.weight + self.count_weight * float(np.log(walks)) if walks else 0.0


@dataclass(frozen=True)
class Tables:
    """What is known of an answer besides rules; the rows are those of the directed relations r, then r^-1."""

    relations: tuple[str, ...]
    distances: NDArray[np.float64] = field(repr=False)  # directed relation, steps
    types: NDArray[np.float64] = field(repr=False)  # directed relation, kind
    shares: NDArray[np.float64] = field(repr=False)  # role role

    @classmethod
    def zero(cls, relations: Sequence[str]) -> Tables:
        """Tables that add nothing."""
        count = 2 * len(relations)
        empty = np.zeros((count, NUM_DISTANCES)), np.zeros((count, len(KINDS))), np.zeros((count, count))
        return cls(tuple(relations), *empty)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tables):
            return NotImplemented
        names = ("distances", "types", "shares")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        return self.relations == other.relations and same

    def __hash__(self) -> int:
        return hash(self.relations)


@dataclass(frozen=True)
class RuleModel:
    """Rules with weights and tables, to be put on any graph.

    >>> from reshuffle.rules import parse_rules
    >>> rules = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")
    >>> model = RuleModel.from_rules(rules)
    >>> model.rules[0].weight
    2.3026
    """

    rules: tuple[WeightedRule, ...]
    tables: Tables
    loops: frozenset[str] | None = None
    """The relations of which an entity may be its own answer; None for all."""
    scales: tuple[float, ...] = (1.0,) * NUM_SCALES
    """What a rule of one, two or more atoms gets that is added without a weight, times -log(1 - confidence)."""
    both_ways: frozenset[str] = frozenset()
    """The relations whose facts are read in both directions."""
    likelihood: Likelihood | None = None
    """How likely answers are; None where that was not fitted."""
    constants: ConstantRules = field(default_factory=ConstantRules.none)
    """Rules about particular entities, which say nothing on graphs that lack these."""

    @classmethod
    def from_rules(cls, rules: Rules) -> RuleModel:
        """Rules as they are, weighted by their confidences, without tables and without any training.

        Rules with constants are left out: a list weighs paths and intersections.
        """
        base = as_rules(rules)
        names = dict.fromkeys(base_relation(name) for name in base.relations)
        model = cls((), Tables.zero(tuple(names)))
        return model.with_rules(base)

    @property
    def relations(self) -> tuple[str, ...]:
        """Those that the model knows."""
        return self.tables.relations

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[WeightedRule]:
        return iter(self.rules)

    def __getitem__(self, place: int) -> WeightedRule:
        return self.rules[place]

    # --- other models ---------------------------------------------------------------------------------------------

    def without(self, *struck: Rule | int) -> RuleModel:
        """The model without some rules, given themselves or by their places; nothing else changes."""
        places = {rule for rule in struck if isinstance(rule, int)}
        rules = {rule for rule in struck if not isinstance(rule, int)}
        strange = [str(rule) for rule in rules - {one.rule for one in self.rules}]
        strange += [str(place) for place in places if not 0 <= place < len(self)]
        if strange:
            raise InputError(f"the model has no rule {strange[0]}", hint="model.rules lists them")
        kept = (one for place, one in enumerate(self.rules) if place not in places and one.rule not in rules)
        return replace(self, rules=tuple(kept))

    def without_constants(self) -> RuleModel:
        """The model without rules about particular entities."""
        return replace(self, constants=ConstantRules.none())

    def with_rules(self, rules: Rules) -> RuleModel:
        """The model with more rules, weighted by their confidences; of a rule that it has already nothing changes."""
        there = {one.rule for one in self.rules}
        given = (rule for rule in as_rules(rules).rules if not isinstance(rule, ConstantRule))
        new = [self.weighted(rule) for rule in given if rule not in there]
        heads = dict.fromkeys(base_relation(name) for one in new for name in (one.rule.head, *one.rule.body))
        return replace(self, rules=(*self.rules, *new), tables=self.tables).knowing(tuple(heads))

    def weighted(self, rule: Rule) -> WeightedRule:
        """A rule with the weight that its confidence says."""
        scale = self.scales[scale_of(rule)]
        return WeightedRule(_forwards(rule), round(scale * prior_of(rule.quality), DIGITS))

    def knowing(self, relations: Iterable[str]) -> RuleModel:
        """The model with more relations, whose tables are zero."""
        new = [name for name in relations if name not in self.relations]
        if not new:
            return self
        before, after = self.tables, Tables.zero((*self.relations, *new))
        old, more = len(before.relations), len(after.relations)
        rows = np.concatenate([np.arange(old), more + np.arange(old)])
        after.distances[rows], after.types[rows] = before.distances, before.types
        after.shares[np.ix_(rows, rows)] = before.shares
        return replace(self, tables=after)

    def selected(
        self, *, min_confidence: float = 0.0, min_support: int = 0, max_length: int = 1000
    ) -> RuleModel:
        """The model with those of its rules alone that are sure, frequent and short enough."""
        kept = (
            one
            for one in self.rules
            if len(one.rule.body) <= max_length
            and (_row(one)["confidence"] or 0.0) >= min_confidence
            and (_row(one)["support"] or 0) >= min_support
        )
        return replace(self, rules=tuple(kept))

    def sorted_by(self, key: str) -> RuleModel:
        """The rules by one number, highest first, or by `head` in the order of its name; "reading" is as they are."""
        if key == "reading":
            return self
        if key not in SORT_KEYS:
            raise InputError(
                f"the rules of a rule model have no {key}", hint=f"sort by one of {', '.join(SORT_KEYS)}"
            )
        if key == "head":
            return replace(self, rules=tuple(sorted(self.rules, key=lambda one: one.rule.head)))
        return replace(self, rules=tuple(sorted(self.rules, key=lambda one: -(_row(one)[key] or 0))))

    def top(self, number: int) -> RuleModel:
        """The model with its first rules alone."""
        return replace(self, rules=self.rules[: max(0, number)])

    def on(self, graph: Triples, *, notes: Notes = UNHEARD) -> RuleAnswers:
        """The model on a graph; `notes` hears of facts that are skipped."""
        return RuleAnswers(self, as_graph(graph), notes=notes)

    # --- what others take --------------------------------------------------------------------------------------------

    def rule_base(self) -> RuleBase:
        """The rules with their qualities, without weights."""
        return RuleBase(tuple(one.rule for one in self.rules))

    def sure_rules(self, least: float | None = None) -> RuleBase:
        """The rules of at least that confidence; without one, those that had no exception in the training facts."""
        return RuleBase(tuple(one.rule for one in self.rules if _is_sure(one.rule.quality, least)))

    @cached_property
    def type_baseline(self) -> TypeBaseline:
        """The shares of the training facts as a baseline of their own."""
        names = Vocabulary(self.relations, kind="relation")
        return TypeBaseline(names, self.tables.shares.astype(np.float32))

    @cached_property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights and the count weights, as kernels take them."""
        weights = np.array([one.weight for one in self.rules], dtype=np.float64)
        return weights, np.array([one.count_weight for one in self.rules], dtype=np.float64)

    def constant(self, place: int, value: float) -> WeightedRule:
        """A rule about particular entities, with what it adds to an answer."""
        return WeightedRule(self.constants.rule(place), value)

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain data; of those about particular entities how many there are."""
        data = {"rules": self.rows(), "relations": list(self.relations), "constants": len(self.constants)}
        return data | ({"both_ways": sorted(self.both_ways)} if self.both_ways else {})

    def rows(self) -> list[dict[str, Any]]:
        """One row per rule, in order."""
        return [_row(one) for one in self.rules]

    @property
    def heading(self) -> str:
        """What it is, in a few words."""
        told = f"rule model: {counted(len(self), 'rule')} of {counted(len(self.relations), 'relation')}"
        return f"{told}, {self._about_entities}" if self.constants else told

    @property
    def _about_entities(self) -> str:
        return f"{counted(len(self.constants), 'rule')} about particular entities"

    def _repr_html_(self) -> str:
        rows = [_row(one) for one in self.rules[:SHOWN]]
        return shown_rows(self.heading, rows, columns=COLUMNS, total=len(self))

    def __str__(self) -> str:
        return self.table()

    def table(self, most: int = _SHOWN) -> str:
        """The first rules with their numbers."""
        rows = [[_row(one)[name] for name in COLUMNS] for one in self.rules[:most]]
        header = ["weight", "per log count", "support", "confidence", "rule"]
        lines = [counted(len(self.rules), "rule"), *([table(header, rows)] if rows else [])]
        left = len(self.rules) - most
        lines += [f"... and {left:,} more"] if left > 0 else []
        if self.constants:
            lines.append(f"and {self._about_entities}, in the file below [constants]")
        if self.both_ways:
            lines.append(f"facts of {', '.join(sorted(self.both_ways))} are read in both directions")
        return "\n".join(lines)


def _row(one: WeightedRule) -> dict[str, Any]:
    quality = one.rule.quality or Quality()
    return {
        "rule": str(one.rule),
        "head": one.rule.head,
        "body": list(one.rule.body),
        "weight": one.weight,
        "count_weight": one.count_weight,
        "predictions": quality.predictions,
        "support": quality.support,
        "confidence": quality.confidence,
    }


def _forwards(rule: Rule) -> Rule:
    """A rule about an inverse says the same as its reversal about the relation."""
    return rule.reversed() if is_inverse(rule.head) else rule


def _is_sure(quality: Quality | None, least: float | None) -> bool:
    if quality is None or quality.confidence is None:
        return True  # somebody wrote it as it stands
    if least is not None:
        return quality.confidence >= least
    certain = quality.predictions is not None and quality.predictions == quality.support
    return quality.confidence >= 1 or (certain and bool(quality.support))
