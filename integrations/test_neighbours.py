"""The real packages of neighbours: their graphs and tables in and out, and our models in PyKEEN's evaluator."""

from __future__ import annotations

import warnings

import duckdb
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import rdflib
import torch

with warnings.catch_warnings():  # what these two warn of while they are imported is their own
    warnings.simplefilter("ignore")
    from pykeen.datasets.inductive.base import InductiveDataset
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.triples import CoreTriplesFactory
    from torch_geometric.data import Data, HeteroData

from reshuffle import KnowledgeGraph, Reasoner, evaluate, learn_rules, load_benchmark, parse_rules, read_rules
from reshuffle.errors import InputError
from reshuffle.neighbours import (
    benchmark_from_pykeen,
    from_networkx,
    from_pyg,
    from_pykeen,
    from_rdflib,
    to_networkx,
    to_pyg,
    to_pykeen,
    to_pykeen_model,
    to_rdflib,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:::pykeen", "ignore:::torch_geometric", "ignore::DeprecationWarning"
)

FACTS = [("ada", "bornIn", "london"), ("london", "cityIn", "uk"), ("ada", "livesIn", "london")]
GRAPH = KnowledgeGraph(FACTS)
RULES = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")


# --- networkx ----------------------------------------------------------------------------------------------------


def test_networkx_there_and_back():
    there = to_networkx(GRAPH)
    assert isinstance(there, nx.MultiDiGraph) and there.number_of_edges() == 3
    assert from_networkx(there) == GRAPH


def test_networkx_relations_are_keys_or_attributes():
    keyed = nx.MultiDiGraph()
    keyed.add_edges_from((head, tail, relation) for head, relation, tail in FACTS)
    assert from_networkx(keyed) == GRAPH
    plain = nx.DiGraph()
    plain.add_edge("ada", "london", kind="bornIn")
    assert set(from_networkx(plain, relation="kind")) == {FACTS[0]}
    with pytest.raises(InputError, match="the edge from 'ada' to 'london' has no relation"):
        from_networkx(plain)
    with pytest.raises(InputError, match="without directions"):
        from_networkx(nx.Graph([("a", "b")]))


def test_graphs_of_networkx_and_their_edges_are_not_misread():
    graph = to_networkx(GRAPH)
    for given in (graph, graph.edges, graph.edges(keys=True), graph.nodes, nx.DiGraph([("a", "b")])):
        with pytest.raises(InputError, match="networkx, expected triples") as caught:
            KnowledgeGraph(given)
        assert "from_networkx" in str(caught.value)


# --- rdflib ------------------------------------------------------------------------------------------------------


def test_rdflib_there_and_back_without_literals():
    there = to_rdflib(GRAPH)
    assert from_rdflib(there) == GRAPH == KnowledgeGraph(there)
    there.add((rdflib.URIRef("urn:x:a"), rdflib.RDFS.label, rdflib.Literal("A")))
    there.add((rdflib.BNode("b1"), rdflib.URIRef("urn:x:r"), rdflib.URIRef("urn:x:a")))
    notes: list[str] = []
    more = GRAPH | KnowledgeGraph([("_:b1", "urn:x:r", "urn:x:a")])
    assert (
        from_rdflib(there, notes=notes.append) == KnowledgeGraph(there) == KnowledgeGraph(list(there)) == more
    )
    assert notes == ["1 triple with a literal skipped"]


def test_an_rdflib_graph_is_reasoned_over():
    rules = parse_rules('"urn:x:r"(X, Y) -> "urn:x:s"(X, Y)')
    graph = rdflib.Graph().parse(data="<urn:x:a> <urn:x:r> <urn:x:b>, 'text' .", format="turtle")
    assert list(Reasoner(rules).on(graph)) == [("urn:x:a", "urn:x:s", "urn:x:b")]


def test_literals_of_an_rdflib_graph_give_types_by_domains(tmp_path):
    (tmp_path / "o.ttl").write_text(
        "<urn:x:age> <http://www.w3.org/2000/01/rdf-schema#domain> <urn:x:Person> ."
    )
    graph = rdflib.Graph().parse(data="<urn:x:a> <urn:x:age> 42 .", format="turtle")
    more = rdflib.Graph().parse(data="<urn:x:b> <urn:x:age> 43 .", format="turtle")
    answers = Reasoner(read_rules(tmp_path / "o.ttl")).on(graph)
    assert list(answers) == [("urn:x:a", str(rdflib.RDF.type), "urn:x:Person")]
    answers.add(more)
    assert len(answers) == 2
    answers.remove(graph)
    assert list(answers) == [("urn:x:b", str(rdflib.RDF.type), "urn:x:Person")]


# --- PyTorch Geometric -------------------------------------------------------------------------------------------


def test_pyg_there_and_back():
    data = to_pyg(GRAPH)
    assert isinstance(data, Data) and data.edge_index.shape == (2, 3) and data.num_nodes == 3
    assert from_pyg(data) == GRAPH
    bare = Data(edge_index=torch.tensor([[0], [2]]), edge_type=torch.tensor([1]), num_nodes=4)
    assert set(from_pyg(bare)) == {("0", "1", "2")} and from_pyg(bare).num_entities == 4
    named = from_pyg(bare, entities=["a", "b", "c", "d"], relations=["r", "s"])
    assert set(named) == {("a", "s", "c")}
    for wrong, names in ((Data(edge_index=bare.edge_index), {}), (bare, {"entities": ["a"]})):
        with pytest.raises(InputError, match=r"expected both|found 1 names"):
            from_pyg(wrong, **names)


@pytest.mark.parametrize("kinds", [torch.tensor([0]), torch.tensor([0.5, 1.0]), torch.tensor([[0], [1]])])
def test_pyg_edges_that_do_not_fit_are_refused(kinds):
    with pytest.raises(InputError, match="expected whole numbers"):
        from_pyg(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_type=kinds))


def test_pyg_names_are_given_by_number():
    data = Data(edge_index=torch.tensor([[0], [1]]), edge_type=torch.tensor([0]))
    assert set(from_pyg(data, entities=np.array(["a", "b"]))) == {("a", "0", "b")}
    with pytest.raises(InputError, match="found a dictionary as names of entity"):
        from_pyg(data, entities={"b": 1, "a": 0})
    with pytest.raises(InputError, match=r"to_homogeneous\(\)"):
        from_pyg(HeteroData())


# --- PyKEEN ------------------------------------------------------------------------------------------------------


def test_pykeen_there_and_back():
    factory = to_pykeen(GRAPH)
    assert factory.num_triples == 3
    assert from_pykeen(factory) == GRAPH
    assert list(from_pykeen(factory).entities) == list(GRAPH.entities)
    core = CoreTriplesFactory.create(factory.mapped_triples)  # without names
    assert from_pykeen(core).num_entities == 3 and ("0", "0", "1") in from_pykeen(core)


def test_what_is_of_no_other_library_is_refused():
    for convert in (from_networkx, from_pykeen):
        with pytest.raises(InputError, match="found str, expected a"):
            convert("facts.tsv")


def test_an_inductive_data_set_is_a_benchmark():
    families = load_benchmark("families")
    train, test = families.train, families.test
    dataset = InductiveDataset()
    dataset.transductive_training = to_pykeen(train.facts)
    dataset.inductive_inference = to_pykeen(test.facts)
    dataset.inductive_validation = to_pykeen(test.valid)
    dataset.inductive_testing = to_pykeen(test.queries)
    bench = benchmark_from_pykeen(dataset)
    assert bench.train.facts == train.facts and bench.test.facts == test.facts
    assert bench.test.queries == test.queries and bench.test.valid == test.valid


def test_our_models_have_the_same_numbers_in_pykeens_evaluator():
    families = load_benchmark("families")
    answers = learn_rules(families.train.facts).on(families.test.facts)
    queries = KnowledgeGraph(sorted(families.test.queries)[::7])
    ours = evaluate(answers, queries, protocol="full", known=families.test).to_dict()
    split = families.test
    factory = to_pykeen(split.facts)
    mapped = {part: mapped_triples(getattr(split, part), factory) for part in ("facts", "valid", "queries")}
    asked = mapped_triples(queries, factory)
    theirs = RankBasedEvaluator(filtered=True).evaluate(
        to_pykeen_model(answers, factory),
        asked,
        additional_filter_triples=list(mapped.values()),
        use_tqdm=False,
    )
    found = {name: theirs.get_metric(f"both.realistic.{key}") for name, key in
             (("mrr", "inverse_harmonic_mean_rank"), ("hits@10", "hits_at_10"), ("hits@1", "hits_at_1"))}  # fmt: skip
    numbers = metrics_of(ours)
    for name, value in found.items():
        assert value == pytest.approx(numbers[name], abs=1e-6), (name, found, numbers)


def mapped_triples(graph: KnowledgeGraph, factory) -> torch.Tensor:
    entity, relation = factory.entity_to_id, factory.relation_to_id
    return torch.tensor([(entity[h], relation[r], entity[t]) for h, r, t in graph])


def metrics_of(report: dict) -> dict[str, float]:
    return report.get("metrics", report)


# --- tables ------------------------------------------------------------------------------------------------------


def test_tables_of_every_library_in_and_out():
    rows = [{"s": head, "p": relation, "o": tail, "weight": 1.0} for head, relation, tail in FACTS]
    frame = pd.DataFrame(rows)
    for table in (frame, pl.DataFrame(rows), pl.LazyFrame(rows)):
        assert KnowledgeGraph.from_table(table) == GRAPH
    assert KnowledgeGraph.from_table(duckdb.sql("select * from frame where weight > 0")) == GRAPH
    assert KnowledgeGraph.from_table(duckdb.sql("select o, p, s from frame").arrow()) == GRAPH
    answers = Reasoner(RULES).on(duckdb.sql("select * from frame"))
    assert duckdb.sql("select head, tail from answers").fetchall() == [("ada", "uk")]
    assert pl.DataFrame(answers).rows() == [("ada", "citizenOf", "uk")]
    assert duckdb.sql("select count(*) from GRAPH").fetchall() == [(3,)]
