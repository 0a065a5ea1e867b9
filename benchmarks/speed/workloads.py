"""The WordNet workloads W1, W2 and W3, and every engine that runs them.

Each contender takes the path of the triples and the name of a workload, and returns how many facts hold and how
long loading and reasoning took, imports and warm-up apart. Counting is part of reasoning. nemo and clingo get the
rules as a user writes them; DuckDB and scipy.sparse get them linearised by hand, since neither does it itself.
"""

from __future__ import annotations

import time
from typing import Any

HYP, INST, PART, TOPIC = "_hypernym", "_instance_hypernym", "_has_part", "_synset_domain_topic_of"
DRF, VG, SIM, ALSO = "_derivationally_related_form", "_verb_group", "_similar_to", "_also_see"
SHORT = {
    "hyp": HYP,
    "inst": INST,
    "part": PART,
    "topic": TOPIC,
    "drf": DRF,
    "vg": VG,
    "sim": SIM,
    "also": ALSO,
}
EXPECTED = {"W1": 192_554, "W2": 1_522_654, "W3": 38_643_029}

# (body, head): a body is a path, `~r` is the inverse of r, and `&` joins the two sides of an intersection.
RULES = {
    "W1": [("hyp hyp", "hyp")],
    "W2": [
        ("hyp hyp", "hyp"),
        ("inst hyp", "inst"),
        ("part part", "part"),
        ("hyp part", "part"),
        ("hyp topic", "topic"),
        *((f"~{name}", name) for name in ("drf", "vg", "sim", "also")),
        ("hyp", "isa"),
        ("inst", "isa"),
        ("drf & hyp", "both"),
        ("drf hyp", "drel"),
        ("vg drf", "drel"),
    ],
    "W3": [("~drf", "drf"), ("drf drf", "drf")],
}
_VARIABLES = "XYZ"


def relations(workload: str) -> list[str]:
    """The relations of a workload, by their short names."""
    names = {name: None for body, head in RULES[workload] for name in [*body.replace("~", "").split(), head]}
    names.pop("&", None)
    return list(names)


def as_atoms(body: str, head: str) -> tuple[list[tuple[str, str, str]], tuple[str, str, str]]:
    """A rule as atoms (relation, variable, variable)."""
    if "&" in body:
        return [(name, "X", "Y") for name in body.split(" & ")], (head, "X", "Y")
    steps = body.split()
    atoms = []
    for place, name in enumerate(steps):
        ends = (_VARIABLES[place], _VARIABLES[place + 1])
        atoms.append((name[1:], *ends[::-1]) if name.startswith("~") else (name, *ends))
    return atoms, (head, "X", _VARIABLES[len(steps)])


def _timed(load: Any, reason: Any) -> dict[str, Any]:
    began = time.perf_counter()
    loaded = load()
    between = time.perf_counter()
    facts = reason(loaded)
    ended = time.perf_counter()
    return {"facts": facts, "load": between - began, "reason": ended - between, "both": ended - began}


# --- this library -----------------------------------------------------------------------------------


def our_rules(workload: str) -> str:
    """The rules in our syntax."""
    lines = []
    for body, head in RULES[workload]:
        atoms, conclusion = as_atoms(body, head)
        spelled = [f"{SHORT.get(name, name)}({x}, {y})" for name, x, y in [*atoms, conclusion]]
        lines.append(f"{' & '.join(spelled[:-1])} -> {spelled[-1]}")
    return "\n".join(lines)


def reshuffle(path: str, workload: str) -> dict[str, Any]:
    """Reads the file, compiles the rules, counts what holds."""
    from reshuffle import KnowledgeGraph, Reasoner, parse_rules
    from reshuffle.kg import read_graph

    warm = KnowledgeGraph([("a", HYP, "b"), ("b", HYP, "c"), ("a", DRF, "c")])
    Reasoner(parse_rules(our_rules(workload))).on(warm).counts()
    names = [SHORT.get(name, name) for name in relations(workload)]

    def reason(graph: Any) -> int:
        counts = Reasoner(parse_rules(our_rules(workload))).on(graph).counts()
        return sum(counts[name].total for name in names)

    read_graph(path)
    return _timed(lambda: read_graph(path), reason)


def reshuffle_stored(path: str, workload: str) -> dict[str, Any]:
    """The same, with all answers stored and ready to be updated."""
    from reshuffle import KnowledgeGraph, Reasoner, parse_rules
    from reshuffle.kg import read_graph

    names = [SHORT.get(name, name) for name in relations(workload)]

    def reason(graph: Any) -> int:
        answers: Any = Reasoner(parse_rules(our_rules(workload))).on(graph)
        answers.materialise()
        return sum(answers.counts()[name].total for name in names)

    reason(KnowledgeGraph([("a", name, "b") for name in SHORT.values()]))
    read_graph(path)
    return _timed(lambda: read_graph(path), reason)


# --- Datalog engines, with the rules as written -----------------------------------------------------


def nemo(path: str, workload: str) -> dict[str, Any]:
    """nemo-python. Symmetry is written over the derived relation, since 0.10.1 loses the second of two rules
    that read one imported relation in both directions."""
    import nmo_python

    program = [f'@import triple :- tsv{{resource="{path}", format=(string, string, string)}} .']
    program += [
        f'{name}(?X, ?Y) :- triple(?X, "{SHORT[name]}", ?Y) .'
        for name in relations(workload)
        if name in SHORT
    ]
    for body, head in RULES[workload]:
        atoms, conclusion = as_atoms(body, head)
        spelled = [f"{name}(?{x}, ?{y})" for name, x, y in [*atoms, conclusion]]
        program.append(f"{spelled[-1]} :- {', '.join(spelled[:-1])} .")

    def reason(text: str) -> Any:
        engine = nmo_python.NemoEngine(nmo_python.load_string(text))
        engine.reason()
        return engine

    timed = _timed(lambda: "\n".join(program), reason)
    engine = timed.pop("facts")
    # Handing 38 million rows to Python would take longer than deriving them, and is nobody's reasoning.
    facts = None if workload == "W3" else sum(1 for name in relations(workload) for _ in engine.result(name))
    return {**timed, "facts": facts}


def clingo(path: str, workload: str) -> dict[str, Any]:
    """clingo: grounding alone computes the consequences of rules without negation."""
    import clingo as engine

    def load() -> Any:
        entities: dict[str, int] = {}
        short = {long: name for name, long in SHORT.items()}
        facts = []
        with open(path, encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                head, relation, tail = line.rstrip("\n").split("\t")
                if relation in short:
                    ids = (entities.setdefault(head, len(entities)), entities.setdefault(tail, len(entities)))
                    facts.append(f"{short[relation]}({ids[0]},{ids[1]}).")
        control = engine.Control()
        control.add("base", [], "".join(facts))
        for body, head in RULES[workload]:
            atoms, conclusion = as_atoms(body, head)
            spelled = [f"{name}({x},{y})" for name, x, y in [*atoms, conclusion]]
            control.add("base", [], f"{spelled[-1]} :- {', '.join(spelled[:-1])}.")
        return control

    def reason(control: Any) -> int:
        control.ground([("base", [])])
        return sum(
            sum(1 for _ in control.symbolic_atoms.by_signature(name, 2)) for name in relations(workload)
        )

    return _timed(load, reason)


# --- linearised by hand -----------------------------------------------------------------------------

_CLOSURE = """
CREATE TEMP TABLE {name} AS WITH RECURSIVE closure(h, t) AS (
  SELECT h, t FROM {step} UNION SELECT closure.h, {step}.t FROM closure JOIN {step} ON closure.t = {step}.h
) SELECT * FROM closure;
"""
_JOIN = "SELECT a.h, b.t FROM {} a JOIN {} b ON a.t = b.h"
SQL = {
    "W1": _CLOSURE.format(name="hyp", step="hyp0"),
    "W2": _CLOSURE.format(name="hyp", step="hyp0")
    + f"CREATE TEMP TABLE inst AS SELECT h, t FROM inst0 UNION {_JOIN.format('inst0', 'hyp')};"
    + f"CREATE TEMP TABLE part1 AS SELECT h, t FROM part0 UNION {_JOIN.format('hyp', 'part0')};"
    + _CLOSURE.format(name="part", step="part1")
    + f"CREATE TEMP TABLE topic AS SELECT h, t FROM topic0 UNION {_JOIN.format('hyp', 'topic0')};"
    + "".join(
        f"CREATE TEMP TABLE {name} AS SELECT h, t FROM {name}0 UNION SELECT t, h FROM {name}0;"
        for name in ("drf", "vg", "sim", "also")
    )
    + "CREATE TEMP TABLE isa AS SELECT h, t FROM hyp UNION SELECT h, t FROM inst;"
    + 'CREATE TEMP TABLE "both" AS SELECT h, t FROM drf INTERSECT SELECT h, t FROM hyp;'
    + f"CREATE TEMP TABLE drel AS {_JOIN.format('drf', 'hyp')} UNION {_JOIN.format('vg', 'drf')};",
    "W3": "CREATE TEMP TABLE both_ways AS SELECT h, t FROM drf0 UNION SELECT t, h FROM drf0;"
    + _CLOSURE.format(name="drf", step="both_ways"),
}


def duckdb(path: str, workload: str) -> dict[str, Any]:
    """DuckDB: entities as integers, each relation a table, linear recursive queries by hand."""
    import duckdb as engine

    def load() -> Any:
        database = engine.connect()
        database.execute(
            "CREATE TEMP TABLE triple AS SELECT * FROM read_csv(?, delim='\t', header=false, quote='', "
            "columns={'h': 'VARCHAR', 'r': 'VARCHAR', 't': 'VARCHAR'})",
            [path],
        )
        database.execute(
            "CREATE TEMP TABLE entity AS SELECT name, row_number() OVER () AS id FROM "
            "(SELECT h AS name FROM triple UNION SELECT t FROM triple)"
        )
        for short, long in SHORT.items():
            database.execute(
                f"CREATE TEMP TABLE {short}0 AS SELECT DISTINCT a.id::INTEGER AS h, b.id::INTEGER AS t FROM triple "
                "JOIN entity a ON a.name = triple.h JOIN entity b ON b.name = triple.t WHERE r = ?",
                [long],
            )
        return database

    def reason(database: Any) -> int:
        database.execute(SQL[workload])
        return sum(
            int(database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0])
            for name in relations(workload)
        )

    return _timed(load, reason)


def _closure(step: Any) -> Any:
    """Squaring takes the fewest rounds."""
    whole = step
    while True:
        grown = whole + whole @ whole
        if grown.nnz == whole.nnz:
            return whole
        whole = grown


def _dense_closure(step: Any) -> Any:
    """Only what is new goes on: where the closure is dense, squaring it would take minutes."""
    whole = new = step
    while new.nnz:
        new = (new @ step) > whole
        whole = whole + new
    return whole


def scipy(path: str, workload: str) -> dict[str, Any]:
    """scipy.sparse: Boolean products and closures, by hand."""
    import numpy as np
    from scipy import sparse

    def load() -> dict[str, Any]:
        entities: dict[str, int] = {}
        pairs: dict[str, list[tuple[int, int]]] = {}
        with open(path, encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                head, relation, tail = line.rstrip("\n").split("\t")
                ids = (entities.setdefault(head, len(entities)), entities.setdefault(tail, len(entities)))
                pairs.setdefault(relation, []).append(ids)
        size = len(entities)
        matrices = {}
        for short, long in SHORT.items():
            rows, columns = np.array(pairs[long]).T
            matrix = sparse.csr_array(
                (np.ones(len(rows), dtype=np.bool_), (rows, columns)), shape=(size, size)
            )
            matrices[short] = matrix
        return matrices

    def reason(m: dict[str, Any]) -> int:
        if workload == "W1":
            return int(_closure(m["hyp"]).nnz)
        if workload == "W3":
            return int(_dense_closure(m["drf"] + m["drf"].T).nnz)
        hyp = _closure(m["hyp"])
        drf, vg = m["drf"] + m["drf"].T, m["vg"] + m["vg"].T
        inst = m["inst"] + m["inst"] @ hyp
        found = [hyp, inst, _closure(m["part"] + hyp @ m["part"]), m["topic"] + hyp @ m["topic"], drf, vg]
        found += [m[name] + m[name].T for name in ("sim", "also")]
        found += [hyp + inst, drf.multiply(hyp), drf @ hyp + vg @ drf]
        return sum(int(matrix.nnz) for matrix in found)

    return _timed(load, reason)


CONTENDERS = {
    "reshuffle": "reshuffle",
    "reshuffle, all stored": "reshuffle_stored",
    "nemo-python": "nemo",
    "clingo": "clingo",
    "DuckDB, SQL by hand": "duckdb",
    "scipy.sparse by hand": "scipy",
}
