"""Search as one types, over the names of a million entities and their labels.

Names lie in Arrow arrays, folded to lower case and sorted once. Names that begin with what was typed are found by
bisection, names that hold it anywhere by one pass of compiled code over the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reshuffle.kg import Vocabulary

_MOST_LETTERS = 200  # of a query that are looked at


@dataclass(frozen=True)
class _Folded:
    """Texts in lower case, in order, and whose text each is."""

    texts: pa.Array
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, texts: pa.Array, owners: NDArray[np.int64]) -> _Folded:
        folded = pc.utf8_lower(texts)
        order = pc.sort_indices(folded).to_numpy()
        return cls(folded.take(pa.array(order)), owners[order])

    def beginning(self, typed: str, most: int) -> NDArray[np.int64]:
        """Whose text begins so."""
        first = _first_at_least(self.texts, typed)
        last = _first_at_least(self.texts, typed + "\U0010ffff")
        return self.owners[first : min(last, first + most)]

    def holding(self, words: Sequence[str], most: int) -> NDArray[np.int64]:
        """Whose text holds all the words; the longest one leaves the fewest for the others."""
        texts, owners = self.texts, self.owners
        for word in sorted(words, key=len, reverse=True):
            found = pc.match_substring(texts, word)
            texts, owners = texts.filter(found), owners[found.to_numpy(zero_copy_only=False)]
        return owners[:most]


def _first_at_least(texts: pa.Array, wanted: str) -> int:
    """The first place whose text does not come before; in the order of code points, as Arrow sorts."""
    low, high = 0, len(texts)
    while low < high:
        middle = (low + high) // 2
        if texts[middle].as_py() < wanted:
            low = middle + 1
        else:
            high = middle
    return low


class NameSearch:
    """Finds entities by a part of their name or label.

    >>> from reshuffle.kg import Vocabulary
    >>> search = NameSearch(Vocabulary(["Ada Lovelace", "Q7259", "adam", "Grace"]), {"Q7259": "Ada, Countess"})
    >>> search.find("ada")
    ['Q7259', 'Ada Lovelace', 'adam']
    >>> search.find("love ada")
    ['Ada Lovelace']
    """

    def __init__(self, names: Vocabulary, labels: Mapping[str, str] | None = None) -> None:
        self._names = names
        self._indexes = [_Folded.of(names.to_arrow(), np.arange(len(names)))]
        owners = [(names.find(name), label) for name, label in (labels or {}).items()]
        known = [(owner, label) for owner, label in owners if owner is not None]
        if known:
            texts = pa.array([label for _, label in known], pa.large_string())
            self._indexes.insert(0, _Folded.of(texts, np.array([owner for owner, _ in known])))

    def find(self, typed: str, *, most: int = 20) -> list[str]:
        """The names that begin with it or whose label does, then those that hold all its words somewhere."""
        wanted = typed.strip().lower()[:_MOST_LETTERS]
        if not wanted:
            return self._names[np.arange(min(most, len(self._names)))]
        found: dict[int, None] = {}
        if (exact := self._names.find(typed.strip())) is not None:
            found[exact] = None
        for index in self._indexes:
            found |= dict.fromkeys(index.beginning(wanted, most).tolist())
        if len(found) < most:
            for index in self._indexes:
                found |= dict.fromkeys(index.holding(wanted.split(), most).tolist())
        return self._names[np.array(list(found)[:most], dtype=np.int64)]
