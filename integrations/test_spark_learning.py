"""Rules and links of a folder of Parquet files on two workers of Spark, by the command line: small, and large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.speed import spark_learning

if TYPE_CHECKING:
    from pathlib import Path

GIGABYTE = 1_000  # megabytes


def checked(found: dict[str, Any], *, most: float) -> None:
    """What holds at any size: rules are found, links come, and no process takes more memory than it may."""
    learning, links = found["learning"], found["links"]
    for atoms in (1, 2):  # nothing is missing of these
        there, _, planted = learning[f"planted_{atoms}"].split()
        assert there == planted != "0", learning
    assert (links["links"], links["in_order"], links["known"]) == (spark_learning.TOP, True, 0)
    for part in (learning, links):
        assert part["processes"] == 2  # and each of them had a core
        assert set(part["peak_megabytes"]) >= {"asking process, Python", "executor, Python"}
        assert max(part["peak_megabytes"].values()) < most * GIGABYTE, part


def test_two_workers_learn_from_a_folder_of_parquet_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_learning, "_FILE", 10_000)
    spark_learning.store(str(tmp_path), "50000", "20")
    found = spark_learning.learned_on_spark(tmp_path, "--set", "steps=20")
    assert found["files"] > 3
    checked(found, most=2)


@pytest.mark.slow
def test_two_workers_learn_from_ten_million_facts(tmp_path: Path) -> None:
    """Half an hour on two quiet cores. No process takes more than a kilobyte for each fact."""
    spark_learning.store(str(tmp_path), str(spark_learning.FACTS))
    minutes = spark_learning.MINUTES
    found = spark_learning.learned_on_spark(tmp_path, "--minutes", f"{minutes:g}")
    assert found["facts"] >= 10_000_000
    checked(found, most=10)
    assert found["learning"]["seconds"] < 1.5 * 60 * minutes
