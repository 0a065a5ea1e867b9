"""Map names to ids and back; name and number inverse relations and identities.

For every triple (e, r, f) the paper adds (f, r^-1, e), and for every entity e the triple (e, eq, e). Neither is stored:
names and numbers are made from those of the relation.

- By *name*, the inverse of `r` is `r^-1`.
- By *id*, relation r of R relations has the inverse r + R, and the identities follow at 2R, 2R + 1, ... All that know
  their relations from the start count so: models, baselines, `CompletedGraph`.
- By *label*, relation r is 2r walked forwards and 2r + 1 walked backwards. The engines count so, since they take new
  relations while they run, and a number there must not depend on how many relations there are.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reshuffle.errors import InputError, Place, UnknownNameError
from reshuffle.kg import name_kernels as kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

# A dict of a few hundred thousand names is cheap and needs no compiled code; one of millions costs ten
# times the text of the names, and seconds.
_LARGE = 500_000
_SCANS_BEFORE_INDEX = 8
_BLOCK = 100_000


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
        self._array = _name_array(names, kind)
        self._large = len(self) >= _LARGE
        self._scans = 0

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self._array.to_pylist())}

    @cached_property
    def _index(self) -> _LargeIndex:
        return _LargeIndex(self._array)

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):  # in blocks, so that iterating a large one stays small
            yield from self._array.slice(start, _BLOCK).to_pylist()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

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

    def find(self, name: object) -> int | None:
        """The id of `name`, or None."""
        if not isinstance(name, str):  # what a caller may hand over, whatever its type says
            return None
        if not self._large:
            return self._ids.get(name)
        self._scans += 1
        if self._scans <= _SCANS_BEFORE_INDEX:  # a few look-ups should not wait for an index
            position = pc.index(self._array, pa.scalar(name, self._array.type)).as_py()
            return position if position >= 0 else None
        return self._index.find(name)

    def id(self, name: str) -> int:
        """The id of `name`; raises `UnknownNameError` with the nearest names."""
        found = self.find(name)
        if found is None:
            raise UnknownNameError(self.kind, name, self)
        return found

    def ids(self, names: Iterable[str]) -> NDArray[np.int32]:
        """The ids of several names; raises like `id`."""
        return np.fromiter((self.id(name) for name in names), dtype=np.int32)

    def positions_of(self, other: Vocabulary) -> NDArray[np.int32]:
        """For each name of `other` its id here, or -1."""
        if self == other:
            return np.arange(len(self), dtype=np.int32)
        found = pc.index_in(other._array, value_set=self._array).fill_null(-1)
        return np.array(found.to_numpy(zero_copy_only=False), dtype=np.int32)

    def extended_by(self, other: Vocabulary) -> tuple[Vocabulary, NDArray[np.int32]]:
        """This vocabulary with the new names of `other` behind, and for each name of `other` its id there."""
        positions = self.positions_of(other)
        new = positions < 0
        if not new.any():
            return self, positions
        positions[new] = len(self) + np.arange(int(new.sum()), dtype=np.int32)
        names = pa.concat_arrays([self._array, other._array.filter(pa.array(new))])
        return Vocabulary(names, kind=self.kind), positions

    def to_arrow(self) -> pa.Array:
        """The names as an Arrow array, without a copy."""
        return self._array


class GrowingVocabulary:
    """A vocabulary that takes new names at its end; the names that it began with keep their ids.

    >>> people = GrowingVocabulary(Vocabulary(["ada", "bob"], kind="entity"))
    >>> people.intern("eve"), people.intern("bob"), list(people)
    (2, 1, ['ada', 'bob', 'eve'])
    """

    def __init__(self, base: Vocabulary) -> None:
        self._base = base
        self._new: dict[str, int] = {}
        self._new_names: list[str] = []

    def __len__(self) -> int:
        return len(self._base) + len(self._new_names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        yield from self._base
        yield from self._new_names

    def __getitem__(self, position: int) -> str:
        added = position - len(self._base)
        return self._base[position] if added < 0 else self._new_names[added]

    def names(self, ids: NDArray[np.int32]) -> list[str]:
        """The names of several ids."""
        if not self._new_names:
            return self._base[ids]
        old = ids < len(self._base)
        known = iter(self._base[ids[old]])
        return [next(known) if is_old else self[int(i)] for i, is_old in zip(ids, old, strict=True)]

    def find(self, name: str) -> int | None:
        """The id of `name`, or None."""
        found = self._base.find(name)
        return self._new.get(name) if found is None else found

    def id(self, name: str) -> int:
        """The id of `name`; raises `UnknownNameError` with the nearest names."""
        found = self.find(name)
        if found is None:
            raise UnknownNameError(self._base.kind, name, self)
        return found

    def intern(self, name: str) -> int:
        """The id of `name`, which is added where it is new."""
        found = self.find(name)
        if found is None:
            found = self._new[name] = len(self)
            self._new_names.append(name)
        return found

    def vocabulary(self) -> Vocabulary:
        """The names as they are now, with the same ids."""
        if not self._new_names:
            return self._base
        added = _name_array(self._new_names, self._base.kind)
        return Vocabulary(pa.concat_arrays([self._base.to_arrow(), added]), kind=self._base.kind)


class _LargeIndex:
    """A hash table over millions of names: four bytes per slot, and no Python object per name."""

    def __init__(self, names: pa.Array) -> None:
        self._find: Callable[..., int] = kernels.find_name
        _, offsets, text = names.buffers()
        self._offsets = np.frombuffer(offsets, np.int64)[names.offset : names.offset + len(names) + 1]
        self._text = np.frombuffer(text, np.uint8)
        self._slots = np.zeros(1 << (2 * len(names)).bit_length(), dtype=np.int32)
        kernels.index_names(self._offsets, self._text, self._slots)

    def find(self, name: str) -> int | None:
        wanted = np.frombuffer(name.encode(), np.uint8)
        number = int(self._find(self._offsets, self._text, self._slots, wanted))
        return number if number >= 0 else None


def check_names(names: list[str], *, kind: str) -> None:
    """Raise, as a vocabulary of the names would, where one is not text or empty."""
    if not all(_is_text(name) and name for name in names):
        _name_array(names, kind)


def _name_array(names: Iterable[str] | pa.Array, kind: str) -> pa.Array:
    if isinstance(names, pa.Array):
        return names.cast(pa.large_string())
    listed = list(names)
    try:
        encoded = list(map(str.encode, listed))
    except (TypeError, UnicodeEncodeError) as error:
        raise _not_text(listed, kind) from error
    if b"" in encoded:
        raise InputError(
            f"found an empty text as the name of {_with_article(kind)}, expected at least one character",
            hint="write the name, or leave its triples out",
        )
    return _encoded_array(encoded)


def text_array(texts: Iterable[str]) -> pa.Array:
    """A column of texts.

    >>> text_array(["a", "bc"]).to_pylist()
    ['a', 'bc']
    """
    return _encoded_array(list(map(str.encode, texts)))


def taken(texts: pa.Array, ids: NDArray[np.int32]) -> pa.Array:
    """The texts at these places, one after the other.

    >>> taken(text_array(["a", "bc"]), np.array([1, 1, 0], np.int32)).to_pylist()
    ['bc', 'bc', 'a']
    """
    numbers = np.ascontiguousarray(ids, dtype=np.int32)
    return texts.take(pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)]))


def _encoded_array(encoded: list[bytes]) -> pa.Array:
    """Texts as Arrow has them. `pa.array` would look whether they are a column of pandas, and import it for that."""
    ends = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=ends[1:])
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _not_text(names: list[str], kind: str) -> InputError:
    odd = next((name for name in names if not _is_text(name)), None)
    return InputError(
        f"found {odd!r} ({type(odd).__name__}) as the name of {_with_article(kind)}, expected text",
        hint="names are Python strings that can be written as UTF-8; convert numbers with str(...)",
    )


def _is_text(name: object) -> bool:
    try:
        return isinstance(name, str) and name.encode() is not None
    except UnicodeEncodeError:
        return False


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


IDENTITY = "eq"
INVERSE_SUFFIX = "^-1"


def inverse_name(relation: str) -> str:
    """The printed name of the inverse; the inverse of an inverse is the relation.

    >>> inverse_name("parent"), inverse_name("parent^-1")
    ('parent^-1', 'parent')
    """
    if relation.endswith(INVERSE_SUFFIX):
        return relation[: -len(INVERSE_SUFFIX)]
    return relation + INVERSE_SUFFIX


def refuse_inverse_names(relations: Iterable[str], *, place: Place | None = None) -> None:
    """Raise where a relation of the data is named like an inverse: rules and answers would take it for one."""
    for relation in relations:
        if relation.endswith(INVERSE_SUFFIX):
            raise named_like_an_inverse(relation, place=place)


def named_like_an_inverse(
    relation: str, *, place: Place | None = None, source: str | None = None
) -> InputError:
    """The error for a relation of the data that ends as inverses do."""
    return InputError(
        f"found the relation '{relation}', expected a name that does not end in {INVERSE_SUFFIX}: "
        f"in rules and answers it stands for the inverse of '{inverse_name(relation)}'",
        place=place,
        source=source,
        hint="write such triples the other way round, without the ending, or rename the relation",
    )


def identity_name(index: int) -> str:
    """`eq` for the first identity relation, then `eq1`, `eq2`, ..."""
    return IDENTITY if index == 0 else f"{IDENTITY}{index}"


def is_inverse(relation: str) -> bool:
    """Is this the name of an inverse?

    >>> is_inverse("parent^-1"), is_inverse("parent")
    (True, False)
    """
    return relation.endswith(INVERSE_SUFFIX)


def base_relation(relation: str) -> str:
    """The relation that facts use: `r` for `r` and for `r^-1`."""
    return relation.removesuffix(INVERSE_SUFFIX)


def label_of(relation: int, *, backwards: bool) -> int:
    """The label of a relation walked in one direction; `label ^ 1` is the other one, `label >> 1` the relation."""
    return 2 * relation + backwards
