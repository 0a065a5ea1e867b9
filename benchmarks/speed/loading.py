"""Loading: a TSV file of 20 million triples to integer ids, side by side with pandas.

pandas is used as someone who knows it would: no quotes, no search for missing values, heads and tails
factorized together; once with its default parser and once with its fastest, Arrow's. What `read_graph`
does beyond that (checking every line and name, sorting, dropping duplicates) is in its time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.speed.measure import best_in_turns, run_fresh, write_result

TRIPLES, ENTITIES, RELATIONS, SEED = 20_000_000, 5_000_000, 100, 1
FASTER, SMALLER = 3.0, 0.5  # what is asked of us: at least, at most
_COLUMNS = ["head", "relation", "tail"]
_SCRATCH = Path(__file__).parents[2] / "scratch"


def run() -> None:
    """Generate the file once, measure, and write `results/speed/loading.json`."""
    path = str(_SCRATCH / f"loading-{TRIPLES}-{ENTITIES}-{RELATIONS}-{SEED}.tsv")
    if not Path(path).exists():
        print("generating the triples", file=sys.stderr)
        run_fresh("benchmarks.speed.loading:generate", path)
    with tempfile.TemporaryDirectory() as empty:
        first = run_fresh("benchmarks.speed.loading:reshuffle", path, environment={"NUMBA_CACHE_DIR": empty})
    best = best_in_turns(
        {
            "reshuffle": ("benchmarks.speed.loading:reshuffle", path),
            "pandas": ("benchmarks.speed.loading:pandas", path, "c"),
            "pandas, engine=pyarrow": ("benchmarks.speed.loading:pandas", path, "pyarrow"),
        }
    )
    if len({(found.value["entities"], found.value["relations"]) for found in best.values()}) != 1:
        raise SystemExit(f"the contenders disagree: {best}")
    result = summary(best) | {"first_run_compiles": first.to_dict()}
    print(f"written to {write_result('loading', result).relative_to(Path.cwd())}", file=sys.stderr)
    for name, ratio in result["ratios"].items():
        print(f"{name}: {ratio['times_faster']} times faster, {ratio['share_of_memory']:.0%} of the memory")


def summary(best: dict[str, Any]) -> dict[str, Any]:
    """The result file's content."""
    ours = best["reshuffle"]
    return {
        "what": "load a TSV file and map its names to ids; wall time with imports, best of 3 in turns",
        "command": "python -m benchmarks.speed loading",
        **describe(["reshuffle", "numpy", "numba", "pyarrow", "pandas"]),
        "data": {"triples": TRIPLES, "entities": ENTITIES, "relations": RELATIONS, "seed": SEED},
        "required": {"times_faster": FASTER, "share_of_memory": SMALLER, "than": "pandas"},
        "runs": {name: found.to_dict() for name, found in best.items()},
        "ratios": {
            f"reshuffle to {name}": {
                "times_faster": round(found.seconds / ours.seconds, 2),
                "share_of_memory": round(ours.peak_megabytes / found.peak_megabytes, 2),
            }
            for name, found in best.items()
            if name != "reshuffle"
        },
    }


def reshuffle(path: str) -> dict[str, int]:
    """Contender: this library."""
    from reshuffle.kg import read_graph

    graph = read_graph(path)
    return {"triples": len(graph), "entities": graph.num_entities, "relations": len(graph.relations)}


def pandas(path: str, engine: str) -> dict[str, int]:
    """Contender: pandas with one of its parsers."""
    import csv

    import pandas as pd

    options: dict[str, Any] = {"engine": "pyarrow"}
    if engine == "c":
        options = {"engine": "c", "dtype": str, "na_filter": False, "quoting": csv.QUOTE_NONE}
    table = pd.read_csv(path, sep="\t", header=None, names=_COLUMNS, **options)
    relation_ids, relations = pd.factorize(table["relation"])
    _, entities = pd.factorize(pd.concat([table["head"], table["tail"]], ignore_index=True))
    return {"triples": len(relation_ids), "entities": len(entities), "relations": len(relations)}


def generate(path: str) -> None:
    """Write random triples: every entity is a head at least once, and degrees follow a power law."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    from reshuffle.kg import written_whole

    random = np.random.default_rng(SEED)

    def names(letter: str, count: int) -> pa.Array:
        numbers = pa.array(random.permutation(20 * count)[:count]).cast(pa.string())
        return pc.binary_join_element_wise(letter, numbers, "")

    def power_law(count: int, size: int) -> Any:
        # Half by rank^-1, half by rank^-1/2: a few hubs, a long tail, and no entity out of reach.
        steep = np.minimum(np.exp(random.random(count) * np.log(size)), size - 1)
        return np.where(random.random(count) < 0.5, steep, size * random.random(count) ** 2).astype(np.int64)

    heads, tails = power_law(TRIPLES, ENTITIES), power_law(TRIPLES, ENTITIES)
    heads[random.permutation(TRIPLES)[:ENTITIES]] = random.permutation(ENTITIES)
    relation_ids = (RELATIONS * random.random(TRIPLES) ** 3).astype(np.int64)
    entities, relations = names("Q", ENTITIES), names("P", RELATIONS)
    columns = [entities.take(heads), relations.take(relation_ids), entities.take(tails)]
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    Path(path).parent.mkdir(exist_ok=True)
    with written_whole(path) as aside:
        csv.write_csv(pa.table(columns, names=_COLUMNS), aside, options)
