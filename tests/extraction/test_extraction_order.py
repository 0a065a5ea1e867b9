"""The order to read rules in: that of a slow version, and what it is good for."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.deadlines import Deadline
from reshuffle.extraction import extract_rules
from reshuffle.extraction.measure import measured
from reshuffle.extraction.order import Told, reading_order, simplicity
from reshuffle.kg import KnowledgeGraph, inverse_name
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, Rule, parse_rules
from reshuffle.rules.mining import Measures
from strategies import fact_lists, relation_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.progress import Report

Fact = tuple[str, str, str]
Pairs = set[tuple[str, str]]


def pairs_of(name: str, facts: set[Fact]) -> Pairs:
    turned = name.endswith("^-1")
    return {(f, e) if turned else (e, f) for e, r, f in facts if r == name.removesuffix("^-1")}


def predicted(rule: Rule, facts: set[Fact]) -> Pairs:
    parts = [pairs_of(name, facts) for name in rule.body]
    if isinstance(rule, IntersectionRule):
        return set.intersection(*parts)
    joined = parts[0]
    for part in parts[1:]:
        joined = {(e, g) for e, f in joined for f2, g in part if f == f2}
    return joined


def slow_order(rules: list[Rule], facts: set[Fact], *, weeded: bool = False) -> list[Told]:
    """Again and again, of all rules of a head, the best by gain, then simplicity, then place in the list."""
    sizes = {name: len(pairs_of(name, facts)) for _, name, _ in facts}
    sure: dict[Rule, float] = {}
    told: list[Told] = []
    alone = [rule for rule in rules if slow_net(rule, facts) > 0]
    for head in dict.fromkeys(
        rule.head for rule in alone
    ):  # equal gains: in the order of the rules that gain
        true = pairs_of(head, facts)
        found = {
            rule: {(e, f) for e, f in true if (e, f) in predicted(rule, facts - {(e, head, f)})}
            if isinstance(rule, PathRule)
            else true & predicted(rule, facts)
            for rule in rules
            if rule.head == head
        }
        wrong = {rule: len(predicted(rule, facts) - true) for rule in found}
        sure |= {rule: len(pairs) / max(1, len(pairs) + wrong[rule]) for rule, pairs in found.items()}
        taken = slow_taken(dict(found), wrong, rules, sizes)
        for rule in sorted(taken, key=lambda rule: (simplicity(rule, sizes), rules.index(rule)))[::-1]:
            others = set().union(*(found[other] for other in taken if other != rule))
            if weeded and len(found[rule] - others) <= 2 * wrong[rule]:
                taken = {other: gain for other, gain in taken.items() if other != rule}
        if weeded:
            taken = slow_taken({rule: found[rule] for rule in taken}, wrong, rules, sizes)
        told += [Told(rule, gain / (len(true) + 5)) for rule, gain in taken.items()]

    def is_behind(rule: Rule) -> bool:
        return any(same_cycle(rule, one.rule) and sure[one.rule] > sure[rule] for one in told)

    return sorted(told, key=lambda one: (weeded and is_behind(one.rule), -one.gain))


def slow_net(rule: Rule, facts: set[Fact]) -> int:
    """What a rule alone gains; a fact of its head that only the fact itself finds counts for nothing."""
    true, reached = pairs_of(rule.head, facts), predicted(rule, facts)
    if isinstance(rule, IntersectionRule):
        return len(reached & true) - 2 * len(reached - true)
    right = [(e, f) for e, f in true if (e, f) in predicted(rule, facts - {(e, rule.head, f)})]
    return len(right) - 2 * len(reached - true)


def slow_taken(
    found: dict[Rule, Pairs], wrong: dict[Rule, int], rules: list[Rule], sizes: dict[str, int]
) -> dict[Rule, int]:
    """The rules of one head with their gains, one by one."""
    left = set().union(*found.values()) if found else set()
    taken: dict[Rule, int] = {}
    while True:
        gains = {rule: len(pairs & left) - 2 * wrong[rule] for rule, pairs in found.items()}
        order = sorted(gains, key=lambda rule: (-gains[rule], simplicity(rule, sizes), rules.index(rule)))
        if not order or gains[order[0]] <= 0:
            return taken
        taken[order[0]] = gains[order[0]]
        left -= found.pop(order[0])


def same_cycle(one: Rule, other: Rule) -> bool:
    """Do both go round the same relations, from some start, in one of the two directions?"""
    if isinstance(one, IntersectionRule) or isinstance(other, IntersectionRule):
        return one == other
    first, second = ([*rule.body, inverse_name(rule.head)] for rule in (one, other))
    turned = [inverse_name(name) for name in second[::-1]]
    return any(first == way[at:] + way[:at] for way in (second, turned) for at in range(len(way)))


paths = st.builds(
    PathRule,
    st.lists(relation_names(3, inverses=True), min_size=1, max_size=3).map(tuple),
    relation_names(3),
)
meets = st.builds(
    IntersectionRule,
    st.lists(relation_names(3), min_size=2, max_size=2, unique=True).map(tuple),
    relation_names(3),
).filter(lambda rule: rule.head not in rule.body)


@given(
    fact_lists(entities=3, relations=3, most=18),
    st.lists(paths | meets, min_size=1, max_size=12, unique=True),
)
@settings(max_examples=300)
def test_the_order_is_that_of_the_slow_version(facts, rules):
    graph = KnowledgeGraph(facts)
    for weeded in (False, True):
        order = reading_order(measured(rules, graph), graph, weeded=weeded)
        assert order == slow_order(rules, set(facts), weeded=weeded)


def test_a_rule_counts_by_what_none_before_it_explains() -> None:
    """`a` finds four facts and `b` three of the same; `c` finds one that is new, so it is read before `b`."""
    facts = [(f"e{n}", r, f"f{n}") for r, last in (("r", 5), ("a", 4), ("b", 3)) for n in range(last)]
    graph = KnowledgeGraph([*facts, ("e4", "c", "f4")])
    rules = parse_rules("b(X, Y) -> r(X, Y)\nc(X, Y) -> r(X, Y)\na(X, Y) -> r(X, Y)")
    order = reading_order(measured(rules.rules, graph), graph)
    assert [(one.rule.body, one.gain) for one in order] == [(("a",), 0.4), (("c",), 0.1)]
    found = extract_rules(constraints_for(rules), on=graph, max_length=1)
    assert [(one.rule.body, one.gain) for one in found] == [(("a",), 0.4), (("c",), 0.1), (("b",), 0.0)]


def test_a_rule_that_others_make_needless_is_given_up() -> None:
    """`a` finds five facts, more than `b` or `c`, and none that these two do not find."""
    large = [(f"e{n}", r, f"f{n}") for n in range(8) for r in ("r", "b" if n < 4 else "c")]
    graph = KnowledgeGraph([*large, *((f"e{n}", r, f"f{n}") for n in range(2, 7) for r in ("a1", "a2"))])
    rules = [IntersectionRule(("a1", "a2"), "r"), PathRule(("b",), "r"), PathRule(("c",), "r")]
    plain, weeded = (
        [one.rule for one in reading_order(measured(rules, graph), graph, weeded=weeded)]
        for weeded in (False, True)
    )
    assert plain[0] == rules[0] and weeded == rules[1:]


def test_the_reverse_of_a_surer_rule_is_read_behind() -> None:
    """`son ; wife` is always right; `daughter-in-law ; wife^-1` finds another son by each second marriage."""
    facts = [(f"p{n}", "son", f"s{n}") for n in range(6)] + [(f"s{n}", "wife", f"w{n}") for n in range(6)]
    facts += [(f"p{n}", "daughter-in-law", f"w{n}") for n in range(6)] + [("t", "wife", "w0")]
    facts += [(f"x{n}", r, f"y{n}") for n in range(9) for r in ("part", "whole") if r == "whole" or n < 4]
    rules = [
        PathRule(("daughter-in-law", "wife^-1"), "son"),
        PathRule(("son", "wife"), "daughter-in-law"),
        PathRule(("part",), "whole"),
    ]
    graph = KnowledgeGraph(facts)
    plain, weeded = (
        [one.rule.head for one in reading_order(measured(rules, graph), graph, weeded=weeded)]
        for weeded in (False, True)
    )
    assert plain == ["daughter-in-law", "son", "whole"] and weeded == ["daughter-in-law", "whole", "son"]


def test_estimated_measures_may_promise_more_than_there_is() -> None:
    """Counted on a sample, ten pairs and nine facts; there is one fact, which does not make up for a wrong pair."""
    graph = KnowledgeGraph([("e", "a", "f"), ("e", "r", "f")])
    promised = {PathRule(("a",), "r"): Measures(9, 10, 10, 1)}
    assert reading_order(promised, graph) == reading_order(promised, graph, weeded=True) == []


def test_small_relations_are_not_read_last() -> None:
    large = [(f"e{n}", r, f"f{n}") for r, last in (("big", 10), ("part", 6)) for n in range(last)]
    small = [(f"g{n}", r, f"h{n}") for r in ("small", "all") for n in range(4)]
    tiny = [("e", "tiny", "f"), ("e", "once", "f")]
    graph = KnowledgeGraph([*large, *small, *tiny])
    rules = parse_rules("part(X, Y) -> big(X, Y)\nall(X, Y) -> small(X, Y)\nonce(X, Y) -> tiny(X, Y)").rules
    order = [one.rule.head for one in reading_order(measured(rules, graph), graph)]
    assert order == ["small", "big", "tiny"]  # a support of 1 is not read first


def test_what_is_wrong_more_often_than_one_time_in_three_gains_nothing() -> None:
    facts = [("e0", "a", "f0"), ("e1", "a", "f1"), ("e2", "a", "f2"), ("e0", "r", "f0"), ("e1", "r", "f1")]
    rule = PathRule(("a",), "r")
    for known, gain in ((facts, []), ([*facts, ("e3", "a", "f3"), ("e3", "r", "f3")], [1 / 8])):
        graph = KnowledgeGraph(known)
        assert [one.gain for one in reading_order(measured([rule], graph), graph)] == gain


def test_what_is_less_sure_makes_nothing_redundant_that_is_surer() -> None:
    """No rule gains here. `e -> b` is never right, and with `b ; d -> c` it would make `e ; d -> c` redundant."""
    graph = KnowledgeGraph(
        [(f"x{n}", "e", f"y{n}") for n in range(3)]
        + [(f"y{n}", "d", f"z{n}") for n in range(3)]
        + [("x0", "c", "z0"), ("u", "b", "v"), ("v", "d", "w")]
    )
    rules = parse_rules("e(X, Y) -> b(X, Y)\nb(X, Y) & d(Y, Z) -> c(X, Z)\ne(X, Y) & d(Y, Z) -> c(X, Z)")
    found = extract_rules(constraints_for(rules), on=graph, max_length=2)
    assert not any(one.gain for one in found)
    assert {str(one.rule): one.redundant for one in found}["e(X, Y) & d(Y, Z) -> c(X, Z)"] is False


def test_what_gains_nothing_makes_nothing_redundant_that_gains() -> None:
    """By length alone `e -> b`, which is never right, and `b ; d -> c` would make `e ; d -> c` redundant."""
    graph = KnowledgeGraph(
        [("x", "e", "y"), ("y", "d", "z"), ("x", "c", "z"), ("u", "b", "v"), ("v", "d", "w"), ("u", "c", "w")]
    )
    rules = parse_rules("e(X, Y) -> b(X, Y)\nb(X, Y) & d(Y, Z) -> c(X, Z)\ne(X, Y) & d(Y, Z) -> c(X, Z)")
    found = extract_rules(constraints_for(rules), on=graph, max_length=2)
    redundant = {one.rule: one.redundant for one in found}
    assert not redundant[PathRule(("e", "d"), "c")] and not redundant[PathRule(("b", "d"), "c")]


def test_heads_that_there_is_no_time_for_are_left_out() -> None:
    """Those with the fewest rules have their turn first."""
    facts = {(f"a{n}", name, f"b{n}") for n in range(6) for name in ("r", "s", "t", "u")}
    rules = [PathRule((body,), "r") for body in ("s", "t", "u")] + [PathRule(("s",), "t")]
    graph = KnowledgeGraph(sorted(facts))
    measures = measured(rules, graph)
    assert {told.rule.head for told in reading_order(measures, graph)} == {"r", "t"}
    assert not reading_order(measures, graph, deadline=Deadline.after(0))
    deadline = Deadline.after(0.5)

    @contextmanager
    def slow(_description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        del total, unit
        yield lambda _done, _note="": time.sleep(deadline.seconds_left)

    found = reading_order(measures, graph, deadline=deadline, progress=slow)
    assert [told.rule for told in found] == [PathRule(("s",), "t")]
