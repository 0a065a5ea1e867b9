"""Links and folders that somebody has put at the names of work folders: nothing outside is touched."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces
from benchmarks.attack.readers import ran

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

_FACTS = "".join(f"e{n}\tup\te{n // 2}\n" for n in range(1, 60))
_RULES = "up(X, Y) & up(Y, Z) -> up(X, Z)\n"
_OUTPUTS = {
    "infer": ["out.tsv", "out.nt", "out.parquet", "out/", "out.csv.gz"],
    "compile": ["out.json"],
    "draw": ["out.svg"],
    "predict": ["out.csv", "out.html"],
    "save": ["out.rules", "out.ttl"],
}
_ENGINES = ["auto", "chase", *(["duckdb"] * 3 if find_spec("duckdb") else [])]
_BESIDE = (
    ".{out}.unfinished", ".{out}.unfinished", ".{out}.unfinished", ".{out}.part", ".{out}.0a1b2c3d.part", ".{out}.old",
    ".{out}.0a1b2c3d.part.old", ".{out}.part.old", "{out}.part", "{out}.tmp", ".{out}.lock", ".{out}",
)  # fmt: skip
_WITHIN = (
    "run.lock", "inputs.sha256", "tables.duckdb", "tables.duckdb.wal", "spilled", "written", "written_with_facts",
    "buckets", "rounds", "part-0.parquet", "names",
)  # fmt: skip
_KINDS = ("link to a folder", "link to a file", "link to nothing", "folder", "folder with a lock", "file")


class Links(Part):
    """Commands that write, beside links that lead out of the folder."""

    name, seconds = "links", 120

    def made(self, random: Random) -> Case:
        verb = random.choice(["infer"] * 5 + sorted(_OUTPUTS))
        planted = [
            {"at": at, "kind": random.choice(_KINDS), "within": random.choice(_WITHIN)}
            for at in dict.fromkeys(random.choices(_BESIDE, k=random.randint(1, 3)))
        ]
        return {
            "verb": verb,
            "output": random.choice(_OUTPUTS[verb]),
            "engine": random.choice(_ENGINES),
            "planted": planted,
            "open": random.random() < 0.3,
        }

    def run(self, case: Case, folder: Path) -> Counts:
        shared = folder / "shared"
        _prepare(case, folder, shared)
        before = _contents(folder, case)
        status, _ = ran("-q", *_arguments(case, folder, shared / case["output"].rstrip("/")))
        after = _contents(folder, case)
        if changed := {path for path in {*before, *after} if before.get(path) != after.get(path)}:
            raise WrongAnswerError(f"status {status}, and these are changed: {sorted(changed)[:5]}")
        if status == 0:
            _compare_output(case, folder, shared)
        return {"planted": len(case["planted"]), "written": int(status == 0)}

    def smaller(self, case: Case) -> Iterator[Case]:
        for planted in without_pieces(case["planted"]):
            if planted:
                yield {**case, "planted": planted}


def _prepare(case: Case, folder: Path, shared: Path) -> None:
    (folder / "precious" / "deeper").mkdir(parents=True)
    for name in ("keep.txt", "run.lock", "part-0.parquet", "deeper/inputs.sha256"):
        (folder / "precious" / name).write_text(f"do not touch {name}", "utf-8")
    shared.mkdir()
    (folder / "facts.tsv").write_text(_FACTS, "utf-8")
    (folder / "my.rules").write_text(_RULES, "utf-8")
    for planted in case["planted"]:
        path = shared / planted["at"].format(out=case["output"].rstrip("/"))
        if not os.path.lexists(path):
            _plant(path, planted, folder / "precious", mode=0o777 if case["open"] else 0o755)


def _plant(path: Path, planted: dict[str, str], precious: Path, *, mode: int) -> None:
    targets = {
        "link to a folder": precious,
        "link to a file": precious / "keep.txt",
        "link to nothing": precious / "new",
    }
    kind = planted["kind"]
    if kind in targets:
        path.symlink_to(targets[kind])
    elif kind == "file":
        path.write_text("mine", "utf-8")
    else:
        path.mkdir()
        if kind == "folder with a lock" and planted["within"] != "run.lock":
            (path / "run.lock").touch()
        (path / planted["within"]).symlink_to(precious / ("" if len(planted["within"]) % 2 else "keep.txt"))
        (path / "also.txt").write_text("also mine", "utf-8")
        path.chmod(mode)


def _contents(folder: Path, case: Case) -> dict[str, bytes]:
    """What must stay: all that is outside, and what somebody else has put into a folder that is not one of ours."""
    outside = [*(folder / "precious").rglob("*"), folder / "facts.tsv", folder / "my.rules"]
    mine = [
        folder / "shared" / planted["at"].format(out=case["output"].rstrip("/")) / "also.txt"
        for planted in case["planted"]
        if planted["kind"] == "folder" and planted["within"] not in ("run.lock", "inputs.sha256")
    ]
    found = [path for path in [*outside, *mine] if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _arguments(case: Case, folder: Path, out: Path) -> list[str]:
    rules, facts, named = str(folder / "my.rules"), str(folder / "facts.tsv"), str(out)
    if case["output"].endswith("/"):
        named += "/"
    return {
        "infer": ["infer", rules, facts, "-o", named, "--engine", case["engine"]],
        "compile": ["compile", rules, "-o", named],
        "draw": ["draw", rules, "-o", named],
        "predict": ["predict", rules, facts, "--all", "-o", named],
        "save": ["rules", rules, "-o", named],
    }[case["verb"]]


def _compare_output(case: Case, folder: Path, shared: Path) -> None:
    """Is what was written there, whole, and are its triples those that follow?"""
    if case["verb"] != "infer":
        if not (shared / case["output"]).stat().st_size:
            raise WrongAnswerError(f"{case['output']} is empty")
        return
    status, printed = ran("-q", "infer", str(folder / "my.rules"), str(folder / "facts.tsv"))
    expected = set(map(tuple, (line.split("\t") for line in printed.splitlines())))
    if status != 0 or _triples(shared / case["output"].rstrip("/")) != expected:
        raise WrongAnswerError(f"{case['output']} does not hold what follows")


def _triples(path: Path) -> set[tuple[str, ...]]:
    from reshuffle import KnowledgeGraph

    if not path.is_dir():
        return {tuple(name.rsplit("/", 1)[-1] for name in triple) for triple in KnowledgeGraph.read(path)}
    import pyarrow.parquet as pq

    found: set[tuple[str, ...]] = set()
    for file in path.rglob("*.parquet"):
        relation = file.parent.name.removeprefix("relation=")
        table = pq.ParquetFile(file).read()
        pairs = zip(table["head"].to_pylist(), table["tail"].to_pylist(), strict=True)
        found |= {(head, relation, tail) for head, tail in pairs}
    return found


PARTS = (Links(),)
