"""`reshuffle rules`: from compiled constraints and from model directories, in every format."""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main
from reshuffle.rules import parse_rules

if TYPE_CHECKING:
    from pathlib import Path

RULES = "parent(X, Y) -> ancestor(X, Y)\nparent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)\n"
PEOPLE = ["ann", "bob", "cleo", "dan"]
FACTS = "".join(f"{e}\tparent\t{f}\n" for e, f in pairwise(PEOPLE)) + "".join(
    f"{e}\tancestor\t{f}\n" for e, f in combinations(PEOPLE, 2)
)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rules, facts, compiled = tmp_path / "family.rules", tmp_path / "facts.tsv", tmp_path / "family.json"
    rules.write_text(RULES, encoding="utf-8")
    facts.write_text(FACTS, encoding="utf-8")
    assert main(["-q", "compile", str(rules), "-o", str(compiled)]) == 0
    return [str(compiled), str(facts)]


def test_a_table_of_what_compiled_constraints_capture(files, capsys):
    capsys.readouterr()
    assert main(["rules", files[0], "--max-length", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 rules",
        "degree  rule",
        " 1.000  parent(X, Y) -> ancestor(X, Y)",
        " 1.000  parent(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)",
        " 1.000  parent(X, Y) & parent(Y, Z) -> ancestor(X, Z) *",
        "* follows from other rules of the list",
    ]


def test_measured_on_facts(files, capsys):
    capsys.readouterr()
    command = ["rules", files[0], "--on", files[1], "--min-confidence", "0.2", "--types", "--top", "1"]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 rules",
        "confidence  support    pca  head coverage  degree  rule",
        "     0.375        3  1.000          0.500   1.000  parent(X, Y) -> ancestor(X, Y)",
        "... and 2 more",
        "",
        "12 type rules",
        "1.000  ancestor(X, _) -> parent(X, _)",
        "... and 11 more",
    ]


@pytest.mark.parametrize("format", ["text", "anyburl", "amie", "datalog"])
@pytest.mark.parametrize("measured", [False, True])
def test_formats_can_be_read_again(files, format, measured, capsys):
    capsys.readouterr()
    on = ["--on", files[1]] if measured else []
    assert main(["rules", files[0], "--max-length", "2", "--no-redundant", "--format", format, *on]) == 0
    read = parse_rules(capsys.readouterr().out)
    assert set(read.rules) == set(parse_rules(RULES).rules)


def test_datalog(files, capsys):
    capsys.readouterr()
    assert main(["rules", files[0], "--max-length", "1", "--format", "datalog"]) == 0
    assert capsys.readouterr().out == "<ancestor>(?X, ?Y) :- <parent>(?X, ?Y) .\n"


@pytest.mark.parametrize("option", [["--json"], ["--format", "json"]])
def test_json(files, option, capsys):
    capsys.readouterr()
    assert main(["rules", files[0], "--on", files[1], "--max-length", "1", *option]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(rule["rule"], rule["support"]) for rule in data["rules"]] == [
        ("parent(X, Y) -> ancestor(X, Y)", 3)
    ]
    assert data["complete"] is True


def test_a_table_is_as_long_as_asked_for(tmp_path, capsys):
    rules, compiled = tmp_path / "many.rules", tmp_path / "many.json"
    rules.write_text("".join(f"r{n}(X, Y) -> r(X, Y)\n" for n in range(30)), encoding="utf-8")
    assert main(["-q", "compile", str(rules), "-o", str(compiled)]) == 0
    capsys.readouterr()
    assert main(["rules", str(compiled)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "... and 10 more"
    assert main(["rules", str(compiled), "--top", "25"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[0], lines[-1]) == (28, "30 rules", "... and 5 more")
    for options in (["--json"], ["--format", "json"], ["--format", "text"]):
        assert main(["rules", str(compiled), "--top", "25", *options]) == 0
        printed = capsys.readouterr()
        assert (printed.out.count("-> r("), printed.err) == (25, "25 of 30 rules\n")


def test_a_model_directory(tmp_path, capsys):
    pytest.importorskip("torch")
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.rulegraphs import constraints_for

    Reshuffle.from_constraints(constraints_for(parse_rules(RULES)), device="cpu").save(tmp_path / "model")
    for hard in ([], ["--hard"]):
        assert main(["rules", str(tmp_path / "model"), "--max-length", "1", *hard]) == 0
        printed = capsys.readouterr()
        assert "1.000  parent(X, Y) -> ancestor(X, Y)" in printed.out
        assert printed.err == "not measured on facts: many of these may never apply; give --on FACTS\n"
    facts = tmp_path / "facts.tsv"
    facts.write_text(FACTS, encoding="utf-8")
    assert main(["rules", str(tmp_path / "model"), "--max-length", "1", "--on", str(facts)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--top", "0"], "--top 0 asks for no rule\n  hint: give 1 or more\n"),
        (["--min-confidence", "1.5"], "minimum confidence 1.5\n  hint: give a number from 0 to 1\n"),
        (["--min-confidence", "nan"], "minimum confidence nan\n  hint: give a number from 0 to 1\n"),
        (["--max-length", "0"], "max_length=0 leaves no rule\n  hint: a body has 1 atom or more\n"),
        (
            ["--min-confidence", "0.5"],
            "confidences, supports and type rules need a graph, but none was given\n"
            "  hint: pass on=graph, or --on FACTS\n",
        ),
    ],
)
def test_what_makes_no_sense(files, arguments, message, capsys):
    capsys.readouterr()
    assert main(["rules", files[0], *arguments]) == 2
    assert capsys.readouterr().err == message


def test_files_that_are_no_model(tmp_path, capsys):
    assert main(["rules", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == (
        f"{tmp_path / 'none'}: there is no such file or directory\n"
        "  hint: give a rule file, an ontology, compiled constraints, or a directory that `reshuffle train` wrote\n"
    )
    (tmp_path / "a.rules").write_text(RULES, encoding="utf-8")
    assert main(["rules", str(tmp_path / "a.rules")]) == 0
    rules = capsys.readouterr().out
    assert all(str(rule) in rules for rule in parse_rules(RULES))
