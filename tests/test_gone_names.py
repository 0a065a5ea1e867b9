"""What earlier releases had, and what says where it went."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

import reshuffle as rs
from reshuffle.errors import InputError
from reshuffle.rulelist import RuleSettings


@pytest.mark.parametrize(
    ("name", "successor"),
    [
        ("reshuffle.learning.search", "docs/how-to/train.md does the same with ten lines of optuna"),
        ("reshuffle.extraction.fidelity", "it is benchmarks.agreement in the checkout"),
    ],
)
def test_a_module_that_went_names_its_successor(name: str, successor: str) -> None:
    with pytest.raises(ImportError, match=re.escape(f"{name} went with release 0.3: {successor}")):
        import_module(name)


def test_an_argument_that_went_names_the_release_that_has_it() -> None:
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'teacher': it went .* release 0.2 has it"
    ):
        rs.learn_rules([("a", "r", "b")], teacher=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'techer'$"):
        rs.learn_rules([("a", "r", "b")], techer=None)  # type: ignore[arg-type]


def test_a_setting_that_went_names_its_successor() -> None:
    with pytest.raises(InputError, match="there is no setting 'least_share'") as error:
        RuleSettings().changed(least_share=0.1)
    assert error.value.hint == (
        "it went with release 0.3: listing and fewest_facts say how many facts mining looks at"
    )
