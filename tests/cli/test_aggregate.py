"""`--aggregate`: a file of mined rules ranks by all of its confidences."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

RULES = """95\t80\t0.8\tspeaks(X,english) <= bornIn(X,london)
95\t70\t0.7\tspeaks(X,french) <= bornIn(X,A)
"""
PREDICT = ("--head", "ada", "--relation", "speaks")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    rules, facts, queries = (tmp_path / name for name in ("mined.rules.gz", "facts.tsv", "queries.tsv"))
    rules.write_bytes(gzip.compress(RULES.encode()))
    facts.write_text("ada\tbornIn\tlondon\nbob\tbornIn\trome\nbob\tspeaks\tfrench\neve\tspeaks\tenglish\n")
    queries.write_text("ada\tspeaks\tenglish\n")
    return str(rules), str(facts), str(queries)


@pytest.mark.parametrize("by", ["max-plus", "noisy-or", "top5"])
def test_predict_ranks_by_rules_with_constants(
    by: str, files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    rules, facts, _ = files
    assert main(["predict", rules, facts, *PREDICT, "--aggregate", by, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)["predictions"]
    assert [(row["tail"], row["score"]) for row in found] == [
        ("english", pytest.approx(0.8)),
        ("french", pytest.approx(0.7)),
    ]
    assert found[0]["reasons"][0]["rule"] == 'bornIn(X, "london") -> speaks(X, "english")'
    assert "not used" not in err


def test_predict_prints_a_table_and_writes_one(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, facts, _ = files
    assert main(["predict", rules, facts, *PREDICT, "--aggregate", "max-plus"]) == 0
    assert '0.800  bornIn(X, "london") -> speaks(X, "english")' in capsys.readouterr().out
    out = tmp_path / "out.csv"
    assert main(["predict", rules, facts, *PREDICT, "--aggregate", "top5", "-o", str(out)]) == 0
    assert out.read_text().splitlines()[1].startswith("ada,speaks,english,0.8")


def test_evaluate_ranks_by_it(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    rules, facts, queries = files
    words = ["evaluate", rules, "--facts", facts, "--queries", queries, "--protocol", "full", "--json"]
    assert main([*words, "--aggregate", "max-plus"]) == 0
    assert json.loads(capsys.readouterr().out)["sides"]["tail"]["mrr"] == 1.0


def test_baselines_have_no_rules_to_aggregate(
    files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, facts, queries = files
    words = ["evaluate", "types", "--facts", facts, "--queries", queries, "--aggregate", "top5"]
    assert main(words) == 2
    assert "--aggregate is for a rule file, and this is a baseline" in capsys.readouterr().err


def test_a_rule_list_is_refused(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, facts, queries = files
    model = str(tmp_path / "model")
    assert main(["train", facts, "-o", model, "--recipe", "rules", "--set", "steps=1", "-q"]) == 0
    for words in (
        ["predict", model, facts, *PREDICT],
        ["evaluate", model, "--facts", facts, "--queries", queries],
    ):
        assert main([*words, "--aggregate", "noisy-or"]) == 2
        err = capsys.readouterr().err
        assert "--aggregate is for a rule file" in err
        assert "hint: leave it out" in err


def test_an_aggregate_answers_one_question(
    files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    rules, facts, _ = files
    with pytest.raises(SystemExit, match="2"):
        main(["predict", rules, facts, "--all", "--aggregate", "top5"])
    assert "give --head or --tail" in capsys.readouterr().err


def test_a_report_has_the_rules_behind_each_link(files: tuple[str, str, str], tmp_path: Path) -> None:
    rules, facts, _ = files
    page = tmp_path / "report.html"
    assert main(["predict", rules, facts, *PREDICT, "--aggregate", "max-plus", "-o", str(page)]) == 0
    text = page.read_text()
    assert "score 0.8" in text and "Rules behind these links" in text and "<svg" in text
