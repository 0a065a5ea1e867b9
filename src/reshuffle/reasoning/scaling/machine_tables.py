"""The compiled machine as tables, and the one recursive query that runs it.

Place `entity * states + state` of the product of graph and automata is one number. `start(source, next)` holds the
product's edges that leave a first state, `step(place, next)` those that a search may come to, and
`goal(relation, clause, state)` where it has arrived. A source reaches what a recursive query with UNION reaches from
its starts; sources do not need each other, so the query runs on one bucket of sources after the other. Each bucket
makes a hash table of `step`, so what only first steps walk does not belong there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reshuffle.kg.vocabulary import base_relation, is_inverse, label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reshuffle.reasoning.geometry.relation_automata import Automaton, Machine

_ARC = ("source", "label", "target")
_REACHED = (  # by searches from the sources from {low} to {high}
    "WITH RECURSIVE reach(source, place) AS ("
    "SELECT source, next FROM start WHERE source >= {low} AND source < {high} "
    "UNION SELECT reach.source, step.next FROM reach JOIN step ON step.place = reach.place) "
)


@dataclass(frozen=True)
class MachineTables:
    """Some relations of a machine, their automata side by side."""

    num_states: int
    first_arcs: pa.Table  # source, label, target: a label is twice the relation, plus one backwards
    arcs: pa.Table  # the same columns: those from states that an arc leads to
    goals: pa.Table  # relation, clause, state, clauses: how many of them the relation has
    first: pa.Table  # state
    relations: tuple[int, ...]
    arrives_once: bool
    """Does a pair arrive at one goal only, so that no two rows of arrivals are the same?"""

    def place_type(self, num_entities: int) -> str:
        """The smallest integer type that has room for all places."""
        return "INTEGER" if num_entities * self.num_states < 2**31 else "BIGINT"


def machine_tables(machine: Machine, relation_ids: Mapping[str, int]) -> list[MachineTables]:
    """The tables of a machine: relations of one automaton with one goal apart from all others, which need more work."""
    groups: dict[bool, list[str]] = defaultdict(list)
    for relation, clauses in machine.clauses_of.items():
        accepting = machine.automata[clauses[0]].accepting
        groups[len(clauses) == 1 and len(accepting) == 1 and 0 not in accepting].append(relation)
    return [
        _tables(machine, relations, relation_ids, arrives_once=once)
        for once, relations in sorted(groups.items())
    ]


def _tables(
    machine: Machine, relations: list[str], relation_ids: Mapping[str, int], *, arrives_once: bool
) -> MachineTables:
    used = dict.fromkeys(place for relation in relations for place in machine.clauses_of[relation])
    offsets, num_states = {}, 0
    for place in used:
        offsets[place] = num_states
        num_states += machine.automata[place].num_states
    goals = [
        (relation_ids[relation], clause, offsets[place] + state, len(machine.clauses_of[relation]))
        for relation in relations
        for clause, place in enumerate(machine.clauses_of[relation])
        for state in sorted(machine.automata[place].accepting)
    ]
    arcs = [arc for place in used for arc in _arcs(machine.automata[place], offsets[place], relation_ids)]
    first, entered = set(offsets.values()), {target for _, _, target in arcs}
    return MachineTables(
        num_states,
        table(_ARC, [arc for arc in arcs if arc[0] in first]),
        table(_ARC, [arc for arc in arcs if arc[0] in entered]),
        table(("relation", "clause", "state", "clauses"), goals),
        table(("state",), [(state,) for state in offsets.values()]),
        tuple(relation_ids[relation] for relation in relations),
        arrives_once,
    )


def _arcs(
    automaton: Automaton, offset: int, relation_ids: Mapping[str, int]
) -> Iterable[tuple[int, int, int]]:
    for source, name, target in automaton.arcs:
        label = label_of(relation_ids[base_relation(name)], backwards=is_inverse(name))
        yield offset + source, label, offset + target


def table(columns: tuple[str, ...], rows: Sequence[tuple[int, ...]]) -> pa.Table:
    """Rows of numbers as an Arrow table."""
    values = np.array(rows, dtype=np.int32).reshape(-1, len(columns))
    return pa.table({name: pa.array(values[:, place]) for place, name in enumerate(columns)})


def starts_query(tables: MachineTables, num_entities: int) -> str:
    """The first step of every source, from the tables fact and first_arc."""
    return _edges(tables, num_entities, "first_arc", "CAST({start} AS INTEGER) AS source")


def steps_query(tables: MachineTables, num_entities: int) -> str:
    """The edges of the product that searches come to, from the tables fact and arc."""
    kind = tables.place_type(num_entities)
    return _edges(
        tables, num_entities, "arc", f"CAST({{start}} AS {kind}) * {tables.num_states} + arc.source AS place"
    )


def _edges(tables: MachineTables, num_entities: int, arc: str, origin: str) -> str:
    """Facts walked along the arcs of a table, in both directions."""
    kind, states = tables.place_type(num_entities), tables.num_states

    def walked(start: str, end: str, backwards: int) -> str:
        return (
            f"SELECT {origin.format(start=start)}, CAST({end} AS {kind}) * {states} + {arc}.target AS next "
            f"FROM fact JOIN {arc} ON {arc}.label = 2 * fact.relation + {backwards}"
        )

    return f"{walked('fact.head', 'fact.tail', 0)} UNION ALL {walked('fact.tail', 'fact.head', 1)}"


def counts_query(tables: MachineTables) -> str:
    """How many triples of each relation `arrivals_query` gives: relation, number."""
    if not tables.arrives_once:
        return f"SELECT relation, count(*) FROM ({arrivals_query(tables)}) GROUP BY relation"
    # States are counted first, so that not every row is joined with its goal.
    by_state = f"SELECT place % {tables.num_states} AS state, count(*) AS many FROM reach GROUP BY state"
    return (
        f"{_REACHED}SELECT goal.relation, sum(counted.many) FROM ({by_state}) counted "
        "JOIN goal ON goal.state = counted.state GROUP BY goal.relation"
    )


def arrivals_query(tables: MachineTables) -> str:
    """What the sources from {low} to {high} reach: relation, head and tail, each triple once, facts included."""
    states = tables.num_states
    arrived = (
        f"SELECT goal.relation, goal.clause, goal.clauses, reach.source AS head, "
        f"CAST(reach.place // {states} AS INTEGER) AS tail "
        f"FROM reach JOIN goal ON goal.state = reach.place % {states}"
    )
    if tables.arrives_once:
        return f"{_REACHED}SELECT relation, head, tail FROM ({arrived}) arrived"
    # An automaton that accepts the empty word has arrived where it starts.
    at_once = (
        "SELECT goal.relation, goal.clause, goal.clauses, entity.id, entity.id FROM goal JOIN first "
        "ON first.state = goal.state JOIN entity ON entity.id >= {low} AND entity.id < {high}"
    )
    return (
        f"{_REACHED}SELECT relation, head, tail FROM ({arrived} UNION ALL {at_once}) arrived "
        "GROUP BY relation, head, tail, clauses HAVING count(DISTINCT clause) = clauses"
    )
