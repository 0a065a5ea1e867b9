"""What changes with updates: the names of entities, and the set of given triples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.errors import UnknownNameError
from reshuffle.kg import Vocabulary
from reshuffle.reasoning.chase.kernels import keysets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class Names:
    """A vocabulary that takes new names at its end."""

    def __init__(self, base: Vocabulary) -> None:
        self._base = base
        self._new: dict[str, int] = {}
        self._new_names: list[str] = []

    def __len__(self) -> int:
        return len(self._base) + len(self._new)

    def __iter__(self) -> Iterator[str]:
        yield from self._base
        yield from self._new

    def id(self, name: str) -> int:
        """The id of a known name; raises `UnknownNameError` with the nearest ones."""
        found = self._base.find(name)
        if found is None:
            found = self._new.get(name)
        if found is None:
            raise UnknownNameError(self._base.kind, name, self)
        return found

    def id_of_new(self, name: str) -> int:
        """The id of a name, known or not."""
        found = self._base.find(name)
        if found is None:
            found = self._new.setdefault(name, len(self))
            self._new_names.extend([name] * (len(self._new) - len(self._new_names)))
        return found

    def name(self, number: int) -> str:
        """The name of an id."""
        known = len(self._base)
        return self._base[number] if number < known else self._new_names[number - known]

    def of(self, ids: NDArray[np.int32]) -> list[str]:
        """The names of ids."""
        if not self._new or not len(ids) or ids.max() < len(self._base):
            return self._base[ids]
        return [self.name(number) for number in ids.tolist()]

    def vocabulary(self) -> Vocabulary:
        """All names as they are now."""
        if not self._new:
            return self._base
        added = pa.array(self._new_names, pa.large_string())
        return Vocabulary(pa.concat_arrays([self._base.to_arrow(), added]), kind=self._base.kind)


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
