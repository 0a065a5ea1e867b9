"""The interface of scorers: whatever gives scores to the candidates of a query can be ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reshuffle.evaluation.baselines.types import TypeBaseline
    from reshuffle.kg import KnowledgeGraph

Side: TypeAlias = Literal["head", "tail"]
SIDES: tuple[Side, Side] = ("head", "tail")
"""Which end of a triple is asked for."""


@runtime_checkable
class Scorer(Protocol):
    """Scores candidates on the graph that it knows. Ids are those of the graph's vocabularies.

    Scores compare within a row only; higher is better, equal is a tie, and NaN is refused. Callers pass few
    enough queries at a time that the returned array fits in memory.
    """

    @property
    def graph(self) -> KnowledgeGraph:
        """The facts that the scorer looks at; its entities are the candidates."""
        ...

    def scores(
        self,
        anchors: NDArray[np.int32],  # query
        relations: NDArray[np.int32],  # query
        *,
        side: Side,
        candidates: NDArray[np.int32] | None,  # query candidate
    ) -> NDArray[np.float32]:  # query candidate, or query entity where `candidates` is None
        """For side "tail" the query is (anchor, relation, ?), for "head" (?, relation, anchor)."""
        ...


@runtime_checkable
class Movable(Protocol):
    """A scorer that can look at another graph, so that entities without facts can be added."""

    def on(self, graph: KnowledgeGraph) -> Scorer:
        """The same scorer on another graph."""
        ...


@runtime_checkable
class KnowsRelations(Protocol):
    """A scorer that says which relations it has learned; queries about other relations are not put to it."""

    @property
    def learned_relations(self) -> NDArray[np.bool_]:  # relation
        """For each relation of `graph`: did the training facts have it?"""
        ...


@runtime_checkable
class KnowsTypes(Protocol):
    """A scorer that brings the type baseline of its training graph, to be printed beside it."""

    @property
    def type_baseline(self) -> TypeBaseline:
        """The type baseline fitted on the scorer's own training facts."""
        ...


@runtime_checkable
class SaysHowLikely(Protocol):
    """A scorer that says how likely its answers are."""

    def first_answers(
        self,
        anchors: NDArray[np.int32],  # query
        relations: NDArray[np.int32],  # query
        scores: NDArray[np.float32],  # query entity
        *,
        side: Side,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # query
        """The best answer of each query that is no fact of `graph`, -1 where there is none, and how likely it is true;
        nan where nothing is known of that.
        """
        ...
