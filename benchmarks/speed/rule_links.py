"""Missing links of rule lists: the search beside asking every question, its cost, and how many links are true.

One list is learned from nine tenths of the facts of FB15k-237, drawn by seed 1. Links that it finds there are true
where they are among the facts taken out. The same list on all facts is timed, and so is one on four copies side by
side, which are 1.1 million facts of 948 relations. Times are processor seconds of all threads; kernels are compiled
before.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.machine import describe
from benchmarks.result_files import read_document
from benchmarks.speed.measure import RESULTS, write_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.rulelist import RuleModel
    from reshuffle.rulelist.constants.constant_rules import ConstantRules
    from reshuffle.rulelist.links.likelihood import Likelihood
    from reshuffle.rulelist.rule_answers import RulesOnGraph

TOP = 1_000
COPIES = 4
DATASET = "FB15k-237"
COMPARED = ("WN18RR-v1",)
_NOTHING = 1e-9
"""What a score that is a sum may miss 0 by."""
BINS = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0])


def run(only: str = "") -> None:
    """Measure and store all of it, or the parts whose name has a text (`--only overlap`); the others stay."""
    parts = {"overlap with asking everything": overlaps, "FB15k-237": on_a_large_graph}
    target = RESULTS / "rule_links.json"
    before = read_document(target) if target.exists() else {}
    measured = {name: part() for name, part in parts.items() if only in name}
    write_result(
        "rule_links",
        {
            **before,
            "what": f"the {TOP:,} most likely links of whole graphs by rule lists: overlap with asking every question, "
            "processor seconds, and the share that is true",
            "command": "python -m benchmarks.speed rule_links",
            **describe(["reshuffle", "numpy", "numba"]),
            **measured,
        },
    )
    print(measured)


def overlaps() -> dict[str, Any]:
    """How many of the best links are those of asking every question, on graphs where that can be done."""
    from reshuffle import load_benchmark

    loaded: dict[str, Any] = {name: load_benchmark(name) for name in COMPARED}
    return {name: overlap(one.train) for name, one in loaded.items()}


def on_a_large_graph() -> dict[str, Any]:
    """What a search costs, and which of its links are true."""
    from reshuffle import load_benchmark
    from reshuffle.rulelist import learn_rules

    benchmark: Any = load_benchmark(DATASET)
    known, taken = without_a_tenth(benchmark.facts | benchmark.graph.valid | benchmark.graph.queries)
    model = learn_rules(known)
    return {
        "runs": [cost(DATASET, model, benchmark.facts), cost(*copied(model, benchmark.facts))],
        "by probability": held_out(model, known, taken),
        "by plausibility": held_out(by_plausibility(model), known, taken),
    }


def without_a_tenth(graph: KnowledgeGraph) -> tuple[KnowledgeGraph, KnowledgeGraph]:
    """Nine tenths of the facts, and the others."""
    from reshuffle.kg import KnowledgeGraph

    taken = np.random.default_rng(1).random(len(graph)) < 0.1
    parts = (
        [fact for fact, out in zip(graph, taken, strict=True) if out == wanted] for wanted in (False, True)
    )
    known, others = map(KnowledgeGraph, parts)
    return known, others


def overlap(split: Any) -> dict[str, float]:
    """How many of the best links are those of asking every question, with the order of probability and without."""
    from reshuffle.rulelist import learn_rules

    graph = getattr(split, "facts", split)
    model = learn_rules(graph)
    found = {}
    for name, one in (("by_probability", model), ("by_plausibility", by_plausibility(model))):
        state = one.on(graph)._state
        (links, _), wanted = searched(state, TOP), asked_all(state, TOP)
        found[name] = len({tuple(ids) for ids in links.ids.tolist()} & wanted) / min(TOP, len(wanted))
    return found


def by_plausibility(model: RuleModel) -> RuleModel:
    """The model without probabilities, whose links are in another order."""
    return replace(model, likelihood=None, constants=replace(model.constants, likelihood=None))


def searched(state: RulesOnGraph, top: int) -> tuple[Any, float]:
    """The best links of all relations that the model knows, and the processor seconds."""
    from reshuffle.rulelist.links.rule_links import LinkQuestions, Wanted, best_links

    asked = LinkQuestions(tuple(np.flatnonzero(state.numbers >= 0).tolist()), None, "tail")
    return timed(lambda: best_links(state, asked, Wanted(top)))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a function gives, and its processor seconds."""
    begun = time.process_time()
    return work(), time.process_time() - begun


def asked_all(state: RulesOnGraph, top: int) -> set[tuple[int, int, int]]:
    """The ids (relation, head, tail) of the best links by the scores of all answers to every question.

    An answer is one that paths lead to, or that rules about entities add something to.
    """
    relations, base = np.flatnonzero(state.numbers >= 0), without_rules(state)
    rows = [state.row_of(int(relation)) for relation in relations]
    by_rules, by_tables, by_share, constants, curved = state.link_order
    values, ids = [], []
    for head in range(state.graph.num_entities):
        asked = state.questions(np.full(len(relations), head), relations, "tail")
        (scores, walks), (tables, _) = state.scored(asked), base.scored(asked)
        shares = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        rules = np.log1p(np.maximum(scores - tables, 0)) if curved else scores - tables
        value = by_rules * rules + by_tables * tables + by_share * shares + constants[rows][:, None]
        for place, relation in enumerate(relations.tolist()):
            walked = walks.ends[walks.starts[place] : walks.starts[place + 1]]
            ends = np.union1d(walked, np.flatnonzero((scores - tables)[place] > _NOTHING))
            if len(ends):
                facts = state.graph.tails[
                    (state.graph.heads == head) & (state.graph.relation_ids == relation)
                ]
                found = np.setdiff1d(ends, facts)
                values.append(value[place, found])
                ids += [(relation, head, tail) for tail in found.tolist()]
    order = np.argsort(-np.concatenate(values), kind="stable")[:top]
    return {ids[place] for place in order.tolist()}


def without_rules(state: RulesOnGraph) -> RulesOnGraph:
    """The tables alone."""
    return type(state)(replace(state.model.without_constants(), rules=()), state.graph)


def cost(name: str, model: RuleModel, graph: KnowledgeGraph) -> dict[str, Any]:
    """The processor seconds of a search, with the names and the sums of its links."""
    from reshuffle.kg import KnowledgeGraph

    answers = model.on(graph)
    model.on(KnowledgeGraph(list(graph)[:50])).missing(top=5)  # compiles kernels
    rows, seconds = timed(lambda: answers.missing(top=TOP))
    entities, relations = graph.num_entities, len(graph.relations)
    size = {"facts": len(graph), "entities": entities, "relations": relations, "rules": len(model)}
    size["constants"] = len(model.constants)
    return {"graph": name, **size, "links": len(rows), "processor_seconds": round(seconds, 1)}


def copied(model: RuleModel, graph: KnowledgeGraph) -> tuple[str, RuleModel, KnowledgeGraph]:
    """Copies of a graph side by side, each with its own names, and the list with its rules for each."""
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.vocabulary import base_relation
    from reshuffle.rulelist.rule_model import Tables

    def named(rule: Any, copy: int) -> Any:
        def other(name: str) -> str:
            base = base_relation(name)
            return f"{copy}:{base}" + name.removeprefix(base)

        return replace(rule, body=tuple(map(other, rule.body)), head=other(rule.head))

    facts = [(f"{copy}:{h}", f"{copy}:{r}", f"{copy}:{t}") for copy in range(COPIES) for h, r, t in graph]
    names = [f"{copy}:{name}" for copy in range(COPIES) for name in model.relations]
    tables, old, new = Tables.zero(names), len(model.relations), len(names)
    for copy in range(COPIES):
        rows = np.concatenate([np.arange(old) + copy * old, new + np.arange(old) + copy * old])
        tables.distances[rows], tables.types[rows] = model.tables.distances, model.tables.types
        tables.shares[np.ix_(rows, rows)] = model.tables.shares
    rules = tuple(replace(one, rule=named(one.rule, copy)) for copy in range(COPIES) for one in model.rules)
    many = replace(
        model,
        rules=rules,
        tables=tables,
        loops=None,
        both_ways=frozenset(f"{copy}:{name}" for copy in range(COPIES) for name in model.both_ways),
        likelihood=_likelihood_of_copies(model.likelihood),
        constants=_constants_of_copies(model.constants),
    )
    return f"{COPIES} copies of {DATASET}", many, KnowledgeGraph(facts)


def _likelihood_of_copies(likely: Likelihood | None) -> Likelihood | None:
    if likely is None:
        return None
    own = tuple((f"{copy}:{name}", value) for copy in range(COPIES) for name, value in likely.constants)
    return replace(likely, constants=own)


def _constants_of_copies(one: ConstantRules) -> ConstantRules:
    """The rules about entities of each copy: a quarter of them, as many as a list has together."""
    one = one.part(np.argsort(-one.weights.max(axis=1, initial=0), kind="stable")[: len(one) // COPIES])
    relations, entities = len(one.relations), len(one.entities)

    def codes(column: NDArray[np.int32], copy: int) -> NDArray[np.int32]:
        inverse, relation = np.divmod(column, max(1, relations))
        return (inverse * COPIES + copy) * relations + relation

    def moved(pairs: NDArray[np.int32], copy: int) -> NDArray[np.int32]:
        ends = np.where(pairs[:, 1] < 0, -1, pairs[:, 1] + copy * entities)
        return np.column_stack([codes(pairs[:, 0], copy), ends]).astype(np.int32)

    copies = range(COPIES)
    return type(one)(
        tuple(f"{copy}:{name}" for copy in copies for name in one.relations),
        tuple(f"{copy}:{name}" for copy in copies for name in one.entities),
        bodies=np.concatenate([moved(one.bodies, copy) for copy in copies]),
        heads=np.concatenate([moved(one.heads, copy) for copy in copies]),
        weights=np.concatenate([one.weights] * COPIES),
        counts=np.concatenate([one.counts] * COPIES),
        likelihood=_likelihood_of_copies(one.likelihood),
    )


def held_out(model: RuleModel, known: KnowledgeGraph, taken: KnowledgeGraph) -> dict[str, Any]:
    """The share of the best links that is among the facts taken out, and where there are probabilities, by these."""
    state = model.on(known)._state
    links, _ = searched(state, 10 * TOP)
    names, relations, wanted = list(state.graph.entities), list(state.graph.relations), set(map(tuple, taken))
    true = np.array([(names[h], relations[r], names[t]) in wanted for r, h, t in links.ids.tolist()])
    found: dict[str, Any] = {
        f"true_of_the_first_{top}": float(true[:top].mean()) for top in (100, TOP, 10 * TOP)
    }
    if model.likelihood is not None:
        chances = 1 / (1 + np.exp(-links.values))
        places = np.digitize(chances, BINS)
        found["by_probability"] = [
            {
                "from": float(BINS[place - 1]),
                "links": int((places == place).sum()),
                "probability": float(chances[places == place].mean()),
                "true": float(true[places == place].mean()),
            }
            for place in np.unique(places).tolist()
        ]
    return found
