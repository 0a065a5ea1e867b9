"""`--bad-rows skip --report FILE.csv` of every verb that takes facts."""

from __future__ import annotations

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reshuffle.cli.main import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.rules").write_text("r(X, Y) -> s(Y, X)\n")
    (tmp_path / "f.tsv").write_text("a\tr\tb\n\tr\tx\nb\tr\tc\nc\ts\tb\nb\ts\ta\n")
    return tmp_path


def lines_of(path):
    with path.open(newline="") as file:
        return [(row["file"], int(row["line"])) for row in csv.DictReader(file)]


SKIP = ["--bad-rows", "skip", "--report", "rejects.csv"]


@pytest.mark.parametrize(
    "verb",
    [
        ["infer", "my.rules", "f.tsv"],
        ["explain", "my.rules", "f.tsv", "b", "s", "a"],
        ["data", "show", "f.tsv"],
        ["rules", "my.rules", "--on", "f.tsv"],
        ["evaluate", "types", "--facts", "f.tsv", "--queries", "f.tsv"],
        ["train", "f.tsv", "-o", "model", "--recipe", "rules", "--rules", "my.rules"],
    ],
    ids=lambda verb: verb[0],
)
def test_verbs_skip_and_report(place, capsys, verb):
    assert main(verb) == 2
    assert "f.tsv:2: the head is empty" in capsys.readouterr().err
    assert main([*verb, *SKIP]) == 0
    count = 2 if verb[0] == "evaluate" else 1
    noun = "1 row skipped" if count == 1 else "2 rows skipped"
    assert f"{noun}, the first for: f.tsv:2: the head is empty" in capsys.readouterr().err
    assert lines_of(place / "rejects.csv") == [("f.tsv", 2)] * count


def test_a_report_needs_rows_that_are_skipped(place, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["infer", "my.rules", "f.tsv", "--report", "rejects.csv"])
    assert caught.value.code == 2
    assert "give --bad-rows skip, too" in capsys.readouterr().err


def test_no_input_and_no_output_is_replaced(place, capsys):
    facts = (place / "f.tsv").read_text()
    assert main(["infer", "my.rules", "f.tsv", "--bad-rows", "skip", "--report", "f.tsv"]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert (place / "f.tsv").read_text() == facts
    assert (
        main(["infer", "my.rules", "f.tsv", "-o", "o.csv", "--bad-rows", "skip", "--report", "./o.csv"]) == 2
    )
    assert "one file for two outputs" in capsys.readouterr().err
    assert not (place / "o.csv").exists()


def test_an_engine_that_reads_parquet_itself_refuses(place, capsys):
    pytest.importorskip("duckdb")
    pq.write_table(pa.table({"head": ["a", None], "relation": ["r", "r"], "tail": ["b", "b"]}), "f.parquet")
    given = ["infer", "my.rules", "f.parquet", "--bad-rows", "skip"]
    assert main([*given, "--engine", "duckdb"]) == 2
    assert "skips no rows" in capsys.readouterr().err
    assert main(given) == 0
    assert capsys.readouterr().out == "b\ts\ta\n"


def test_benchmarks_have_no_rows_to_skip(place, capsys):
    assert main(["infer", "my.rules", "families", "--bad-rows", "skip"]) == 2
    assert "--bad-rows skip is for files" in capsys.readouterr().err


def test_a_summary_says_how_many_rows_were_skipped(place):
    assert main(["infer", "my.rules", "f.tsv", *SKIP, "--summary", "s.json"]) == 0
    assert json.loads((place / "s.json").read_text())["skipped_rows"] == 1
