"""Verbs take several files of facts, folders and patterns, and columns by name; calls of before mean what they did."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from reshuffle.cli.main import build_parser, main

RULES = "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)\n"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.rules").write_text(RULES)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "one.tsv").write_text("ann\tparent\tbob\n")
    (tmp_path / "facts" / "two.csv").write_text("object,weight,predicate,subject\ncleo,1,parent,bob\n")
    return tmp_path


@pytest.mark.parametrize("facts", [["facts/one.tsv", "facts/two.csv"], ["facts"], ["facts/*"]])
def test_several_files_of_facts(place, facts, capsys):
    assert main(["infer", "my.rules", *facts]) == 0
    told = capsys.readouterr()
    assert told.out == "ann\tgrandparent\tcleo\n"
    assert told.err == "facts/two.csv: 1 column skipped: weight\n"
    assert main(["explain", "my.rules", *facts, "ann", "grandparent", "cleo", "-q"]) == 0
    assert capsys.readouterr().out.startswith("grandparent(ann, cleo)")
    assert main(["predict", "my.rules", *facts, "--head", "ann", "--relation", "grandparent", "-q"]) == 0
    assert "cleo" in capsys.readouterr().out
    assert main(["train", *facts, "-o", "model", "--recipe", "rules", "-q"]) == 0


def test_columns_and_formats_are_named(place, monkeypatch, capsys):
    Path("odd.dump").write_text("b,r,a\ncleo,parent,bob\nbob,parent,ann\n")
    expected = "ann\tgrandparent\tcleo\n"
    assert main(["infer", "my.rules", "odd.dump", "--format", "csv", "--columns", "a,r,b"]) == 0
    assert capsys.readouterr().out == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("odd.dump").read_bytes())))
    assert main(["infer", "my.rules", "-", "--format", "csv", "--columns", "a,r,b"]) == 0
    assert capsys.readouterr().out == expected
    assert main(["infer", "my.rules", "odd.dump", "--format", "csv", "--columns", "a,b"]) == 2
    assert "expected the names of three columns" in capsys.readouterr().err
    assert main(["infer", "my.rules", "odd.dump", "--format", "cvs"]) == 2
    assert "unknown format 'cvs'; did you mean 'csv'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "facts", "triple"),
    [
        ("explain R F h r t", ["F"], ["h", "r", "t"]),
        ("explain R F --bound 2 h r t", ["F"], ["h", "r", "t"]),
        ("explain R F h --bound 2 r t", ["F"], ["h", "r", "t"]),
        ("explain --bound 2 R F h r t --most 3", ["F"], ["h", "r", "t"]),
        ("explain R F G h r t", ["F", "G"], ["h", "r", "t"]),
    ],
)
def test_the_triple_is_what_comes_last(line, facts, triple):
    options = build_parser().parse_args(line.split())
    assert (options.facts, [options.head, options.relation, options.tail]) == (facts, triple)


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("infer R --bound 2 F", ["F"]),
        ("infer R F --bound 2 G", ["F", "G"]),
        ("infer R - --count", ["-"]),
        ("infer R", []),
        ("predict M --head h F G", ["F", "G"]),
        ("predict M F --head h G", ["F", "G"]),
        ("train -o D F", ["F"]),
    ],
)
def test_facts_may_stand_before_and_behind_options(line, facts):
    assert build_parser().parse_args(line.split()).facts == facts


@pytest.mark.parametrize("facts", ["facts", "facts/*"])
def test_no_output_replaces_a_file_of_a_folder(place, facts, capsys):
    assert main(["infer", "my.rules", facts, "-o", "facts/one.tsv"]) == 2
    assert "the output would replace the input" in capsys.readouterr().err
    assert Path("facts/one.tsv").read_text() == "ann\tparent\tbob\n"


def test_a_model_may_have_the_name_of_its_benchmark(place, capsys):
    Path("families").mkdir()
    assert main(["train", "families", "-o", "families", "--recipe", "rules", "--set", "nothing=1"]) == 2
    assert "replace" not in capsys.readouterr().err


def test_a_benchmark_by_name_is_a_place_of_facts(place, capsys):
    families = ["my.rules", "families"]
    assert main(["infer", *families, "-q"]) == 0
    head, relation, tail = capsys.readouterr().out.splitlines()[0].split("\t")
    assert relation == "grandparent"
    assert main(["explain", *families, head, relation, tail, "-q"]) == 0
    assert capsys.readouterr().out.startswith(f"grandparent({head}, {tail})")
    assert main(["predict", *families, "--head", head, "-q"]) == 0
    assert f"{head}  grandparent  " in capsys.readouterr().out
    assert main(["infer", "my.rules", "families", "facts", "-q"]) == 0
    assert "ann\tgrandparent\tcleo\n" in capsys.readouterr().out
