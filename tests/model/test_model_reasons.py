"""Reasons: every step a fact, the best walk of all, none that is not there, and texts that say it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting_worlds import RELATIONS, random_answers, random_graph, random_model

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import KnowledgeGraph, Triple, inverse_name
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.answers.explanations import reasons_to_mermaid
from reshuffle.model.answers.model_answers import ModelAnswers
from reshuffle.model.hardening import harden, hardened
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.proofs import check_proof
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import RuleBase, parse_rules
from reshuffle.rules.entailment import closure

if TYPE_CHECKING:
    from reshuffle.model.answers.explanations import Reason
    from reshuffle.model.scoring import Scores


def scores_of(answers: ModelAnswers, relation: str, *, head: str) -> Scores[np.ndarray]:
    graph = answers.graph
    asked = (np.array([graph.entities.id(head)]), np.array([graph.relations.id(relation)]))
    return answers._on_graph.scores(*asked, side="tail")


def triples_of(answers: ModelAnswers) -> list[Triple]:
    names = list(answers.graph.entities)
    return [Triple(head, "r", tail) for head in names[:3] for tail in names if head != tail]


@given(
    st.integers(0, 10**6),
    st.sampled_from(["head", "bits", "private"]),
    st.booleans(),
    st.sampled_from(["tail", "head"]),
)
@settings(max_examples=40)
def test_every_step_is_a_fact_and_follows_the_rule(
    seed: int, initial: str, identity: bool, side: str
) -> None:
    answers = random_answers(seed, initial=initial, identity=identity, num_layers=3)
    for triple in triples_of(answers):
        found = answers.reasons(*triple, most=4, side=side)
        for reason in found:
            assert triple not in reason.facts  # a fact is no reason for itself
            check_proof(reason.proof, RuleBase((reason.rule,)), answers.graph)
            assert 0 < reason.share <= 1 + 1e-5
        assert len({reason.proof for reason in found}) == len(found)
        assert [reason.support for reason in found] == sorted((r.support for r in found), reverse=True)


def walks(edges: list[tuple[int, int, int]], head: int, tail: int, most: int) -> list[tuple[int, ...]]:
    """The words of all walks that do not come back to their head, by brute force."""
    found = []
    for length in range(1, most + 1):
        for steps in itertools.product(edges, repeat=length):
            joined = all(one[2] == two[0] for one, two in itertools.pairwise(steps))
            comes_back = head in [step[2] for step in steps]
            if joined and not comes_back and (steps[0][0], steps[-1][2]) == (head, tail):
                found.append(tuple(step[1] for step in steps))
    return found


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_first_reason_is_the_best_walk_of_all(seed: int) -> None:
    answers = random_answers(seed)
    model, graph = answers._model, answers.graph
    matrices, weights = answers._on_graph.matrices.numpy(), model.slot_weights().detach().numpy()[0]
    bodies = matrices[0].sum(1)
    for triple in triples_of(answers)[::3]:
        facts = [fact for fact in graph if fact != triple]
        ids = [(graph.entities.id(h), RELATIONS.index(r), graph.entities.id(t)) for h, r, t in facts]
        edges = ids + [(t, r + 2, h) for h, r, t in ids]
        head, tail = graph.entities.id(triple.head), graph.entities.id(triple.tail)
        states = np.zeros((graph.num_entities, 3))
        states[head] = 1
        for _ in range(2):
            before = states.copy()
            for start, relation, end in edges:
                states[end] = np.maximum(states[end], matrices[relation] @ before[start])
        reached = states[tail]
        supports = [0.0]
        for word in walks(edges, head, tail, 2):
            brought = np.ones(3)
            for relation in word:
                brought = matrices[relation] @ brought
            part = np.divide(bodies, reached, out=np.zeros(3), where=reached > 0)
            supports.append(float((weights * np.minimum(1, part) * brought).sum()))
        found = answers.reasons(*triple, most=3)
        best = sorted(supports[1:], reverse=True)[:3]
        assert [reason.support for reason in found] == pytest.approx(best, rel=1e-4)
        met = float((weights * np.minimum(bodies, reached)).sum())
        assert answers.explain(*triple).met == pytest.approx(met / float((weights * bodies).sum()), rel=1e-4)


RULES = [
    "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)",
    "r(X, Y) & s(Y, Z) -> t(X, Z)\nt(X, Y) & s(Y, Z) -> t(X, Z)",
    "r(X, Y) -> s(X, Y)\ns(X, Y) & t(Y, Z) -> u(X, Z)",
]


@pytest.mark.parametrize("text", RULES)
def test_what_rules_entail_has_reasons_that_entail_it(text: str) -> None:
    rules = parse_rules(text)
    names = sorted(set(rules.relations))
    chance = np.random.default_rng(len(text))
    triples = [
        (f"e{chance.integers(5)}", names[chance.integers(len(names))], f"e{chance.integers(5)}")
        for _ in range(10)
    ]
    graph = KnowledgeGraph([*triples, *((f"x{name}", name, f"y{name}") for name in names)])
    answers = Reshuffle.from_constraints(constraints_for(rules), device="cpu", num_layers=8).on(graph)
    entailed = closure(rules, triples) - set(triples)
    assert entailed
    for triple in entailed:
        explanation = answers.explain(*triple)
        assert explanation.judgement.captured
        assert any(
            triple in closure(rules, [tuple(f) for f in reason.facts]) for reason in explanation.reasons
        )
        assert explanation.reasons[0].share == 1


def chain() -> ModelAnswers:
    """A model that has learned r(X, Y) & s(Y, Z) -> t(X, Z), softly."""
    constraints = constraints_for(parse_rules("r(X, Y) & s(Y, Z) -> t(X, Z)"))
    model = Reshuffle.from_constraints(constraints, strength=6, device="cpu", initial="head", num_layers=3)
    facts = [
        ("a", "r", "b"),
        ("b", "s", "c"),
        ("a", "r", "d"),
        ("d", "s", "c"),
        ("x", "t", "y"),
        ("z", "r", "z"),
    ]
    return model.on(KnowledgeGraph(facts))


def test_several_walks_are_several_reasons_in_text_json_and_mermaid() -> None:
    explanation = chain().explain("a", "t", "c", most=2)
    rule = "r(X, Y) & s(Y, Z) -> t(X, Z)"
    assert [str(reason.rule) for reason in explanation.reasons] == [rule, rule]
    assert {reason.facts[0].tail for reason in explanation.reasons} == {"b", "d"}
    text = str(explanation)
    assert f"t(a, c)    [{rule}]\n├─ r(a, b)    fact\n└─ s(b, c)    fact" in text
    data = json.loads(json.dumps(explanation.to_dict()))
    assert data["supported"] is True and data["known"] is False and data["confidence"] is None
    assert [reason["facts"][1] for reason in data["reasons"]] == [["b", "s", "c"], ["d", "s", "c"]]
    chart = explanation.to_mermaid().splitlines()
    assert chart[:2] == ["flowchart BT", '  goal["t(a, c)"]']
    assert sum("--> goal" in line for line in chart) == 2
    assert '  fact1(["s(b, c)"])' in chart
    assert "#lt;img#gt;" in reasons_to_mermaid(("<img>", "t", "c"), explanation.reasons)


def test_what_nothing_leads_to_has_no_reason() -> None:
    explanation = chain().explain("a", "t", "x")
    assert not explanation.supported and explanation.met == 0
    assert str(explanation).splitlines()[1:3] == ["nothing leads to it", "nothing supports it"]


def test_a_walk_that_leads_to_many_supports_nobody() -> None:
    """In the channel of a, everyone that r and s reach is met in part: only c by both of them."""
    answers = chain()
    best, other = answers.explain("a", "t", "c"), answers.explain("a", "t", "b")
    assert other.reasons and other.judgement.constraint_score < best.judgement.constraint_score
    scores = scores_of(answers, "t", head="a").constraint[0]
    for explanation in (best, other):
        left_out = [answers.graph.entities.id(name) for name in ("a", explanation.judgement.triple[2])]
        lower = float((np.delete(scores, left_out) < explanation.judgement.constraint_score).mean())
        assert explanation.better_than == lower
        assert explanation.supported == (lower >= 0.9)
    assert best.supported and not other.supported
    assert str(other).splitlines()[1:3] == [
        f"2% of what the relation asks for is met, which fits better than {other.better_than:.0%} of the others",
        "too little to count as support: it would have to fit better than 90% of the others",
    ]


def test_what_is_nearly_met_is_not_rounded_up() -> None:
    explanation = chain().explain("a", "t", "b")
    nearly = replace(explanation, met=0.9975, better_than=0.8999)
    assert str(nearly).splitlines()[1] == (
        "99% of what the relation asks for is met, which fits better than 89% of the others"
    )
    assert str(replace(nearly, met=1.0 - 1e-7)).splitlines()[1].startswith("100% of")


def test_facts_are_no_rivals() -> None:
    """c is reached as well as w is; where it is a fact, w has nobody beside it."""
    constraints = constraints_for(parse_rules("r(X, Y) & s(Y, Z) -> t(X, Z)"))
    model = Reshuffle.from_constraints(constraints, strength=6, device="cpu", initial="head", num_layers=3)
    facts = [("a", "r", "b"), ("b", "s", "c"), ("b", "s", "w"), ("x", "t", "y")]
    alone, beside = (
        model.on(KnowledgeGraph(known)).explain("a", "t", "w") for known in ([*facts, ("a", "t", "c")], facts)
    )
    assert alone.better_than == 1 and alone.supported
    assert beside.better_than is not None and beside.better_than < 0.9 and not beside.supported


def test_a_fact_is_known_and_explained_without_itself() -> None:
    explanation = chain().explain("x", "t", "y")
    assert explanation.known and explanation.supported and not explanation.reasons
    assert str(explanation).splitlines()[0].endswith(", a fact")
    assert "nothing else in the graph leads to it" in str(explanation)


def test_evidence_in_words() -> None:
    answers = random_answers(3)
    graph = answers.graph
    explanation = answers.explain("x", "r", "y")
    said = {remark.kind: remark for remark in explanation.remarks}
    assert said["unary"].words == "y is the tail of no other fact of r"
    assert said["proximity"].words == "y is 1 step away from x"
    assert said["negative"].words == "s(x, y)"
    other = next(iter(graph.entities))
    words = {remark.kind: remark.words for remark in answers.explain("x", "r", other).remarks}
    assert words["proximity"] == f"{other} is more than 3 steps away from x"
    assert words["negative"] == "no other fact holds between the two"
    scored = scores_of(answers, "r", head="x")
    assert said["unary"].average == pytest.approx(float(scored.evidence["unary"].mean()), abs=1e-6)
    value, average = said["unary"].value, said["unary"].average
    expected = "little" if abs(value - average) < 0.1 else "for" if value > average else "against"
    assert said["unary"].speaks == expected


def test_asking_for_no_reason_or_for_unknown_names() -> None:
    answers = chain()
    with pytest.raises(InputError, match="most = 0 asks for no reason\n  hint: give 1 or more"):
        answers.reasons("a", "t", "c", most=0)
    with pytest.raises(UnknownNameError, match="unknown entity 'aa'; did you mean 'a'"):
        answers.explain("aa", "t", "c")
    with pytest.raises(UnknownNameError, match="unknown relation 'tt'; did you mean 't'"):
        answers.explain("a", "tt", "c")


# --- what follows, exactly --------------------------------------------------------------------------------------


def hard_answers(seed: int, **changes: Any) -> ModelAnswers:
    """Noise, hardened; in most rows no slot."""
    model = random_model(seed, **changes)
    model.matrices.logits.data[..., -1] += 1
    return ModelAnswers(hardened(model.requires_grad_(False)), RELATIONS, random_graph(seed, count=8))


def arrived(answers: ModelAnswers, head: str, slot: int, steps: int) -> set[tuple[str, int]]:
    """Where a value gets that starts in a slot of the head: the slow and obvious way."""
    matrices = answers._on_graph.matrices.numpy()
    edges = [(h, RELATIONS.index(r), t) for h, r, t in answers.graph]
    edges += [(t, r + len(RELATIONS), h) for h, r, t in edges]
    here = {(head, slot)}
    for _ in range(steps):
        here |= {
            (end, to)
            for start, relation, end in edges
            for to in range(matrices.shape[1])
            for entity, at in here
            if entity == start and matrices[relation, to, at] == 1
        }
    return here


def entailed(answers: ModelAnswers, relation: str, *, steps: int) -> set[Triple]:
    """All triples of a relation that follow in so many steps, and its facts."""
    asked = np.argwhere(answers._on_graph.matrices.numpy()[RELATIONS.index(relation)] == 1)
    found = {fact for fact in answers.graph if fact.relation == relation}
    for head in answers.graph.entities if len(asked) else ():
        ends = [{e for e, at in arrived(answers, head, int(start), steps) if at == to} for to, start in asked]
        found |= {Triple(head, relation, tail) for tail in set.intersection(*ends)}
    return found


@given(st.integers(0, 10**6), st.sampled_from(["head", "bits", "private"]), st.integers(1, 3))
@settings(max_examples=40)
def test_of_hard_matrices_what_is_explained_is_what_follows(seed: int, initial: str, layers: int) -> None:
    """Whatever the channels; and with a channel per query all of it is captured, though not only that."""
    answers = hard_answers(seed, initial=initial, num_layers=layers)
    for relation in RELATIONS:
        follows = entailed(answers, relation, steps=layers)
        for head, tail in itertools.product(list(answers.graph.entities)[:4], answers.graph.entities):
            explanation = answers.explain(head, relation, tail)
            assert explanation.follows == explanation.supported == ((head, relation, tail) in follows)
            if explanation.follows and initial == "head":
                assert explanation.judgement.captured
            if explanation.follows and not explanation.known:
                assert explanation.met == 1
                assert explanation.reasons or head == tail


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_with_enough_layers_it_is_what_the_hardened_constraints_entail(seed: int) -> None:
    answers = hard_answers(seed, num_layers=12)
    reasoner = Reasoner(harden(answers._model, RELATIONS, ())).on(answers.graph)
    for head, tail in itertools.product(list(answers.graph.entities)[:3], answers.graph.entities):
        for relation in RELATIONS:
            told = answers.explain(head, relation, tail).follows
            assert told == reasoner.holds(head, relation, tail)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_of_soft_matrices_it_is_what_private_channels_capture(seed: int) -> None:
    model, graph = random_model(seed, num_slots=2), random_graph(seed)
    model.matrices.logits.data[1] -= 4  # s asks for little, so that some of it is captured
    answers, private = (ModelAnswers(model, RELATIONS, graph, initial=kind) for kind in ("head", "private"))
    for head, tail in itertools.product(list(graph.entities)[:4], graph.entities):
        explanation = answers.explain(head, "s", tail)
        captured = private.judge(head, "s", tail).captured
        assert explanation.follows == (explanation.known or captured)


def test_a_triple_of_one_entity_follows_only_where_something_leads_back() -> None:
    rules = parse_rules("r(X, Y) & s(Y, Z) -> t(X, Z)")
    model = Reshuffle.from_constraints(constraints_for(rules), device="cpu", initial="head", num_layers=3)
    facts = [("a", "r", "b"), ("b", "s", "a"), ("c", "r", "d"), ("x", "t", "y")]
    answers = model.on(KnowledgeGraph(facts))
    there, nowhere = answers.explain("a", "t", "a"), answers.explain("c", "t", "c")
    assert there.judgement.captured and nowhere.judgement.captured  # the channel of the query cannot tell
    assert there.follows and there.supported and there.met == 1
    assert [str(reason.rule) for reason in there.reasons] == [str(rules.rules[0])]
    assert str(there).splitlines()[:2] == [
        "t(a, a): captured, score 0.000",
        "100% of what the relation asks for is met",
    ]
    assert not nowhere.follows and not nowhere.supported and nowhere.better_than is None
    assert str(nowhere).splitlines() == [
        "t(c, c): constraint score 0, but it does not follow, score 0.000",
        "nothing leads to it",
        "nothing supports it",
    ]
    data = json.loads(json.dumps(nowhere.to_dict()))
    assert (data["captured"], data["follows"], data["supported"]) == (True, False, False)


def test_a_slot_that_is_met_from_the_wrong_start_does_not_follow() -> None:
    """r moves slot 0 to 1 and s moves 1 to 0: in the channel of a query both look alike at the tail."""
    sources = np.array([[-1, 0], [1, -1], [-1, 0], [-1, -1], [-1, -1], [-1, -1]], dtype=np.int32)
    sources[2] = [-1, 1]  # t asks in slot 1 for what started in slot 1
    constraints = OrderingConstraints(("r", "s", "t", "r^-1", "s^-1", "t^-1"), sources)
    model = Reshuffle.from_constraints(constraints, device="cpu", initial="head", num_layers=2)
    answers = model.on(KnowledgeGraph([("a", "r", "b"), ("c", "s", "d"), ("x", "t", "y")]))
    explanation = answers.explain("a", "t", "b")
    assert explanation.judgement.captured and not explanation.supported
    assert str(explanation).splitlines() == [
        "t(a, b): constraint score 0, but it does not follow, score 0.000",
        "nothing leads to it",
        "nothing supports it",
    ]


def test_what_asks_for_nothing_but_itself_needs_no_facts() -> None:
    sources = np.array([[0], [-1], [-1], [-1]], dtype=np.int32)
    constraints = OrderingConstraints(("r", "s", "r^-1", "s^-1"), sources)
    model = Reshuffle.from_constraints(constraints, device="cpu", initial="head", num_layers=2)
    graph = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c")])
    answers, reasoner = model.on(graph), Reasoner(constraints).on(graph)
    same = answers.explain("c", "r", "c")
    assert same.follows and reasoner.holds("c", "r", "c")
    assert str(same).splitlines()[1:] == ["nothing needs to lead to it"]
    half = OrderingConstraints(("r", "r^-1"), np.array([[0, 0], [-1, -1]], dtype=np.int32))
    model = Reshuffle.from_constraints(half, device="cpu", initial="head", num_layers=2)
    told = model.on(graph).explain("c", "r", "c")  # slot 0 has it already, slot 1 would have to get it
    assert (told.met, told.follows) == (0.5, False)
    unasked = answers.explain("a", "s", "b")  # s asks for nothing at all, so every pair scores 0
    assert unasked.judgement.captured and not unasked.supported and not reasoner.holds("a", "s", "b")


# --- walks that return ------------------------------------------------------------------------------------------


def returns(reason: Reason) -> bool:
    """Does a step go back over the fact that the one before it took? A loop may be walked twice in its direction."""
    steps = zip(reason.facts, reason.rule.body, strict=True)
    return any(one[0] == two[0] and one[1] != two[1] for one, two in itertools.pairwise(steps))


def worth_by_slot(answers: ModelAnswers, triple: Triple) -> dict[bool, np.ndarray]:
    """The most that walks bring to the slots which the relation asks for, without and with returns."""
    matrices = answers._on_graph.matrices.numpy()
    bodies, size = matrices[RELATIONS.index(triple.relation)].sum(1), matrices.shape[1]
    facts = [fact for fact in answers.graph if fact != triple]
    edges = [(f.head, RELATIONS.index(f.relation), f.tail, f) for f in facts]
    edges += [(t, r + len(RELATIONS), h, f) for h, r, t, f in edges]
    best = {False: np.zeros(size), True: np.zeros(size)}
    walks_now = [(triple.head, np.ones(size), False, (-1, None))]
    for _ in range(answers._model.architecture.num_layers):
        walks_now = [
            (
                end,
                matrices[relation] @ brought,
                back or (fact == last[1] and relation != last[0]),
                (relation, fact),
            )
            for entity, brought, back, last in walks_now
            for start, relation, end, fact in edges
            if start == entity and end != triple.head
        ]
        for end, brought, back, _ in walks_now:
            if end == triple.tail:
                best[back] = np.maximum(best[back], brought)
    return {back: np.where(bodies > 0, brought, 0) for back, brought in best.items()}


def brought_by(answers: ModelAnswers, reason: Reason) -> np.ndarray:
    """What a reason brings to every slot."""
    matrices = answers._on_graph.matrices.numpy()
    names = [*RELATIONS, *(inverse_name(relation) for relation in RELATIONS)]
    brought = np.ones(matrices.shape[1])
    for relation in reason.rule.body:
        brought = matrices[names.index(relation)] @ brought
    return brought


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_reasons_return_only_where_others_leave_a_slot_out(seed: int) -> None:
    answers = random_answers(seed, num_layers=3)
    for triple in triples_of(answers)[::4]:
        found = answers.reasons(*triple, most=5)
        best = worth_by_slot(answers, triple)
        for reason in filter(returns, found):
            assert (brought_by(answers, reason) > best[False])[best[True] > 0].any()
        if best[False].any():
            assert found and not all(returns(reason) for reason in found)


def test_injected_rules_prove_what_they_capture() -> None:
    facts = KnowledgeGraph(
        [(f"p{n}", "bornIn", f"c{n % 4}") for n in range(12)]
        + [(f"c{n}", "cityIn", f"s{n % 2}") for n in range(4)]
        + [(f"p{n}", "citizenOf", f"s{n % 2}") for n in range(6)]
    )
    rules = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")
    model = Reshuffle(device="cpu", num_slots=4, num_layers=2, max_epochs=1, epoch_steps=1, batch_size=8)
    answers = model.fit(facts, inject=rules).on(facts)
    for triple in (("p7", "citizenOf", "s1"), ("p1", "citizenOf", "s1")):  # one to predict, one that is known
        explanation = answers.explain(*triple)
        assert explanation.known == (triple in facts)
        assert "injected" in explanation.judgement.captured_by and explanation.supported
        (proof,) = explanation.proofs
        check_proof(proof, rules, facts)
        assert f"by injected rules:\n{proof}" in str(explanation)
        assert explanation.to_dict()["proofs"] == [proof.to_dict()]
    other = answers.explain("p7", "citizenOf", "s0")
    assert other.proofs == () and "injected" not in other.judgement.captured_by
    assert "proofs" not in other.to_dict()


def test_an_injected_rule_makes_no_fact_its_own_reason() -> None:
    facts = KnowledgeGraph([("f", "knows", "f"), *((f"p{n}", "knows", f"p{n + 1}") for n in range(8))])
    rules = parse_rules("knows(Y, X) -> knows(X, Y)")
    model = Reshuffle(device="cpu", num_slots=4, num_layers=2, max_epochs=1, epoch_steps=1, batch_size=8)
    answers = model.fit(facts, inject=rules).on(facts)
    assert answers.explain("f", "knows", "f").proofs == ()
    assert [proof.size for proof in answers.explain("p2", "knows", "p1").proofs] == [1]


@pytest.mark.parametrize("initial", ["head", "private"])
def test_a_walk_returns_where_nothing_else_supports(initial: str) -> None:
    rules = parse_rules("r(X, Y) & s(Y, Z) & s(W, Z) -> t(X, W)")
    model = Reshuffle.from_constraints(constraints_for(rules), device="cpu", initial=initial, num_layers=3)
    facts = [("a", "r", "b"), ("b", "s", "c"), ("x", "t", "y")]
    for other in ([], [("b", "s", "e")], [("d", "s", "c")]):
        answers = model.on(KnowledgeGraph([*facts, *other]))
        (reason,) = answers.reasons("a", "t", "b")
        assert returns(reason) and reason.share == 1
    (reason,) = answers.reasons("a", "t", "d")
    assert not returns(reason)


@pytest.mark.parametrize("slots", [20, 220])
def test_reasons_are_found_however_many_slots_share_in_them(slots: int) -> None:
    sources = np.tile(np.arange(slots, dtype=np.int32), (2, 1))
    model = Reshuffle.from_constraints(OrderingConstraints(("a", "b"), sources), num_layers=1, device="cpu")
    explanation = model.on([("x", "a", "y")]).explain("x", "b", "y")
    (reason,) = explanation.reasons
    assert reason.facts == (("x", "a", "y"),)
    assert (explanation.follows, explanation.met) == (True, 1)
