"""The settings that decide the shape of a model, and how a setting is declared. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RowFunction = Literal["softmax", "square"]
InitialKind = Literal["bits", "official", "continuous", "shared", "private", "head"]
EVIDENCE: Mapping[str, str] = MappingProxyType(
    {
        "unary": "unary.Unary",
        "proximity": "proximity.Proximity",
        "paths": "paths.Paths",
        "ways": "walk_counts.WalkCounts",
        "negative": "negative.Negative",
        "far": "far.Far",
    }
)
"""The kinds of evidence, in the order in which they are added up; each with its class in `model/evidence`."""
if TYPE_CHECKING:
    EvidenceKind = str
else:
    EvidenceKind = Literal[tuple(EVIDENCE)]
DirectFacts = Literal["against", "both"]


@dataclass(frozen=True)
class Condition:
    """With which values of other settings a setting has an effect."""

    settings: tuple[str, ...]  # the ones that decide
    holds: Callable[[Mapping[str, Any]], bool]  # given all settings by name
    reason: str  # why there is no effect otherwise


@dataclass(frozen=True)
class SettingInfo:
    """What is known of a setting besides its type and its default: the range of a number, help, and its effect."""

    help: str
    least: int | None = None
    most: int | None = None
    positive: bool = False
    when: Condition | None = None  # None: it always has an effect


def about(help: str, **options: Any) -> dict[str, SettingInfo]:
    """The metadata of a field that is a setting; the options are those of `SettingInfo`."""
    return {"setting": SettingInfo(help, **options)}


def random_channels(reason: str) -> Condition:
    """For settings that mean nothing where every query has a channel of its own."""
    return Condition(("initial",), lambda values: values["initial"] != "head", reason)


def evidence_from(*kinds: EvidenceKind) -> Condition:
    """For settings of some kinds of evidence."""
    told = " or ".join(map(repr, kinds))
    return Condition(
        ("evidence",),
        lambda values: any(kind in values["evidence"] for kind in kinds),
        f"it is for {told} evidence",
    )


@dataclass(frozen=True)
class Architecture:
    """What decides the shape and the meaning of the parameters."""

    num_slots: int = field(default=20, metadata=about("the paper's l: slots of an embedding", least=0))
    num_channels: int = field(
        default=40,
        metadata=about(
            "the paper's k: values per slot; not used with a channel per query",
            least=1,
            when=random_channels("it is for random channels"),
        ),
    )
    num_layers: int = field(
        default=3,
        metadata=about("rounds of message passing, and so the longest path that is seen", least=0),
    )
    identity: bool = field(default=True, metadata=about("the relation eq; false is the paper's RESHUFFLE_nL"))
    row_function: RowFunction = field(
        default="softmax", metadata=about('"square" is the paper\'s RESHUFFLE²')
    )
    initial: InitialKind = field(
        default="bits",
        metadata=about(
            'initial values: "bits", "official" (the official code\'s bits), "continuous", "shared" (the '
            'same for all entities), "private" (to answer with, not to train), "head" (a channel per '
            "query)"
        ),
    )
    probability: float = field(
        default=0.5,
        metadata=about(
            'probability of a 1 with "bits"',
            least=0,
            most=1,
            when=Condition(
                ("initial",),
                lambda values: values["initial"] in ("bits", "shared"),
                "it is for random bits",
            ),
        ),
    )
    bias: bool = field(
        default=False,
        metadata=about("the paper's c_r, one value per slot, for disjointness; it enters the score only"),
    )
    symmetric: tuple[str, ...] = field(
        default=(), metadata=about("relations that share one matrix with their inverse")
    )
    slot_weights: bool = field(
        default=False,
        metadata=about('a sum over slots with learned positive weights instead of a 2-norm; needs "head"'),
    )
    evidence: tuple[EvidenceKind, ...] = field(
        default=(),
        metadata=about(
            'kinds of evidence added to the score for ranking: "unary", "proximity", "paths", "ways", '
            '"negative", "far"; "proximity", "paths", "ways" and "far" need "head"'
        ),
    )
    num_hops: int = field(
        default=6,
        metadata=about(
            "the largest distance that proximity sees, in steps; far evidence looks beyond it",
            least=0,
            when=evidence_from("proximity", "far"),
        ),
    )
    direct_facts: DirectFacts = field(
        default="against",
        metadata=about(
            'other facts between head and tail count only "against" a triple, or "both" for and against it',
            when=evidence_from("negative"),
        ),
    )
    rules_weight: float = field(
        default=0.0,
        metadata=about(
            "how much a rule list counts that is mined and fitted beside the model; 0: there is none", least=0
        ),
    )
