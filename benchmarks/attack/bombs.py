"""Small files that would be large, or deep: one clear error within limits of time and memory, or a right end."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError
from benchmarks.attack.readers import RULES, TRIPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

MOST_MEMORY = 2 << 30
"""Bytes that a command may take; one that reads a file of a few triples takes 0.2 GB."""
MOST_ADDRESSES = 12 << 30  # what is asked for and not used counts here
MOST_SECONDS = 30  # of the processor
_SIZES = (50, 1_000, 4_000, 20_000, 100_000, 400_000)
_BLOCK = 1 << 20

_RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://x/" '
    'xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">'
)
_TURTLE = (
    "@prefix : <http://x/> .\n@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)


# --- files: each of a size that is a number of levels, entities, repetitions or kilobytes -----------------------------


def _nested_json_ld(n: int) -> str:
    return '{"@id": "http://x/a", "http://x/p": ' * n + '{"@id": "http://x/b"}' + "}" * n


def _nested_json_ld_lists(n: int) -> str:
    return '{"@id": "http://x/a", "http://x/p": ' + "[" * n + "]" * n + "}"


def _nested_json_ld_contexts(n: int) -> str:
    return '{"@context": ' * n + "{}" + "}" * n


def _nested_rdf_xml(n: int) -> str:
    return _RDF + "<rdf:Description><e:p>" * n + "</e:p></rdf:Description>" * n + "</rdf:RDF>"


def _nested_namespaces(n: int) -> str:
    opened = "".join(f'<rdf:Description xmlns:n{i}="http://x/{i}/"><n{i}:p>' for i in range(n))
    return _RDF + opened + "".join(f"</n{i}:p></rdf:Description>" for i in reversed(range(n))) + "</rdf:RDF>"


def _entities(n: int) -> str:
    levels = min(n, 40)
    declared = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, levels))
    used = f'<rdf:Description rdf:about="http://x/a"><e:p>&a{levels - 1};</e:p></rdf:Description>'
    return f'<!DOCTYPE rdf:RDF [<!ENTITY a0 "{"x" * 10}">{declared}]>' + _RDF + used + "</rdf:RDF>"


def _entities_within_names(n: int) -> str:
    long = f'<!DOCTYPE rdf:RDF [<!ENTITY a "{"x" * 1000}">]>'
    name = "&a;" * min(n, 20_000)
    return f'{long}{_RDF}<rdf:Description rdf:about="http://x/{name}"><e:p rdf:resource="http://x/b"/></rdf:Description></rdf:RDF>'


def _attributes(n: int) -> str:
    given = " ".join(f'e:p{i}="x"' for i in range(n))
    return f'{_RDF}<rdf:Description rdf:about="http://x/a" {given}/></rdf:RDF>'


def _nested_turtle(n: int) -> str:
    return _TURTLE + ":a :p " + "[ :p " * n + ":b" + " ]" * n + " .\n"


def _nested_lists(n: int) -> str:
    return _TURTLE + ":a :p " + "( " * n + ":b" + " )" * n + " .\n"


def _nested_quoted_triples(n: int) -> str:
    return _TURTLE + ":a :p " + "<< :a :p " * n + ":b" + " >>" * n + " .\n"


def _long_name(n: int) -> str:
    return "a\tr\t" + "x" * (1000 * n if n < 100_000 else 100_000_000) + "\n"


def _open_quote(n: int) -> str:
    return 'head,relation,tail\na,r,"' + "x\n" * min(50_000_000, 200 * n)


def _many_columns(n: int) -> str:
    return "head,relation,tail" + ",x" * n + "\na,r,b" + ",y" * n + "\n"


def _nested_json_lines(n: int) -> str:
    return '{"head": "a", "relation": "r", "tail": ' + "[" * n + "]" * n + "}\n"


def _large_number(n: int) -> str:
    return '{"head": "a", "relation": "r", "tail": ' + "9" * n + "}\n"


def _nested_classes(n: int) -> str:
    opened = "[ a owl:Class ; owl:unionOf ( :c " * n
    return _TURTLE + ":p rdfs:domain :c .\n" + opened + ":d" + " ) ]" * n + " rdfs:subClassOf :e .\n"


def _chains_of_nodes(n: int) -> str:
    """Anonymous nodes that lead to each other and end where they began."""
    lines = (f"_:b{i} owl:unionOf ( _:b{(i + 1) % n} :c{i} ) .\n" for i in range(n))
    return _TURTLE + ":p rdfs:domain :c .\n" + "".join(lines) + "_:b0 rdfs:subClassOf :e .\n"


def _endless_list(n: int) -> str:
    lines = (f"_:l{i} <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> :p{i} ;\n"
             f"  <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:l{(i + 1) % n} .\n" for i in range(n))  # fmt: skip
    return _TURTLE + ":p rdfs:domain :c .\n:q owl:propertyChainAxiom _:l0 .\n" + "".join(lines)


def _long_chain(n: int) -> str:
    return _TURTLE + ":q owl:propertyChainAxiom ( " + " ".join(f":p{i}" for i in range(n)) + " ) .\n"


def _many_disjoint(n: int) -> str:
    members = " ".join(f":c{i}" for i in range(n))
    return _TURTLE + f":p rdfs:domain :c .\n[] a owl:AllDisjointClasses ; owl:members ( {members} ) .\n"


def _long_rule(n: int) -> str:
    body = " & ".join(f"r{i % 7}(X{i}, X{i + 1})" for i in range(n))
    return f"{body} -> h(X0, X{n})\n"


def _nested_terms(n: int) -> str:
    return "h(X, Y) :- " + "f(" * n + "X" + ")" * n + ", r(X, Y).\n"


def _nested_comments(n: int) -> str:
    return "/*" * n + "h(X, Y) :- r(X, Y)." + "*/" * n + "\n"


def _nested_constraints(n: int) -> str:
    return '{"format": ' + '{"a": [' * n + "]}" * n + "}"


def _nested_settings(n: int) -> str:
    return "num_slots = " + "[" * n + "]" * n + "\n"


def _dotted_settings(n: int) -> str:
    return "a." * n + "b = 1\n"


@dataclass(frozen=True)
class _Bomb:
    """A file, what it holds, and the commands that read it; FILE, GOOD and RULES stand for files."""

    file: str
    text: Callable[[int], str] | None
    commands: tuple[str, ...]


_AS_FACTS = ("infer RULES FILE", "data show FILE")
_AS_RULES = ("check FILE", "infer FILE GOOD", "infer FILE GOOD --engine chase")
_ONE_FILE = ("infer FILE",)
BOMBS = {
    "nested JSON-LD": _Bomb("a.jsonld", _nested_json_ld, _AS_FACTS),
    "nested lists of JSON-LD": _Bomb("a.jsonld", _nested_json_ld_lists, _AS_FACTS),
    "nested contexts": _Bomb("a.jsonld", _nested_json_ld_contexts, _AS_FACTS),
    "nested RDF/XML": _Bomb("a.rdf", _nested_rdf_xml, (*_AS_FACTS, *_AS_RULES)),
    "nested namespaces": _Bomb("a.rdf", _nested_namespaces, (*_AS_FACTS, *_AS_RULES)),
    "entities": _Bomb("a.rdf", _entities, (*_AS_FACTS, *_AS_RULES)),
    "entities within names": _Bomb("a.rdf", _entities_within_names, (*_AS_FACTS, *_AS_RULES)),
    "attributes": _Bomb("a.rdf", _attributes, _AS_FACTS),
    "nested Turtle": _Bomb("a.ttl", _nested_turtle, (*_AS_FACTS, *_AS_RULES)),
    "nested lists of Turtle": _Bomb("a.ttl", _nested_lists, (*_AS_FACTS, *_AS_RULES)),
    "nested quoted triples": _Bomb("a.ttl", _nested_quoted_triples, _AS_FACTS),
    "long name": _Bomb("a.tsv", _long_name, _AS_FACTS),
    "open quote": _Bomb("a.csv", _open_quote, _AS_FACTS),
    "many columns": _Bomb("a.csv", _many_columns, _AS_FACTS),
    "nested JSON lines": _Bomb("a.jsonl", _nested_json_lines, _AS_FACTS),
    "large number": _Bomb("a.jsonl", _large_number, _AS_FACTS),
    "nested classes": _Bomb("a.ttl", _nested_classes, (*_AS_RULES, *_ONE_FILE)),
    "circle of classes": _Bomb("a.ttl", _chains_of_nodes, _AS_RULES),
    "endless list": _Bomb("a.ttl", _endless_list, _AS_RULES),
    "long chain": _Bomb("a.ttl", _long_chain, _AS_RULES),
    "many disjoint classes": _Bomb("a.ttl", _many_disjoint, _AS_RULES),
    "long rule": _Bomb("a.rules", _long_rule, _AS_RULES),
    "nested terms": _Bomb("a.pl", _nested_terms, _AS_RULES),
    "nested comments": _Bomb("a.dl", _nested_comments, _AS_RULES),
    "nested constraints": _Bomb("a.json", _nested_constraints, ("infer FILE GOOD",)),
    "nested settings": _Bomb("a.toml", _nested_settings, ("train GOOD -o out --config FILE",)),
    "dotted settings": _Bomb("a.toml", _dotted_settings, ("train GOOD -o out --config FILE",)),
    "packed line": _Bomb("a.tsv.gz", None, _AS_FACTS),
    "packed line of RDF": _Bomb("a.nt.gz", None, _AS_FACTS),
    "packed rule": _Bomb("a.rules.gz", None, _AS_RULES),
    "packed ontology": _Bomb("a.ttl.gz", None, _AS_RULES),
    "packed JSON line": _Bomb("a.jsonl.gz", None, _AS_FACTS),
    "one name of Parquet": _Bomb("a.parquet", None, _AS_FACTS),
    "rows of Parquet": _Bomb("a.parquet", None, _AS_FACTS),
}


class Bombs(Part):
    """Files of one bomb each, read by a command in a process of its own."""

    name, seconds = "bombs", 200

    def made(self, random: Random) -> Case:
        bomb = random.choice(sorted(BOMBS))
        return {"bomb": bomb, "size": random.choice(_SIZES), "command": random.choice(BOMBS[bomb].commands)}

    def run(self, case: Case, folder: Path) -> Counts:
        bomb = BOMBS[case["bomb"]]
        file = folder / bomb.file
        if bomb.text is not None:
            file.write_text(bomb.text(case["size"]), "utf-8")
        elif bomb.file == "a.parquet":
            _write_parquet(file, case["bomb"], case["size"])
        else:
            _write_packed(file, case["size"])
        (folder / "good.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES), "utf-8")
        (folder / "good.rules").write_text(RULES["native.rules"], "utf-8")
        names = {"FILE": bomb.file, "GOOD": "good.tsv", "RULES": "good.rules"}
        words = [names.get(word, word) for word in case["command"].split()]
        status = _limited_run(folder, words)
        return {"read": int(status != 2), "refused": int(status == 2)}

    def smaller(self, case: Case) -> Iterator[Case]:
        for size in (10, 100, *_SIZES):
            if size < case["size"]:
                yield {**case, "size": size}


def _write_packed(file: Path, size: int) -> None:
    """A line that has a thousand times its bytes; up to 2 GB."""
    kilobytes = min(5 * size, 2_000_000)
    with gzip.open(file, "wb", compresslevel=1) as stream:
        stream.write(
            b'{"head": "' if "jsonl" in file.name else b"<http://x/a" if "nt" in file.name else b"a\tr\t"
        )
        for _ in range(max(1, kilobytes // 1024)):
            stream.write(b"a" * _BLOCK)
        stream.write(b"\n")


def _write_parquet(file: Path, bomb: str, size: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if bomb == "rows of Parquet":
        rows = min(150 * size, 60_000_000)
        same = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int8), pa.array(["a"]))
        columns = [same, same, same]
    else:
        name = pa.array(["x" * min(200 * size, 50_000_000)])
        named = pa.DictionaryArray.from_arrays(np.zeros(200, dtype=np.int8), name)
        short = pa.DictionaryArray.from_arrays(np.zeros(200, dtype=np.int8), pa.array(["r"]))
        columns = [named, short, named]
    pq.write_table(pa.table(columns, names=["head", "relation", "tail"]), file)


def _limited_run(folder: Path, words: list[str]) -> int:
    """Run the command within the limits; its status, where it kept to the rules."""
    with (folder / "out").open("wb") as out, (folder / "errors").open("w+b") as errors:
        status, memory = _ended(folder, [*_python(), "-m", "reshuffle", "-q", *words], out, errors)
        errors.seek(0)
        told = errors.read().decode("utf-8", "replace")
    what = f"{' '.join(words)}: status {status}, {memory / 1e9:.1f} GB"
    if status == -signal.SIGXCPU:
        raise WrongAnswerError(f"{what}, more than {MOST_SECONDS} seconds of the processor")
    if status not in (0, 1, 2) or "Traceback" in told:
        raise WrongAnswerError(f"{what}: {told[-300:]}")
    if status == 2 and len([line for line in told.splitlines() if line.strip() and line[0] != " "]) != 1:
        raise WrongAnswerError(f"{what}, and not one error beside its hint: {told[-300:]}")
    if memory > MOST_MEMORY:
        raise WrongAnswerError(f"{what}: more than {MOST_MEMORY / 1e9:.1f} GB")
    return status


def _python() -> list[str]:
    return [sys.executable]


def _ended(folder: Path, command: list[str], out: BinaryIO, errors: BinaryIO) -> tuple[int, int]:
    """The status of a process, and the memory that it took."""
    process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=errors, preexec_fn=_limit)  # noqa: PLW1509
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_maxrss * 1024


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


PARTS = (Bombs(),)
