"""Names to ids and back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from reshuffle.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


class Vocabulary:
    """An immutable, ordered set of names; the id of a name is its position.

    The names lie in one Arrow array, since five million Python strings would cost ten times their text.

    >>> people = Vocabulary(["ada", "bob"], kind="entity")
    >>> people.id("bob"), people[0], "eve" in people, len(people)
    (1, 'ada', False, 2)
    >>> people.id("bop")
    Traceback (most recent call last):
      ...
    reshuffle.errors.UnknownNameError: unknown entity 'bop'; did you mean 'bob'?
    """

    def __init__(self, names: Iterable[str] | pa.Array, *, kind: str = "name") -> None:
        """`names` must be distinct; `kind` is what an error message calls one of them."""
        self.kind = kind
        self._array = names if isinstance(names, pa.Array) else pa.array(list(names), pa.large_string())

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self._array.to_pylist())}

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._array.to_pylist())

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: NDArray[np.integer[Any]]) -> list[str]: ...
    def __getitem__(self, position: int | NDArray[np.integer[Any]]) -> str | list[str]:
        """The name of an id, or the names of an array of ids."""
        if isinstance(position, np.ndarray):
            return list(self._array.take(pa.array(position)).to_pylist())
        return str(self._array[int(position)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or bool(self._array.equals(other._array))

    def __hash__(self) -> int:
        return hash((len(self), self[0] if len(self) else None))

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} names>"

    def find(self, name: str) -> int | None:
        """The id of `name`, or None."""
        return self._ids.get(name)

    def id(self, name: str) -> int:
        """The id of `name`; raises `UnknownNameError` with the nearest names."""
        found = self._ids.get(name)
        if found is None:
            raise UnknownNameError(self.kind, name, self)
        return found

    def ids(self, names: Iterable[str]) -> NDArray[np.int32]:
        """The ids of several names; raises like `id`."""
        return np.fromiter((self.id(name) for name in names), dtype=np.int32)

    def to_arrow(self) -> pa.Array:
        """The names as an Arrow array, without a copy."""
        return self._array
