"""Bad input gets one error: the place, what was found, what was expected, a way out. Word for word."""

from __future__ import annotations

import gzip
import io
import random
import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reshuffle.errors import InputError, ReshuffleError
from reshuffle.kg import KnowledgeGraph, read_graph
from reshuffle.rules import read_rules

LINES = "every line holds one triple: head<TAB>relation<TAB>tail; other blanks belong to the names"
RECORDS = (
    "every line after the header holds one triple: head,relation,tail; a name with a comma stands in quotes"
)
TO_CSV = "put tabs between the columns, or name the file .csv and begin it with the line head,relation,tail"
TO_TSV = "put commas between the columns, or name the file .tsv and delete its header"
TURN = "write such triples the other way round, without the ending, or rename the relation"
FINISHED = "check that the program that wrote it finished"

TEXTS = {
    "too few columns": (
        "f.tsv",
        b"a\tr\tb\na\tr\n",
        "f.tsv:2: found 2 columns, expected 3 (head, relation, tail) separated by tabs\n"
        f"    a<TAB>r\n  hint: {LINES}",
    ),
    "too many columns": (
        "f.tsv",
        b"a\tr\tb\tc\n",
        "f.tsv:1: found 4 columns, expected 3 (head, relation, tail) separated by tabs\n"
        f"    a<TAB>r<TAB>b<TAB>c\n  hint: {LINES}",
    ),
    "a header with more columns": (
        "f.tsv",
        b"target\tweight\ttype\tsource\nb\t1\tr\ta\n",
        "f.tsv:1: found 4 columns, expected 3 (head, relation, tail) separated by tabs\n"
        "    target<TAB>weight<TAB>type<TAB>source\n"
        "  hint: if this line names the columns, --columns source,type,target (columns=) reads them by name",
    ),
    "too many columns in csv": (
        "f.csv",
        b"head,relation,tail\na,r,b,c\n",
        "f.csv:2: found 4 columns, expected 3 (head, relation, tail) separated by commas\n"
        f"    a,r,b,c\n  hint: {RECORDS}",
    ),
    "spaces": (
        "f.tsv",
        b"a\tr\tb\n\na r b\n",
        "f.tsv:3: found 1 column, expected 3 (head, relation, tail) separated by tabs; "
        f"this line looks separated by spaces\n    a r b\n  hint: {LINES}",
    ),
    "commas": (
        "f.txt",
        b"a\tr\tb\na,r,b\n",
        "f.txt:2: found 1 column, expected 3 (head, relation, tail) separated by tabs; "
        f"this line looks separated by commas\n    a,r,b\n  hint: {TO_CSV}",
    ),
    "tabs and spaces": (
        "f.tsv",
        b"a\tr b\n",
        "f.tsv:1: found 2 columns, expected 3 (head, relation, tail) separated by tabs; "
        f"this line mixes them with spaces\n    a<TAB>r b\n  hint: {LINES}",
    ),
    "tabs in csv": (
        "f.csv",
        b"head,relation,tail\na,r,b\na\tr\tb\n",
        "f.csv:3: found 1 column, expected 3 (head, relation, tail) separated by commas; "
        f"this line looks separated by tabs\n    a<TAB>r<TAB>b\n  hint: {TO_TSV}",
    ),
    "no header": (
        "f.csv",
        b"\na,r,b\n",
        "f.csv:2: found no header, expected the first line head,relation,tail\n    a,r,b\n"
        "  hint: if it is a triple, put the line head,relation,tail before all others; if it names the columns, "
        "--columns HEAD,RELATION,TAIL (columns=) says which of them hold the triples",
    ),
    "semicolons in csv": (
        "f.csv",
        b"head;relation;tail\na;r;b\n",
        "f.csv:1: found columns separated by semicolons, expected commas\n    head;relation;tail\n"
        "  hint: write it again with commas, or with tabs under a name that ends in .tsv",
    ),
    "a header with tabs in csv": (
        "f.csv",
        b"head\trelation\ttail\na\tr\tb\n",
        "f.csv:1: found columns separated by tabs, expected commas\n    head<TAB>relation<TAB>tail\n"
        "  hint: let the file name end in .tsv, and name its columns with --columns (columns=)",
    ),
    "open quote": (
        "f.csv",
        b'head,relation,tail\na,r,"b\n',
        "f.csv:2: found quotes that do not pair up (unexpected end of data), expected CSV as in RFC 4180\n"
        '    a,r,"b\n'
        '  hint: a name with commas, quotes or line breaks stands in quotes, and quotes in it are doubled: "a ""b"""',
    ),
    "empty name": (
        "f.tsv",
        b"a\tr\tb\na\t\tb\n",
        "f.tsv:2: the relation is empty, expected a name in each of the 3 columns (head, relation, tail)\n"
        "    a<TAB><TAB>b\n  hint: write the name, or delete the line",
    ),
    "empty tail": (
        "f.tsv",
        b"a\tr\t \r\n",
        "f.tsv:1: the tail is empty, expected a name in each of the 3 columns (head, relation, tail)\n"
        "    a<TAB>r<TAB> \n  hint: write the name, or delete the line",
    ),
    "empty name in csv": (
        "f.csv",
        b'head,relation,tail\n"",r,b\n',
        "f.csv:2: the head is empty, expected a name in each of the 3 columns (head, relation, tail)\n"
        '    "",r,b\n  hint: write the name, or delete the line',
    ),
    "the name of an inverse": (
        "f.tsv",
        b"a\tr\tb\nb\tr^-1\ta\n",
        "f.tsv:2: found the relation 'r^-1', expected a name that does not end in ^-1: "
        f"in rules and answers it stands for the inverse of 'r'\n    b<TAB>r^-1<TAB>a\n  hint: {TURN}",
    ),
    "the name of an inverse in csv": (
        "f.csv",
        b"head,relation,tail\nb,r^-1,a\n",
        "f.csv:2: found the relation 'r^-1', expected a name that does not end in ^-1: "
        f"in rules and answers it stands for the inverse of 'r'\n    b,r^-1,a\n  hint: {TURN}",
    ),
    "the name of an inverse in an IRI": (
        "f.nt",
        b"<x:a> <urn:reshuffle:r%5E-1> <x:b> .\n",
        "f.nt: found the relation 'r^-1', expected a name that does not end in ^-1: "
        f"in rules and answers it stands for the inverse of 'r'\n  hint: {TURN}",
    ),
    "empty file": (
        "f.tsv",
        b"",
        f"f.tsv: the file is empty, expected lines such as head<TAB>relation<TAB>tail\n  hint: {FINISHED}",
    ),
    "blank lines only": (
        "f.tsv",
        b"\n \n",
        f"f.tsv: found no triples, expected lines such as head<TAB>relation<TAB>tail\n  hint: {FINISHED}",
    ),
    "header only": (
        "f.csv",
        b"head,relation,tail\n",
        f"f.csv: found no triples, expected lines such as head,relation,tail\n  hint: {FINISHED}",
    ),
    "latin 1": (
        "f.tsv",
        "a\tr\tb\ncafé\tr\tb\n".encode("latin1"),
        "f.tsv:2: byte 0xE9 at offset 9 is not UTF-8, expected text in UTF-8\n"
        "  hint: convert it, for example with iconv -f LATIN1 -t UTF-8 f.tsv",
    ),
    "utf 16": (
        "f.tsv",
        b"\xff\xfe" + "a\tr\tb\n".encode("utf-16-le"),
        "f.tsv:1: byte 0xFF at offset 0 is not UTF-8, expected text in UTF-8\n"
        "  hint: convert it, for example with iconv -f UTF-16 -t UTF-8 f.tsv",
    ),
    "gzip without the ending": (
        "f.tsv",
        gzip.compress(b"a\tr\tb\n", mtime=0),
        "f.tsv:1: byte 0x8B at offset 1 is not UTF-8, expected text in UTF-8\n"
        "  hint: this is gzip data: let the file name end in .gz",
    ),
    "truncated gzip": (
        "f.tsv.gz",
        gzip.compress(b"a\tr\tb\n" * 3, mtime=0)[:-9],
        "f.tsv.gz:2: the compressed data ends too early, expected a complete gzip file\n"
        "  hint: copy or download it again; gzip -t tests whether a file is complete",
    ),
    "not gzip": (
        "f.tsv.gz",
        b"a\tr\tb\n",
        "f.tsv.gz:1: found bytes that are not gzip data, expected a file made by gzip\n"
        "  hint: if the file is not compressed, take the .gz off its name; "
        "if it is, copy or download it again",
    ),
    "truncated gzip of triples": (
        "f.nt.gz",
        gzip.compress(b"<x:a> <x:r> <x:b> .\n" * 3, mtime=0)[:-9],
        "f.nt.gz:1: the compressed data ends too early, expected a complete gzip file\n"
        "  hint: copy or download it again; gzip -t tests whether a file is complete",
    ),
    "malformed turtle": (
        "f.ttl",
        b"@prefix e: <http://e/> .\ne:a e:r e:b .\ne:a x:r e:b .\n",
        "f.ttl:3: The prefix x: has not been declared, expected Turtle\n"
        "  hint: an IRI stands in angle brackets, and a triple ends with a dot: "
        "<http://a> <http://r> <http://b> .",
    ),
    "malformed n-triples": (
        "f.nt",
        b"<x:a> <x:r> <x:b> .\n<x:a> <x:r> b .\n",
        "f.nt:2: The object of a triple must be an IRI, a blank node or a literal, expected N-Triples\n"
        "  hint: an IRI stands in angle brackets, and a triple ends with a dot: "
        "<http://a> <http://r> <http://b> .",
    ),
    "literals only": (
        "f.nt",
        b'<x:a> <x:r> "b" .\n',
        "f.nt: found no triples, expected triples between IRIs or blank nodes; "
        f"1 triple in it with a literal as tail\n  hint: {FINISHED}",
    ),
    "not parquet": (
        "f.parquet",
        b"a\tr\tb\n",
        "f.parquet: not a Parquet file, or an incomplete one\n"
        "  hint: copy or write it again; a text file should end in .tsv or .csv",
    ),
    "compressed parquet": (
        "f.parquet.gz",
        b"",
        "f.parquet.gz: found a compressed Parquet file, expected a plain one: Parquet has its own compression\n"
        "  hint: gunzip it",
    ),
}


def message(path: str) -> str:
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert caught.value.exit_status == 2
    return str(caught.value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", TEXTS)
def test_text(folder, case):
    name, content, expected = TEXTS[case]
    (folder / name).write_bytes(content)
    assert message(name) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {"subject": ["a"], "link": ["r"], "object": ["b"]},
            "found the columns subject, link, object; expected head, relation, tail\n"
            "  hint: say which columns hold the head, the relation and the tail: --columns HEAD,RELATION,TAIL "
            "(columns=('HEAD', 'RELATION', 'TAIL'))",
        ),
        (
            {"head": ["a", "a"], "relation": ["r", None], "tail": ["b", "b"]},
            "the relation in row 2 is empty, expected a name in each of the 3 columns\n"
            "  hint: write the name, or delete the row",
        ),
        (
            {"head": [1.5], "relation": ["r"], "tail": ["b"]},
            "found double in the column head, expected text\n"
            "  hint: names are text; convert the column first",
        ),
        (
            {"head": ["a", "b"], "relation": ["r", "r^-1"], "tail": ["b", "a"]},
            "found the relation 'r^-1', expected a name that does not end in ^-1: "
            f"in rules and answers it stands for the inverse of 'r'\n  hint: {TURN}",
        ),
        (
            {
                "head": pa.array([], pa.string()),
                "relation": pa.array([], pa.string()),
                "tail": pa.array([], pa.string()),
            },
            f"found no triples, expected at least one row\n  hint: {FINISHED}",
        ),
    ],
)
def test_parquet(folder, table, expected):
    pq.write_table(pa.table(table), "f.parquet")
    assert message("f.parquet") == f"f.parquet: {expected}"


def test_a_directory_without_files_of_triples(folder):
    (folder / "data").mkdir()
    hint = "  hint: files of triples end in .txt, .txt.gz, .tsv and the like; name others one by one"
    assert message("data") == f"data: found a directory without files of triples\n{hint}"
    (folder / "data" / "facts.doc").touch()
    told = "data: found a directory without files of triples, but with facts.doc"
    assert message("data") == f"{told}\n{hint}"
    (folder / "data" / "train.txt").touch()
    assert message("data").startswith("data/train.txt: the file is empty, expected lines such as")


def test_a_missing_file(folder):
    (folder / "facts.tsv").touch()
    assert message("fact.tsv") == (
        "fact.tsv: no such file; did you mean 'facts.tsv'?\n  hint: check the path; - reads from stdin"
    )
    assert message("nowhere/facts.tsv") == (
        "nowhere/facts.tsv: no such file: the directory 'nowhere' does not exist\n"
        "  hint: check the path; - reads from stdin"
    )


def test_stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\tr\n")))
    assert message("-").startswith("<stdin>:1: found 2 columns, expected 3 (head, relation, tail)")


def test_rdf_without_the_extra(folder, monkeypatch):
    (folder / "f.nt").write_text("<x:a> <x:r> <x:b> .\n")
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    assert message("f.nt") == (
        "f.nt: RDF files need the package pyoxigraph, which is not installed\n"
        "  hint: in a checkout of reshuffle: pip install -e '.[rdf]'"
    )


@pytest.mark.parametrize(
    ("content", "separator"), [(b"a\tr\tb\na\tr\n", "tabs"), (b"head,relation,tail\na,r,b\na,r\n", "commas")]
)
def test_large_files_get_the_same_message(folder, monkeypatch, content, separator):
    monkeypatch.setattr("reshuffle.kg.io.reading._LARGE", 1)
    name = "f.tsv" if separator == "tabs" else "f.csv"
    (folder / name).write_bytes(content)
    assert f"found 2 columns, expected 3 (head, relation, tail) separated by {separator}" in message(name)


def test_large_truncated_gzip(folder, monkeypatch):
    monkeypatch.setattr("reshuffle.kg.io.reading._LARGE", 1)
    (folder / "f.tsv.gz").write_bytes(gzip.compress(b"a\tr\tb\n" * 3, mtime=0)[:-9])
    assert message("f.tsv.gz").startswith("f.tsv.gz:2: the compressed data ends too early")


def test_a_large_file_with_the_name_of_an_inverse(folder, monkeypatch):
    monkeypatch.setattr("reshuffle.kg.io.reading._LARGE", 1)
    (folder / "f.tsv").write_bytes(b"a\tr\tb\nb\tr^-1\ta\n")
    assert message("f.tsv").startswith("f.tsv:2: found the relation 'r^-1'")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.tsv", b""),
        ("f.tsv", b"\n \n"),
        ("f.tsv.gz", gzip.compress(b"", mtime=0)),
        ("f.csv", b""),
        ("f.csv", b"head,relation,tail\n"),
        ("f.nt", b"# a comment\n"),
    ],
)
def test_no_triples_where_none_is_an_answer(folder, name, content):
    (folder / name).write_bytes(content)
    told = []
    assert len(read_graph(name, may_be_empty=True, notes=told.append)) == 0
    assert told == [f"{name}: no triples"]


def test_what_may_be_empty_must_still_be_well_formed(folder):
    (folder / "f.tsv").write_bytes(b"a\tr\n")
    with pytest.raises(InputError, match=r"f\.tsv:1: found 2 columns"):
        read_graph("f.tsv", may_be_empty=True)


# --- damaged files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_every_damaged_parquet_file_is_refused_or_read(tmp_path, seed):
    path, chance = tmp_path / "facts.parquet", random.Random(seed)
    KnowledgeGraph([(f"e{n}", f"r{n % 3}", f"e{n * 7 % 20}") for n in range(30)]).write(path)
    good = path.read_bytes()
    for _ in range(150):
        damaged = bytearray(good)
        for _ in range(chance.choice([1, 2, 8])):
            damaged[chance.randrange(len(good))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.choice([len(good), chance.randrange(len(good))])])
        try:
            KnowledgeGraph.read(path)
        except ReshuffleError as error:
            assert str(error).startswith(str(path))


@pytest.mark.parametrize("name", ["my.rules.gz", "facts.tsv.gz", "facts.csv.gz", "facts.nt.gz"])
@pytest.mark.parametrize("cut", [3, 30, -4])
def test_every_damaged_gzip_file_is_refused_with_its_name(tmp_path, name, cut):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"knows(X, Y) -> likes(X, Y)\n" * 9)[:cut])
    with pytest.raises(ReshuffleError) as caught:
        read_rules(path) if "rules" in name else KnowledgeGraph.read(path)
    assert str(caught.value).startswith(str(path))
