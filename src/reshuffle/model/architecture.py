"""The shape of a model, as its settings say it. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RowFunction = Literal["softmax", "square"]
InitialKind = Literal["bits", "official", "continuous", "shared", "private", "head"]
EvidenceKind = Literal["unary", "proximity", "paths", "ways", "negative"]
DirectFacts = Literal["against", "both"]


@dataclass(frozen=True)
class Architecture:
    """What decides the shape and the meaning of the parameters."""

    num_slots: int = 20  # the paper's l
    num_channels: int = 40  # the paper's k
    num_layers: int = 3  # the paper's m, #Layers in its table
    identity: bool = True  # the relation eq; False is the paper's RESHUFFLE_nL
    row_function: RowFunction = "softmax"  # "square" is the paper's RESHUFFLE²
    initial: InitialKind = "bits"
    probability: float = 0.5
    bias: bool = False  # the paper's c_r, one value per slot; it enters the score only
    symmetric: tuple[str, ...] = ()  # relations that share one matrix with their inverse
    slot_weights: bool = False  # the score is a sum over slots with learned positive weights, not a 2-norm
    evidence: tuple[EvidenceKind, ...] = ()  # added for ranking, and reported apart from the constraints
    num_hops: int = 6  # how far proximity looks
    direct_facts: DirectFacts = "against"  # "both": facts between the two may speak for a triple, too
