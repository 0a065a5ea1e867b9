"""Training random channels with evidence: the loss is that of its definition, and everything else sees it, too."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.training import objective
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.loop import run_training
from reshuffle.learning.training.objective import margin_ranking, softmax
from reshuffle.learning.training.trainer import Trainer
from reshuffle.model.evidence.interface import Asked
from reshuffle.model.propagation import EvidenceGraph
from reshuffle.model.scoring import all_tail_scores

FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(9)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(8)]
    + [("p0", "likes", "p1"), ("p1", "likes", "p0"), ("p2", "likes", "p2")]
)
TINY = {"num_slots": 3, "num_channels": 4, "num_layers": 2, "num_negatives": 6, "batch_size": 16}


def trainer(**changes: Any) -> Trainer:
    local = {"evidence": ["unary", "negative"], "redraw": "once", "max_epochs": 4, "look_every": 1}
    chosen = Reshuffle(recipe="paper", device="cpu", **{**TINY, **local, **changes}).settings
    data = examples_of(FACTS, None, seed=1)[1]
    return Trainer(data, chosen.architecture, chosen.training, device=torch.device("cpu"))


def noisy(one: Trainer, seed: int) -> Trainer:
    for parameter in one.model.parameters():
        parameter.data += 0.5 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed))
    return one


def facts_of(one: Trainer, hidden: list[int]) -> EvidenceGraph:
    """The graph without some of its triples, made anew."""
    kept = [row for place, row in enumerate(one.data.triples.tolist()) if place not in hidden]
    triples = torch.tensor(kept).numpy()
    sizes = {"num_entities": one.data.num_entities, "num_relations": one.data.num_relations}
    return EvidenceGraph.build(triples, **sizes, device=torch.device("cpu"))


def told(one: Trainer, graph: EvidenceGraph, anchor: int, relation: int, answer: int) -> torch.Tensor:
    parts = one.model.evidence.scores(Asked(torch.tensor([anchor]), torch.tensor([relation]), graph))
    return sum(part[0, answer] for part in parts.values())


def captured_others(monkeypatch: pytest.MonkeyPatch, drawn: list[torch.Tensor]) -> None:
    real = objective.random_others
    monkeypatch.setattr(objective, "random_others", lambda *a, **k: drawn.append(real(*a, **k)) or drawn[-1])


@given(
    st.integers(0, 10**6),
    st.sampled_from(["margin", "softmax"]),
    st.booleans(),
    st.sampled_from(["equal", "examples"]),
    st.sampled_from(["against", "both"]),
)
@settings(max_examples=20, deadline=None)
def test_the_loss_is_that_of_constraint_scores_with_evidence_asked_in_the_direction_of_the_corruption(
    seed: int, loss: str, hiding: bool, prior: str, direct: str
) -> None:
    changes = {"loss": loss, "hide_targets": hiding, "evidence_prior": prior, "direct_facts": direct}
    one = noisy(trainer(evidence_decay=0.7, **changes), seed)
    count, relations_count = len(one.data.triples), one.data.num_relations
    chance = torch.Generator().manual_seed(seed)
    batch = torch.randperm(2 * count, generator=chance)[:6]
    batch[-1] = (batch[0] + count) % (2 * count)  # a triple and its inverse
    drawn: list[torch.Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        captured_others(patch, drawn)
        found = one.loss(batch)

    matrices = one.model.matrices()
    edges = one.objective._graph.hiding(batch % count) if hiding else None
    (states,) = one.objective.states(matrices, edges)

    def constraint(head: int, relation: int, tail: int) -> torch.Tensor:
        return -torch.relu(matrices[relation] @ states[head] - states[tail]).norm()

    positives, negatives = [], []
    for place, (head, relation, tail) in enumerate(one.examples[batch].tolist()):
        graph = facts_of(one, [int(batch[place]) % count] if hiding else [])
        others = torch.cat(drawn)[place].tolist()
        if place < len(batch) // 2:
            inverse = (relation + relations_count) % (2 * relations_count)
            ends, asked = [(other, tail) for other in (head, *others)], (tail, inverse)
        else:
            ends, asked = [(head, other) for other in (tail, *others)], (head, relation)
        answers = [end[0] if place < len(batch) // 2 else end[1] for end in ends]
        scores = [
            constraint(start, relation, end) + told(one, graph, *asked, answer)
            for (start, end), answer in zip(ends, answers, strict=True)
        ]
        positives.append(scores[0])
        negatives.append(torch.stack(scores[1:]))
    true, wrong = torch.stack(positives)[:, None], torch.stack(negatives)
    wanted = softmax(true, wrong) if loss == "softmax" else margin_ranking(true, wrong, margin=1.0)
    examples = torch.bincount(one.examples[:, 1], minlength=2 * relations_count)
    penalty = one.model.evidence.penalty(examples if prior == "examples" else None)
    torch.testing.assert_close(found, wanted + 0.7 / 16 * penalty, rtol=1e-4, atol=1e-5)


def test_everything_that_evidence_may_learn_is_learned() -> None:
    one = trainer(evidence_decay=0.0)
    before = {name: value.clone() for name, value in one.model.evidence.named_parameters()}
    one.loss(torch.arange(len(one.examples))).backward()
    assert set(before) == {"of_type", "of_role", "of_count", "of_degree", "of_fact"}
    for name, parameter in one.model.evidence.named_parameters():
        assert parameter.grad is not None and bool((parameter.grad != 0).any()), name


def test_the_types_are_those_of_the_training_graph() -> None:
    one = trainer()
    fresh = trainer().model.evidence
    fresh.confidences.zero_()
    fresh.fit_types(facts_of(one, []))
    assert bool((one.model.evidence.confidences > 0).any())
    assert torch.equal(one.model.evidence.confidences, fresh.confidences)


def test_a_look_sees_the_evidence() -> None:
    one = noisy(trainer(), 3)
    heads, relations = torch.tensor([0, 4, 4]), torch.tensor([0, 5, 2])
    with torch.no_grad():
        found = one.objective.look()(heads, relations)
        matrices = one.model.matrices()
        (states,) = one.objective.states(matrices)
        bare = all_tail_scores(one.model.bodies(matrices, states, heads, relations), states)
        parts = one.model.evidence.scores(Asked(heads, relations, facts_of(one, [])))
        torch.testing.assert_close(found, bare + sum(parts.values()))
    assert not torch.equal(found, bare)


@pytest.mark.parametrize("loss", ["margin", "softmax"])
def test_a_training_with_evidence_goes_on_as_if_nothing_had_happened(loss: str, tmp_path: Any) -> None:
    changes = {"loss": loss, "redraw": "step", "hide_targets": True}
    whole, cut, fresh = (trainer(**changes) for _ in range(3))
    run_training(whole)
    for epoch in cut.epochs():
        if epoch.number == 2:
            save_checkpoint(cut, tmp_path / "c.safetensors")
            break
    load_checkpoint(fresh, tmp_path / "c.safetensors")
    run_training(fresh)
    assert [e.loss for e in fresh.history.epochs] == [e.loss for e in whole.history.epochs]
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, fresh.model.state_dict()[name]), name


@pytest.mark.parametrize("facts", [[("a", "r", "b")], [("a", "r", "a")]], ids=["one triple", "one entity"])
def test_small_graphs_train_and_answer_with_evidence(facts: list[tuple[str, str, str]]) -> None:
    changes = {**TINY, "evidence": ["unary", "negative"], "hide_targets": True, "max_epochs": 2}
    fitted = Reshuffle(recipe="paper", device="cpu", **changes).fit(KnowledgeGraph(facts))
    judged = fitted.on(KnowledgeGraph([*facts, ("z", "r", "a")])).judge("z", "r", "a")
    assert set(judged.evidence) == {"unary", "negative"}
    assert torch.tensor(judged.score).isfinite()


def test_steps_with_evidence_are_not_replayed() -> None:
    """How many roles the candidates of a batch have differs, and with it the shapes."""
    assert not trainer(redraw="step").objective.replayable
    assert trainer(redraw="step", evidence=[]).objective.replayable
