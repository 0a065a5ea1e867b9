"""The interface of a kind of evidence: weights, scores, penalty and description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from reshuffle.model.propagation import hops

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from reshuffle.evaluation.questions import Question
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.model.architecture import DirectFacts
    from reshuffle.model.propagation import EvidenceGraph, MessageGraph

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

    @cached_property
    def _distances(self) -> dict[int, Tensor]:
        return {}

    def distances(self, most: int) -> Tensor:  # query entity
        """In how many steps each entity is reached, most + 1 where it takes more; computed once for all kinds."""
        if most not in self._distances:
            assert self.messages is not None  # it needs a channel per query
            self._distances[most] = hops(self.heads, self.messages, most=most, hidden=self.hidden)
        return self._distances[most]


@dataclass(frozen=True)
class Weight:
    """A tensor of weights: its name in files, and where it starts."""

    name: str
    start: Callable[
        [Shape], Tensor
    ]  # relation ...: a row more than there are roles is shared by all relations
    trained: bool = True
    penalty: str = ""
    """Training holds back the rows that a relation has for itself; squares of one name are added up together."""


@dataclass(frozen=True, eq=False)
class EvidenceKind(ABC):
    """One kind of evidence; the weights of all kinds live in one module, under the names that they have in files."""

    weights: Any  # the module
    shape: Shape

    name: ClassVar[str]
    shown: ClassVar[str]
    """What tables and explanations call it."""
    own_weights: ClassVar[tuple[Weight, ...]]
    reads_states: ClassVar[bool] = False
    """Does it look at the states of the matrices? Then a hardened model keeps its soft matrices for it."""

    counts: ClassVar[bool] = False
    """Does it count something on the training graph before it is trained (`fit_types`)?"""

    def fit_types(self, graph: EvidenceGraph) -> None:  # noqa: B027 - most kinds count nothing
        """Count on the training graph what the kind needs to know."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that its scores are reported as."""
        return (self.name,)

    @abstractmethod
    def scores(self, asked: Asked) -> dict[str, Tensor]:  # query entity
        """The evidence for every entity as the tail of each query, by the part that it is reported as."""

    def worth_of_slots(self) -> Tensor | None:  # relation slot
        """What the kind adds to a score for a slot that is fully reached; None where it does not look at slots."""
        return None

    @abstractmethod
    def words(self, question: Question, answer: int, *, graph: KnowledgeGraph, messages: MessageGraph) -> str:
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
