"""The set of given triples, which changes with updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.reasoning.chase.kernels import keysets

if TYPE_CHECKING:
    from numpy.typing import NDArray


class KeySet:
    """A growing set of triple keys."""

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self.places = np.full(_size_for(len(keys)), keysets.EMPTY, dtype=np.int64)
        self._filled = 0  # deleted places included
        self.add(keys)

    def add(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the keys that were not there yet."""
        if 3 * (self._filled + len(keys)) > 2 * len(self.places):
            self.places = keysets.rehashed(self.places, _size_for(self._filled + len(keys)))
            self._filled = int(np.count_nonzero(self.places >= 0))
        new: NDArray[np.int64] = keys[keysets.put_keys(self.places, keys)]
        self._filled += len(new)
        return new

    def discard(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the keys that were there."""
        old: NDArray[np.int64] = keys[keysets.drop_keys(self.places, keys)]
        return old

    def without(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of the keys that are not in the set."""
        rest: NDArray[np.int64] = keys[~keysets.has_keys(self.places, keys)]
        return rest

    def keys(self) -> NDArray[np.int64]:
        """All keys, in no particular order."""
        return self.places[self.places >= 0]


def _size_for(count: int) -> int:
    return 1 << max(6, (2 * count).bit_length())
