"""The frozen block captures what the rules entail and nothing else, asked from the head and from the tail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import NotExpressibleError, ReshuffleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.inverses import base_relation
from reshuffle.model.injected import InjectedBlock
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import RuleBase, parse_rules
from reshuffle.rules.entailment import closure
from strategies import (
    acyclic_bases,
    fact_lists,
    hierarchy_intersection_bases,
    left_regular_bases,
    mixed_bases,
    regular_bases,
    right_regular_bases,
    rule_bases,
)

if TYPE_CHECKING:
    from reshuffle.rules.entailment import Fact

CPU = torch.device("cpu")
BASES = {
    "acyclic": acyclic_bases(),
    "left-regular": left_regular_bases(),
    "right-regular": right_regular_bases(),
    "regular": regular_bases(),
    "hierarchy-intersection": hierarchy_intersection_bases(inverses=True),
    "mixed": mixed_bases(),
    "any with inverses": rule_bases(inverses=True, intersections=True),
}


def scores_of(
    rules: RuleBase, facts: list[Fact], *, hidden: list[Fact] | None = None
) -> tuple[dict[Fact, tuple[float, float]], frozenset[str]]:
    """For every possible triple its score as (h, r, ?) and as (?, r, t); and the relations that rules derive."""
    graph = KnowledgeGraph(facts)
    names = dict.fromkeys((*graph.relations, *map(base_relation, rules.relations)))
    relations = list(names)
    triples = np.array(
        [(graph.entities.id(h), relations.index(r), graph.entities.id(t)) for h, r, t in graph],
        dtype=np.int64,
    ).reshape(-1, 3)
    block = InjectedBlock(constraints_for(rules), relations)
    seen = block.graph_of(triples, num_entities=graph.num_entities, device=CPU)
    places = (
        None
        if hidden is None
        else torch.tensor([list(graph).index(fact) for fact in hidden], dtype=torch.long)
    )
    entities, everyone = list(graph.entities), torch.arange(graph.num_entities)
    found = {}
    for number, relation in enumerate(relations):
        asked = torch.full_like(everyone, number)
        forwards = block.scores(everyone, asked, seen, hidden=places)
        backwards = block.scores(everyone, asked + len(relations), seen, hidden=places)
        for h, head in enumerate(entities):
            for t, tail in enumerate(entities):
                found[head, relation, tail] = (float(forwards[h, t]), float(backwards[t, h]))
    return found, block.derived


@pytest.mark.parametrize("kind", BASES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_score_is_0_iff_the_rules_entail_the_triple(kind: str, data: st.DataObject) -> None:
    rules = data.draw(BASES[kind])
    names = sorted({base_relation(name) for name in rules.relations}) or ["r1"]
    entity = st.sampled_from([f"e{n}" for n in range(5)])
    facts = data.draw(st.lists(st.tuples(entity, st.sampled_from(names), entity), min_size=1, max_size=12))
    try:
        found, derived = scores_of(rules, facts)
    except NotExpressibleError:
        return  # of the last kind some bases have no geometry
    entailed = closure(rules, facts)
    for triple, (forwards, backwards) in found.items():
        if triple[1] not in derived:
            assert forwards == backwards == 0
            continue
        assert (forwards == 0) == (triple in entailed), triple
        assert (backwards == 0) == (triple in entailed), triple
        assert max(forwards, backwards) <= 0


@given(rules=acyclic_bases(), facts=fact_lists(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_hidden_facts_entail_nothing(rules: RuleBase, facts: list[Fact], data: st.DataObject) -> None:
    distinct = sorted(set(facts))
    if not distinct:
        return
    hidden = data.draw(st.lists(st.sampled_from(distinct), unique=True))
    found, derived = scores_of(rules, facts, hidden=hidden)
    entailed = closure(rules, set(facts) - set(hidden))
    for triple, (forwards, backwards) in found.items():
        if triple[1] in derived:
            assert (forwards == 0) == (backwards == 0) == (triple in entailed), triple


def test_no_number_of_layers_cuts_a_derivation_short() -> None:
    rules = parse_rules("near(X, Y) & near(Y, Z) -> near(X, Z)")
    found, _ = scores_of(rules, [(f"p{n}", "near", f"p{n + 1}") for n in range(40)])
    assert found["p0", "near", "p40"] == (0, 0)
    assert found["p40", "near", "p0"] == (-1, -1)


def test_an_intersection_misses_one_slot_per_condition_that_fails() -> None:
    rules = parse_rules("livesIn(X, Y) & worksIn(X, Y) -> localTo(X, Y)")
    facts = [
        ("ada", "livesIn", "rome"),
        ("ada", "worksIn", "rome"),
        ("bob", "livesIn", "rome"),
        ("bob", "is", "bob"),
    ]
    found, derived = scores_of(rules, facts)
    assert derived == {"localTo"}
    assert found["ada", "localTo", "rome"] == (0, 0)
    assert found["bob", "localTo", "rome"] == (-1, -1)
    assert found["rome", "localTo", "bob"] == (-2, -2)


def test_weights_are_positive_and_the_parts_keep_their_zeros() -> None:
    rules = parse_rules("a(X, Y) -> b(X, Y)")
    block = InjectedBlock(constraints_for(rules), ["a", "b"])
    graph = block.graph_of(np.array([[0, 0, 1]]), num_entities=2, device=CPU)
    block.logits.data.fill_(-1e4)
    parts = block.parts(torch.tensor([0]), torch.tensor([1]), graph)
    assert parts[0, 1] == 0
    assert parts[0, 0] < 0
    parts.sum().backward()
    assert block.logits.grad is not None
    assert [block.speaks_of(number) for number in range(4)] == [False, True, False, True]


def test_constraints_without_rules_are_refused() -> None:
    bare = OrderingConstraints(("a",), np.zeros((1, 1), dtype=np.int32))
    with pytest.raises(ReshuffleError, match="constraints without their rules cannot be injected"):
        InjectedBlock(bare, ["a"])


def test_the_penalty_pulls_weights_back_to_where_they_started() -> None:
    block = InjectedBlock(constraints_for(parse_rules("a(X, Y) -> b(X, Y)")), ["a", "b"])
    assert block.penalty() == 0
    assert block.weights().tolist() == pytest.approx([4.0] * 4, abs=1e-3)
    block.logits.data[1] -= 2.0
    block.penalty().backward()
    assert block.logits.grad is not None
    assert block.logits.grad.tolist() == pytest.approx([0.0, -4.0, 0.0, 0.0])
