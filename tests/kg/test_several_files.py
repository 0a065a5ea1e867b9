"""Several files, folders and patterns, formats by name, and what is no file of triples."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from pathlib import Path

import pytest

from reshuffle import KnowledgeGraph, read_graph
from reshuffle.errors import InputError

ONE, TWO, THREE = ("a", "r", "b"), ("b", "r", "c"), ("a", "s", "c")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    inside = tmp_path / "facts"
    inside.mkdir()
    (inside / "one.tsv").write_text("a\tr\tb\n")
    (inside / "two.csv").write_text("s,p,o\nb,r,c\na,r,b\n")
    KnowledgeGraph([THREE]).write(inside / "three.jsonl.gz")
    (inside / "README.md").write_text("# About")
    (inside / "_SUCCESS").write_text("")
    (inside / "more").mkdir()
    (inside / "more" / "four.nt").write_text("<urn:x:a> <urn:x:r> <urn:x:b> .\n")
    return inside


def test_several_files_are_one_graph(folder):
    notes: list[str] = []
    graph = read_graph(folder / "one.tsv", folder / "two.csv", folder / "three.jsonl.gz", notes=notes.append)
    assert set(graph) == {ONE, TWO, THREE}
    assert notes == ["1 triple of one file found in another, too"]
    assert graph == KnowledgeGraph.read(folder / "one.tsv", folder / "two.csv", folder / "three.jsonl.gz")


def test_a_folder_is_its_files_of_triples(folder):
    notes: list[str] = []
    assert set(read_graph(folder, notes=notes.append)) == {ONE, TWO, THREE}
    assert f"{folder}: skipped: README.md, more/" in notes


@pytest.mark.parametrize("pattern", ["facts/*.tsv", "facts/t*", "**/*.nt", "facts/[ot]*"])
def test_a_pattern_is_what_matches_it(folder, pattern):
    expected = {"facts/*.tsv": 1, "facts/t*": 3, "**/*.nt": 1, "facts/[ot]*": 3}
    assert len(read_graph(pattern)) == expected[pattern]


def test_a_file_that_is_named_like_a_pattern_is_read(folder):
    Path("odd[1].tsv").write_text("a\tr\tb\n")
    assert set(read_graph("odd[1].tsv")) == {ONE}


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ((), "found no file to read"),
        (("*.none",), "*.none: no file matches this pattern"),
        (("facts/more/..", "none.tsv"), "none.tsv: no such file"),
        (("empty",), "empty: found a directory without files of triples"),
    ],
)
def test_what_is_not_there_is_named(folder, paths, found):
    Path("empty").mkdir()
    with pytest.raises(InputError) as caught:
        read_graph(*paths)
    assert str(caught.value).startswith(found)


def test_blank_nodes_of_two_files_are_two_nodes(tmp_path):
    pytest.importorskip("pyoxigraph")
    for name in ("one.nt", "two.nt"):
        (tmp_path / name).write_text(f"_:b0 <urn:x:in> <urn:x:{name}> .\n_:b0 <urn:x:r> _:b1 .\n")
    graph = read_graph(tmp_path)
    assert len(graph) == 4 and graph.num_entities == 6


def test_a_format_is_that_of_stdin_where_there_are_files_beside_it(tmp_path, monkeypatch):
    (tmp_path / "facts.tsv").write_text("ann\tparent\tbob\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'["bob", "parent", "cleo"]\n')))
    graph = read_graph("-", tmp_path / "facts.tsv", format="jsonl")
    assert graph == {("ann", "parent", "bob"), ("bob", "parent", "cleo")}


def test_literals_alone_suffice_where_a_caller_says_so(tmp_path):
    pytest.importorskip("pyoxigraph")
    (tmp_path / "links.nt").write_text("_:b0 <urn:x:r> <urn:x:b> .\n")
    (tmp_path / "texts.nt").write_text('_:b0 <urn:x:s> "text" .\n<urn:x:b> <urn:x:s> "text" .\n')
    with pytest.raises(InputError, match="2 triples in it with a literal as tail"):
        read_graph(tmp_path)
    graph = read_graph(tmp_path, literals_suffice=True)
    assert set(graph) == {("_:b0", "urn:x:r", "urn:x:b")}
    assert graph.literals is not None
    # A blank node belongs to its file.
    assert {head for head, _, _ in graph.literals} == {"_:b1", "urn:x:b"}
    (tmp_path / "empty.nt").touch()
    with pytest.raises(InputError, match="the file is empty"):
        read_graph(tmp_path, literals_suffice=True)


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("nt", "<urn:x:a> <urn:x:r> <urn:x:b> .\n"),
        ("ttl", "@prefix x: <urn:x:> . x:a x:r x:b .\n"),
        ("nq", "<urn:x:a> <urn:x:r> <urn:x:b> <urn:x:g> .\n"),
        ("trig", "<urn:x:g> { <urn:x:a> <urn:x:r> <urn:x:b> }\n"),
        ("jsonld", '{"@id": "urn:x:a", "urn:x:r": {"@id": "urn:x:b"}}'),
        (
            "rdf",
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="urn:x:">'
            '<rdf:Description rdf:about="urn:x:a"><x:r rdf:resource="urn:x:b"/></rdf:Description></rdf:RDF>',
        ),
        (
            "jsonl",
            '{"object": "urn:x:b", "predicate": "urn:x:r", "subject": "urn:x:a"}\n["urn:x:a", "urn:x:r", "urn:x:b"]\n',
        ),
        ("csv", "object,predicate,subject\nurn:x:b,urn:x:r,urn:x:a\n"),
        ("tsv", "urn:x:a\turn:x:r\turn:x:b\n"),
    ],
)
def test_every_format_is_read_by_ending_by_name_and_from_stdin(tmp_path, monkeypatch, ending, text):
    pytest.importorskip("pyoxigraph")
    expected = KnowledgeGraph([("urn:x:a", "urn:x:r", "urn:x:b")])
    (tmp_path / f"f.{ending}").write_text(text)
    (tmp_path / "f.dump").write_text(text)
    assert read_graph(tmp_path / f"f.{ending}") == expected
    assert read_graph(tmp_path / "f.dump", format=ending) == expected
    for content in (text.encode(), gzip.compress(text.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_graph("-", format=ending) == expected
    if ending not in ("csv", "tsv", "trig"):  # whoever forgets the format is told which one it seems to be
        with pytest.raises(
            InputError, match=rf"f.dump:1: found .* separated by tabs\n(.*\n)?.*--format {ending} "
        ):
            read_graph(tmp_path / "f.dump")


def test_a_context_elsewhere_is_not_fetched(tmp_path):
    pytest.importorskip("pyoxigraph")
    (tmp_path / "f.jsonld").write_text('{"@context": "http://schema.org/", "@id": "urn:x:a"}')
    with pytest.raises(
        InputError, match=r"which is not fetched, expected JSON-LD\n  hint: .* in the file itself"
    ):
        read_graph(tmp_path / "f.jsonld")


def test_a_list_of_paths_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"found \['a.nt'\], expected a path"):
        read_graph(["a.nt"])


def test_an_unknown_format_lists_those_there_are(tmp_path):
    with pytest.raises(InputError, match="unknown format 'turtle'") as caught:
        read_graph("-", format="turtle")
    assert "tsv, csv, nt, ttl" in str(caught.value)


@pytest.mark.parametrize(
    "line", ["{", "3", '["a", "r"]', '{"head": "a", "relation": "r", "tail": null}', '["a", "", "b"]']
)
def test_wrong_json_lines_are_named(tmp_path, line):
    (tmp_path / "f.jsonl").write_text('["a", "r", "b"]\n' + line + "\n")
    with pytest.raises(InputError, match=r"f.jsonl:2: found"):
        read_graph(tmp_path / "f.jsonl")


@pytest.mark.parametrize("name", ["facts.zip", "facts.tsv"])
def test_a_zip_archive_gets_a_hint_about_zip(tmp_path, name):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("facts.tsv", "a\tr\tb\n")
    with pytest.raises(InputError, match="found a zip archive") as caught:
        read_graph(tmp_path / name)
    assert "unzip" in str(caught.value)
