"""A reading order for rules: first those that explain the most facts not yet explained by earlier rules.

Many rules with the same head hold nearly always and say nearly the same. So the rules of a head are taken one by one,
each time the one with the largest *gain*:

    gain = facts that it finds and no rule taken before does - WARY * pairs that it predicts and no fact says

A graph is never complete, so wrong predictions do not rule a rule out; but what is right less often than 2 times in 3
gains nothing. Among equal gains the simpler rule comes first (`simplicity`). Heads are then merged: a gain counts as a
share of the facts of its head, so that small relations are not read last; five facts are added to those of each head,
as confidences add five predictions, so that one lucky fact of a tiny relation is not read first. Gains of a head never
rise, so the rules of each head stay in the order they were taken in. A fact never explains itself, as in `measure`.

A list of all rules mined from facts, instead of those that a model captures, has two further problems; `weeded` solves
them:

- What is taken first may turn out not to be needed. `ancestor & child^-1 -> parent` finds more parents than
  `father -> parent` or `mother -> parent`, and none that these two do not find. Rules that explain nothing beside the
  others taken are given up, the least simple first, and the gains of the rest are counted again.
- After `son ; wife -> daughter-in-law`, which always holds, `daughter-in-law ; wife^-1 -> son` adds little: it finds
  sons by facts that follow from them. A rule over the same cycle of relations as a rule with higher confidence
  (`cycle`) comes after all other rules.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.deadlines import NO_DEADLINE
from reshuffle.extraction.measure import FoundFacts
from reshuffle.kg import inverse_name
from reshuffle.kg.vocabulary import base_relation, is_inverse
from reshuffle.progress import SILENT
from reshuffle.rules import IntersectionRule
from reshuffle.rules.mining import CAUTION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.rules import Rule
    from reshuffle.rules.mining import Measures

WARY = 2
"""How many explained facts make up for one wrong prediction."""


class Told(NamedTuple):
    """A rule, and the share of its head's facts that it newly explains, less what it gets wrong."""

    rule: Rule
    gain: float


def reading_order(
    measures: Mapping[Rule, Measures],
    graph: KnowledgeGraph,
    *,
    weeded: bool = False,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = SILENT,
) -> list[Told]:
    """The rules with a positive gain, by falling gain; equal ones stay in the order they were given in.

    Heads for which there is no time are left out. Those with the fewest rules come first then.
    """
    by_head: dict[str, list[Rule]] = {}
    for rule, counts in measures.items():
        if _net(counts) > 0:
            by_head.setdefault(rule.head, []).append(rule)
    facts, sizes = FoundFacts(graph), _sizes(graph)
    told: list[Told] = []
    with progress("ordering rules", total=len(by_head), unit="relations") as report:
        for rules in sorted(by_head.values(), key=len) if deadline.is_set else by_head.values():
            found = {rule: facts.found(rule) for rule in rules if not deadline.is_over}
            if len(found) < len(rules):
                break
            wrong = {rule: measures[rule].predictions - measures[rule].support for rule in rules}
            ordered = sorted(rules, key=lambda rule: simplicity(rule, sizes))
            size = measures[rules[0]].head_size + CAUTION
            if weeded:
                ordered = _needed(dict(_taken(ordered, found, wrong)), ordered, found, wrong)
            if ordered:  # measures may be estimates, so that a rule that seems to gain finds too few facts
                told += [Told(rule, gain / size) for rule, gain in _taken(ordered, found, wrong)]
            report(1)
    behind = _less_sure([one.rule for one in told], measures) if weeded else set()
    return sorted(told, key=lambda one: (one.rule in behind, -one.gain))


def _net(counts: Measures) -> int:
    return counts.support - WARY * (counts.predictions - counts.support)


def _taken(
    rules: list[Rule], found: Mapping[Rule, NDArray[np.bool_]], wrong: Mapping[Rule, int]
) -> Iterator[tuple[Rule, int]]:
    """The rules with their gains, largest first; of equals the first. Gains only fall, so an old one is a bound."""
    waiting = [(WARY * wrong[rule] - int(found[rule].sum()), place) for place, rule in enumerate(rules)]
    heapq.heapify(waiting)
    explained = np.zeros_like(found[rules[0]])
    while waiting and waiting[0][0] < 0:
        bound, place = heapq.heappop(waiting)
        rule = rules[place]
        now = WARY * wrong[rule] - int((found[rule] & ~explained).sum())
        if now > bound:
            heapq.heappush(waiting, (now, place))
        else:
            explained |= found[rule]
            yield rule, -now


def _needed(
    taken: Mapping[Rule, int],
    ordered: list[Rule],
    found: Mapping[Rule, NDArray[np.bool_]],
    wrong: Mapping[Rule, int],
) -> list[Rule]:
    """Those of the rules taken that gain something beside all others of them, in order.

    One pass is enough: what is given up only raises what the others explain alone.
    """
    finders, given_up = np.sum([found[rule] for rule in taken], axis=0), set()
    for rule in reversed(ordered):
        if rule in taken and int((found[rule] & (finders == 1)).sum()) <= WARY * wrong[rule]:
            finders -= found[rule]
            given_up.add(rule)
    return [rule for rule in ordered if rule in taken and rule not in given_up]


def _less_sure(rules: list[Rule], measures: Mapping[Rule, Measures]) -> set[Rule]:
    """The rules that go round the cycle of a surer one."""
    sure = {rule: measures[rule].support / measures[rule].predictions for rule in rules}
    surest: dict[object, float] = {}
    for rule in rules:
        surest[cycle(rule)] = max(sure[rule], surest.get(cycle(rule), 0.0))
    return {rule for rule in rules if sure[rule] < surest[cycle(rule)]}


def cycle(rule: Rule) -> object:
    """What all rules have in common that go round one cycle of relations: along the body, and back by the head.

    An intersection goes round none, and has only itself.

    >>> from reshuffle.rules import PathRule
    >>> cycle(PathRule(("son", "wife"), "daughter-in-law")) == cycle(PathRule(("daughter-in-law", "wife^-1"), "son"))
    True
    """
    if isinstance(rule, IntersectionRule):
        return rule
    forth = (*rule.body, inverse_name(rule.head))
    back = tuple(inverse_name(name) for name in reversed(forth))
    return min(way[at:] + way[:at] for way in (forth, back) for at in range(len(way)))


def simplicity(rule: Rule, sizes: Mapping[str, int]) -> tuple[int, int, int, bool, int]:
    """Smaller is simpler: fewer atoms, then fewer inverses, then the head itself in the body less often, and last in it
    rather than first, as one writes a recursion; then fewer facts of the relations in the body (`sizes`), since
    `daughter ; husband` says more exactly than `child ; husband` who a son-in-law is.

    >>> from reshuffle.rules import PathRule
    >>> sizes = {"child": 4, "daughter": 2, "husband": 2}
    >>> narrow, wide = (PathRule((name, "husband"), "son-in-law") for name in ("daughter", "child"))
    >>> simplicity(narrow, sizes) < simplicity(wide, sizes)
    True
    """
    itself = (rule.head, inverse_name(rule.head))
    return (
        len(rule.body),
        sum(is_inverse(name) for name in rule.body),
        sum(name in itself for name in rule.body),
        rule.body[0] in itself,
        sum(sizes.get(base_relation(name), 0) for name in rule.body),
    )


def _sizes(graph: KnowledgeGraph) -> dict[str, int]:
    counts = np.bincount(graph.relation_ids, minlength=len(graph.relations))
    return dict(zip(graph.relations, counts.tolist(), strict=True))
