"""On small graphs kernels run as the Python functions that they are, and answer what the oracle entails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reshuffle.compiled import INTERPRETING
from reshuffle.errors import BudgetError, NotExpressibleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.reasoning.geometry.answers import GeometryAnswers
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules.entailment import closure
from strategies import fact_lists, rule_bases

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", autouse=True)
def in_python() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(INTERPRETING, "seconds_left", float("inf"))
        yield


@settings(max_examples=60)
@given(
    rule_bases(intersections=True, inverses=True),
    fact_lists(most=8),
    st.lists(st.tuples(st.booleans(), fact_lists(most=3)), max_size=3),
)
def test_answers_are_those_of_the_oracle_whatever_changes(base, facts, changes):
    try:
        answers = GeometryAnswers(constraints_for(base), KnowledgeGraph(facts))
    except (NotExpressibleError, BudgetError):
        assume(False)
        raise
    check(answers, base, set(facts))
    for is_added, some in changes:
        there = {tuple(fact) for fact in answers.facts}
        if is_added:
            answers.add(some)
        else:
            answers.remove([fact for fact in some if fact in there])
        check(answers, base, there | set(some) if is_added else there - set(some))


def check(answers, base, facts):
    expected = closure(base, facts)
    assert list(answers.sorted_triples()) == sorted(expected - facts)
    assert sum(count.total for count in answers.counts().values()) == len(expected)
    for head, relation, tail in sorted(expected)[:5]:
        assert answers.holds(head, relation, tail) is True
        assert tail in answers.tails(head, relation)
        assert head in answers.heads(relation, tail)
        assert answers.explain(head, relation, tail)
