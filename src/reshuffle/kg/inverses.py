"""Inverse relations and identities: how they are named and numbered.

For every triple (e, r, f) the paper adds (f, r^-1, e), and for every entity e the triple (e, eq, e). Neither is stored:
names and numbers are made from those of the relation.

- By *name*, the inverse of `r` is `r^-1`.
- By *id*, relation r of R relations has the inverse r + R, and the identities follow at 2R, 2R + 1, ... So count all
  that know their relations from the start: models, baselines, `CompletedGraph`.
- By *label*, relation r is 2r walked forwards and 2r + 1 walked backwards. So count the engines, which take new
  relations while they run; an id there must not depend on how many relations there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError, Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

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


def with_inverses(triples: NDArray[np.int64], num_relations: int) -> NDArray[np.int64]:
    """Triples of ids [triple, (head relation tail)], followed by their inverses in the same order.

    >>> with_inverses(np.array([[4, 1, 5]]), num_relations=2).tolist()
    [[4, 1, 5], [5, 3, 4]]
    """
    turned = triples[:, ::-1] + np.array([0, num_relations, 0])
    return np.concatenate([triples, turned])


def label_of(relation: int, *, backwards: bool) -> int:
    """The label of a relation walked in one direction; `label ^ 1` is the other one, `label >> 1` the relation."""
    return 2 * relation + backwards
