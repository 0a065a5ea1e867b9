"""What is written comes back, in every format."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reshuffle import Reasoner, parse_rules
from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, Vocabulary, read_graph, write_graph, write_triples
from reshuffle.kg.io.prefixes import Prefixes
from reshuffle.kg.io.writing import write_named_graphs

any_name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
iris = st.sampled_from(
    ["http://example.org/ä", "urn:reshuffle:x", "_:b1", "_:not a label", "a:b", "x:%zz", "a: b"]
)
tsv_name = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), min_size=1)


def graphs(names, tails=None):
    return st.lists(st.tuples(names, names, names if tails is None else tails), min_size=1).map(
        KnowledgeGraph
    )


def written_and_read(graph: KnowledgeGraph, ending: str) -> KnowledgeGraph:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"facts{ending}"
        write_graph(graph, path)
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
        return read_graph(path)


@pytest.mark.parametrize("ending", [".tsv", ".txt.gz"])
@given(graph=graphs(tsv_name, tails=tsv_name.filter(lambda name: name[-1] not in " \r")))
@example(graph=KnowledgeGraph([("\ufeffa", "r", "b")]))
@settings(max_examples=30, deadline=None)
def test_tsv(ending, graph):
    assert written_and_read(graph, ending) == graph


@pytest.mark.parametrize(
    "ending", [".csv", ".csv.gz", ".parquet", ".nt", ".ttl", ".nt.gz", ".nq", ".trig", ".jsonld", ".ttl.gz"]
)
@given(graph=graphs(any_name | iris))
@example(graph=KnowledgeGraph([('a"', ",", "b\r\n "), ("\ufeff", " ", "\n"), ("a", "r", "b ")]))
@settings(max_examples=30, deadline=None)
def test_other_formats(ending, graph):
    assert written_and_read(graph, ending) == graph


@given(triples=st.lists(st.tuples(any_name | iris, any_name | iris, any_name | iris), min_size=1))
@example(triples=[("a&b<c>", "x&y", "http://e.org/?a=1&b=2")])
@settings(max_examples=30, deadline=None)
def test_rdf_xml(triples):
    graph = KnowledgeGraph((head, f"{relation} is", tail) for head, relation, tail in triples)
    assert written_and_read(graph, ".rdf") == graph


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (
            ("a", "http://x.org/1", "b"),
            "the relation 'http://x.org/1' cannot be written as RDF/XML, where its name",
        ),
        (("_:1", "r", "b"), "the blank node '_:1' cannot be written as RDF/XML, where its label must"),
    ],
)
def test_what_rdf_xml_cannot_hold_is_refused(tmp_path, triple, message):
    with pytest.raises(InputError, match=message):
        KnowledgeGraph([triple]).write(tmp_path / "facts.rdf")
    assert not any(tmp_path.iterdir())


def test_turtle_has_prefixes_and_groups(tmp_path):
    ex = "http://example.org/"
    triples = [("ada", "r", "b"), ("b", "r", "c"), ("ada", "q", "c"), ("ada", "r", "a b")]
    kg = KnowledgeGraph(tuple(ex + name for name in triple) for triple in triples)
    kg.write(tmp_path / "facts.ttl", prefixes=Prefixes({"ex": ex, "no": "http://unused.org/"}))
    assert (tmp_path / "facts.ttl").read_text() == (
        "@prefix ex: <http://example.org/> .\n"
        "ex:ada ex:r ex:b , <urn:reshuffle:http%3A%2F%2Fexample.org%2Fa%20b> ;\n\tex:q ex:c .\nex:b ex:r ex:c .\n"
    )
    typed = KnowledgeGraph(
        [("ada", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://xmlns.com/foaf/0.1/Person")]
    )
    typed.write(tmp_path / "common.ttl")
    assert (tmp_path / "common.ttl").read_text().endswith("<urn:reshuffle:ada> a foaf:Person .\n")


def test_named_graphs(tmp_path):
    parts = {"facts": [("a", "r", "b")], "derived": [("b", "r", "a")]}
    write_named_graphs(parts, tmp_path / "both.nq")
    lines = (tmp_path / "both.nq").read_text().splitlines()
    assert [line.split()[-2] for line in lines] == [
        "<urn:reshuffle-graph:facts>",
        "<urn:reshuffle-graph:derived>",
    ]
    assert read_graph(tmp_path / "both.nq") == {("a", "r", "b"), ("b", "r", "a")}


@pytest.mark.parametrize("name", ["out.xyz", "out.json", "out.ttl2", "out.xlsx", "out.xyz.gz", "out.1"])
def test_an_ending_that_names_no_format_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="cannot write triples with the unknown file ending"):
        KnowledgeGraph([("a", "r", "b")]).write(tmp_path / name)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out", "out.txt", "out.TSV", "out.gz", "out.tsv.gz"])
def test_plain_endings_are_tab_separated(tmp_path, name):
    write_triples([("a", "r", "b")], tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert (gzip.decompress(content) if name.endswith(".gz") else content) == b"a\tr\tb\n"


@given(graphs(any_name))
@settings(max_examples=30, deadline=None)
def test_tables(graph):
    assert KnowledgeGraph.from_arrow(graph.to_arrow()) == graph
    assert KnowledgeGraph.from_pandas(graph.to_pandas()) == graph
    assert KnowledgeGraph.from_polars(graph.to_polars()) == graph


def test_tables_of_other_shapes():
    expected = {("1", "r", "2")}
    frame = pd.DataFrame({"s": [1], "p": ["r"], "o": [2]}).astype({"p": "category"})
    assert KnowledgeGraph.from_pandas(frame, columns=("s", "p", "o")) == expected
    table = pl.DataFrame({"tail": ["2"], "head": ["1"], "relation": ["r"], "more": [None]})
    assert KnowledgeGraph.from_polars(table) == expected
    with pytest.raises(InputError, match="found the columns head, x; expected head, relation, tail"):
        KnowledgeGraph.from_pandas(pd.DataFrame({"head": ["a"], "x": ["y"]}))


def test_triples_are_written_in_the_order_given(tmp_path):
    triples = [("b", "r", "c"), ("a", "r", "c"), ("b", "r", "c")]
    write_triples(iter(triples), tmp_path / "facts.tsv")
    assert (tmp_path / "facts.tsv").read_bytes() == b"b\tr\tc\na\tr\tc\nb\tr\tc\n"
    write_triples([], tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_bytes() == b"head,relation,tail\n"


def test_files_look_as_documented(tmp_path):
    kg = KnowledgeGraph([("ada", "born in", "http://example.org/uk"), ("_:b1", "_:r", 'a "b"')])
    for ending, text in {
        ".tsv": 'ada\tborn in\thttp://example.org/uk\n_:b1\t_:r\ta "b"\n',
        ".csv": 'head,relation,tail\nada,born in,http://example.org/uk\n_:b1,_:r,"a ""b"""\n',
        ".ttl": "<urn:reshuffle:ada> <urn:reshuffle:born%20in> <http://example.org/uk> .\n"
        "_:b1 <urn:reshuffle:_%3Ar> <urn:reshuffle:a%20%22b%22> .\n",
    }.items():
        kg.write(tmp_path / f"facts{ending}")
        assert (tmp_path / f"facts{ending}").read_text() == text
        assert KnowledgeGraph.read(tmp_path / f"facts{ending}") == kg


def test_the_same_graph_gives_the_same_bytes(tmp_path):
    kg = KnowledgeGraph([("a", "r", "b")])
    for number in (1, 2):
        write_graph(kg, tmp_path / f"{number}.tsv.gz")
    assert (tmp_path / "1.tsv.gz").read_bytes() == (tmp_path / "2.tsv.gz").read_bytes()
    assert (tmp_path / "1.tsv.gz").read_bytes()[4:8] == bytes(4)  # no time
    assert gzip.decompress((tmp_path / "1.tsv.gz").read_bytes()) == b"a\tr\tb\n"


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "", "b "])
def test_names_that_tsv_cannot_hold(tmp_path, name):
    path = tmp_path / "facts.tsv"
    path.write_text("as it was")
    with pytest.raises(InputError) as caught:
        write_triples([("a", "r", name)], path)
    assert str(caught.value) == (
        f"{path}: the name {name!r} cannot be written as TSV, which has no quotes: expected names without tabs "
        "and line breaks, not empty, and no blank at the end of a tail\n"
        "  hint: let the file name end in .csv or .parquet"
    )
    assert path.read_text() == "as it was"


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".nt", ".parquet"])
def test_a_missing_name_is_not_left_out(tmp_path, ending):
    with pytest.raises(
        InputError, match="a name is empty, expected a name for every head, relation and tail"
    ):
        write_triples([("a", "r", None), ("a", "r", "b")], tmp_path / f"facts{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".jsonl", ".nt", ".ttl"])
def test_a_missing_name_of_columns_is_not_left_out(tmp_path, ending):
    entities = Vocabulary(pa.array(["a", "b", None], pa.large_string()), kind="entity")
    relations = Vocabulary(["r"], kind="relation")
    ids = ([0, 1], [0, 0], [1, 2])
    facts = KnowledgeGraph.from_ids(*map(np.array, ids), entities=entities, relations=relations)
    answers = Reasoner(parse_rules("r(X, Y) & r(Y, Z) -> r(X, Z)")).on(facts)
    with pytest.raises(InputError, match="a name is empty"):
        answers.write(tmp_path / f"facts{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".csv", ".nt"])
def test_empty_names_are_not_written(tmp_path, ending):
    with pytest.raises(
        InputError, match="a name is empty, expected a name for every head, relation and tail"
    ):
        write_triples([("a", "r", "")], tmp_path / f"facts{ending}")
    assert not list(tmp_path.iterdir())


def test_accepted_quietly(tmp_path):
    path, notes = tmp_path / "facts.tsv", []
    path.write_bytes(b'\xef\xbb\xbf#a b\tr\t"c" \t\r\n\r\n  \nd\tr\te')
    assert read_graph(path, notes=notes.append) == {("#a b", "r", '"c"'), ("d", "r", "e")}
    path = tmp_path / "facts.CSV"
    path.write_bytes(b'\xef\xbb\xbfhead,relation,tail\t\r\n\r\na, r,"b \r\n c" \r\nd,r,e')
    assert read_graph(path, notes=notes.append) == {("a", " r", "b \r\n c"), ("d", "r", "e")}
    assert notes == []


def test_duplicates_are_told(tmp_path):
    path, notes = tmp_path / "facts.tsv", []
    path.write_text("a\tr\tb\na\tr\tb \na\tr\tc\n")
    assert len(read_graph(path, notes=notes.append)) == 2
    path.write_text("a\tr\tb\n" * 1001)
    assert len(read_graph(path, notes=notes.append)) == 1
    assert notes == [f"{path}: 1 duplicate triple collapsed", f"{path}: 1,000 duplicate triples collapsed"]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    "header",
    [
        "Head\tRelation\tTail",
        "subject\tpredicate\tobject",
        "\ufeffSUBJECT\tpredicate\tObject ",
        "source\ttype\ttarget",
        "s\tp\to",
        "o\tp\ts",  # letters may be names, so this is no error
    ],
)
def test_what_looks_like_a_header_is_told_and_read(tmp_path, monkeypatch, header, large):
    if large:
        monkeypatch.setattr("reshuffle.kg.io.reading._LARGE", 1)
    path, notes = tmp_path / "facts.tsv", []
    path.write_text(f"{header}\na\tr\tb\n")
    assert len(KnowledgeGraph.read(path, notes=notes.append)) == 2
    assert notes == [
        f"{path}: the first line looks like a header and was read as a triple; delete it if it is one"
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("facts.tsv", "a\tr\tb\nhead\trelation\ttail\n"),
        ("facts.tsv", "head\trelation\thead\ntail\trelation\thead\n"),
        ("facts.csv", "head,relation,tail\nhead,relation,tail\n"),
    ],
)
def test_other_lines_are_no_headers(tmp_path, name, text):
    notes = []
    (tmp_path / name).write_text(text)
    read_graph(tmp_path / name, notes=notes.append)
    assert notes == []


def test_literals_are_skipped_and_blank_nodes_numbered(tmp_path):
    path, notes = tmp_path / "facts.ttl", []
    path.write_text('<x:a> <x:r> [ <x:s> <x:b> ], [], _:b1, "text", 3 . <x:a> <x:r> _:b1 .')
    for _ in range(2):
        kg = read_graph(path, notes=notes.append)
        assert sorted(kg) == [
            ("_:b2", "x:s", "x:b"),
            ("x:a", "x:r", "_:b1"),
            ("x:a", "x:r", "_:b2"),
            ("x:a", "x:r", "_:b3"),
        ]
    assert notes[:2] == [
        f"{path}: 2 triples with a literal as tail skipped",
        f"{path}: 1 duplicate triple collapsed",
    ]


def test_who_has_which_literals_stands_beside_the_triples(tmp_path):
    path = tmp_path / "facts.ttl"
    path.write_text('<x:a> <x:r> [ <x:s> "text" ], <x:b> ; <x:s> 1, 2 . [] <x:s> 3 . <x:c> <x:t> "x"@en .')
    graph = read_graph(path)
    assert sorted(graph) == [("x:a", "x:r", "_:b1"), ("x:a", "x:r", "x:b")]
    assert graph.literals is not None
    assert sorted(graph.literals) == [
        ("_:b1", "x:s", "a literal"),
        ("_:b2", "x:s", "a literal"),
        ("x:a", "x:s", "a literal"),
        ("x:c", "x:t", "a literal"),
    ]
    assert "x:c" not in graph.entities
    less = graph - KnowledgeGraph([("x:a", "x:r", "x:b")]).with_literals(graph.literals)
    assert len(less) == 1 and not less.literals
    assert (less | graph).literals == graph.literals == KnowledgeGraph(graph).literals
    assert (less & graph).literals == less.literals
    path.write_text("<x:a> <x:r> <x:b> .")
    assert read_graph(path).literals is None


def test_a_literal_may_have_no_relation_named_like_an_inverse(tmp_path):
    path = tmp_path / "facts.ttl"
    path.write_text('<x:a> <x:r> <x:b> ; <urn:reshuffle:r%5E-1> "text" .')
    with pytest.raises(InputError, match="found the relation 'r\\^-1'"):
        read_graph(path)


def test_foreign_names_under_our_prefix_stay(tmp_path):
    path = tmp_path / "facts.nt"
    path.write_text("<urn:reshuffle:%FF> <urn:reshuffle:> <urn:reshuffle:a%20b> .\n")
    assert set(read_graph(path)) == {("urn:reshuffle:%FF", "urn:reshuffle:", "a b")}


def test_stdin_is_tsv(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\tr\tb\n")))
    assert read_graph("-") == {("a", "r", "b")}


@pytest.mark.parametrize("large", [10**9, 1])
def test_progress_counts_the_bytes_on_disk(tmp_path, monkeypatch, large):
    from contextlib import contextmanager

    monkeypatch.setattr("reshuffle.kg.io.reading._LARGE", large)
    seen = []

    @contextmanager
    def progress(description, *, total=None, unit="it"):
        seen.append((description, total, unit))
        yield seen.append

    for name in ('"a"', "a"):  # the quotes send a large file to both readers
        path = tmp_path / f"{len(name)}.csv.gz"
        path.write_bytes(gzip.compress(f"head,relation,tail\n{name},r,b\n".encode()))
        read_graph(path, progress=progress)
        assert seen[0] == (f"reading {path}", path.stat().st_size, "B")
        assert sum(seen[1:]) == path.stat().st_size
        seen.clear()


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_names_with_nul_in_csv(tmp_path, ending):
    """The csv module of Python 3.10 refuses them."""
    graph = KnowledgeGraph([("a\0b", "r", "\0"), ("a", "r", 'c\0",d')])
    write_graph(graph, tmp_path / f"facts{ending}")
    assert read_graph(tmp_path / f"facts{ending}") == graph
