"""What of Spark needs no Spark: which one is meant, and the files of a graph (`integrations/` has the rest)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from reshuffle import KnowledgeGraph, RuleModel, parse_rules
from reshuffle.errors import InputError, MissingPackageError
from reshuffle.spark.graph_files import mapped_graph, write_graph
from reshuffle.spark.spark_session import Spark, spark_of

if TYPE_CHECKING:
    from pathlib import Path

FACTS = [("ada", "knows", "bob"), ("bob", "likes", "ada"), ("cleo", "knows", "ada")]


def test_spark_is_asked_for_by_its_name() -> None:
    assert spark_of("memory", session=None, partitions=None) is None
    assert spark_of("spark", session=None, partitions=3) == Spark(partitions=3)


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("sprak", {}, "unknown engine 'sprak'; did you mean 'spark'?"),
        ("memory", {"partitions": 3}, "partitions is for Spark"),
        ("spark", {"partitions": 0}, "0 partitions"),
    ],
)
def test_what_makes_no_sense_is_refused(engine: str, options: dict[str, int], message: str) -> None:
    answers = RuleModel.from_rules(parse_rules("knows(X, Y) -> likes(X, Y)")).on(FACTS)
    with pytest.raises(InputError) as told:
        answers.missing(engine=engine, **options)  # type: ignore[arg-type]
    assert message in str(told.value)


def test_a_missing_package_is_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    answers = RuleModel.from_rules(parse_rules("knows(X, Y) -> likes(X, Y)")).on(FACTS)
    with pytest.raises(MissingPackageError, match="this needs pyspark, which is not installed"):
        answers.missing(engine="spark", folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("facts", [FACTS, []])
def test_a_graph_in_files_has_the_same_ids(facts: list[tuple[str, str, str]], tmp_path: Path) -> None:
    graph = KnowledgeGraph([("zoe", "first", "yan"), *facts]).naming(["empty"]) - KnowledgeGraph(
        [("zoe", "first", "yan")]
    )
    write_graph(tmp_path, graph)
    found = mapped_graph(str(tmp_path))
    assert found == graph
    assert list(found.entities) == list(graph.entities)
    assert list(found.relations) == list(graph.relations)
    for column in ("heads", "relation_ids", "tails"):
        assert np.array_equal(getattr(found, column), getattr(graph, column))
