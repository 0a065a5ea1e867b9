"""Fetch the facts behind one triple from DuckDB, to make a proof in memory.

Automata: a search from the head, level by level, and the way back from the tail; it takes as many statements as the
shortest path has facts. Rules: each triple of `held` knows its round, so a derivation from earlier rounds leads back to
facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.reasoning.geometry.relation_automata import Automaton

Ids: TypeAlias = tuple[int, int, int]  # relation, head, tail
Run: TypeAlias = "Callable[[str], list[tuple[Any, ...]]]"

_WALKED = (
    "(SELECT 2 * relation AS code, head, tail, round FROM held UNION ALL "
    "SELECT 2 * relation + 1, tail, head, round FROM held)"
)


def path_facts(
    run: Run, automaton: Automaton, labels: dict[str, int], head: int, tail: int
) -> list[Ids] | None:
    """The facts of a shortest path from head to tail that spells a word of the automaton; None where there is none."""
    goals = ", ".join(map(str, sorted(automaton.accepting)))
    if 0 in automaton.accepting and head == tail:
        return []
    arcs = ", ".join(f"({source}, {labels[name]}, {target})" for source, name, target in automaton.arcs)
    run("CREATE OR REPLACE TEMP TABLE seen(entity INTEGER, state INTEGER, level INTEGER)")
    run("CREATE OR REPLACE TEMP TABLE walk(source INTEGER, label INTEGER, target INTEGER)")
    run(f"INSERT INTO walk VALUES {arcs}")
    run(f"INSERT INTO seen VALUES ({head}, 0, 0)")
    level, added = 0, 1
    while added:
        added = run(_level(level))[0][0]
        level += 1
        arrived = run(
            f"SELECT state FROM seen WHERE level = {level} AND entity = {tail} AND state IN ({goals}) LIMIT 1"
        )
        if arrived:
            return list(_way_back(run, tail, arrived[0][0], level))
    return None


def _level(level: int) -> str:
    """One more step from all that the last one reached."""
    steps = " UNION ALL ".join(
        f"SELECT fact.{end} AS entity, walk.target AS state FROM seen JOIN walk ON walk.source = seen.state "
        f"JOIN fact ON walk.label = 2 * fact.relation + {backwards} AND fact.{start} = seen.entity "
        f"WHERE seen.level = {level}"
        for backwards, start, end in ((0, "head", "tail"), (1, "tail", "head"))
    )
    return (
        f"INSERT INTO seen SELECT DISTINCT entity, state, {level + 1} FROM ({steps}) n "
        "WHERE NOT EXISTS (SELECT 1 FROM seen WHERE seen.entity = n.entity AND seen.state = n.state)"
    )


def _way_back(run: Run, entity: int, state: int, level: int) -> Iterator[Ids]:
    while level:
        parts = " UNION ALL ".join(
            f"SELECT fact.relation, fact.head, fact.tail, seen.entity, seen.state FROM fact JOIN walk "
            f"ON walk.label = 2 * fact.relation + {backwards} AND walk.target = {state} JOIN seen "
            f"ON seen.entity = fact.{start} AND seen.state = walk.source AND seen.level = {level - 1} "
            f"WHERE fact.{end} = {entity}"
            for backwards, start, end in ((0, "head", "tail"), (1, "tail", "head"))
        )
        relation, head, tail, entity, state = run(f"SELECT * FROM ({parts}) LIMIT 1")[0]
        yield relation, head, tail
        level -= 1


def derivation_facts(run: Run, relation: int, head: int, tail: int) -> list[Ids] | None:
    """The facts of one derivation of a triple of the table held; None where it is not in it."""
    facts: dict[Ids, None] = {}
    waiting, met = [(relation, head, tail)], set()
    while waiting:
        triple = waiting.pop()
        if triple in met:
            continue
        met.add(triple)
        held = run("SELECT round FROM held WHERE relation = {} AND head = {} AND tail = {}".format(*triple))
        if not held:
            return None
        if held[0][0] == 0:
            facts[triple] = None
        else:
            waiting += _body(run, triple, held[0][0])
    return list(facts)


def _body(run: Run, triple: Ids, round_: int) -> list[Ids]:
    """Triples of earlier rounds from which one rule derives the triple."""
    relation, head, tail = triple
    for code, start, end in ((2 * relation, head, tail), (2 * relation + 1, tail, head)):
        for query in (_copied, _chained, _met):
            found = query(run, code, start, end, round_)
            if found:
                return [_forwards(*atom) for atom in found]
    raise AssertionError(f"{triple} is held from round {round_} on, and no rule derives it")


def _copied(run: Run, code: int, start: int, end: int, round_: int) -> list[Ids]:
    rows = run(
        f"SELECT copied.body FROM copied JOIN {_WALKED} a ON a.code = copied.body AND a.head = {start} "
        f"AND a.tail = {end} AND a.round < {round_} WHERE copied.head = {code} LIMIT 1"
    )
    return [(rows[0][0], start, end)] if rows else []


def _chained(run: Run, code: int, start: int, end: int, round_: int) -> list[Ids]:
    rows = run(
        f"SELECT chain.first, chain.second, a.tail FROM chain JOIN {_WALKED} a ON a.code = chain.first "
        f"AND a.head = {start} AND a.round < {round_} JOIN {_WALKED} b ON b.code = chain.second "
        f"AND b.head = a.tail AND b.tail = {end} AND b.round < {round_} WHERE chain.head = {code} LIMIT 1"
    )
    return [(rows[0][0], start, rows[0][2]), (rows[0][1], rows[0][2], end)] if rows else []


def _met(run: Run, code: int, start: int, end: int, round_: int) -> list[Ids]:
    rows = run(
        f"SELECT meet.rule FROM meet JOIN {_WALKED} a ON a.code = meet.code AND a.head = {start} "
        f"AND a.tail = {end} AND a.round < {round_} WHERE meet.head = {code} "
        "GROUP BY meet.rule, meet.size HAVING count(*) = meet.size LIMIT 1"
    )
    atoms = run(f"SELECT code FROM meet WHERE rule = {rows[0][0]}") if rows else []
    return [(atom, start, end) for (atom,) in atoms]


def _forwards(code: int, start: int, end: int) -> Ids:
    return (code >> 1, end, start) if code & 1 else (code >> 1, start, end)
