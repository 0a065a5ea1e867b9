"""Rule files that rank by an aggregate of their rules' confidences, constants included."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.rulelist.aggregation import matches
from reshuffle.rulelist.aggregation.aggregated_answers import AggregatedAnswers, counted_confidence
from reshuffle.rules import IntersectionRule, PathRule, Quality, RuleBase, parse_rules
from reshuffle.rules.rule import variables
from strategies import bases_with_constants, fact_lists, path_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.rules import Rule
    from reshuffle.rules.rule import Terms

FACTS = [
    ("ada", "bornIn", "london"),
    ("bob", "bornIn", "london"),
    ("bob", "livesIn", "paris"),
    ("eve", "bornIn", "rome"),
    ("london", "cityIn", "uk"),
    ("uk", "hasLanguage", "english"),
    ("eve", "speaks", "italian"),
    ("bob", "speaks", "french"),
]
MINED = """
95\t40\t0.4\tspeaks(X,Y) <= bornIn(X,A), cityIn(A,B), hasLanguage(B,Y)
95\t80\t0.8\tspeaks(X,french) <= bornIn(X,london)
95\t80\t0.8\tspeaks(X,english) <= bornIn(X,london)
95\t20\t0.2\tspeaks(X,french) <= bornIn(X,A)
95\t70\t0.7\tspeaks(X,italian) <= bornIn(X,A)
95\t70\t0.7\tspeaks(X,italian) <= livesIn(X,A)
95\t10\t0.1\tspeaks(X,rome) <=
"""


def answers(by: str, *, distinct: bool = True) -> AggregatedAnswers:
    return AggregatedAnswers(parse_rules(MINED), KnowledgeGraph(FACTS), by=by, distinct=distinct)  # type: ignore[arg-type]


def tails(by: str, head: str) -> list[tuple[str, float]]:
    found = answers(by).predict(head=head, relation="speaks", known="mark")
    return [(link.triple.tail, round(link.score, 4)) for link in found]


def test_max_plus_goes_by_the_surest_rule_and_then_by_the_next() -> None:
    assert tails("max-plus", "ada") == [("english", 0.8), ("french", 0.8), ("italian", 0.7), ("rome", 0.1)]


def test_noisy_or_takes_all_rules_together() -> None:
    assert tails("noisy-or", "bob") == [("italian", 0.91), ("english", 0.88), ("french", 0.84), ("rome", 0.1)]


def test_top5_leaves_out_the_sixth() -> None:
    rules = "\n".join(f"95\t50\t0.5\tspeaks(X,french) <= bornIn(X,{end})" for end in ("london", "A"))
    rules += "\n" + "\n".join(f"95\t50\t0.5\tspeaks(X,french) <= r{n}(X,A)" for n in range(4))
    facts = [*FACTS, *(("ada", f"r{n}", "rome") for n in range(4))]
    values = {
        by: AggregatedAnswers(parse_rules(rules), facts, by=by)
        .predict(head="ada", relation="speaks")[0]
        .score  # type: ignore[arg-type]
        for by in ("noisy-or", "top5")
    }
    assert values == {"noisy-or": pytest.approx(1 - 0.5**6), "top5": pytest.approx(1 - 0.5**5)}


def test_heads_are_asked_for_too() -> None:
    found = answers("max-plus").predict(tail="english", relation="speaks")
    assert [link.triple.head for link in found] == ["ada", "bob"]
    assert found[0].reasons(1) == ['0.800  bornIn(X, "london") -> speaks(X, "english")']
    everybody = answers("max-plus").predict(tail="rome", relation="speaks")
    assert {link.triple.head for link in everybody} == {*KnowledgeGraph(FACTS).entities} - {"rome"}


def test_facts_are_left_out_unless_marked() -> None:
    found = answers("max-plus").predict(head="bob", relation="speaks")
    assert "french" not in [link.triple.tail for link in found]


def test_without_a_relation_all_are_asked_about() -> None:
    assert len(answers("max-plus").predict(head="ada")) == 4


def test_different_variables_are_different_entities() -> None:
    rules = parse_rules("95\t50\t0.5\tsibling(X,Y) <= parent(A,X), parent(A,Y)")
    facts = [("mum", "parent", "ann"), ("mum", "parent", "ben")]
    ends = {
        distinct: [
            link.triple.tail
            for link in AggregatedAnswers(rules, facts, by="max-plus", distinct=distinct).predict(
                head="ann", relation="sibling"
            )
        ]
        for distinct in (True, False)
    }
    assert ends == {True: ["ben"], False: ["ann", "ben"]}


def test_different_variables_of_an_open_body_are_different_entities() -> None:
    rules = parse_rules("95\t50\t0.5\thas(X,sibling) <= parent(A,X), parent(A,B)")
    facts = [
        ("mum", "parent", "ann"),
        ("mum", "parent", "ben"),
        ("dad", "parent", "zoe"),
        ("a", "is", "sibling"),
    ]
    heads = {
        distinct: [
            link.triple.head
            for link in AggregatedAnswers(rules, facts, by="max-plus", distinct=distinct).predict(
                tail="sibling", relation="has"
            )
        ]
        for distinct in (True, False)
    }
    assert heads == {True: ["ann", "ben"], False: ["ann", "ben", "zoe"]}


def test_facts_come_and_go() -> None:
    changed = answers("max-plus")
    changed.add([("zoe", "bornIn", "london")])
    assert changed.predict(head="zoe", relation="speaks")[0].triple.tail == "english"
    changed.remove([("zoe", "bornIn", "london")])
    assert [link.triple.tail for link in changed.predict(head="zoe", relation="speaks")] == ["rome"]


def test_an_unknown_aggregate_is_refused() -> None:
    with pytest.raises(InputError, match="max-plus"):
        answers("max-plsu")


@pytest.mark.parametrize("body", ["q(X,A)", "p(A,X), p(A,B)"])
def test_a_body_that_is_true_in_too_many_ways_is_refused(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "_MOST_WAYS", 30)
    facts = [*(("hub", "p", f"e{n}") for n in range(20)), *((f"e{n}", "q", f"f{n % 2}") for n in range(40))]
    with pytest.raises(InputError, match="ways, expected 30 at most"):
        AggregatedAnswers(parse_rules(f"9\t5\t0.5\th(X,hub) <= {body}"), facts, by="top5")


def test_counts_make_the_confidence() -> None:
    assert counted_confidence(Quality(15, 10, 0.66)) == 0.5
    assert counted_confidence(Quality(confidence=0.3)) == 0.3
    assert counted_confidence(None) == 1


# --- beside the definition ----------------------------------------------------------------------------------


def atoms_of(rule: Rule) -> list[Terms]:
    """The atoms and then the head, with variables by number."""
    if not isinstance(rule, PathRule | IntersectionRule):
        return [*rule.atoms, rule.conclusion]
    names = variables(rule.num_variables)
    terms = rule.terms(names)
    return [(relation, names.index(start), names.index(end)) for relation, start, end in terms]


def concluded(
    rule: Rule, facts: set[tuple[str, str, str]], *, distinct: bool
) -> Iterator[tuple[str, str, str]]:
    """All that one rule says, by trying every entity for every variable."""
    *body, head = atoms_of(rule)
    entities = sorted({end for fact in facts for end in (fact[0], fact[2])})
    numbers = sorted({end for _, *ends in (*body, head) for end in ends if isinstance(end, int)})
    for chosen in itertools.product(entities, repeat=len(numbers)):
        meant = dict(zip(numbers, chosen, strict=True))
        in_body = {meant[end] for _, *ends in body for end in ends if isinstance(end, int)}
        asked = {end for _, *ends in body for end in ends if isinstance(end, int)}
        if distinct and len(in_body) < len(asked):
            continue
        said = [(r, *(meant[e] if isinstance(e, int) else e for e in ends)) for r, *ends in (*body, head)]
        if all((start, relation, end) in facts for relation, start, end in said[:-1]):
            relation, start, end = said[-1]
            if not (distinct and start == end and head[1] != head[2]):
                yield start, relation, end


@settings(max_examples=400)
@given(
    bases=st.one_of(
        bases_with_constants(), st.lists(path_rules(3, inverses=True), max_size=4).map(tuple).map(RuleBase)
    ),
    facts=fact_lists(relations=3, entities=4),
    tenths=st.lists(st.integers(1, 3), min_size=5, max_size=5),
    distinct=st.booleans(),
)
def test_the_order_is_that_of_the_definition(
    bases: RuleBase, facts: list[tuple[str, str, str]], tenths: list[int], distinct: bool
) -> None:
    given_rules = zip(bases.given, tenths, strict=False)
    base = RuleBase(
        tuple(replace(rule, quality=Quality(confidence=tenth / 10)) for rule, tenth in given_rules)
    )
    found = AggregatedAnswers(base, KnowledgeGraph(facts), by="max-plus", distinct=distinct)
    graph, said = found.graph, {}
    for rule in base.rules:
        assert rule.quality is not None
        for triple in set(concluded(rule, set(facts), distinct=distinct)):
            said.setdefault(triple, []).append(rule.quality.confidence)
    for relation in found.relations:
        for side in ("tail", "head"):
            for anchor in graph.entities:
                ids = np.array([graph.entities.id(anchor)]), np.array([graph.relations.id(relation)])
                scores = found.scores(*ids, side=side, candidates=None)[0]  # type: ignore[arg-type]
                ends = ((anchor, relation, one) for one in graph.entities)
                triples = [triple if side == "tail" else triple[::-1] for triple in ends]
                expected = [sorted(said.get(triple, ()), reverse=True) for triple in triples]
                order = sorted(map(tuple, expected))
                places = {one: place for place, one in enumerate(dict.fromkeys([(), *order]))}
                given_places = np.unique(np.append(scores, 0), return_inverse=True)[1][:-1]
                assert given_places.tolist() == [places[tuple(one)] for one in expected]
