"""Sets of keys against Python's own, with few places, so that runs are long and wrap around."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reshuffle.reasoning import keysets
from reshuffle.reasoning.keysets import EMPTY, KeySet, discard, has_key, insert, rehashed


def home(key: int) -> int:
    """Where a key lies in an empty set."""
    places = np.full(16, EMPTY, dtype=np.int64)
    insert(places, key)
    return int(np.flatnonzero(places == key)[0])


ALL = [key for key in range(200) if home(key) in (0, 14, 15)][:10]
STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from(ALL)), max_size=60)


@given(steps=STEPS)
def test_any_order_of_insertions_and_removals(steps: list[tuple[bool, int]]) -> None:
    places, expected = np.full(16, EMPTY, dtype=np.int64), set[int]()
    for adds, key in steps:
        before = key in expected
        if adds:
            assert insert(places, key) is not before
            expected.add(key)
        else:
            assert discard(places, key) is before
            expected.discard(key)
        assert [has_key(places, one) for one in ALL] == [one in expected for one in ALL]
    assert set(rehashed(places, 32)[rehashed(places, 32) >= 0].tolist()) == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_set_grows_by_itself(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, more, gone = (random.integers(0, 2**40, 500) for _ in range(3))
    found, expected = KeySet(first), set(first.tolist())
    assert set(found.add(more).tolist()) == set(more.tolist()) - expected
    expected |= set(more.tolist())
    taken = np.concatenate([gone, more[:100]])
    assert set(found.discard(taken).tolist()) == expected & set(taken.tolist())
    assert set(found.keys().tolist()) == expected - set(taken.tolist())


def test_keys_in_the_order_of_one_set_do_not_crowd_in_another() -> None:
    """Facts are loaded in the order of their own set, into one of another size."""
    first = np.full(1 << 16, keysets.EMPTY, dtype=np.int64)
    keysets.insert_keys(first, np.arange(0, 40_000, dtype=np.int64) * 7)
    in_order = first[first >= 0]
    second = np.full(1 << 14, keysets.EMPTY, dtype=np.int64)
    some = in_order[: len(second) * 2 // 3]
    keysets.insert_keys(second, some)
    homes = np.array([keysets._home(key, len(second) - 1) for key in some[::8]])
    found = np.array([keysets.place_of(second, key) for key in some[::8]])
    assert ((found - homes) % len(second)).mean() < 2
