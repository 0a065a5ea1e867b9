"""Short names and labels: shown to people, accepted from them, and kept out of files and JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.console import ShownNames, folded
from reshuffle.cli.inputs import InputFile
from reshuffle.cli.main import main
from reshuffle.errors import InputError
from reshuffle.kg.io.labels import read_labels
from reshuffle.kg.io.prefixes import COMMON, Prefixes, prefixes_of, read_prefixes

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyoxigraph")

ONTOLOGY = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:teaches rdfs:domain ex:Teacher .
ex:Teacher rdfs:subClassOf ex:Person .
"""
FACTS = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ada ex:teaches ex:logic ; rdfs:label "Ada Lovelace"@en , "Ada L."@fr .
"""
PROOF = (
    'rdf:type(ex:ada, ex:Person)    [rdf:type(X, "ex:Teacher") -> rdf:type(X, "ex:Person")]\n'
    '└─ rdf:type(ex:ada, ex:Teacher)    [ex:teaches(X, Y) -> rdf:type(X, "ex:Teacher")]\n'
    "   └─ ex:teaches(ex:ada, ex:logic)    fact\n"
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY)
    (tmp_path / "facts.ttl").write_text(FACTS)
    return str(tmp_path / "ontology.ttl"), str(tmp_path / "facts.ttl")


@pytest.fixture
def lines(tmp_path: Path) -> tuple[str, str]:
    """Rules and facts that declare nothing."""
    (tmp_path / "some.rules").write_text("<http://example.org/r>(X, Y) -> <http://example.org/s>(X, Y)\n")
    (tmp_path / "facts.tsv").write_text("http://example.org/a\thttp://example.org/r\thttp://example.org/b\n")
    return str(tmp_path / "some.rules"), str(tmp_path / "facts.tsv")


def test_proofs_are_short_and_labelled(files, capsys):
    assert main(["-q", "explain", *files, "ex:ada", "rdf:type", "ex:Person"]) == 0
    printed = capsys.readouterr().out
    assert printed == PROOF.replace("ex:ada", 'ex:ada "Ada Lovelace"')


def test_full_names_are_accepted_and_json_has_them(files, capsys):
    triple = ["http://example.org/ada", COMMON.namespaces["rdf"] + "type", "http://example.org/Person"]
    assert main(["-q", "--json", "explain", *files, *triple]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["proofs"][0]["triple"] == triple
    assert "ex:" not in json.dumps(data)


def test_what_does_not_follow_is_short_too(files, capsys):
    assert main(["-q", "explain", *files, "ex:logic", "rdf:type", "ex:Person"]) == 1
    assert "  missing: rdf:type(ex:logic, ex:Teacher)" in capsys.readouterr().out


def test_errors_are_short(files, capsys):
    assert main(["-q", "explain", *files, "ex:adda", "rdf:type", "ex:Person"]) == 2
    assert capsys.readouterr().err.startswith(
        "unknown entity 'ex:adda'; did you mean 'ex:ada \"Ada Lovelace\"'"
    )


def test_drawings_are_short(files, tmp_path):
    drawn = tmp_path / "proof.mmd"
    assert main(["-q", "explain", *files, "ex:ada", "rdf:type", "ex:Person", "-o", str(drawn)]) == 0
    assert "ex:teaches(ex:ada #quot;Ada Lovelace#quot;, ex:logic)" in drawn.read_text()
    (tmp_path / "chain.ttl").write_text(ONTOLOGY + "ex:teaches rdfs:subPropertyOf ex:knows .\n")
    assert main(["-q", "draw", str(tmp_path / "chain.ttl"), "-o", str(tmp_path / "rules.mmd")]) == 0
    text = (tmp_path / "rules.mmd").read_text()
    assert "ex:teaches(X, Y) -#gt; ex:knows(X, Y)" in text
    assert "~" not in text


def test_triples_on_stdout_and_in_files_are_full(files, tmp_path, capsys):
    assert main(["-q", "infer", *files]) == 0
    assert capsys.readouterr().out.startswith("http://example.org/ada\thttp://www.w3.org/")
    assert main(["-q", "infer", *files, "-o", str(tmp_path / "out.tsv")]) == 0
    assert (tmp_path / "out.tsv").read_text().startswith("http://example.org/ada\thttp://www.w3.org/")


def test_violations_are_short(files, tmp_path, capsys):
    apart = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\nex:Teacher owl:disjointWith ex:Person .\n"
    (tmp_path / "apart.ttl").write_text(ONTOLOGY + apart)
    assert main(["infer", str(tmp_path / "apart.ttl"), files[1]]) == 1
    assert 'rdf:type(X, "ex:Teacher") & rdf:type(X, "ex:Person") -> false' in capsys.readouterr().err


def test_nothing_is_expanded_where_nothing_declares_the_prefix(lines, capsys):
    assert main(["explain", *lines, "ex:a", "ex:s", "ex:b"]) == 2
    assert "unknown" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["@prefix ex: <http://example.org/> .\n", "ex http://example.org/\n", "ex: <http://example.org/>\n"],
)
def test_prefixes_of_a_file(lines, tmp_path, text, capsys):
    (tmp_path / "prefixes.txt").write_text(f"# mine\n\n{text}")
    options = ["--prefixes", str(tmp_path / "prefixes.txt")]
    assert main(["explain", *lines, "ex:a", "ex:s", "ex:b", *options]) == 0
    assert (
        capsys.readouterr().out
        == "ex:s(ex:a, ex:b)    [ex:r(X, Y) -> ex:s(X, Y)]\n└─ ex:r(ex:a, ex:b)    fact\n"
    )
    (tmp_path / "short.rules").write_text("ex:r(X, Y) -> ex:s(X, Y)\n")  # which they hold for, too
    assert main(["infer", str(tmp_path / "short.rules"), lines[1], *options]) == 0
    assert capsys.readouterr().out == "http://example.org/a\thttp://example.org/s\thttp://example.org/b\n"


def test_an_exact_name_wins_over_an_expanded_one(tmp_path, capsys):
    (tmp_path / "some.rules").write_text("@prefix ex: <http://example.org/> .\n<r>(X, Y) -> <s>(X, Y)\n")
    (tmp_path / "facts.tsv").write_text("ex:a\tr\tb\nhttp://example.org/a\tr\tc\n")
    for tail, status in (("b", 0), ("c", 1)):
        assert (
            main(["explain", str(tmp_path / "some.rules"), str(tmp_path / "facts.tsv"), "ex:a", "s", tail])
            == status
        )
    capsys.readouterr()


def test_bad_prefixes_have_their_line(tmp_path):
    (tmp_path / "prefixes.txt").write_text("ex http://example.org/\nwhat is this\n")
    with pytest.raises(InputError, match=r"prefixes.txt:2: found 'what is this', expected a prefix"):
        read_prefixes(tmp_path / "prefixes.txt")


def test_labels_of_lines_stand_beside_any_name(tmp_path, capsys):
    (tmp_path / "some.rules").write_text("prop69(X, Y) -> one(X, Y)\n")
    (tmp_path / "facts.tsv").write_text("Q42\tprop69\tQ691\n")
    (tmp_path / "labels.tsv").write_text("Q42\tDouglas Adams\nprop69\teducated at\n")
    arguments = [str(tmp_path / "some.rules"), str(tmp_path / "facts.tsv"), "Q42", "one", "Q691"]
    assert main(["explain", *arguments, "--labels", str(tmp_path / "labels.tsv")]) == 0
    assert capsys.readouterr().out == (
        'one(Q42 "Douglas Adams", Q691)    [prop69 "educated at"(X, Y) -> one(X, Y)]\n'
        '└─ prop69 "educated at"(Q42 "Douglas Adams", Q691)    fact\n'
    )


def test_labels_are_chosen_by_language_and_kind(tmp_path):
    (tmp_path / "labels.ttl").write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<urn:a> rdfs:label "A"@fr , "B"@en-GB .\n<urn:b> skos:prefLabel "P" ; rdfs:label "L" .\n'
        "<urn:c> rdfs:label <urn:d> .\n"
    )
    assert read_labels(tmp_path / "labels.ttl") == {"urn:a": "B", "urn:b": "L"}
    (tmp_path / "labels.tsv").write_text("a\tb\nonly a name\n")
    with pytest.raises(
        InputError, match=r"labels.tsv:2: found 'only a name', expected a name, a tab and its label"
    ):
        read_labels(tmp_path / "labels.tsv")


def test_prefixes_are_found_where_files_declare_them(tmp_path):
    (tmp_path / "a.rdf").write_text('<rdf:RDF xmlns:ex="http://example.org/" xmlns:rdf="http://r/#">')
    assert prefixes_of(tmp_path / "a.rdf").namespaces == {"ex": "http://example.org/", "rdf": "http://r/#"}
    (tmp_path / "a.ttl").write_text("PREFIX : <http://example.org/>\n")
    assert prefixes_of(tmp_path / "a.ttl").namespaces == {"": "http://example.org/"}


def test_several_prefixes_may_stand_on_one_line(tmp_path):
    (tmp_path / "a.ttl").write_text(
        "@prefix a: <http://a/> . @prefix b: <http://b/> .\n# @prefix c: <http://c/> .\n"
    )
    assert prefixes_of(tmp_path / "a.ttl").namespaces == {"a": "http://a/", "b": "http://b/"}
    (tmp_path / "b.ttl").write_text("PREFIX a: <http://a/> PREFIX b: <http://b/>\n")
    assert prefixes_of(tmp_path / "b.ttl").namespaces == {"a": "http://a/", "b": "http://b/"}


def test_messages_of_infer_have_short_names(files, tmp_path, capsys):
    (tmp_path / "typo.rules").write_text(
        "@prefix ex: <http://example.org/> .\nex:teaches(X, Y) & ex:teachers(Y, Z) -> ex:knows(X, Z)\n"
    )
    assert main(["infer", str(tmp_path / "typo.rules"), files[1]]) == 0
    assert "note: 'ex:teachers' (near: 'ex:teaches') is" in capsys.readouterr().err
    assert main(["infer", *files, "--labels", str(tmp_path / "none.tsv")]) == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'none.tsv'}: no such file")


def test_the_longest_namespace_shortens():
    known = Prefixes({"a": "http://x.org/", "b": "http://x.org/b#"})
    assert [known.shortened(name) for name in ("http://x.org/b#c", "http://x.org/b", "http://x.org/", "x")] == [
        "b:c", "a:b", "http://x.org/", "x",
    ]  # fmt: skip
    assert known.shortened("http://x.org/b#c%20d") == "b:c%20d"


def test_a_text_is_shortened_once():
    names = ShownNames(Prefixes({"ex": "http://x.org/"}), {"http://x.org/a": "an A", "Q1": "one"})
    text = '"http://x.org/r"^-1(http://x.org/a, Q1) and <http://x.org/r>; http://x.org/a: Q1.'
    once = 'ex:r^-1(ex:a "an A", Q1 "one") and ex:r; ex:a "an A": Q1 "one".'
    assert names.text(text) == once
    assert names.text(once) == once


def test_an_error_is_told_where_no_prefix_can_be_looked_for(tmp_path):
    facts = InputFile(tmp_path / "facts.ttl")
    (tmp_path / "facts.ttl").write_text("@prefix ex: <http://example.org/> .\n")
    names = ShownNames()
    names.learn(Namespace(prefixes=None, labels=None), facts)
    (tmp_path / "facts.ttl").unlink()
    assert (
        names.text(f"{facts}:1: found http://www.w3.org/2002/07/owl#Thing") == f"{facts}:1: found owl:Thing"
    )


def test_folded_lines_stay_inside_their_branch():
    long = "r(a, b)    [p(X, Y) & q(Y, Z) -> r(X, Z)]\n├─ p(a, c)    fact\n└─ " + "x" * 50
    for width in (30, 40, 60):
        assert max(map(len, folded(long, width).splitlines())) <= width
    assert folded(long, 30).splitlines()[:2] == ["r(a, b)", "    [p(X, Y) & q(Y, Z) -> r(X,"]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_proof_lines_fit_the_terminal(files):
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "reshuffle", "-q", "explain", *files, "ex:ada", "rdf:type", "ex:Person"]
    with subprocess.Popen(command, stdout=end, env={**os.environ, "COLUMNS": "50"}) as process:
        os.close(end)
        printed = os.read(terminal, 100_000).decode()
        assert process.wait(timeout=300) == 0
    os.close(terminal)
    lines = re.split(r"\r?\n", printed)
    assert len(lines) > 4
    assert max(map(len, lines)) <= 50
