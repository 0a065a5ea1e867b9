"""Rules about particular entities with their weights: who has one property has another one.

    bornIn(X, "london") -> speaks(X, "english")     who has this edge has that one
    plays(X, Y) -> speaks(X, "english")             who has some edge of a relation has that one

Such a rule answers two questions. If x has the body, "english" is an answer to (x, speaks, ?), and x is an answer to
(?, speaks, english). The rule has a weight for each question. The score of an answer is the sum of the weights of all
rules that find it. Rules that say much the same share one weight (`joint_weights`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reshuffle.kg import inverse_name
from reshuffle.rules.rule import Constant, ConstantRule, Quality

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from reshuffle.rulelist.links.likelihood import Likelihood


@dataclass(frozen=True, eq=False)
class ConstantRules:
    """Rules in columns, with numbers of these names; r + len(relations) is the inverse of the relation r."""

    relations: tuple[str, ...]
    entities: tuple[str, ...] = field(repr=False)
    bodies: NDArray[np.int32] = field(repr=False)  # rule (relation, entity or -1 for any)
    heads: NDArray[np.int32] = field(repr=False)  # rule (relation, entity)
    weights: NDArray[np.float64] = field(repr=False)  # rule (for its entity, for its members)
    counts: NDArray[np.int64] = field(repr=False)  # rule (predictions, support)
    likelihood: Likelihood | None = None
    """How likely answers are on the graph whose entities are named; None where that was not fitted."""

    @classmethod
    def none(cls, relations: Iterable[str] = ()) -> ConstantRules:
        """No rules."""
        pairs = np.zeros((0, 2), dtype=np.int32)
        return cls(tuple(relations), (), pairs, pairs, np.zeros((0, 2)), np.zeros((0, 2), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bodies)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstantRules):
            return NotImplemented
        names = ("bodies", "heads", "weights", "counts")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        mine, others = ((one.relations, one.entities, one.likelihood) for one in (self, other))
        return same and mine == others

    def __hash__(self) -> int:
        return hash((self.relations, self.entities))

    def part(self, rows: NDArray[np.integer[Any]] | NDArray[np.bool_] | slice) -> ConstantRules:
        """Some of the rules."""
        columns = {name: getattr(self, name)[rows] for name in ("bodies", "heads", "weights", "counts")}
        return replace(self, **columns)

    def rule(self, place: int) -> ConstantRule:
        """A rule as it is written, with its counts."""
        (body, ends), (head, entity) = self.bodies[place].tolist(), self.heads[place].tolist()
        other = "?other" if ends < 0 else Constant(self.entities[ends])
        predictions, support = (int(one) for one in self.counts[place])
        return ConstantRule.of(
            [(self.directed(body), "?who", other)],
            (self.directed(head), "?who", Constant(self.entities[entity])),
            quality_of(predictions, support),
        )

    def claim(self, place: int) -> tuple[str, str | None, str, str]:
        """What a rule says, in names: relation and entity of its body, relation and entity of its head."""
        (body, ends), (head, entity) = self.bodies[place].tolist(), self.heads[place].tolist()
        named = None if ends < 0 else self.entities[ends]
        return self.directed(body), named, self.directed(head), self.entities[entity]

    def directed(self, code: int) -> str:
        """The name of a relation or of an inverse."""
        number = len(self.relations)
        return self.relations[code] if code < number else inverse_name(self.relations[code - number])

    def head_relations(self) -> NDArray[np.int32]:
        """The relation of each head, whichever side of it is named."""
        heads: NDArray[np.int32] = self.heads[:, 0] % max(1, len(self.relations))
        return heads


def quality_of(predictions: int, support: int) -> Quality | None:
    """The measures of a rule that was counted."""
    if not predictions:
        return None
    return Quality(predictions, support).recomputed()
