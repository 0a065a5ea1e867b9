"""Automata of the same language as the constraints, and as small as they get."""

from __future__ import annotations

import itertools

from hypothesis import assume, given

from reshuffle.errors import BudgetError, NotExpressibleError
from reshuffle.reasoning.geometry import relation_automata as module
from reshuffle.reasoning.geometry.relation_automata import Automaton, SlotGraph
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import PathRule, RuleBase
from reshuffle.rules.entailment import entailed_words
from strategies import rule_bases


def automata(base: RuleBase, *, bound: int | None = None) -> dict[str, Automaton]:
    try:
        constraints = constraints_for(base, bound=bound)
    except (NotExpressibleError, BudgetError):
        assume(False)
        raise
    slots = SlotGraph(constraints, set(constraints.relations))
    return {
        r: slots.automaton(*constraints.decisive_slots(r)[0])
        for r in base.relations
        if r in constraints.roots
    }


@given(rule_bases(most_relations=3, inverses=True))
def test_accepts_exactly_the_entailed_words(base):
    words = entailed_words(base, max_length=4)
    labels = sorted(set(base.closed_under_reversal().relations))[:4]
    for relation, automaton in automata(base).items():
        for length in range(5):
            for word in itertools.product(labels, repeat=length):
                assert automaton.accepts(word) == (word in words[relation])


@given(rule_bases(most_relations=3))
def test_a_nondeterministic_automaton_has_the_same_language(base):
    reduced = automata(base)
    most, module._MOST_STATES_PER_SLOT = module._MOST_STATES_PER_SLOT, 0
    try:
        plain = automata(base)
    finally:
        module._MOST_STATES_PER_SLOT = most
    for relation, automaton in plain.items():
        assert automaton.num_states >= reduced[relation].num_states
        for length in range(4):
            for word in itertools.product(base.relations[:3], repeat=length):
                assert automaton.accepts(word) == reduced[relation].accepts(word)


def test_transitivity_needs_two_states():
    (automaton,) = automata(RuleBase((PathRule(("r", "r"), "r"),))).values()
    assert automaton == Automaton(2, ((0, "r", 1), (1, "r", 1)), frozenset({1}))


def test_a_bound_cuts_the_words():
    (automaton,) = automata(RuleBase((PathRule(("r", "r"), "r"),)), bound=2).values()
    assert [automaton.accepts(["r"] * n) for n in range(6)] == [False, True, True, True, False, False]


def test_relations_without_facts_are_left_out():
    constraints = constraints_for(RuleBase((PathRule(("r", "s"), "t"), PathRule(("s",), "t"))))
    start, leave = constraints.decisive_slots("t")[0]
    assert SlotGraph(constraints, {"s"}).automaton(start, leave).arcs == ((0, "s", 1),)


def test_a_plain_relation_is_known_as_one():
    constraints = constraints_for(RuleBase((PathRule(("r", "s"), "t"),)))
    slots = SlotGraph(constraints, set(constraints.relations))
    assert slots.automaton(*constraints.decisive_slots("r")[0]).is_edge("r")
    assert not slots.automaton(*constraints.decisive_slots("t")[0]).is_edge("t")
