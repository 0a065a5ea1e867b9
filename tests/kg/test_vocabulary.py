"""Names to ids, small and large."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.errors import UnknownNameError
from reshuffle.kg.vocabulary import GrowingVocabulary, Vocabulary

name_lists = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), unique=True)


@given(name_lists, st.text(st.characters(exclude_categories=["Cs"])))
def test_ids_are_positions(names, other):
    known = Vocabulary(names)
    assert list(known) == names
    assert [known.id(name) for name in names] == list(range(len(names)))
    assert known[np.arange(len(names))] == names
    assert (other in known) == (other in names)


@given(name_lists.filter(bool), st.text(st.characters(exclude_categories=["Cs"])))
def test_large_vocabularies_answer_alike(names, other):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reshuffle.kg.vocabulary._LARGE", 0)
        for scans in (1000, 0):  # by scanning, and by the index
            patch.setattr("reshuffle.kg.vocabulary._SCANS_BEFORE_INDEX", scans)
            known = Vocabulary(pa.array(["sliced off", *names], pa.large_string()).slice(1))
            assert [known.find(name) for name in names] == list(range(len(names)))
            assert (known.find(other) is None) == (other not in names)


@given(name_lists, name_lists)
def test_extension_keeps_ids_and_adds_new_names_in_order(left, right):
    known, more = Vocabulary(left), Vocabulary(right)
    extended, positions = known.extended_by(more)
    assert list(extended) == list(dict.fromkeys([*left, *right]))
    assert extended[positions] == right
    assert list(known.positions_of(more)) == [left.index(name) if name in left else -1 for name in right]


def test_an_unknown_name_is_an_error_with_near_ones():
    with pytest.raises(UnknownNameError, match=r"^unknown entity 'bop'; did you mean 'bob'\?$"):
        Vocabulary(["ada", "bob"], kind="entity").ids(["ada", "bop"])


def test_equality_goes_by_names_in_order():
    assert Vocabulary(["a", "b"]) == Vocabulary(["a", "b"])
    assert hash(Vocabulary(["a", "b"])) == hash(Vocabulary(["a", "b"]))
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert Vocabulary(["a"]) != ["a"]


def test_a_growing_vocabulary_adds_names_behind_its_own() -> None:
    names = GrowingVocabulary(Vocabulary(["ada", "bob"], kind="entity"))
    assert [names.intern(name) for name in ("eve", "bob", "dan", "eve")] == [2, 1, 3, 2]
    assert (len(names), list(names), names[1], names[3]) == (4, ["ada", "bob", "eve", "dan"], "bob", "dan")
    assert names.names(np.array([3, 0, 2], dtype=np.int32)) == ["dan", "ada", "eve"]
    assert (names.find("dan"), names.find("pat"), "dan" in names) == (3, None, True)
    assert names.vocabulary() == Vocabulary(["ada", "bob", "eve", "dan"])
    with pytest.raises(UnknownNameError, match=r"unknown entity 'evi'; did you mean 'eve'\?"):
        names.id("evi")


def test_a_vocabulary_that_did_not_grow_is_the_one_it_began_with() -> None:
    base = Vocabulary(["ada"], kind="entity")
    assert GrowingVocabulary(base).vocabulary() is base
