"""The names of entities, which grow with updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from reshuffle.errors import UnknownNameError
from reshuffle.kg import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
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
