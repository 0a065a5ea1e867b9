"""Hard matrices in floating point are the constraints, exactly; and learned ones harden to constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings

from reshuffle.errors import BudgetError, InputError, NotExpressibleError, ReshuffleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.channels.private import states_of
from reshuffle.model.propagation import ModelGraph
from reshuffle.model.propagation import propagate as layers
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.reference import captured, propagate
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import PathRule, RuleBase
from strategies import fact_lists, regular_bases, rule_bases

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints

GRANDPARENT = RuleBase((PathRule(("parent", "parent"), "grandparent"),))
FEW = settings(max_examples=20)
CONVERGED = 20  # layers; more than any path here is long


def compiled(base: RuleBase) -> OrderingConstraints:
    try:
        return constraints_for(base)
    except (NotExpressibleError, BudgetError):
        assume(False)
        raise


def hard_model(constraints: OrderingConstraints, layers: int) -> Reshuffle:
    return Reshuffle.from_constraints(constraints, num_layers=layers, device="cpu")


def all_scores(model: Reshuffle, graph: KnowledgeGraph, relation: str, side: str) -> NDArray[np.float32]:
    """[head, tail]."""
    everyone = np.arange(graph.num_entities, dtype=np.int32)
    relations = np.full_like(everyone, graph.relations.id(relation))
    scores = model.on(graph).scores(everyone, relations, side=side, candidates=None)
    return scores if side == "tail" else scores.T


@FEW
@given(rule_bases(inverses=True), fact_lists(most=8))
def test_layers_of_hard_matrices_are_the_gnn_equation_on_sets(base, facts):
    assume(facts)
    constraints, graph = compiled(base), KnowledgeGraph(facts)
    model = hard_model(constraints, 3)
    slots = torch.arange(constraints.num_slots)
    owners = torch.cartesian_prod(torch.arange(graph.num_entities), slots).view(-1, 2)
    numbers = [model.relations.index(r) if r in model.relations else -1 for r in graph.relations]
    triples = np.stack([graph.heads, np.array(numbers)[graph.relation_ids], graph.tails], axis=1)
    learned = triples[triples[:, 1] >= 0].astype(np.int64)
    messages = ModelGraph(model.model, learned, graph.num_entities).messages
    begun = states_of(owners, (graph.num_entities, constraints.num_slots, len(owners)))
    states = layers(begun, model.model.matrices(), messages, num_layers=3)
    expected = propagate(constraints, facts, layers=3)
    for (entity, slot), values in expected.items():
        arrived = owners[states[graph.entities.id(entity), slot] == 1].tolist()
        assert {(graph.entities[e], s) for e, s in arrived} == values
    assert set(states.unique().tolist()) <= {0.0, 1.0}

    plain = replace(constraints, roots={})  # every slot counts, as for the score
    matrices = model.model.matrices()
    for number, relation in enumerate(model.relations):
        for head in graph.entities:
            body = matrices[number] @ states[graph.entities.id(head)]
            for tail in graph.entities:
                score = -torch.relu(body - states[graph.entities.id(tail)]).norm().item()
                known = relation in constraints.relation_ids
                assert (score == 0.0) == (not known or captured(plain, expected, (head, relation, tail)))


@FEW
@given(regular_bases(levels=2), fact_lists(relations=2, most=6))
def test_the_score_is_0_iff_the_triple_follows(base, facts):
    facts = [(h, r, t) for h, r, t in facts] + [("e1", relation, "e2") for relation in base.relations[:1]]
    constraints, graph = compiled(base), KnowledgeGraph(facts)
    assume(constraints.num_slots <= 16)
    model, answers = hard_model(constraints, CONVERGED), Reasoner(base).on(graph)
    for relation in graph.relations:
        if relation in constraints.relation_ids:
            expected = [[answers.holds(h, relation, t) for t in graph.entities] for h in graph.entities]
            for side in ("tail", "head"):
                assert (all_scores(model, graph, relation, side) == 0.0).tolist() == expected


def test_the_tutorial_example_by_scores() -> None:
    graph = KnowledgeGraph([("a", "parent", "b"), ("b", "parent", "c"), ("x", "grandparent", "y")])
    scores = all_scores(hard_model(constraints_for(GRANDPARENT), 4), graph, "grandparent", "tail")
    ids = graph.entities.id
    assert scores[ids("a"), ids("c")] == 0.0 and scores[ids("x"), ids("y")] == 0.0
    assert (scores == 0).sum() == 2
    assert scores.max() == 0.0


def test_random_bits_never_miss_what_follows() -> None:
    graph = KnowledgeGraph([("a", "parent", "b"), ("b", "parent", "c"), ("x", "grandparent", "y")])
    model = hard_model(constraints_for(GRANDPARENT), 4)
    exact = all_scores(model, graph, "grandparent", "tail") == 0
    sketched = model.on(graph, initial="bits", seed=3)
    everyone = np.arange(graph.num_entities, dtype=np.int32)
    relations = np.full_like(everyone, graph.relations.id("grandparent"))
    for side in ("tail", "head"):
        scores = sketched.scores(everyone, relations, side=side, candidates=None)
        assert ((scores if side == "tail" else scores.T)[exact] == 0).all()
        chosen = np.tile(everyone[::-1], (len(everyone), 1))
        again = sketched.scores(everyone, relations, side=side, candidates=chosen)
        np.testing.assert_allclose(again, scores[:, ::-1], rtol=1e-6)


@FEW
@given(rule_bases(inverses=True))
def test_there_and_back_again(base):
    constraints = compiled(base)
    again = hard_model(constraints, 2).harden()
    assert again.identities == constraints.identities
    assert not again.roots
    for relation in set(constraints.relations) - constraints.hidden:
        np.testing.assert_array_equal(again.source_of(relation), constraints.source_of(relation))
    for relation in set(again.relations) - set(constraints.relations):
        assert not again.constrained_slots(relation)


def test_a_finite_strength_leaves_the_rows_soft_and_hardens_to_the_same() -> None:
    constraints = constraints_for(GRANDPARENT)
    soft = Reshuffle.from_constraints(constraints, strength=5.0, device="cpu")
    rows = soft.model.matrices()
    assert ((rows > 0) & (rows < 1)).all()
    np.testing.assert_array_equal(
        soft.harden().source_of("grandparent"), constraints.source_of("grandparent")
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"symmetric": ["parent"]},
            "the constraints define which relations are symmetric; the setting 'symmetric' would change them\n"
            "  hint: leave it out",
        ),
        (
            {"row_function": "square"},
            "the squared variant cannot be hardened: its rows are not distributions over slots\n"
            "  hint: leave out row_function, or give 'softmax'",
        ),
        ({"strength": 0}, "strength is 0; it must be more than 0"),
        ({"strength": -1.0}, "strength is -1.0; it must be more than 0"),
        ({"strength": float("nan")}, "strength is nan; it must be more than 0"),
    ],
)
def test_options_that_would_change_the_constraints_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ReshuffleError) as caught:
        Reshuffle.from_constraints(constraints_for(GRANDPARENT), device="cpu", **options)
    assert str(caught.value) == message


def test_symmetric_constraints_need_no_setting(tmp_path: Path) -> None:
    model = learned(symmetric=["r"])
    given = Reshuffle.from_constraints(model.harden(), device="cpu", symmetric=[])
    given.save(tmp_path)
    for one in (given, Reshuffle.load(tmp_path, device="cpu")):
        assert one.harden().source_of("r").tolist() == one.harden().source_of("r^-1").tolist()
        np.testing.assert_array_equal(one.harden().sources, model.harden().sources)


def learned(**changes: object) -> Reshuffle:
    facts = KnowledgeGraph([("a", "r", "b"), ("b", "s", "c"), ("c", "r", "a")])
    settings = {"num_slots": 3, "num_channels": 4, "max_epochs": 1, "device": "cpu", **changes}
    return Reshuffle(recipe="paper", **settings).fit(facts)


def test_hardening_takes_the_largest_logit_and_the_last_is_no_constraint() -> None:
    model = learned()
    logits = model.model.matrices.logits.data
    logits.zero_()
    logits[0, 0, 2] = 1.0  # r: slot 0 from slot 2
    logits[0, 1, 3] = 1.0  # r: slot 1 from none
    logits[2, 2, 1] = 1.0  # r^-1: slot 2 from slot 1
    constraints = model.harden()
    assert constraints.relations == ("r", "s", "r^-1", "s^-1", "eq")
    assert constraints.identities == {"eq"}
    assert constraints.source_of("r").tolist() == [2, -1, 0]
    assert constraints.source_of("r^-1").tolist() == [0, 0, 1]
    assert not constraints.roots


def test_a_relation_named_eq_does_not_clash_with_the_identity() -> None:
    model = Reshuffle(recipe="paper", num_slots=2, max_epochs=1, device="cpu").fit(
        KnowledgeGraph([("a", "eq", "b")])
    )
    assert model.harden().identities == {"eq1"}


def test_without_loops_there_is_no_identity() -> None:
    assert learned(identity=False).harden().relations == ("r", "s", "r^-1", "s^-1")


def test_a_bias_is_refused_unless_it_is_0() -> None:
    model = learned(bias=True, max_epochs=0)
    assert model.harden().num_slots == 3
    model.model.bias.data[1, 0] = 0.1
    with pytest.raises(
        ReshuffleError, match=r"a model with a bias c_r has no hard form: .*\n  hint: .*bias = false"
    ):
        model.harden()


def test_the_squared_variant_is_refused() -> None:
    with pytest.raises(ReshuffleError, match="the squared variant cannot be hardened"):
        learned(row_function="square").harden()


def test_relations_named_like_inverses_are_refused_in_training_and_in_asking() -> None:
    facts = KnowledgeGraph([("a", "r", "b"), ("b", "s^-1", "c")])
    with pytest.raises(InputError, match=r"found the relation 's\^-1'"):
        Reshuffle(recipe="paper", num_slots=2, max_epochs=1, device="cpu").fit(facts)
    with pytest.raises(InputError, match=r"found the relation 's\^-1'"):
        learned().on(facts)
    answers = learned().on(KnowledgeGraph([("a", "r", "b")]))
    with pytest.raises(InputError, match=r"found the relation 's\^-1'"):
        answers.add([("b", "s^-1", "c")])
    assert len(answers.graph) == 1


def test_a_model_of_such_relations_is_not_hardened() -> None:
    """One that was trained before they were refused."""
    model = learned()
    model.relations = ("r", "r^-1")
    with pytest.raises(InputError, match=r"found the relation 'r\^-1'"):
        model.harden()


def test_a_hardened_model_has_hard_rows_and_keeps_weights_and_evidence() -> None:
    facts = KnowledgeGraph([(f"p{n}", "r", f"p{n + 1}") for n in range(9)] + [("p0", "s", "p2")])
    small = {"num_slots": 3, "num_layers": 2, "epoch_steps": 3, "max_epochs": 1, "device": "cpu"}
    soft = Reshuffle(**small).fit(facts)
    hard = soft.hardened()
    rows = hard.model.matrices()
    assert set(rows.flatten().tolist()) <= {0.0, 1.0}
    np.testing.assert_array_equal(hard.harden().sources, soft.harden().sources)
    assert not torch.equal(soft.model.matrices(), rows)  # the soft one is left as it was
    one, other = (model.on(facts).judge("p0", "r", "p3") for model in (soft, hard))
    assert one.evidence == other.evidence
    torch.testing.assert_close(soft.model.slot_weights(), hard.model.slot_weights())
    assert (
        soft.calibration is not None and hard.calibration is None
    )  # confidences were fitted to other scores
