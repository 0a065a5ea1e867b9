"""A trained model's tensors on one graph: what is computed once per graph, and the scores of queries, by ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, refuse_inverse_names
from reshuffle.model.answers.walks import WalkGraph
from reshuffle.model.channels.registry import CHANNELS
from reshuffle.model.hardening import harden, identity_names
from reshuffle.model.propagation import ModelGraph, threads_worth
from reshuffle.model.scoring import RULE_LIST, Scores
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.sharing import built_once
from reshuffle.rulelist.rule_answers import RulesOnGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from reshuffle.evaluation.questions import Question
    from reshuffle.evaluation.scorer import Side
    from reshuffle.model.answers.walks import Walks
    from reshuffle.model.channels.registry import Kind
    from reshuffle.model.reshuffle import ReshuffleModel
    from reshuffle.reasoning import Answers
    from reshuffle.rulelist.rule_model import RuleModel


class ModelOnGraph:
    """Scores queries about one graph.

    The graph names the model's relations, too, behind its own: what can be asked about does not depend on which
    relations happen to have a fact. The model numbers relations in its own way: r + R asks the inverse of r.
    """

    def __init__(  # noqa: PLR0913 - all that a trained model brings along, and its graph
        self,
        model: ReshuffleModel,
        relations: Sequence[str],
        graph: KnowledgeGraph,
        *,
        initial: Kind,
        seed: int,
        through_inverse: bool = True,
        listed: RuleModel | None = None,
        matrices: Tensor | None = None,
    ) -> None:
        """Head queries ask for the tails of the inverse relation, unless `through_inverse` is False.

        `listed` is a rule list whose scores count beside the model's. `matrices` are those of the model, where they are
        computed already.
        """
        refuse_inverse_names(graph.relations)
        known = {relation: number for number, relation in enumerate(relations)}
        self.graph = graph if known.keys() <= set(graph.relations) else graph.naming(relations)
        self.model, self.relations, self.listed = model, relations, listed
        self.initial, self.seed, self.through_inverse = initial, seed, through_inverse
        self._num_given = graph.num_entities
        self.gone: Sequence[str] = ()
        """Entities that came with an update and went with the last one."""
        numbers = [known.get(relation, -1) for relation in self.graph.relations]
        self.numbers = np.array(numbers, dtype=np.int64)
        """For each relation of the graph its number in the model, or -1."""
        rules = frozenset() if model.injected is None else model.injected.derived
        derived = [relation in rules for relation in self.graph.relations]
        self.derived = np.array(derived, dtype=np.bool_)
        """For each relation of the graph: does an injected rule derive it?"""
        learned = self.numbers[self.graph.relation_ids]
        triples = np.stack([self.graph.heads, learned, self.graph.tails], axis=1).astype(np.int64)
        if matrices is None:
            with torch.no_grad():
                matrices = model.matrices()
        self.matrices = matrices
        self.tensors = ModelGraph(model, triples[learned >= 0], graph.num_entities)
        self.kind = CHANNELS[initial]
        self.channels = self.kind.on_graph(self.tensors, matrices, seed=seed)

    def walks(self, question: Question, answer: int, *, most: int) -> Walks:
        """How the answer is reached from the anchor, as if the fact itself were not there; at most `most` walks."""
        if most < 1:
            raise InputError(f"most = {most} asks for no reason", hint="give 1 or more")
        backwards = question.side == "head" and self.through_inverse
        ends, number = question.ends(answer), int(self.numbers[question.relation])
        return self.walk_graph.between(ends, number, backwards=backwards, most=most)

    def follows(self, question: Question, answer: int) -> bool:
        """Do the learned constraints entail the answer, exactly, whichever channels score it?"""
        backwards = question.side == "head" and self.through_inverse
        ends, number = question.ends(answer), int(self.numbers[question.relation])
        return self.walk_graph.follows(ends, number, backwards=backwards)

    @built_once
    def walk_graph(self) -> WalkGraph:
        """What the search for reasons needs; as much of it as does not depend on the question."""
        return WalkGraph(self.tensors, self.matrices, by_slot=not self.kind.per_query)

    @built_once
    def rule_answers(self) -> Answers | None:
        """What the injected rules entail, where there are any."""
        block = self.model.injected
        return None if block is None else Reasoner(block.constraints).on(self.graph)

    @built_once
    def rules_on_graph(self) -> RulesOnGraph | None:
        """The rule list on the graph, where the model has one."""
        return None if self.listed is None else RulesOnGraph(self.listed, self.graph)

    @built_once
    def hard_answers(self) -> Answers:
        """What the hardened matrices entail, in any number of steps."""
        identities = identity_names(self.relations, self.model.num_identities)
        return Reasoner(harden(self.model, self.relations, identities)).on(self.graph)

    @torch.no_grad()
    def moved(self, graph: KnowledgeGraph) -> ModelOnGraph:
        """The model on a graph that has facts more or less, whose ids begin with those of this one.

        Entities that came with facts go with the last of them, so that the ids of those behind change; who was there
        before the first change stays. What is kept is handed over: this object is not to be used any more.
        """
        everyone = graph.entities
        graph, kept = graph.without_gone(self._num_given)
        after = ModelOnGraph(
            self.model,
            self.relations,
            graph,
            initial=self.initial,
            seed=self.seed,
            through_inverse=self.through_inverse,
            listed=self.listed,
            matrices=self.matrices,
        )
        after._num_given = self._num_given
        if len(kept) < len(everyone):
            after.gone = everyone[np.setdiff1d(np.arange(len(everyone)), kept)]
        kept = kept[kept < self.graph.num_entities]
        touched = np.zeros(0, dtype=np.int64)
        if self.channels.keeps_layers:
            left = _ends(self.graph - graph, self.numbers)
            left = np.searchsorted(kept, left[np.isin(left, kept)])  # by their new ids
            touched = np.union1d(_ends(graph - self.graph, after.numbers), left)
        after.channels = self.channels.moved(after.tensors, self.on_device(touched), self.on_device(kept))
        return after

    def totals(
        self,
        anchors: NDArray[np.integer],
        relations: NDArray[np.integer],
        candidates: NDArray[np.integer] | None,
        *,
        side: Side,
        report: Callable[[int], None] = lambda _done: None,
    ) -> NDArray[np.float32]:  # query candidate
        """The sums by which candidates are ranked: the given ones of each query, or all entities."""
        found = [np.zeros((0, self.graph.num_entities), np.float32)] if not len(anchors) else []
        for piece in self._pieces(anchors, relations, candidates, side):
            found.append(piece.total.cpu().numpy())
            report(len(found[-1]))
        return np.concatenate(found)

    def scores(
        self,
        anchors: NDArray[np.integer],
        relations: NDArray[np.integer],
        candidates: NDArray[np.integer] | None = None,
        *,
        side: Side,
    ) -> Scores[NDArray[np.float32]]:  # query candidate
        """What these sums are made of."""
        pieces = list(self._pieces(anchors, relations, candidates, side))
        constraint = np.concatenate([piece.constraint.cpu().numpy() for piece in pieces])
        injected = [piece.injected.cpu().numpy() for piece in pieces if piece.injected is not None]
        return Scores(
            constraint + np.float32(0),  # -0 becomes 0
            {
                part: np.concatenate([piece.evidence[part].cpu().numpy() for piece in pieces])
                for part in pieces[0].evidence
            },
            np.concatenate(injected) if injected else None,
        )

    @torch.no_grad()
    def _pieces(
        self,
        anchors: NDArray[np.integer],
        relations: NDArray[np.integer],
        candidates: NDArray[np.integer] | None,
        side: Side,
    ) -> Iterator[Scores[Tensor]]:
        """The scores of many queries, as many at a time as memory has room for."""
        self._check_ids(anchors, candidates)
        numbers, inverse = self.numbers[relations], side == "head" and self.through_inverse
        asked = self.on_device(numbers + self.model.num_relations if inverse else numbers)
        ends, some = self.on_device(anchors), None if candidates is None else self.on_device(candidates)
        forward = inverse or side == "tail"
        plan = self.channels.plan(None if some is None else some.shape[1], forward=forward)
        with threads_worth(len(anchors) * plan.work):
            for start in range(0, len(anchors), plan.at_once):
                piece = slice(start, start + plan.at_once)
                given = None if some is None else some[piece]
                scores = self.channels.scores(ends[piece], asked[piece], given, forward=forward)
                listed = self._listed_scores(anchors[piece], relations[piece], given, side)
                yield scores if listed is None else scores.beside(RULE_LIST, listed)

    def _listed_scores(
        self,
        anchors: NDArray[np.integer],
        relations: NDArray[np.integer],
        candidates: Tensor | None,
        side: Side,
    ) -> Tensor | None:  # query candidate
        """What the rule list adds to the scores of some queries; None for a model without one."""
        rules = self.rules_on_graph
        if rules is None:
            return None
        found = [
            torch.from_numpy(scores.astype(np.float32)).to(self.matrices.device)
            for scores in rules.scores(anchors, relations, side)
        ]
        weighted = torch.cat(found) * self.model.architecture.rules_weight
        return weighted if candidates is None else weighted.gather(1, candidates)

    def _check_ids(self, *ids: NDArray[np.integer] | None) -> None:
        """Refuse ids of no entity, for which kernels would not look."""
        count = self.graph.num_entities
        for column in ids:
            if column is not None and column.size and not 0 <= column.min() <= column.max() < count:
                raise InputError(
                    f"found the entity ids {column.min()} to {column.max()}, expected 0 to {count - 1}",
                    hint="take ids of answers.graph.entities as it is now: updates may change them",
                )

    def on_device(self, ids: NDArray[np.integer]) -> Tensor:
        """Ids where the model is."""
        return torch.from_numpy(ids.astype(np.int64)).to(self.matrices.device)


def _ends(facts: KnowledgeGraph, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Who is at an end of facts of learned relations."""
    learned = numbers[facts.relation_ids] >= 0
    return np.concatenate([facts.heads[learned], facts.tails[learned]]).astype(np.int64)
