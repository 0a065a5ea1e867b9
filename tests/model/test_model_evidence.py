"""A channel per query, slot weights and evidence: against slow, obvious versions, and what they may not touch."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.errors import ReshuffleError, UnknownNameError
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.architecture import Architecture, DirectFacts
from reshuffle.model.channels.query import HeadChannels, lit_heads, weighted_scores
from reshuffle.model.evidence.interface import Asked
from reshuffle.model.evidence.proximity import hops
from reshuffle.model.evidence.registry import EVIDENCE, Evidence
from reshuffle.model.evidence.walk_counts import STEPS
from reshuffle.model.propagation import EvidenceGraph, MessageGraph, ModelGraph
from reshuffle.model.reshuffle import ReshuffleModel
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import parse_rules
from reshuffle.rules.entailment import closure

CPU = torch.device("cpu")
ENTITIES, RELATIONS = 7, 2


def random_triples(seed: int, count: int = 12) -> np.ndarray:
    chance = np.random.default_rng(seed)
    return np.unique(chance.integers([ENTITIES, RELATIONS, ENTITIES], size=(count, 3)), axis=0).astype(
        np.int64
    )


def both(triples: np.ndarray) -> list[tuple[int, int, int]]:
    forward = [tuple(map(int, triple)) for triple in triples]
    return forward + [(t, r + RELATIONS, h) for h, r, t in forward]


def without(triples: np.ndarray, hidden: list[int]) -> np.ndarray:
    return np.delete(triples, hidden, axis=0)


def graphs(triples: np.ndarray) -> tuple[EvidenceGraph, MessageGraph]:
    return (
        EvidenceGraph.build(triples, num_entities=ENTITIES, num_relations=RELATIONS, device=CPU),
        MessageGraph.build(triples, num_entities=ENTITIES, num_relations=RELATIONS, num_identities=0),
    )


def random_evidence(triples: np.ndarray, seed: int, direct_facts: DirectFacts = "against") -> Evidence:
    evidence = Evidence(RELATIONS, EVIDENCE, num_hops=3, num_slots=2, direct_facts=direct_facts)
    evidence.fit_types(graphs(triples)[0])
    for parameter in evidence.parameters():
        parameter.data.normal_(generator=torch.Generator().manual_seed(seed))
    return evidence.requires_grad_(False)


# --- evidence ---------------------------------------------------------------------------------------------------


def brute_steps(edges: list[tuple[int, int, int]], head: int, most: int) -> list[int]:
    found, queue = {head: 0}, deque([head])
    while queue:
        here = queue.popleft()
        for start, _, end in edges:
            if start == here and end not in found and found[here] < most:
                found[end] = found[here] + 1
                queue.append(end)
    return [found.get(entity, most + 1) for entity in range(ENTITIES)]


@given(st.integers(0, 10**6), st.integers(0, 4))
@settings(max_examples=30, deadline=None)
def test_hops_are_the_shortest_paths(seed: int, most: int) -> None:
    triples = random_triples(seed)
    found = hops(torch.arange(ENTITIES), graphs(triples)[1], most=most)
    assert found.tolist() == [brute_steps(both(triples), head, most) for head in range(ENTITIES)]


def brute_unary(evidence: Evidence, edges: list[tuple[int, int, int]], relation: int, entity: int) -> float:
    roles = [r for _, r, t in edges if t == entity]
    best = max([float(evidence.confidences[relation, role]) for role in roles], default=0.0)
    other, any_role = torch.nn.functional.softplus(evidence.of_type).tolist()
    return (
        other * np.log(best + 1e-3)
        + any_role * np.log((1.0 if relation in roles else best) + 1e-3)
        + sum(float(evidence.of_role[relation, role]) for role in set(roles))
        + float(evidence.of_count[relation] + evidence.of_count[-1]) * np.log1p(roles.count(relation))
        + float(evidence.of_degree[relation] + evidence.of_degree[-1]) * np.log1p(len(roles))
    )


def brute_facts(
    weights: torch.Tensor, edges: list[tuple[int, int, int]], head: int, relation: int, entity: int
) -> float:
    total = sum(float(weights[relation, r]) for h, r, t in edges if (h, t) == (head, entity))
    return total + (float(weights[relation, -1]) if entity == head else 0.0)


def brute_ways(
    evidence: Evidence, edges: list[tuple[int, int, int]], head: int, relation: int
) -> list[float]:  # entity
    """Walk by walk: each with the product of its edges' weights over the number of edges it could have taken."""
    weights = 2 * torch.sigmoid(evidence.ways.of_relation[relation] + evidence.ways.of_relation[-1])
    lengths = torch.nn.functional.softplus(
        evidence.ways.of_length[relation] + evidence.ways.of_length[-1] - 3.0
    )
    walks, worth = [(head, 1.0)], [0.0] * ENTITIES
    for step in range(STEPS):
        leaving = [[(r, t) for h, r, t in edges if h == end] for end, _ in walks]
        walks = [
            (tail, value * float(weights[step, walked]) / len(ways))
            for (_, value), ways in zip(walks, leaving, strict=True)
            for walked, tail in ways
        ]
        for entity in range(ENTITIES):
            ended = sum(value for end, value in walks if end == entity)
            worth[entity] += float(lengths[step]) * np.log(ended / 1e-3 + 1)
    return worth


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["against", "both"]))
@settings(max_examples=25, deadline=None)
def test_every_kind_of_evidence_is_what_its_definition_says_with_facts_hidden_too(
    seed: int, hiding: bool, direct: DirectFacts
) -> None:
    triples = random_triples(seed)
    evidence = random_evidence(triples, seed, direct)
    graph, messages = graphs(triples)
    hidden = [0, len(triples) - 1] if hiding else []
    edges = both(without(triples, hidden))
    heads, relations = torch.tensor([0, 3, 3]), torch.tensor([0, 3, 1])
    states = torch.rand(ENTITIES, 2, 3, generator=torch.Generator().manual_seed(seed))
    gone = torch.tensor(hidden) if hiding else None
    parts = evidence.scores(Asked(heads, relations, graph, gone, messages, states))
    assert set(parts) == set(EVIDENCE)
    against = -torch.nn.functional.softplus(evidence.of_fact - 3.0)
    speaks_for, against = (
        (0 * against, against)
        if direct == "against"
        else (evidence.of_fact.relu(), -(-evidence.of_fact).relu())
    )
    slots = torch.nn.functional.softplus(evidence.of_slot - 3.0)
    for row, (head, relation) in enumerate(zip(heads.tolist(), relations.tolist(), strict=True)):
        steps, ways = brute_steps(edges, head, 3), brute_ways(evidence, edges, head, relation)
        for entity in range(ENTITIES):
            near = evidence.of_distance[relation, steps[entity]] + evidence.of_distance[-1, steps[entity]]
            wanted = {
                "unary": brute_unary(evidence, edges, relation, entity),
                "proximity": float(near) + brute_facts(speaks_for, edges, head, relation, entity),
                "paths": sum(
                    float(slots[relation, slot]) * np.log(float(states[entity, slot, row]) / 0.01 + 1)
                    for slot in range(2)
                ),
                "ways": ways[entity],
                "negative": brute_facts(against, edges, head, relation, entity),
            }
            for kind, value in wanted.items():
                assert float(parts[kind][row, entity]) == pytest.approx(value, abs=1e-4), kind


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["against", "both"]))
@settings(max_examples=25, deadline=None)
def test_evidence_of_some_candidates_is_that_of_everyone_gradients_too(
    seed: int, hiding: bool, direct: DirectFacts
) -> None:
    triples = random_triples(seed)
    evidence = random_evidence(triples, seed, direct).requires_grad_()
    graph, chance = graphs(triples)[0], torch.Generator().manual_seed(seed)
    gone = torch.randint(len(triples), (3,), generator=chance)  # from each query one, often its own
    heads, relations = torch.from_numpy(triples)[gone].T[:2]
    heads, relations = (
        torch.cat([heads[:2], torch.tensor([3])]),
        torch.cat([relations[:2], torch.tensor([3])]),
    )
    candidates = torch.randint(ENTITIES, (3, 12), generator=chance)  # the head, and some of them twice
    asked = Asked(heads, relations, graph)
    some = evidence.scores(asked, candidates, without=gone if hiding else None)
    everyone = [
        evidence.scores(Asked(heads[one], relations[one], graph, gone[one] if hiding else None))
        for one in (slice(row, row + 1) for row in range(3))
    ]
    wanted = {kind: torch.cat([one[kind] for one in everyone]).gather(1, candidates) for kind in everyone[0]}
    assert list(some) == list(wanted)
    for kind, values in wanted.items():
        torch.testing.assert_close(some[kind], values, atol=1e-5, rtol=1e-5)
    factors, gradients = torch.rand(3, 12, generator=chance), []
    for parts in (wanted, some):
        evidence.zero_grad()
        (sum(parts.values()) * factors).sum().backward()
        gradients.append([p.grad.clone() for p in evidence.parameters() if p.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_confidences_are_smoothed_shares_of_the_training_graph() -> None:
    triples = random_triples(3)
    evidence = random_evidence(triples, 0)
    holders = [{t for _, r, t in both(triples) if r == role} for role in range(2 * RELATIONS)]
    for first, own in enumerate(holders):
        for second, given_role in enumerate(holders):
            share = 0.0 if first == second else len(own & given_role) / (len(given_role) + 2)
            assert float(evidence.confidences[first, second]) == pytest.approx(share)


def test_the_penalty_is_the_squares_of_what_is_free_per_relation_by_examples_where_told() -> None:
    evidence = random_evidence(random_triples(2), 3)
    examples = torch.tensor([0, 1, 3, 9])
    equal = by_examples = 0.0
    for relation in range(2 * RELATIONS):
        rows = [evidence.of_role[relation], evidence.of_fact[relation], evidence.of_distance[relation]]
        rows += [evidence.of_count[relation], evidence.of_degree[relation], evidence.of_slot[relation]]
        rows += [evidence.ways.of_relation[relation], evidence.ways.of_length[relation]]
        squares = sum(float(row.square().sum()) for row in rows)
        equal, by_examples = equal + squares, by_examples + squares / (1 + int(examples[relation]))
    assert float(evidence.penalty()) == pytest.approx(equal, rel=1e-5)
    assert float(evidence.penalty(examples)) == pytest.approx(by_examples, rel=1e-5)


@pytest.mark.parametrize("direct", ["against", "both"])
def test_negative_evidence_never_speaks_for_a_triple_and_paths_and_ways_never_against(
    direct: DirectFacts,
) -> None:
    triples = random_triples(1)
    graph, messages = graphs(triples)
    heads, relations = torch.arange(ENTITIES), torch.zeros(ENTITIES, dtype=torch.long)
    states = torch.rand(ENTITIES, 2, ENTITIES)
    asked = Asked(heads, relations, graph, messages=messages, states=states)
    parts = random_evidence(triples, 5, direct).scores(asked)
    assert (parts["negative"] <= 0).all()
    assert (parts["negative"] < 0).any()
    for kind in ("paths", "ways"):
        assert (parts[kind] >= 0).all()
        assert (parts[kind] > 0).any()


def test_weights_of_both_signs_can_leave_0() -> None:
    triples = random_triples(1)
    graph, messages = graphs(triples)
    evidence = Evidence(RELATIONS, ("negative",), num_hops=3, num_slots=2, direct_facts="both")
    heads, relations = torch.arange(ENTITIES), torch.zeros(ENTITIES, dtype=torch.long)
    states = torch.rand(ENTITIES, 2, ENTITIES)
    parts = evidence.scores(Asked(heads, relations, graph, messages=messages, states=states))
    (parts["proximity"] + parts["negative"]).sum().backward()
    assert (evidence.of_fact.grad != 0).any()


# --- constraint scores ------------------------------------------------------------------------------------------


def model_of(seed: int, **changes: Any) -> ReshuffleModel:
    shape = {"num_slots": 3, "num_layers": 2, "identity": False, "initial": "head", **changes}
    return ReshuffleModel(RELATIONS, Architecture(**shape), seed=seed)


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_constraint_scores_are_those_of_the_definition(seed: int, weighted: bool, bias: bool) -> None:
    triples = random_triples(seed)
    model = model_of(seed, slot_weights=weighted, bias=bias)
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed))
    graph = ModelGraph(model, triples, ENTITIES)
    channels = HeadChannels(graph, graph.messages)
    heads, relations = torch.tensor([1, 4]), torch.tensor([0, 3])
    with torch.no_grad():
        matrices = model.matrices()
        found = channels.scores(matrices, heads, relations)
        for row, (head, relation) in enumerate(zip(heads.tolist(), relations.tolist(), strict=True)):
            states = torch.zeros(ENTITIES, 3)
            states[head] = 1
            for _ in range(2):
                before = states.clone()
                for h, r, t in both(triples):
                    states[t] = torch.maximum(states[t], matrices[r] @ before[h])
            body = matrices[relation] @ states[head] + (model.bias[relation] if bias else 0)
            missing = torch.relu(body - states)
            wanted = (missing @ model.slot_weights()[relation]) if weighted else missing.norm(dim=1)
            torch.testing.assert_close(found.constraint[row], -wanted, atol=1e-6, rtol=1e-5)
    assert found.evidence == {}


def test_a_miss_is_never_rounded_to_captured() -> None:
    tiny = torch.tensor([[1e-44]])  # times a weight of 0.0001 it is 0 in floating point
    with torch.no_grad():
        scores = weighted_scores(tiny, torch.zeros(1, 1, 1), torch.tensor([[1e-4]]))
    assert scores.item() < 0
    with torch.no_grad():
        assert weighted_scores(tiny, tiny[..., None], torch.tensor([[1e-4]])).item() == 0


@pytest.mark.parametrize("slots", [5, 20, 32])
@pytest.mark.parametrize("at_once", [1, 2, 9, 40])
def test_a_fact_scores_0_to_the_last_bit_however_many_are_asked_at_once(slots: int, at_once: int) -> None:
    """Its tail has got as a message what is asked for: the sums must not come in another order."""
    chance = np.random.default_rng(slots)
    facts = KnowledgeGraph(
        [
            (f"e{h}", f"r{r}", f"e{t}")
            for h, r, t in np.unique(chance.integers([12, 3, 12], size=(40, 3)), axis=0)
        ]
    )
    model = Reshuffle(
        num_slots=slots, evidence=(), rules_weight=0.0, epoch_steps=1, max_epochs=1, device="cpu"
    ).fit(facts)
    answers = model.on(facts)
    for first in range(0, len(facts), at_once):
        some = slice(first, first + at_once)
        for side, anchors, others in (("tail", facts.heads, facts.tails), ("head", facts.tails, facts.heads)):
            scores = answers.scores(anchors[some], facts.relation_ids[some], side=side, candidates=None)
            assert (scores[np.arange(len(scores)), others[some]] == 0).all()


def test_training_makes_no_product_of_every_query_with_every_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number would grow with the square of the batch."""
    monkeypatch.setattr("reshuffle.model.channels.query.products", lambda *_, **__: pytest.fail("made"))
    facts = KnowledgeGraph([("a", "r", "b"), ("b", "r", "c")])
    Reshuffle(num_slots=3, epoch_steps=1, max_epochs=1, device="cpu").fit(facts, valid=[])


def test_slot_weights_stay_positive_whatever_is_learned() -> None:
    model = model_of(0, slot_weights=True)
    model.slot_logits.data.fill_(-1e4)
    assert (model.slot_weights() > 0).all()


RULES = [
    "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)",
    "r(X, Y) & s(Y, Z) -> t(X, Z)\nt(X, Y) & s(Y, Z) -> t(X, Z)",
    "r(X, Y) -> s(X, Y)\ns(X, Y) & t(Y, Z) -> u(X, Z)",
]


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("evidence", [(), EVIDENCE])
@pytest.mark.parametrize("initial", ["head", "private"])
def test_what_hard_matrices_entail_scores_0_under_every_option(
    text: str, weighted: bool, evidence: tuple[str, ...], initial: str
) -> None:
    """Channels, weights and evidence differ in what they add; none may cost the guarantee."""
    rules = parse_rules(text)
    names = sorted(set(rules.relations))
    chance = np.random.default_rng(len(text))
    facts = [tuple(f"e{chance.integers(5)}" for _ in "ht") for _ in range(10)]
    triples = [(head, names[chance.integers(len(names))], tail) for head, tail in facts]
    entailed = closure(rules, triples) - set(triples)
    assert entailed
    options = {"slot_weights": weighted, "evidence": evidence, "initial": "head", "num_layers": 8}
    model = Reshuffle.from_constraints(constraints_for(rules), device="cpu", **options)
    # Every relation needs a fact for the graph to know it; these touch nobody else.
    graph = KnowledgeGraph([*triples, *((f"x{name}", name, f"y{name}") for name in names)])
    answers = model.on(graph, initial=initial)
    for head, relation, tail in entailed:
        if initial == "head":
            judgement = answers.judge(head, relation, tail)
            assert judgement.constraint_score == 0 and judgement.captured
            assert set(judgement.evidence) == set(evidence)
            continue
        found = answers.scores(
            np.array([graph.entities.id(head)]),
            np.array([graph.relations.id(relation)]),
            side="tail",
            candidates=np.array([[graph.entities.id(tail)]]),
        )
        assert found.item() == 0


# --- judgements -------------------------------------------------------------------------------------------------


def fitted(**changes: Any) -> Reshuffle:
    facts = KnowledgeGraph(
        [(f"p{n}", "parent", f"p{n + 1}") for n in range(12)]
        + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(11)]
    )
    small = {"num_slots": 4, "num_layers": 2, "epoch_steps": 3, "max_epochs": 2, "device": "cpu"}
    return Reshuffle(**{**small, **changes}).fit(facts)


def test_a_judgement_adds_up_to_the_score() -> None:
    model = fitted()
    facts = KnowledgeGraph([("a", "parent", "b"), ("b", "parent", "c"), ("a", "grandparent", "c")])
    answers = model.on(facts)
    for side, anchor, answer in (("tail", "a", "c"), ("head", "c", "a")):
        judgement = answers.judge("a", "grandparent", "c", side=side)
        scores = answers.scores(
            np.array([facts.entities.id(anchor)]),
            np.array([facts.relations.id("grandparent")]),
            side=side,
            candidates=None,
        )
        assert judgement.score == pytest.approx(scores[0, facts.entities.id(answer)].item(), abs=1e-5)
        assert judgement.to_dict()["captured"] == (judgement.constraint_score == 0)
        assert judgement.constraint_score <= 0
    assert str(judgement).startswith("a grandparent c: captured; evidence: types ")


def test_judging_names_what_it_does_not_know() -> None:
    answers = fitted().on(KnowledgeGraph([("a", "parent", "b"), ("b", "likes", "a")]))
    with pytest.raises(UnknownNameError, match="unknown relation 'parents'; did you mean 'parent'"):
        answers.judge("a", "parents", "b")
    with pytest.raises(UnknownNameError, match="unknown relation 'likes'"):
        answers.judge("b", "likes", "a")  # of the graph, but not learned
    with pytest.raises(UnknownNameError, match="unknown entity 'z'"):
        answers.judge("a", "parent", "z")


def test_states_before_a_question_are_refused() -> None:
    with pytest.raises(ReshuffleError, match="every query has a channel of its own"):
        _ = fitted().on(KnowledgeGraph([("a", "parent", "b")])).states


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"slot_weights": True},
            "slot_weights need a channel per query\n  hint: train with initial = 'head', ",
        ),
        (
            {"evidence": ["unary", "proximity"]},
            "evidence from proximity needs a channel per query\n"
            '  hint: train with initial = \'head\', or with evidence = ["unary", "negative"] alone',
        ),
        (
            {"evidence": ["paths", "proximity"]},
            "evidence from paths and proximity needs a channel per query\n",
        ),
    ],
)
def test_what_needs_a_channel_per_query_is_refused_without(changes: dict[str, Any], message: str) -> None:
    for initial in ("bits", "continuous"):
        with pytest.raises(ReshuffleError, match=re.escape(message)):
            fitted(recipe="paper", initial=initial, **changes)


def test_the_channel_of_a_head_is_lit_there_only() -> None:
    states = lit_heads(torch.tensor([2, 0]), 3, 2)
    assert states.sum() == 4
    assert states[2, :, 0].tolist() == states[0, :, 1].tolist() == [1, 1]
