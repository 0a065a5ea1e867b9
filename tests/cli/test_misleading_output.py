"""What is printed cannot be mistaken for something else, and what goes wrong is never an answer."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.console import Console
from reshuffle.cli.main import main
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import KnowledgeGraph
from reshuffle.rulegraphs import build
from reshuffle.rulegraphs.draw import to_dot, to_mermaid
from reshuffle.rules import PathRule, RuleBase
from reshuffle.text import table, visible

if TYPE_CHECKING:
    from pathlib import Path

FORGED = "a\tlikes\tb\nmallory"


@pytest.fixture
def forged(tmp_path: Path) -> tuple[str, str]:
    """Facts whose names would print as two triples."""
    rules, facts = tmp_path / "my.rules", tmp_path / "facts.csv"
    rules.write_text("likes(X, Y) -> knows(X, Y)\n")
    KnowledgeGraph([(FORGED, "likes", "eve")]).write(facts)
    return str(rules), str(facts)


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_stdout_refuses_what_a_file_refuses(forged, engine, tmp_path, capsys):
    assert main(["infer", *forged, "--engine", engine]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"<stdout>: the name {FORGED!r} cannot be written as TSV, which has no quotes: expected names without tabs "
        "and line breaks, not empty, and no blank at the end of a tail\n"
        "  hint: write them to a .csv or .parquet file with -o, or print them with --json\n"
    )
    assert main(["infer", *forged, "--engine", engine, "-o", str(tmp_path / "out.tsv")]) == 2
    assert not (tmp_path / "out.tsv").exists()
    capsys.readouterr()
    assert main(["infer", *forged, "--engine", engine, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [[FORGED, "knows", "eve"]]


def test_counts_refuse_it_too(tmp_path, capsys):
    facts, rules = tmp_path / "facts.csv", tmp_path / "my.rules"
    KnowledgeGraph([("a", "r\t9\t9\ns", "b")]).write(facts)
    rules.write_text("a(X, Y) -> b(X, Y)\n")
    assert main(["infer", str(rules), str(facts), "--count"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "<stdout>: the name 'r\\t9\\t9\\ns' cannot be written as TSV" in told.err


def test_proofs_messages_tables_and_drawings_show_control_characters(forged, capsys):
    assert main(["explain", *forged, FORGED, "knows", "eve"]) == 0
    assert capsys.readouterr().out == (
        "knows(a\\tlikes\\tb\\nmallory, eve)    [likes(X, Y) -> knows(X, Y)]\n"
        "└─ likes(a\\tlikes\\tb\\nmallory, eve)    fact\n"
    )
    assert main(["explain", *forged, "nobody\n\x1b[2J", "knows", "eve"]) == 2
    assert capsys.readouterr().err.startswith("unknown entity 'nobody\\n\\u001b[2J'")
    assert table(["name"], [["a\nb\x1b"]]) == "name\na\\nb\\u001b"
    drawn = build(RuleBase((PathRule(("a\nb", "\u202ec"), "r"),)))
    for text in (to_dot(drawn), to_mermaid(drawn)):
        assert "\u202e" not in text and "a\nb" not in text
    assert str(InputError("found \x1b[31m\nhere")) == "found \\u001b[31m\nhere"
    assert str(UnknownNameError("entity", "a\nb", [])) == "unknown entity 'a\\nb'"


def test_messages_keep_their_own_lines(capsys):
    Console().message("two\nlines\tand\x07 a bell")
    assert capsys.readouterr().err == "two\nlines\tand\\u0007 a bell\n"
    Console().result("a\x1b[31m", {})
    assert capsys.readouterr().out == "a\\u001b[31m\n"
    assert visible("plain é 日本") == "plain é 日本"


def run(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "reshuffle", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_an_encoding_that_cannot_hold_a_name_is_told(tmp_path):
    rules, facts = tmp_path / "my.rules", tmp_path / "facts.tsv"
    rules.write_text("likes(X, Y) -> knows(X, Y)\n")
    facts.write_text("é\tlikes\tb\n", encoding="utf-8")
    lines = run(["infer", str(rules), str(facts)], PYTHONIOENCODING="ascii")
    assert (lines.returncode, lines.stdout) == (2, "")
    assert lines.stderr.startswith(
        "the output holds '\\xe9', which the encoding ascii cannot write\n  hint: set"
    )
    array = run(["infer", str(rules), str(facts), "--json"], PYTHONIOENCODING="ascii")
    assert array.returncode == 0 and json.loads(array.stdout) == [["é", "knows", "b"]]


def test_numbers_that_json_has_not_become_null(capsys):
    Console(json=True).result("", {"a": [float("nan"), 1.5, (float("inf"),)], "b": "Infinity"})
    assert capsys.readouterr().out == '{"a": [null, 1.5, [null]], "b": "Infinity"}\n'


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "content",
    [
        '{"format": "reshuffle-constraints"' + DEEP,
        '{"format": "reshuffle-constraints", "version": ' + DEEP + "}",
        '{"format": "reshuffle-constraints", "version": 1, "num_slots": 1000000000000, "matrices": {"r": []}, '
        '"identities": [], "hidden": [], "roots": {}, "bound": null, "rules": null}',
    ],
)
def test_deep_or_giant_compiled_files_are_bad_input(tmp_path, content, capsys):
    (tmp_path / "c.json").write_text(content)
    (tmp_path / "f.tsv").write_text("a\tr\tb\n")
    assert main(["infer", str(tmp_path / "c.json"), str(tmp_path / "f.tsv")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"{tmp_path / 'c.json'}: ") and "Traceback" not in told.err


def test_a_packed_line_that_fills_the_memory_is_refused(tmp_path, capsys):
    (tmp_path / "my.rules").write_text("a(X, Y) -> b(X, Y)\n")
    (tmp_path / "bomb.tsv.gz").write_bytes(gzip.compress(b"a\tr\tb\n" + bytes(1 << 25)))
    assert main(["infer", str(tmp_path / "my.rules"), str(tmp_path / "bomb.tsv.gz")]) == 2
    assert (
        f"{tmp_path / 'bomb.tsv.gz'}:2: found a line of more than 16,777,216 bytes" in capsys.readouterr().err
    )


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are set by the shell of Linux")
def test_too_little_memory_is_no_answer(tmp_path):
    rules, facts = tmp_path / "my.rules", tmp_path / "facts.tsv"
    rules.write_text("likes(X, Y) -> knows(X, Y)\n")
    facts.write_text("".join(f"{n:0300}\tlikes\tb\n" for n in range(100_000)))
    program = (
        "import resource, sys; from reshuffle.cli.main import main; import reshuffle.kg, reshuffle.kg.io.reading\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 20_000_000,) * 2)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "infer", str(rules), str(facts), "--engine", "chase"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("there is not enough memory for this\n  hint: ")
