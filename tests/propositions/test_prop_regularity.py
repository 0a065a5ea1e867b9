"""Section 6: the grammar of a rule base, its languages, and pyformlang as the referee of ours."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paper_figures import NON_REGULAR, rules
from pyformlang.cfg import CFG, Production, Terminal, Variable
from pyformlang.finite_automaton import (
    DeterministicFiniteAutomaton,
    Epsilon,
    EpsilonNFA,
    State,
    Symbol,
)

from reshuffle.errors import NotExpressibleError
from reshuffle.rulegraphs import build
from reshuffle.rulegraphs.automata import edge_language, relation_language, word_outside
from reshuffle.rulegraphs.build import labels_of
from reshuffle.rulegraphs.checks import check_graph
from reshuffle.rules.classes import PathGrammar, classify
from reshuffle.rules.entailment import entailed_words, entails_within
from strategies import acyclic_bases, regular_bases, rule_bases

if TYPE_CHECKING:
    from reshuffle.rulegraphs import RuleGraph
    from reshuffle.rulegraphs.automata import NondeterministicAutomaton
    from reshuffle.rules import RuleBase

small_regular = st.one_of(regular_bases(levels=2), acyclic_bases(relations=4, most_rules=3))


def referee(automaton: NondeterministicAutomaton) -> DeterministicFiniteAutomaton:
    """Our automaton in the library's terms; deterministic, since its complement is wrong for others."""
    theirs = EpsilonNFA()
    theirs.add_start_state(State(automaton.start))
    for final in automaton.finals:
        theirs.add_final_state(State(final))
    for (source, label), targets in automaton.steps.items():
        for target in targets:
            theirs.add_transition(State(source), symbol(label), State(target))
    for source, targets in automaton.free.items():
        for target in targets:
            theirs.add_transition(State(source), Epsilon(), State(target))
    return theirs.to_deterministic().minimize()


def bar(relation: str) -> Terminal:
    """The paper's r̄; under the same name as its variable it would be taken for it."""
    return Terminal(f"{relation}̄")


def symbol(relation: str) -> Symbol:
    """The same letter in an automaton."""
    return Symbol(bar(relation).value)


def paper_grammar(base: RuleBase, start: str) -> CFG:
    """The grammar of the paper: a production per rule, and r => r̄ for every head relation."""
    closed = base.closed_under_reversal()
    productions = {
        Production(Variable(rule.head), [Variable(relation) for relation in rule.body])
        for rule in closed.path_rules
    }
    productions |= {Production(Variable(relation), [bar(relation)]) for relation in closed.relations}
    return CFG(start_symbol=Variable(start), productions=productions)


@given(small_regular)
@settings(max_examples=60)
def test_the_language_of_a_root_edge_is_the_regular_language_l_r(base: RuleBase) -> None:
    """Proposition 5, and (R3) and (R4) without our own comparison of languages."""
    graph, grammar = build(base), PathGrammar(base.closed_under_reversal())
    for relation, (root,) in graph.roots.items():
        expected = referee(relation_language(grammar, [grammar.symbol_of[relation]]))
        found = referee(edge_language(graph, *root))
        # is_equivalent_to says no where one automaton has a dead end that the other has not.
        assert expected.get_difference(found).is_empty()
        assert found.get_difference(expected).is_empty()


@given(small_regular)
@settings(max_examples=40)
def test_no_word_of_the_papers_grammar_is_outside_the_graph(base: RuleBase) -> None:
    """L_r without L(e) is empty: a context-free language in a regular one, which pyformlang decides."""
    graph = build(base)
    for relation in graph.roots:
        assert paper_grammar(base, relation).intersection(outside(graph, relation)).is_empty()


def outside(graph: RuleGraph, relation: str) -> DeterministicFiniteAutomaton:
    """All words over the graph's labels that its root edge does not have."""
    automaton = referee(edge_language(graph, *graph.roots[relation][0]))
    for label in set(labels_of(graph)) - graph.identities:
        automaton.add_symbol(symbol(label))  # the complement must know them all
    return automaton.get_complement()


def test_the_referee_can_say_no() -> None:
    graph, more_rules = build(rules("a;b -> c")), rules("a;b -> c", "a;a -> c")
    assert not paper_grammar(more_rules, "c").intersection(outside(graph, "c")).is_empty()
    just_a, c_or_ab = (referee(edge_language(graph, *graph.roots[name][0])) for name in ("a", "c"))
    assert not just_a.get_difference(c_or_ab).is_empty()
    assert not c_or_ab.get_difference(just_a).is_empty()


@given(rule_bases(most_relations=3, most_rules=3))
@settings(max_examples=40)
def test_derives_agrees_with_the_papers_grammar(base: RuleBase) -> None:
    """Also for bases that are not regular, where checks rely on it up to a length."""
    grammar = PathGrammar(base)
    entailed = entailed_words(base, max_length=3)
    for relation in base.relations:
        theirs = paper_grammar(base, relation)
        for word in words_up_to(base.relations, 3):
            derived = grammar.derives(grammar.symbol_of[relation], word)
            assert derived == (word in entailed[relation])
            assert derived == theirs.contains([bar(label) for label in word])


def words_up_to(relations: tuple[str, ...], longest: int) -> list[tuple[str, ...]]:
    lengths = range(1, longest + 1)
    return [word for length in lengths for word in itertools.product(relations, repeat=length)]


@st.composite
def two_languages(draw: st.DrawFn) -> tuple[NondeterministicAutomaton, NondeterministicAutomaton]:
    """Languages of two edges that may have nothing to do with each other."""
    graph = build(draw(regular_bases(levels=2)))
    pairs = st.tuples(*[st.integers(0, graph.num_nodes - 1)] * 2)
    return edge_language(graph, *draw(pairs)), edge_language(graph, *draw(pairs))


@given(two_languages())
@settings(max_examples=120)
def test_word_outside_agrees_with_pyformlang(
    languages: tuple[NondeterministicAutomaton, NondeterministicAutomaton],
) -> None:
    inner, outer = languages
    word = word_outside(inner, outer)
    difference = referee(inner).get_difference(referee(outer))
    assert (word is None) == difference.is_empty()
    if word is not None:
        assert inner.accepts(word)
        assert not outer.accepts(word)
        assert referee(inner).accepts([symbol(label) for label in word])


@given(small_regular)
@settings(max_examples=80)
def test_every_visible_regular_language_has_the_entailed_words(base: RuleBase) -> None:
    """Nederhof's expansion against the oracle."""
    grammar = PathGrammar(base)
    entailed = entailed_words(base, max_length=4)
    for relation in base.relations:
        automaton = relation_language(grammar, [grammar.symbol_of[relation]])
        for word in words_up_to(base.relations, 3):
            assert automaton.accepts(word) == (word in entailed[relation])


# --- example 5 ----------------------------------------------------------------------------------------------------


def test_example_5_is_refused_and_the_bound_offered() -> None:
    with pytest.raises(NotExpressibleError) as caught:
        build(NON_REGULAR)
    assert str(caught.value) == (
        "no exact geometry: `r2` calls itself between other atoms: "
        "rule 1: r1(X, Y) & r2(Y, Z) & r1(Z, Z1) -> r2(X, Z1)\n"
        "  hint: engine='chase' (--engine chase of infer and explain) answers exactly, without geometry; "
        "bound=M (--bound M) answers within M steps"
    )


@pytest.mark.parametrize("bound", [0, 1, 2, 3, 4])
def test_example_5_works_with_a_bound(bound: int) -> None:
    graph = build(NON_REGULAR, bound=bound)
    assert {str(check) for check in check_graph(graph).values()} == {"holds"}
    (root,) = graph.roots["r2"]
    counted = {("r1",) * n + ("r2",) + ("r1",) * n for n in range(bound) if 2 * n + 1 <= bound + 1}
    counted.add(("r2",))
    assert set(graph.words(*root, max_length=bound + 1)) == counted


def test_example_5_the_language_counts() -> None:
    """As many r1 before as after, no r1 at all included (the paper leaves l = 0 out)."""
    words = entailed_words(NON_REGULAR, max_length=7)["r2"]
    assert words == {("r1",) * n + ("r2",) + ("r1",) * n for n in range(4)}


def test_example_5_on_a_graph() -> None:
    facts = [
        ("x1", "r1", "x2"),
        ("x2", "r1", "x3"),
        ("x3", "r2", "x4"),
        ("x4", "r1", "x5"),
        ("x5", "r1", "x6"),
    ]
    assert entails_within(NON_REGULAR, facts, ("x1", "r2", "x6"), 4)
    assert not entails_within(NON_REGULAR, facts, ("x1", "r2", "x6"), 3)
    assert not entails_within(NON_REGULAR, facts, ("x1", "r2", "x5"), 9)


@given(rule_bases(most_relations=3, most_rules=3))
@settings(max_examples=100)
def test_a_graph_is_built_iff_the_class_says_so(base: RuleBase) -> None:
    assume(not base.intersection_rules)
    if classify(base).faithful:
        assert build(base).roots.keys() == set(base.relations)
    else:
        with pytest.raises(NotExpressibleError, match=r"^no exact geometry: "):
            build(base)
