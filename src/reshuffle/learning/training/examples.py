"""Training data: convert graphs to arrays of ids, and hold out validation triples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph, Vocabulary, refuse_inverse_names
from reshuffle.kg.splits import GraphSplit
from reshuffle.model.reshuffle import numbers_of
from reshuffle.progress import UNHEARD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reshuffle.progress import Notes

_HELD_OUT = 0.1


@dataclass(frozen=True)
class TrainingData:
    """Triples of ids [triple, (head relation tail)] of one graph, and those held out for early stopping."""

    triples: NDArray[np.int64]
    valid: NDArray[np.int64]
    num_entities: int
    num_relations: int
    symmetric: tuple[int, ...] = ()  # relations that share one matrix with their inverse


def examples_of(
    facts: KnowledgeGraph | GraphSplit,
    valid: KnowledgeGraph | None,
    *,
    seed: int,
    symmetric: Sequence[str] = (),
    also: Sequence[str] = (),
    notes: Notes = UNHEARD,
) -> tuple[KnowledgeGraph, TrainingData]:
    """The graph to train on, with the relations that it uses and those in `also`, and its triples as ids."""
    graph, held_out = _split(facts, valid, seed, notes)
    graph = _with_relations(_with_used_relations(graph), also)
    triples, known = _known_ids(graph, graph), _known_ids(held_out, graph)
    relations = tuple(graph.relations)
    refuse_inverse_names(relations)
    same_matrix = numbers_of(symmetric, relations) if symmetric else ()
    given = len(held_out.heads)
    if len(known) < given:
        notes(
            f"{given - len(known):,} of {given:,} validation triples are left out: "
            "their entities or relations are not in the facts"
        )
    if not len(known):
        notes("there are no validation triples for early stopping: all epochs run, and the last one is kept")
    return graph, TrainingData(triples, known, graph.num_entities, len(relations), same_matrix)


def _split(
    facts: KnowledgeGraph | GraphSplit,
    valid: KnowledgeGraph | None,
    seed: int,
    notes: Notes,
) -> tuple[KnowledgeGraph, KnowledgeGraph]:
    """The graph to train on, and the validation triples: those given, or a tenth of the facts."""
    graph = facts.facts if isinstance(facts, GraphSplit) else facts
    if valid is None and isinstance(facts, GraphSplit):
        valid = facts.valid
    if not len(graph.heads):
        raise InputError("there are no training triples", hint="give a graph with facts")
    if valid is not None and len(valid.heads):
        return graph, valid
    graph, held_out = _held_out(graph, seed)
    if valid is not None:
        notes(
            f"the given set of validation triples is empty: {len(held_out):,} of the facts are held out instead"
        )
    return graph, held_out


def _held_out(facts: KnowledgeGraph, seed: int) -> tuple[KnowledgeGraph, KnowledgeGraph]:
    """90 % to train on and 10 % for early stopping, over the same names; every relation keeps a fact to train on."""
    order = np.random.default_rng(seed).permutation(len(facts))
    _, from_the_end = np.unique(facts.relation_ids[order[::-1]], return_index=True)
    # Without the last fact of each relation in this order: it is drawn only where all others are held out.
    others = np.delete(order, len(order) - 1 - from_the_end)
    held_out = np.sort(others[: int(len(facts) * _HELD_OUT)])
    return facts.part(np.setdiff1d(order, held_out)), facts.part(held_out)


def _with_used_relations(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph without the relations that have no triple: nothing can be learned about them."""
    used = np.unique(graph.relation_ids)
    if len(used) == len(graph.relations):
        return graph
    relations = Vocabulary([graph.relations[int(number)] for number in used], kind="relation")
    numbers = np.searchsorted(used, graph.relation_ids).astype(np.int32)
    return KnowledgeGraph.from_ids(
        graph.heads, numbers, graph.tails, entities=graph.entities, relations=relations
    )


def _with_relations(graph: KnowledgeGraph, names: Sequence[str]) -> KnowledgeGraph:
    """The graph with more relations: injected rules may speak of some that no fact has."""
    new = [name for name in dict.fromkeys(names) if name not in graph.relations]
    if not new:
        return graph
    relations = Vocabulary([*graph.relations, *new], kind="relation")
    columns = (graph.heads, graph.relation_ids, graph.tails)
    return KnowledgeGraph.from_ids(*columns, entities=graph.entities, relations=relations)


def _known_ids(graph: KnowledgeGraph, like: KnowledgeGraph) -> NDArray[np.int64]:
    """The triples of a graph as ids of the graph `like`; those with names it does not have are left out."""
    entities = like.entities.positions_of(graph.entities)
    relations = like.relations.positions_of(graph.relations)
    columns = [entities[graph.heads], relations[graph.relation_ids], entities[graph.tails]]
    triples = np.stack(columns, axis=1).astype(np.int64).reshape(-1, 3)
    return np.ascontiguousarray(triples[(triples >= 0).all(axis=1)])
