"""Small files neither end the process nor fill the memory: limits are checked before a parser sees a file."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reshuffle import read_graph, read_rules
from reshuffle.errors import InputError, Place
from reshuffle.kg.guards import limits
from reshuffle.kg.guards.limits import DEEPEST_JSON, DEEPEST_TERMS, Elements
from reshuffle.kg.io.labels import read_labels
from reshuffle.kg.io.toml import read_toml
from reshuffle.rules.formats.ontology import load

RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'


def json_ld(depth: int) -> str:
    return '{"@id":"http://a","http://r":' * depth + '{"@id":"http://b"}' + "}" * depth


def terms(depth: int, between: str = " ") -> str:
    inner = f"<<( <http://a> <http://r>{between}" * depth + "<http://b>" + " )>>" * depth
    return f"<http://a> <http://r> <http://b> .\n<http://a> <http://r> {inner} .\n"


def document(declared: str, content: str) -> str:
    return f'<!DOCTYPE r [{declared}]>{RDF}<rdf:Description rdf:about="http://a">{content}</rdf:Description></rdf:RDF>'


BILLION = '<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))
HOSTILE = {
    "deep JSON-LD": ("f.jsonld", json_ld(4000), "more than 256 deep"),
    "deep triple terms": ("f.ttl", terms(50_000), "triple terms more than 256 deep"),
    "deep triple terms behind strings": (
        "f.ttl",
        '<http://a> <http://r> """ " )>> """, \'\'\' " \'\'\', " )>> )>>" .\n' + terms(50_000),
        "triple terms",
    ),
    "deep triple terms among comments": ("f.trig", terms(50_000, " # )>>\n"), "triple terms"),
    "deep triple terms in N-Triples": ("f.nt", terms(50_000), "triple terms more than 256 deep"),
    "deep triple terms in N-Quads": ("f.nq", terms(50_000), "triple terms more than 256 deep"),
    "nested entities": ("f.rdf", document(BILLION, "<e:p>&l12;</e:p>"), "stands for more than 65,536 bytes"),
    "one entity many times": (
        "f.rdf",
        document(f'<!ENTITY a "{"y" * 60_000}">', f"<e:p>{'&a;' * 30_000}</e:p>"),
        "the entities stand for more than",
    ),
    "a long namespace many times": (
        "f.rdf",
        RDF.replace("http://e/", "http://e/" + "n" * 80_000)
        + "".join(f'<e:C{n} rdf:about="http://e/{n}"/>' for n in range(8_000))
        + "</rdf:RDF>",
        "far longer than the file",
    ),
    "a second document type": (
        "f.rdf",
        f"{RDF}<!DOCTYPE r [{BILLION}]><rdf:Description><e:p>&l12;</e:p></rdf:Description></rdf:RDF>",
        "not at the beginning",
    ),
    "a document type in a comment's clothes": (
        "f.rdf",
        f'<!DOCTYPE r [<!ENTITY a "x>"> {BILLION}]>{RDF}</rdf:RDF>',
        "found a document type that is not read",
    ),
    "deep RDF/XML": (
        "f.rdf",
        RDF + "<rdf:Description><e:p>" * 50_000 + "</e:p></rdf:Description>" * 50_000 + "</rdf:RDF>",
        "more than 5,000 deep",
    ),
    "deep RDF/XML with closings in values": (
        "f.rdf",
        RDF + """<rdf:Description e:q='/></e:p>"'><e:p>""" * 50_000,
        "does not begin a tag",
    ),
    "deep RDF/XML with slashes in values": (
        "f.rdf",
        RDF + """<rdf:Description e:q='"/>"'><e:p e:q="/>">""" * 50_000,
        "more than 5,000 deep",
    ),
    "deep RDF/XML between comments": (
        "f.rdf",
        RDF + "<rdf:Description><!-- </a></a> --><e:p><![CDATA[</a></a>]]>" * 50_000,
        "more than 5,000 deep",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_hostile_files_are_refused_at_once(tmp_path: Path, case: str, packed: bool) -> None:
    name, text, expected = HOSTILE[case]
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    begun = time.process_time()
    with pytest.raises(InputError, match=expected) as found:
        read_graph(path)
    assert found.value.hint
    assert str(path) in str(found.value)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("case", ["nested entities", "deep RDF/XML", "deep triple terms in N-Triples"])
def test_ontologies_have_the_same_limits(tmp_path: Path, case: str) -> None:
    name, text, expected = HOSTILE[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=expected):
        read_rules(tmp_path / name)


@pytest.mark.parametrize("case", ["deep JSON-LD", "nested entities", "deep triple terms"])
def test_labels_have_the_same_limits(tmp_path: Path, case: str) -> None:
    name, text, expected = HOSTILE[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=expected):
        read_labels(tmp_path / name)


def test_the_command_ends_with_status_2(tmp_path: Path) -> None:
    (tmp_path / "f.jsonld").write_text(json_ld(4000))
    (tmp_path / "r.rules").write_text("r(X, Y) -> s(X, Y)\n")
    command = [sys.executable, "-m", "reshuffle", "infer", "r.rules", "f.jsonld"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "more than 256 deep" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f.jsonld", json_ld(DEEPEST_JSON - 1)),
        ("f.jsonld", '{"@id":"http://a","http://l":"' + '[{\\"' * 5000 + '","http://r":{"@id":"http://b"}}'),
        ("f.ttl", terms(DEEPEST_TERMS)),
        ("f.ttl", '<http://a> <http://l> "' + "<<( " * 5000 + '" ; <http://r> <http://b> . # ' + "<<( " * 5000),
        ("f.rdf", RDF + "<rdf:Description><e:p>" * 2000 + "</e:p></rdf:Description>" * 2000 + "</rdf:RDF>"),
        ("f.rdf", f"{RDF}<!-- {'<a>' * 9000} --><?x {'<a>' * 9000}?><rdf:Description e:q='{'/>' * 9000}'>"
                  f"<e:l><![CDATA[{'<a>' * 9000}]]></e:l><e:p rdf:resource=\"http://b\"/></rdf:Description></rdf:RDF>"),
        ("f.rdf", document('<!ENTITY e "http://e/">\n<!-- ours -->\n<!ENTITY f "&e;f/">',
                           '<e:p rdf:resource="&f;b"/>' * 3000)),
        ("f.rdf", f'<!DOCTYPE rdf:RDF SYSTEM "x.dtd">{RDF}<rdf:Description><e:p rdf:resource="http://b"/>'
                  "</rdf:Description></rdf:RDF>"),
    ],
    ids=range(8),
)  # fmt: skip
def test_what_is_below_the_limits_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert len(read_graph(tmp_path / name))


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_the_kernel_sees_the_same_in_any_blocks(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    text = HOSTILE["deep RDF/XML between comments"][1][:20_000].encode()
    states = []
    for large, size in ((1 << 30, step), (1 << 30, len(text)), (0, step)):
        monkeypatch.setattr(limits, "_LARGE", large)
        watch = Elements(Place("f.rdf"))
        for start in range(0, len(text), size):
            watch.look(text[start : start + size])
        states.append(watch._kernel.state[:6].tolist())
    assert states[0] == states[1] == states[2]
    assert states[0][1] > 100


def test_a_packed_file_may_not_hold_ever_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_UNPACKED_FREE", 1 << 20)
    (tmp_path / "f.nt.gz").write_bytes(gzip.compress(b"<http://a> <http://r> <http://b> .\n" * 100_000))
    with pytest.raises(InputError, match=r"found more than [\d,]+ bytes in it, 200 times"):
        read_graph(tmp_path / "f.nt.gz")


OPENINGS = {
    "f.tsv": "",
    "f.nt": "<http://",
    "f.ttl": "<http://",
    "f.rdf": RDF + "<rdf:Description><e:p>",
    "f.jsonld": '{"a": "',
    "f.jsonl": "",
    "f.rules": "",
}


@pytest.mark.parametrize("name", OPENINGS)
def test_one_endless_line_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(OPENINGS[name].encode() + b"x" * 40_000_000, compresslevel=1))
    with pytest.raises(InputError, match="of more than 16,777,216 bytes"):
        (read_rules if name == "f.rules" else read_graph)(path)


def test_parquet_of_many_rows_in_few_bytes_is_refused(tmp_path: Path) -> None:
    same = pa.repeat(pa.scalar("a"), 15_000_000)
    pq.write_table(pa.table({"head": same, "relation": same, "tail": same}), tmp_path / "f.parquet")
    with pytest.raises(InputError, match="found 15,000,000 rows with"):
        read_graph(tmp_path / "f.parquet")


def test_parquet_with_one_long_name_in_many_rows_is_refused(tmp_path: Path) -> None:
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), pa.array(["n" * 20_000_000]))
    short = pa.array(["r"] * 200)
    table = pa.table({"head": long, "relation": short, "tail": short})
    pq.write_table(table, tmp_path / "f.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"200 rows with 4,\d+,\d+,\d+ bytes"):
        read_graph(tmp_path / "f.parquet")


def test_a_pipe_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_SHARE_OF_MEMORY", 1 << 20)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tr\tb\n" * 300_000)))
    with pytest.raises(InputError, match="in a pipe"):
        read_graph("-")


ONTOLOGIES = sorted(
    file
    for file in Path(os.environ.get("RESHUFFLE_DATA", "nowhere"), "ontologies").glob("*")
    if file.suffix in (".owl", ".rdf", ".ttl", ".n3")
)


@pytest.mark.skipif(not ONTOLOGIES, reason="needs the shared data sets")
@pytest.mark.parametrize("path", ONTOLOGIES, ids=lambda path: path.name)
def test_ontologies_that_people_wrote_are_read(path: Path) -> None:
    assert load(path.read_bytes(), str(path))
    assert len(read_graph(path))


def test_settings_with_endless_keys_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("a" + ".a" * 60_000 + " = 1\n")
    begun = time.process_time()
    with pytest.raises(InputError, match="of more than 16,384 bytes"):
        read_toml(tmp_path / "s.toml")
    assert time.process_time() - begun < 5
