"""Rules about particular entities: a list may have hundreds of thousands, and only those that are shown are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.progress import SILENT, in_one_step
from reshuffle.rulelist.constants.constant_edits import place_of
from reshuffle.rules.rule import PSEUDOCOUNT, ConstantRule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import World
    from reshuffle.progress import Progress
    from reshuffle.rulelist.constants.constant_rules import ConstantRules


def entity_rules(  # noqa: PLR0913 - what to show of a long list
    world: World,
    given: World,
    edits: Edits,
    *,
    search: str = "",
    sort: str = "reading",
    start: int = 0,
    most: int = 50,
    labels: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Some of the rules as rows; those about which somebody has decided come first in the order of the list."""
    rules, now = given.about_entities, world.about_entities
    if rules is None or now is None:
        return {"rules": [], "count": 0, "start": 0, "total": 0}
    written = [
        rule for rule in edits.kept if isinstance(rule, ConstantRule) and place_of(rules, rule) is None
    ]
    words = search.lower().split()
    with in_one_step(progress, "looking through rules"):
        new = [
            row
            for rule in written
            if _has(str(rule), words) and (row := entity_rule_row(now, rule)) is not None
        ]
        places = _sorted(rules, RuleNames.of(rules, labels or {}).with_words(words), sort, edits)
        end = start + most
        shown = places[max(0, start - len(new)) : max(0, end - len(new))]
        rows = [*new[start:end], *(_row(rules, place) for place in shown.tolist())]
    return {
        "rules": rows,
        "count": len(new) + len(places),
        "start": start,
        "total": len(written) + len(rules),
    }


def entity_rule_row(rules: ConstantRules, rule: ConstantRule) -> dict[str, Any] | None:
    """What is known of one rule; None where it is not among them."""
    place = place_of(rules, rule)
    return None if place is None else _row(rules, place)


def _row(rules: ConstantRules, place: int) -> dict[str, Any]:
    rule = rules.rule(place)
    predictions, support = (int(one) for one in rules.counts[place])
    measured = {"predictions": predictions, "support": support} if predictions else {}
    return {
        "rule": str(rule),
        "head": rule.head,
        "body": list(rule.body),
        "weight": float(rules.weights[place, 0]),
        "member_weight": float(rules.weights[place, 1]),
        **measured,
        "confidence": None if rule.quality is None else rule.quality.confidence,
    }


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word in text.lower() for word in words)


@dataclass(frozen=True)
class RuleNames:
    """The names and labels in rules about particular entities, folded once, so that one may search while one types."""

    rules: ConstantRules
    relations: pa.Array
    entities: pa.Array
    """Behind the names stands what is not named."""

    @classmethod
    def of(cls, rules: ConstantRules, labels: Mapping[str, str]) -> RuleNames:
        """Names and labels as they are searched."""
        return cls(rules, _folded(rules.relations, labels), _folded(rules.entities, labels))

    def with_words(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The places of the rules that have each word in one of their names or labels."""
        rules, number = self.rules, max(1, len(self.rules.relations))
        kept = np.ones(len(rules), dtype=np.bool_)
        for word in words:
            relations, entities = (
                pc.match_substring(names, word).to_numpy(zero_copy_only=False)
                for names in (self.relations, self.entities)
            )
            pairs = rules.bodies, rules.heads
            kept &= np.any([relations[pair[:, 0] % number] | entities[pair[:, 1]] for pair in pairs], axis=0)
        return np.flatnonzero(kept)

    def heaviest(self, words: Sequence[str], most: int) -> list[str]:
        """Rules that have all the words, those with the largest weights first."""
        places = self.with_words(words)
        order = np.argsort(-self.rules.weights[places].max(axis=1, initial=0.0), kind="stable")
        return [str(self.rules.rule(place)) for place in places[order[:most]].tolist()]


def _folded(names: Sequence[str], labels: Mapping[str, str]) -> pa.Array:
    texts = [*(f"{name} {labels[name]}" if name in labels else name for name in names), ""]
    return pc.utf8_lower(pa.array(texts, pa.large_string()))


def _sorted(rules: ConstantRules, places: NDArray[np.int64], sort: str, edits: Edits) -> NDArray[np.int64]:
    if sort == "reading":
        decided = [rule for rule in (*edits.rejected, *edits.accepted) if isinstance(rule, ConstantRule)]
        first = np.array(
            [place_of(rules, rule) for rule in decided if place_of(rules, rule) is not None], np.int64
        )
        return places[np.argsort(~np.isin(places, first), kind="stable")]
    if sort == "head":
        order = np.argsort(np.argsort(np.array(rules.relations)))
        return places[np.argsort(order[rules.head_relations()[places]], kind="stable")]
    predictions, support = rules.counts.T
    values = {
        "weight": rules.weights.max(axis=1, initial=0.0),
        "support": support,
        "confidence": support / (predictions + PSEUDOCOUNT),
    }[sort]
    return places[np.argsort(-values[places], kind="stable")]
