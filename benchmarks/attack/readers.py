"""Mutated files for every reader: facts, rules, compiled constraints, settings, and model directories."""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

TRIPLES = [
    ("ada", "bornIn", "london"),
    ("london", "cityIn", "uk"),
    ("uk", "speaks", "english"),
    ("bob", "likes", "ada"),
]
RULES = {
    "native.rules": "bornIn(X, Y) & cityIn(Y, Z) -> livesIn(X, Z)\nlikes(X, Y) & knows(X, Y) -> trusts(X, Y)\n"
    'likes(X, Y) & trusts(X, Y) -> false\n"a b"(X, Y) -> likes(Y, X)  # a comment\n',
    "anyburl.txt": "10\t5\t0.5\tlivesIn(X,Y) <= bornIn(X,A), cityIn(A,Y)\n",
    "amie.tsv": "Rule\tHead Coverage\n?a  bornIn  ?b  ?b  cityIn  ?c   => ?a  livesIn  ?c\t0.5\n",
    "prolog.pl": "livesIn(X, Z) :- bornIn(X, Y), cityIn(Y, Z).\n",
    "souffle.dl": ".decl bornIn(x:symbol, y:symbol)\nlivesIn(x, z) :- bornIn(x, y), cityIn(y, z).\n",
    "nemo.rls": "livesIn(?x, ?z) :- bornIn(?x, ?y), cityIn(?y, ?z) .\n",
    "ontology.ttl": "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix : <http://x/> .\n:a rdfs:subPropertyOf :b .\n:b a owl:TransitiveProperty ; owl:inverseOf :c .\n",
}
SETTINGS = 'recipe = "best"\nnum_slots = 4\nnum_layers = 2\nmax_epochs = 1\nepoch_steps = 1\nseed = 1\n'
SMALL = [f"--set={setting}" for setting in ("num_slots=3", "num_layers=2", "max_epochs=1", "epoch_steps=1")]
TOKENS = [
    b"(" * 50,
    b"[" * 3000,
    b"9" * 40,
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"-1",
    b"1e999",
    b"nan",
    b"^-1",
    b"~1",
]
TOKENS += [
    b"\0",
    b"\t",
    b"\n",
    b'"',
    b"{",
    b"}",
    b"->",
    b"<=",
    b":-",
    b"#",
    b"<",
    b">",
    b"\\",
    b"false",
    b"eq",
]


def command(*arguments: str) -> str:
    """Run one command in this process; what it wrote to stdout."""
    return ran(*arguments)[1]


def ran(*arguments: str) -> tuple[int, str]:
    """The status and the output of one command in this process. Anything but our own statuses is a failure."""
    from reshuffle.cli.main import main

    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = main(list(arguments))
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 2
    if status not in (0, 1, 2) or "Traceback" in errors.getvalue():
        raise WrongAnswerError(f"status {status}: {errors.getvalue()[-500:]}")
    if status == 2 and not errors.getvalue().strip():
        raise WrongAnswerError("status 2 without a message")
    return status, out.getvalue()


@functools.cache
def good_files() -> dict[str, dict[str, bytes]]:
    """Per reader the files that it can read: a name and its bytes."""
    from reshuffle import KnowledgeGraph
    from reshuffle.kg import write_triples

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "facts.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES), "utf-8")
        (folder / "rules.txt").write_text(RULES["native.rules"], "utf-8")
        facts = [f"facts{ending}" for ending in (".tsv", ".csv", ".nt", ".ttl", ".parquet", ".tsv.gz")]
        for file in facts[1:]:
            write_triples(sorted(KnowledgeGraph(TRIPLES)), folder / file)
        command("-q", "compile", str(folder / "rules.txt"), "-o", str(folder / "compiled.json"))
        command("-q", "train", str(folder / "facts.tsv"), "-o", str(folder / "model"), *SMALL, "--device=cpu")
        model = {
            str(file.relative_to(folder)): file.read_bytes()
            for file in sorted((folder / "model").rglob("*"))
            if file.is_file()
        }
        return {
            **{file: {file: (folder / file).read_bytes()} for file in facts},
            **{file: {file: text.encode()} for file, text in RULES.items()},
            "compiled": {"compiled.json": (folder / "compiled.json").read_bytes()},
            "settings": {"settings.toml": SETTINGS.encode()},
            "model": model,
            "resume": model,
        }


class Readers(Part):
    """Files that a reader could read, and then some of their bytes were changed."""

    name = "readers"
    kinds: Sequence[str] = (
        "facts.tsv",
        "facts.csv",
        "facts.nt",
        "facts.ttl",
        "facts.parquet",
        "facts.tsv.gz",
        *RULES,
        "compiled",
        "settings",
    )

    def made(self, random: Random) -> Case:
        kind = random.choice(self.kinds)
        files = {
            name: mutated(data, random) if random.random() < 0.7 else data
            for name, data in good_files()[kind].items()
        }
        return case_of(kind, files)

    def run(self, case: Case, folder: Path) -> Counts:
        for name, text in case["files"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(base64.b64decode(text))
        read(case["kind"], folder)
        return {"files": len(case["files"])}

    def smaller(self, case: Case) -> Iterator[Case]:
        for name, text in case["files"].items():
            for data in without_pieces(base64.b64decode(text)):
                yield {**case, "files": {**case["files"], name: base64.b64encode(bytes(data)).decode()}}


class Directories(Readers):
    """Model directories with files that were changed, left out, swapped or made empty; also to resume from."""

    name, seconds = "directories", 120
    kinds = ("model", "resume")

    def made(self, random: Random) -> Case:
        kind = random.choice(self.kinds)
        files = dict(good_files()[kind])
        for _ in range(random.randint(1, 2)):
            name, other = random.choice(list(files)), random.choice(list(files))
            files[name] = random.choice([mutated(files[name], random), files[other], b"", b"{}"])
            if random.random() < 0.2 and len(files) > 1:
                del files[name]
        return case_of(kind, files)


def case_of(kind: str, files: dict[str, bytes]) -> Case:
    """A case as JSON holds it."""
    return {"kind": kind, "files": {name: base64.b64encode(data).decode() for name, data in files.items()}}


def mutated(data: bytes, random: Random) -> bytes:
    """A few bytes changed, cut out, doubled or put in."""
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 4])):
        place = random.randrange(len(changed) + 1)
        end = min(len(changed), place + random.choice([1, 1, 4, 30]))
        way = random.randrange(5)
        if way == 0 and place < len(changed):
            changed[place] ^= 1 << random.randrange(8)
        elif way == 1:
            del changed[place:end]
        elif way == 2:
            changed[place:place] = changed[place:end] * random.choice([1, 2, 50])
        elif way == 3:
            changed[place:place] = random.choice(TOKENS)
        else:
            del changed[place:]
    return bytes(changed)


def read(kind: str, folder: Path) -> None:
    """Let the library read what lies in the folder."""
    facts, rules = folder / "good.tsv", folder / "good.rules"
    facts.write_text("".join("\t".join(row) + "\n" for row in TRIPLES), "utf-8")
    rules.write_text(RULES["native.rules"], "utf-8")
    if kind.startswith("facts"):
        command("infer", str(rules), str(folder / kind))
        command("data", "show", str(folder / kind))
    elif kind in RULES:
        command("check", str(folder / kind))
        command("infer", "--engine", "chase", str(folder / kind), str(facts))
    elif kind == "compiled":
        command("infer", str(folder / "compiled.json"), str(facts))
    elif kind == "settings":
        command(
            "train", "not_there.tsv", "-o", str(folder / "out"), "--config", str(folder / "settings.toml")
        )
    elif kind == "model":
        command("rules", str(folder / "model"))
        command("infer", str(folder / "model"), str(facts))
    else:
        command("-q", "train", str(facts), "-o", str(folder / "model"), *SMALL, "--device=cpu", "--resume")
    sys.stdout.flush()


PARTS = (Readers(), Directories())
