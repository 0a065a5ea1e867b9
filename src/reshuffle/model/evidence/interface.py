"""What every kind of evidence has: its weights, its scores, its penalty and its words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.evidence.evidence_graph import EvidenceGraph
    from reshuffle.model.propagation import MessageGraph
    from reshuffle.model.questions import Question

DirectFacts = Literal["against", "both"]

WEAK = -3.0  # softplus(-3) = 0.05: evidence of one sign starts near 0


@dataclass(frozen=True)
class Shape:
    """What decides how many weights there are, and what they mean."""

    num_roles: int  # relations that may be asked for: r, then r^-1
    num_slots: int
    num_hops: int  # how far proximity looks
    direct_facts: DirectFacts = "against"


@dataclass(frozen=True)
class Asked:
    """Queries (head, relation, ?) on a graph from which some triples may be hidden.

    `messages` and `states` [entity, slot, query] are there where every query has a channel of its own.
    """

    heads: Tensor  # query
    relations: Tensor  # query
    graph: EvidenceGraph
    hidden: Tensor | None = None  # triples, by position
    messages: MessageGraph | None = None
    states: Tensor | None = None


class EvidenceKind(ABC):
    """One kind of evidence.

    Its weights live in the module that all kinds share, under the names that they have in files.
    """

    name: ClassVar[str]
    reads_states: ClassVar[bool] = False
    """Does it look at the states of the matrices? Then a hardened model keeps its soft matrices for it."""

    def __init__(self, weights: nn.Module, shape: Shape) -> None:
        """Register the weights of this kind in `weights`."""
        self.weights: Any = weights
        self.shape = shape

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that its scores are reported as."""
        return (self.name,)

    def fit_types(self, graph: EvidenceGraph) -> None:  # noqa: B027 - most kinds count nothing
        """Count on the training graph what the kind needs to know before it is trained."""

    @abstractmethod
    def scores(self, asked: Asked) -> dict[str, Tensor]:  # query entity
        """The evidence for every entity as the tail of each query, by the part that it is reported as."""

    @abstractmethod
    def free_weights(self) -> dict[str, Tensor]:  # relation ...
        """The weights that a relation has for itself, which training holds back (see `Evidence.penalty`)."""

    def worth_of_slots(self) -> Tensor | None:  # relation slot
        """What the kind adds to a score for a slot that is fully reached; None where it does not look at slots."""
        return None

    @abstractmethod
    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, facts: EvidenceGraph) -> str:
        """What the kind has looked at to judge one answer, for a reader."""


class LocalEvidence(EvidenceKind):
    """A kind that looks at the facts of the two ends alone: it needs no channel per query."""

    @abstractmethod
    def candidate_scores(
        self, candidates: Tensor, asked: Asked, without: Tensor | None
    ) -> dict[str, Tensor]:  # query candidate
        """The same for some candidates [query, candidate], at a cost that does not grow with the graph.

        `without` [query] are triples by position, one per query, that are hidden from this query alone.
        """
