"""Weights that rules with the same head share out, so that rules that say the same count once.

They are the solution of a least squares problem for each head. For each entity, the weights of its bodies are added up.
The sum should be 1 if the entity has the head, and 0 if not. A penalty keeps weights small, and none is negative.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.rows import starts_of
from reshuffle.progress import SILENT
from reshuffle.rulelist.features import in_order
from reshuffle.rulelist.kernels.least_squares import MOST_BODIES, weights_of_heads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.progress import Progress
    from reshuffle.rulelist.constants.counting import Counted
    from reshuffle.rulelist.constants.properties import Properties

_PIECES = 64
_LEAST_CONFIDENCE = 0.01


def joint_weights(
    counted: Counted,
    properties: Properties,
    penalty: float,
    *,
    cores: int | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.float64]:  # rule
    """The weights of rules that are sorted by their heads, not more than fit for each (`telling`)."""
    starts = starts_of(np.bincount(counted.heads, minlength=len(properties.codes)))
    rules, members = (starts, counted.bodies), (properties.starts, properties.members)
    count = int(properties.members.max(initial=-1)) + 1
    found = np.zeros(len(counted))
    heads = np.searchsorted(starts, np.linspace(0, len(found), _PIECES + 1)[1:-1])
    pieces = list(pairwise(sorted({0, *heads.tolist(), len(starts) - 1})))

    def weigh(piece: tuple[int, int]) -> None:
        weights_of_heads(piece, rules, members, count, penalty, found)

    with progress("weighing rules with constants", total=len(pieces), unit="parts") as report:
        for _ in in_order(weigh, pieces, cores=cores):
            report(1)
    return found


def telling(counted: Counted, properties: Properties, looked_at: int) -> Counted:
    """The rules with the most informative bodies of each head, sorted by heads.

    `looked_at` is how many members of a body were counted at most.
    """
    sizes = properties.sizes[counted.bodies]
    supports = counted.supports * (1.0 + (sizes - 1) // looked_at)
    sure = supports >= _LEAST_CONFIDENCE * sizes
    counted, gains = counted.part(sure), (supports**2 / sizes)[sure]
    order = np.lexsort((-gains, counted.heads))
    heads = counted.heads[order]
    first = np.searchsorted(heads, heads)
    return counted.part(order[np.arange(len(order)) - first < MOST_BODIES])
