"""PyKEEN: its triples factories and inductive data sets in and out, and our scorers as models for its evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.errors import UnknownNameError
from reshuffle.kg import KnowledgeGraph, Vocabulary
from reshuffle.kg.splits import InductiveBenchmark
from reshuffle.neighbours.loading import check_has
from reshuffle.packages import package

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.evaluation.scorer import Scorer, Side


def from_pykeen(factory: Any) -> KnowledgeGraph:
    """The triples of a factory, inverse ones left out, over its names, or where it has none its numbers."""
    check_has(
        factory,
        ("mapped_triples", "num_entities", "num_relations"),
        expected="a triples factory of PyKEEN",
        hint="of a data set give a part, such as dataset.training; benchmark_from_pykeen takes inductive ones",
    )
    triples = np.asarray(factory.mapped_triples, dtype=np.int32)
    return KnowledgeGraph.from_ids(
        triples[:, 0],
        triples[:, 1],
        triples[:, 2],
        entities=Vocabulary(_names(factory, "entity_to_id", factory.num_entities), kind="entity"),
        relations=Vocabulary(_names(factory, "relation_to_id", factory.num_relations), kind="relation"),
    )


def _names(factory: Any, numbers: str, count: int) -> list[str]:
    found = getattr(factory, numbers, None)  # a CoreTriplesFactory has no names
    return [str(number) for number in range(count)] if found is None else _in_order(found)


def _in_order(numbers: dict[str, int]) -> list[str]:
    return sorted(numbers, key=lambda name: numbers[name])


def benchmark_from_pykeen(dataset: Any) -> InductiveBenchmark:
    """The benchmark of an inductive data set: learn on its training graph, answer about its inference graph.

    PyKEEN holds validation triples of the inference graph only; they are filtered, not learned from.
    """
    return InductiveBenchmark.from_graphs(
        type(dataset).__name__,
        train_facts=from_pykeen(dataset.transductive_training),
        train_valid=KnowledgeGraph(),
        test_facts=from_pykeen(dataset.inductive_inference),
        test_valid=from_pykeen(dataset.inductive_validation)
        if dataset.inductive_validation
        else KnowledgeGraph(),
        test_queries=from_pykeen(dataset.inductive_testing),
    )


def to_pykeen(graph: KnowledgeGraph) -> Any:
    """A triples factory with the graph's names and numbers."""
    torch, factory = package("torch", extra="neighbours"), package("pykeen.triples").TriplesFactory
    triples = np.stack([graph.heads, graph.relation_ids, graph.tails], axis=1).astype(np.int64)
    return factory(
        mapped_triples=torch.from_numpy(triples),
        entity_to_id={name: number for number, name in enumerate(graph.entities)},
        relation_to_id={name: number for number, name in enumerate(graph.relations)},
    )


def to_pykeen_model(scorer: Scorer, factory: Any) -> Any:
    """A PyKEEN model that scores as our model on a graph does, for `RankBasedEvaluator` and the like.

    `factory` numbers entities and relations. An entity that the scorer's graph does not have is the last of all
    candidates. Without training there is nothing to reset, and no score of relations.
    """
    return _model_class()(scorer, factory)


class _Numbers:
    """The scorer's ids for those of a factory."""

    def __init__(self, scorer: Scorer, factory: Any) -> None:
        graph = scorer.graph
        self._scorer = scorer
        names = Vocabulary(_in_order(factory.entity_to_id), kind="entity")
        self._entities = graph.entities.positions_of(names)
        self._relations = np.array([_known(graph, name) for name in _in_order(factory.relation_to_id)])

    def scores(self, anchors: NDArray[Any], relations: NDArray[Any], side: Side) -> NDArray[np.float32]:
        """Of all entities of the factory, for each question."""
        ids = self._entities[anchors]
        found = np.full((len(anchors), len(self._entities)), -np.inf, dtype=np.float32)
        asked, there = np.flatnonzero(ids >= 0), self._entities >= 0
        if len(asked):
            numbers = self._relations[relations[asked]].astype(np.int32)
            scores = self._scorer.scores(ids[asked], numbers, side=side, candidates=None)
            found[np.ix_(asked, there)] = scores[:, self._entities[there]]
        return found


def _known(graph: KnowledgeGraph, relation: str) -> int:
    number = graph.relations.find(relation)
    if number is None:
        raise UnknownNameError("relation", relation, graph.relations)
    return number


def _model_class() -> Any:
    """Made where PyKEEN is there, since it extends PyKEEN's own."""
    torch, model = package("torch", extra="neighbours"), package("pykeen.models").Model

    class ScoredByReshuffle(model):  # type: ignore[misc, valid-type]
        """Scores of a model of this library."""

        def __init__(self, scorer: Scorer, factory: Any) -> None:
            super().__init__(triples_factory=factory, random_seed=0)
            self._numbers = _Numbers(scorer, factory)
            # Evaluators ask a model where its parameters are.
            self.register_parameter("place", torch.nn.Parameter(torch.zeros(1), requires_grad=False))

        def _all(self, anchors: Any, relations: Any, side: Side) -> Any:
            found = self._numbers.scores(anchors.cpu().numpy(), relations.cpu().numpy(), side)
            return torch.from_numpy(found).to(anchors.device)

        def score_t(self, hr_batch: Any, *, tails: Any = None, **_options: Any) -> Any:
            """Of every tail, for each head and relation."""
            found = self._all(hr_batch[:, 0], hr_batch[:, 1], "tail")
            return found if tails is None else found.gather(1, tails.expand(len(found), -1))

        def score_h(self, rt_batch: Any, *, heads: Any = None, **_options: Any) -> Any:
            """Of every head, for each relation and tail."""
            found = self._all(rt_batch[:, 1], rt_batch[:, 0], "head")
            return found if heads is None else found.gather(1, heads.expand(len(found), -1))

        def score_hrt(self, hrt_batch: Any, **_options: Any) -> Any:
            """Of triples, as answers to (h, r, ?)."""
            return self.score_t(hrt_batch[:, :2]).gather(1, hrt_batch[:, 2:3])

        def score_r(self, ht_batch: Any, **_options: Any) -> Any:
            """Scores compare within one question, and so not between relations."""
            raise NotImplementedError("scores of several relations do not compare; rank heads and tails")

        def _get_entity_len(self, **_options: Any) -> int:
            return int(self.num_entities)

        def _reset_parameters_(self) -> None:
            """Nothing is trained here."""

        def collect_regularization_term(self) -> Any:
            """Nothing is trained here."""
            return torch.zeros(1)

    return ScoredByReshuffle
