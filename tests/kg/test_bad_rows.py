"""Rows that hold no triple are refused, or skipped, counted and reported, whatever the format."""

from __future__ import annotations

import csv
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reshuffle import KnowledgeGraph, read_graph
from reshuffle.errors import InputError
from reshuffle.kg.guards import limits
from reshuffle.kg.io import reading

BOTH = [("a", "r", "b"), ("e", "r", "f")]


def reported(path):
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["file", "line", "reason", "content"]
    return [(int(line), content) for _, line, _, content in rows]


def skipped(tmp_path, name, content, **options):
    """The triples of a file, and the rows of its report; the file is refused without the option."""
    path, report, told = tmp_path / name, tmp_path / "rejects.csv", []
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError):
        read_graph(path, **options)
    graph = read_graph(path, bad_rows="skip", report=report, notes=told.append, **options)
    rows = reported(report)
    noun = "1 row skipped" if len(rows) == 1 else f"{len(rows)} rows skipped"
    assert told[-1].startswith(f"{noun}, the first for: {path}:{rows[0][0]}: ")
    return [tuple(triple) for triple in sorted(graph)], rows


def test_lines_of_tsv(tmp_path):
    bad = {2: "\tr\tc", 3: "a\tr", 4: "c\tr^-1\td", 5: "x\tr\t ", 6: "1\t2\t3\t4"}
    content = "\n".join(["a\tr\tb", *bad.values(), "e\tr\tf"])
    assert skipped(tmp_path, "f.tsv", content) == (BOTH, list(bad.items()))


def test_bytes_that_are_not_utf8(tmp_path):
    found = skipped(tmp_path, "f.tsv", b"a\tr\tb\n\xff\tr\tx\ne\tr\tf\n")
    assert found == (BOTH, [(2, "\\xff\tr\tx")])


def test_lines_of_tsv_below_a_header(tmp_path):
    content = "weight\tto\tkind\tfrom\n1\tb\tr\ta\n2\t\tr\ta\n3\tb\tr\n4\tf\tr\te\n"
    found = skipped(tmp_path, "f.tsv", content, columns=("from", "kind", "to"))
    assert found == (BOTH, [(3, "2\t\tr\ta"), (4, "3\tb\tr")])


def test_a_header_that_names_other_columns_stays_an_error(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("a,b,c\nx,r,y\n")
    with pytest.raises(InputError, match="found no header"):
        read_graph(path, bad_rows="skip", report=tmp_path / "rejects.csv")
    assert not (tmp_path / "rejects.csv").exists()


def test_records_of_csv(tmp_path):
    content = 'head,relation,tail\na,r,b\n,r,c\n1,2,3,4\n"p,\nq",r\n"e",r,f\n'
    found = skipped(tmp_path, "f.csv", content)
    assert found == (BOTH, [(3, ",r,c"), (4, "1,2,3,4"), (6, '"p,\nq",r')])


def test_a_quote_without_an_end_takes_no_other_row(tmp_path):
    content = 'head,relation,tail\na,r,b\n"x,r,t\ne,r,f\n' + "".join(f"a{n},r,b\n" for n in range(20_000))
    triples, rows = skipped(tmp_path, "f.csv", content)
    assert rows == [(3, '"x,r,t')]
    assert len(triples) == 20_002


def test_the_rest_of_a_record_with_a_stray_quote_is_no_row(tmp_path):
    content = 'head,relation,tail\na,r,b\n"p\nq"x,r,t\n"s\nt",r,u\ne,r,f\n'
    triples, rows = skipped(tmp_path, "f.csv", content)
    assert triples == BOTH
    assert [line for line, _ in rows] == [3, 4, 5, 6]


def test_a_bad_line_inside_of_quotes_joins_nothing(tmp_path):
    content = b'head,relation,tail\na,r,b\n"p\n\xff\nq",r,t\ne,r,f\n'
    triples, rows = skipped(tmp_path, "f.csv", content)
    assert triples == BOTH
    assert sorted(line for line, _ in rows) == [3, 4, 5]


def test_json_lines(tmp_path):
    bad = [
        '{"head": null, "relation": "r", "tail": "b"}',
        '{"head": "a", "relation": "r"}',
        "[1.5, 2, 3]",
        "{",
    ]
    bad.append('["b", "r^-1", "c"]')
    lines = ['{"head": "a", "relation": "r", "tail": "b"}', *bad, '["e", "r", "f"]']
    found = skipped(tmp_path, "f.jsonl", "\n".join(lines))
    assert found == (BOTH, list(enumerate(bad, start=2)))


@pytest.mark.parametrize("ending", ["nt", "nq"])
def test_lines_of_n_triples(tmp_path, ending):
    good = "<urn:reshuffle:{}> <urn:reshuffle:r> <urn:reshuffle:{}> ."
    bad = ["<http://a> <http://r> .", '<http://a> <http://r> "no end', "<http://a b> <http://r> <http://c> ."]
    lines = [good.format("a", "b"), *bad, "# a comment", "", good.format("e", "f")]
    found = skipped(tmp_path, f"f.{ending}", "\n".join(lines))
    assert found == (BOTH, list(enumerate(bad, start=2)))


def test_n_triples_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("reshuffle.kg.io.rdf._BLOCK", 200)
    lines = [f"<http://a{n}> <http://r> <http://b> ." for n in range(100)]
    lines[70] = "<http://a"
    triples, rows = skipped(tmp_path, "f.nt", "\n".join(lines))
    assert (len(triples), rows) == (99, [(71, "<http://a")])


def test_other_rdf_has_no_lines(tmp_path):
    path = tmp_path / "f.ttl"
    path.write_text("<http://a> <http://r> .\n")
    with pytest.raises(InputError, match="has no line of its own"):
        read_graph(path, bad_rows="skip")
    path.write_text("<http://a> <http://r> <http://b> .\n")
    assert len(read_graph(path, bad_rows="skip")) == 1


def test_rows_of_parquet(tmp_path):
    columns = {
        "head": ["a", None, "c", "e"],
        "relation": ["r", "r", "r^-1", "r"],
        "tail": ["b", "x", "", "f"],
    }
    path, report = tmp_path / "f.parquet", tmp_path / "rejects.csv"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(InputError, match="row 2"):
        read_graph(path)
    assert sorted(map(tuple, read_graph(path, bad_rows="skip", report=report))) == BOTH
    assert reported(report) == [(2, '[null, "r", "x"]'), (3, '["c", "r^-1", ""]')]


@pytest.mark.parametrize("read", ["from_table", "from_arrow", "from_pandas", "from_polars"])
def test_tables_in_memory(tmp_path, read):
    table = pa.table({"head": ["a", None, "e"], "relation": ["r"] * 3, "tail": ["b", "x", "f"]})
    frame = table
    if read not in {"from_table", "from_arrow"}:
        library = pytest.importorskip(read.removeprefix("from_"))
        frame = table.to_pandas() if read == "from_pandas" else library.DataFrame(table)
    make, report = getattr(KnowledgeGraph, read), tmp_path / "rejects.csv"
    with pytest.raises(InputError):
        make(frame)
    assert sorted(map(tuple, make(frame, bad_rows="skip", report=report))) == BOTH
    assert reported(report) == [(2, '[null, "r", "x"]')]


def test_a_large_file_with_a_bad_line_stays_with_the_fast_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_LARGE", 1)
    for form, separator in (("tsv", "\t"), ("csv", ",")):
        monkeypatch.setattr(reading, f"read_{form}", None)  # the careful reader is not asked
        lines = [separator.join((f"e{n}", "r", f"e{n + 1}")) for n in range(200_000)]
        lines[150_000] = separator.join(("x", "r"))
        lines[199_999] = separator.join(("", "r", "x"))
        first = 1
        if form == "csv":
            lines.insert(0, "head,relation,tail")
            first = 2
        path, report = tmp_path / f"f.{form}", tmp_path / "rejects.csv"
        path.write_text("\n".join(lines) + "\n")
        graph = read_graph(path, bad_rows="skip", report=report)
        assert len(graph) == 199_998
        assert [line for line, _ in reported(report)] == [150_000 + first, 199_999 + first]


def test_what_the_fast_reader_leaves_is_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_LARGE", 1)
    path, report = tmp_path / "f.tsv", tmp_path / "rejects.csv"
    path.write_bytes(b"a\tr\tb\nx\tr\nc\tr^-1\td\n\xff\tr\td\ne\tr\tf\n")
    assert sorted(map(tuple, read_graph(path, bad_rows="skip", report=report))) == BOTH
    assert [line for line, _ in reported(report)] == [2, 3, 4]


def test_a_file_of_bad_rows_alone_is_an_error(tmp_path):
    path = tmp_path / "f.tsv"
    path.write_text("a,r,b\nc,r,d\n")
    with pytest.raises(InputError, match="beside 2 bad rows") as caught:
        read_graph(path, bad_rows="skip")
    assert "is the format right?" in str(caught.value)


def test_several_files_have_one_report(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.tsv").write_text(f"{name}\tr\tb\nbad\n")
    report, told = tmp_path / "rejects.csv", []
    paths = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    graph = read_graph(*paths, bad_rows="skip", report=report, notes=told.append)
    assert len(graph) == 2
    assert reported(report) == [(2, "bad"), (2, "bad")]
    assert any(note.startswith("2 rows skipped") for note in told)


def test_without_bad_rows_the_report_is_a_header(tmp_path):
    (tmp_path / "f.tsv").write_text("a\tr\tb\n")
    told = []
    read_graph(tmp_path / "f.tsv", bad_rows="skip", report=tmp_path / "rejects.csv", notes=told.append)
    assert reported(tmp_path / "rejects.csv") == []
    assert told == []


def test_a_report_is_whole_or_not_there(tmp_path):
    report = tmp_path / "rejects.csv"
    report.write_text("of before")
    with gzip.open(tmp_path / "cut.tsv.gz", "wb") as file:
        file.write(b"bad\n" + b"a\tr\tb\n" * 100_000)
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(cut.read_bytes()[:-20])
    with pytest.raises(InputError, match="ends too early"):
        read_graph(cut, bad_rows="skip", report=report)
    assert report.read_text() == "of before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.tsv.gz", "rejects.csv"]


def test_a_report_replaces_no_input(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("head,relation,tail\na,r,b\nbad\n")
    (tmp_path / "link.csv").symlink_to(path)
    for report in (path, tmp_path / "link.csv"):
        with pytest.raises(InputError, match="would replace the input"):
            read_graph(tmp_path, bad_rows="skip", report=report)
    assert path.read_text().endswith("bad\n")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"bad_rows": "ignore"}, "found bad_rows='ignore'"),
        ({"bad_rows": True}, "found bad_rows=True"),
        ({"report": "rejects.csv"}, "a report lists the rows that are skipped"),
        ({"bad_rows": "skip", "report": "rejects.parquet"}, "found the ending '.parquet'"),
    ],
)
def test_options_are_checked(tmp_path, options, found):
    (tmp_path / "f.tsv").write_text("a\tr\tb\n")
    with pytest.raises(InputError, match=found):
        read_graph(tmp_path / "f.tsv", **options)


def test_a_long_line_stays_an_error(tmp_path):
    (tmp_path / "f.nt").write_bytes(b"<http://a>\n" + b"<" * limits.LONGEST_LINE)
    with pytest.raises(InputError, match="line"):
        read_graph(tmp_path / "f.nt", bad_rows="skip")
