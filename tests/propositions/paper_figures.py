"""The figures of the paper as it prints them, eq-edges to nodes of their own included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.rulegraphs import Edge, RuleGraph
from reshuffle.rules import PathRule, RuleBase

if TYPE_CHECKING:
    from collections.abc import Mapping


def rules(*lines: str) -> RuleBase:
    """From lines such as `r1;r2 -> r3`."""
    parts = [line.split(" -> ") for line in lines]
    return RuleBase(tuple(PathRule(tuple(body.split(";")), head) for body, head in parts))


def graph(base: RuleBase, text: str, *, bound: int | None = None) -> RuleGraph:
    """From lines such as `n0 -r1,r2-> n3`."""
    number: dict[str, int] = {}
    edges = []
    for line in text.split("\n"):
        if line.strip():
            source, labels, target = line.replace("->", "-").split("-")
            ends = [number.setdefault(name.strip(), len(number)) for name in (source, target)]
            edges += [Edge(ends[0], label, ends[1]) for label in labels.split(",")]
    return RuleGraph(len(number), tuple(edges), frozenset({"eq"}), rules=base, bound=bound)


P1 = rules("r1;r2 -> r3", "r4;r5 -> r2")
P2 = rules("r2;r3 -> r1", "r1;r4 -> r2")
NON_REGULAR = rules("r1;r2;r1 -> r2")
LEFT_RECURSIVE = rules("r1;r2 -> r1")
ONE_LAST_RELATION = rules("r1;r2 -> r3", "r4;r2 -> r3", "r5;r2 -> r3")
BOUNDED_1 = rules("r1;r2 -> r3", "r3;r1 -> r2")
BOUNDED_2 = rules("r1;r2 -> r3", "r4;r5 -> r1", "r4;r5 -> r2")

FIGURE_1 = graph(
    P1,
    """
    n1 -r3-> n2
    n1 -r1-> n3
    n3 -r2-> n2
    n3 -r4-> n4
    n4 -r5-> n2
    n1 -eq-> n5
    """,
)
FIGURE_2 = graph(
    P2,
    """
    n1 -r1-> n2
    n1 -r2-> n3
    n3 -r3-> n2
    n2 -r4-> n3
    n1 -eq-> n4
    """,
)
FIGURE_3 = graph(
    LEFT_RECURSIVE,
    """
    n0 -r1-> nr1
    n0 -r2-> nr2
    nr1 -r2-> nr1
    n0 -eq-> neq
    """,
)
FIGURE_4 = graph(
    ONE_LAST_RELATION,
    """
    n0 -eq-> neq
    n0 -r2-> nr2
    n0 -r1-> nr1
    n0 -r3-> nr3
    n0 -r4-> nr4
    n0 -r5-> nr5
    nr1 -r2-> nr3
    nr4 -r2-> n1
    n1 -eq-> nr3
    nr5 -r2-> n2
    n2 -eq-> n1
    """,
)
FIGURE_5 = graph(
    BOUNDED_1,
    """
    n0 -r1-> nr1
    n0 -eq-> neq
    n0 -r1-> n1
    n1 -r1,r3-> n2
    n1 -r2-> nr3
    n2 -r1-> nr3
    n0 -r3-> nr3
    n0 -r2-> nr2
    n0 -r1-> n3
    n0 -r3-> n4
    n3 -r2,r1-> n4
    n4 -r1-> nr2
    n2 -r1,r2,r3-> n2
    n3 -r1,r2,r3-> n3
    """,
    bound=1,
)
FIGURE_6 = graph(
    BOUNDED_2,
    """
    n0 -r4-> nr4
    n0 -r5-> nr5
    n0 -eq-> neq
    n0 -r4-> n1
    n1 -r5-> n2
    n0 -r1-> n2
    n2 -r4-> n3
    n3 -r5-> nr3
    n2 -r2-> nr3
    n0 -r3-> nr3
    n0 -r4-> n4
    n4 -r5-> nr2
    n0 -r2-> nr2
    n0 -r1-> nr1
    n0 -r4-> n5
    n5 -r5-> nr1
    """,
    bound=2,
)
FIGURES: Mapping[str, RuleGraph] = {
    "1": FIGURE_1,
    "2": FIGURE_2,
    "3": FIGURE_3,
    "4": FIGURE_4,
    "5": FIGURE_5,
    "6": FIGURE_6,
}
