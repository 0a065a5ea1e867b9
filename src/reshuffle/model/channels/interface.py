"""The interface of a kind of channels: initial states, and the scores of queries on a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from reshuffle.model.propagation import ModelGraph
    from reshuffle.model.scoring import Scores


@dataclass(frozen=True)
class Plan:
    """What queries cost."""

    at_once: int  # how many memory has room for
    work: int  # roughly how many numbers one goes through


class ChannelKind(ABC):
    """A kind of channels, as the setting `initial` names it."""

    per_query: ClassVar[bool] = False
    """Does every query have a channel of its own? Then no entity has a state before a question."""
    trainable: ClassVar[bool] = True
    alike: bool = False
    """Do all entities begin with the same state?"""

    @abstractmethod
    def initial_states(
        self, shape: tuple[int, int, int], *, probability: float, generator: torch.Generator
    ) -> Tensor:  # entity slot channel
        """A draw of Z^(0), made on the generator's device."""

    @abstractmethod
    def on_graph(self, graph: ModelGraph, matrices: Tensor, *, seed: int) -> ChannelsOnGraph:
        """Channels of this kind on a graph, from the draw that the seed names."""


class ChannelsOnGraph(ABC):
    """A model on a graph, with channels of one kind."""

    @property
    @abstractmethod
    def states(self) -> Tensor:  # entity slot channel
        """Z^(m) of every entity."""

    @abstractmethod
    def scores(
        self, anchors: Tensor, relations: Tensor, candidates: Tensor | None, *, forward: bool
    ) -> Scores[Tensor]:  # query candidate
        """What the scores of some queries are made of: of the given candidates, or of all entities.

        Candidates are tails of the anchors, or, unless `forward`, heads.
        """

    @abstractmethod
    def plan(self, width: int | None, *, forward: bool) -> Plan:
        """The cost of queries, each with that number of candidates, or with all entities."""

    @property
    def keeps_layers(self) -> bool:
        """Are the states of every layer kept, so that a change of the graph costs only what changes?"""
        return False

    @abstractmethod
    def moved(self, graph: ModelGraph, touched: Tensor, kept: Tensor) -> ChannelsOnGraph:
        """The same on a graph that has changed; what is kept is handed over, so these are not to be used any more.

        The graph has the entities `kept` of this one in their order, and new ones behind. Its facts differ between
        `touched` entities, by their new ids; `touched` is looked at where layers are kept.
        """
