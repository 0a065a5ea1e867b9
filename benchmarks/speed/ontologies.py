"""Ontologies of classes from an OBO file to every edge that follows: one like Uberon, and classification as they grow.

All are generated. The one like Uberon has its numbers of edges, properties and rules; the others have definitions,
relationships, disjoint branches and a few property chains, as GO does. A run is the whole command in a process of its
own: `reshuffle infer FILE.obo -o edges.tsv`; processor seconds count for all threads, from the start on.
"""

from __future__ import annotations

import random
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe
from benchmarks.speed.measure import run_fresh, write_result

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (1_000, 10_000, 100_000, 300_000)
CLASSES, EDGES, PROPERTIES = 15_000, 26_000, 220
ANNOTATIONS = 20_000
REQUIRED = {
    "like Uberon, cpu_seconds": 6,
    "300,000 classes, seconds": 300,
    "300,000 classes, peak_megabytes": 4_000,
}
_WINDOW = 0.5  # parents are among the classes up to this part of one's own number, so that depth grows slowly


def run() -> None:
    """Store and print one run of each."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "uberon.obo"), Path(folder, "annotations.tsv")
        given[0].write_text("\n".join(like_uberon()), encoding="utf-8")
        given[1].write_text("\n".join(of_genes()) + "\n", encoding="utf-8")
        found["like Uberon"] = _measured(given[0])
        found["like Uberon, with annotations"] = _measured(*given)
        for size in SIZES:
            path = Path(folder, f"{size}.obo")
            path.write_text("\n".join(of_size(size)), encoding="utf-8")
            found[f"{size:,} classes"] = _measured(path)
    about = {
        "what": "reshuffle infer FILE.obo -o edges.tsv, whole: classification of generated ontologies",
        "command": "python -m benchmarks.speed ontologies",
    }
    write_result(
        "ontologies",
        {**about, **describe(["reshuffle", "numpy", "numba"]), "required": REQUIRED, "work": found},
    )


def _measured(*files: Path) -> dict[str, Any]:
    run_fresh("benchmarks.speed.ontologies:inferred", *map(str, files[:1]))  # kernels are compiled once
    found = run_fresh("benchmarks.speed.ontologies:inferred", *map(str, files))
    row = {**found.value, **found.process_cost()}
    print(f"{files[0].name}: {row}")
    return row


def inferred(*files: str) -> dict[str, Any]:
    """The number of edges and the processor seconds of this process, in which nothing else has run."""
    from reshuffle.cli.main import main

    told = StringIO()
    out = Path(files[0]).with_suffix(".edges.tsv")
    with redirect_stdout(told), redirect_stderr(told):
        status = main(["infer", *files, "-o", str(out)])
    if status != 0:
        raise RuntimeError(told.getvalue())
    seconds = time.process_time()
    with out.open("rb") as lines:
        edges = sum(1 for _ in lines)
    return {"cpu_seconds": round(seconds, 2), "edges": edges}


# --- what is generated ----------------------------------------------------------------------------------------------


def _parent(number: int, chance: random.Random) -> int:
    return chance.randrange(max(1, int(number * _WINDOW)))


def like_uberon(seed: int = 0) -> Iterator[str]:
    """An OBO file with the sizes of an import of Uberon; its rules are about 800."""
    chance = random.Random(seed)
    yield "format-version: 1.2"
    clauses: list[list[str]] = [[] for _ in range(CLASSES)]
    for number in range(1, CLASSES):
        clauses[number].append(f"is_a: U:{_parent(number, chance):07}")
    for _ in range(EDGES - CLASSES):
        number = chance.randrange(1, CLASSES)
        # A few properties have most edges.
        relation = min(int(chance.expovariate(0.1)), PROPERTIES - 1)
        clauses[number].append(f"relationship: r{relation} U:{_parent(number, chance):07}")
    for number, lines in enumerate(clauses):
        yield from ("", "[Term]", f"id: U:{number:07}", f"name: class {number}", *lines)
    for number in range(PROPERTIES):
        yield from ("", "[Typedef]", f"id: r{number}")
        if number and chance.random() < 0.8:
            yield f"is_a: r{chance.randrange(number)}"
        if chance.random() < 0.3:
            yield "is_transitive: true"
        if chance.random() < 0.25:
            yield f"transitive_over: r{chance.randrange(PROPERTIES)}"
        if chance.random() < 0.25:
            yield f"holds_over_chain: r{chance.randrange(PROPERTIES)} r{chance.randrange(PROPERTIES)}"


def of_genes(seed: int = 1) -> Iterator[str]:
    """Facts about genes, by a property of the ontology like Uberon."""
    chance = random.Random(seed)
    for number in range(ANNOTATIONS):
        yield f"gene{number // 10}\tr{PROPERTIES - 1}\tU:{chance.randrange(CLASSES):07}"


def of_size(classes: int, seed: int = 0) -> Iterator[str]:
    """An OBO file with definitions and relationships."""
    chance = random.Random(seed)
    yield "format-version: 1.2"
    for number in range(classes):
        yield from ("", "[Term]", f"id: C:{number:07}", f"name: class {number}")
        if number == 0:
            continue
        if number % 5 == 4:  # defined by a parent and a relationship
            yield f"intersection_of: C:{_parent(number, chance):07}"
            yield f"intersection_of: part_of C:{_parent(number, chance):07}"
            continue
        yield f"is_a: C:{_parent(number, chance):07}"
        if number % 4 == 0:
            yield f"is_a: C:{_parent(number, chance):07}"
        if number % 3 == 0:
            relation = chance.choice(("part_of", "regulates", "located_in"))
            yield f"relationship: {relation} C:{_parent(number, chance):07}"
    yield from ("", "[Typedef]", "id: part_of", "is_transitive: true")
    yield from ("", "[Typedef]", "id: regulates", "transitive_over: part_of")
    yield from (
        "",
        "[Typedef]",
        "id: located_in",
        "is_transitive: true",
        "holds_over_chain: part_of located_in",
    )
