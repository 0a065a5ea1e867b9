"""Make rule graphs small: the number of slots l determines the cost of all later steps.

Every step is a merging of nodes or a dropping of edges that leaves the language of each root edge as it is,
which is what (R4) speaks of. Merging keeps (R1), and keeps (R3) because the image of a path is a path.

1. *Same past.* Two nodes with the same incoming edges (up to nodes already known to be the same) are reached
   by the same words, so they can be one: the coarsest backward bisimulation that leaves root sources alone.
   It keeps (R2), since the incoming edges of the merged node are those of each part.
2. *Free entry.* A node whose only incoming edge is a free move from u is reached by the words of u.
3. *Free exit.* A node whose only outgoing edge is a free move to v adds nothing beyond v, unless it has an
   incoming label in common with v (R2), or is itself the end of a root edge and v has other ways in.
4. *Only free exits.* A node that only free moves leave, and that no root edge begins or ends at, is not needed:
   whatever enters it may enter each of its targets instead, unless a label comes twice into one of them (R2).
5. *Same future.* Two nodes with the same outgoing edges can be one, unless one is the end of a root edge
   or they have an incoming label in common (R2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reshuffle.kg import identity_name
from reshuffle.rulegraphs.budgets import DEFAULT_NODE_BUDGET, EDGES, over_budget
from reshuffle.rulegraphs.graph import Edge, RuleGraph
from reshuffle.rules.digraphs import alike, leads_to, reachable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from reshuffle.rules import RuleBase

FREE = ""  # no relation has an empty name

_MOST_PARTNERS = 32

Edges: TypeAlias = "list[tuple[int, str, int]]"
Roots: TypeAlias = "Mapping[str, tuple[tuple[int, int], ...]]"


def reduced_graph(
    num_nodes: int, edges: Edges, roots: Roots, *, rules: RuleBase, bound: int | None, most_edges: int
) -> RuleGraph:
    """The rule graph of a draft: reduced, and its free moves numbered so that (R2) holds for them, too."""
    fewer, kept, moved = reduced(num_nodes, edges, roots, most_edges=most_edges)
    numbered, identities = _numbered(kept, {label for _, label, _ in kept})
    return RuleGraph(fewer, numbered, identities, moved, rules, bound, num_nodes)


def reduced(
    num_nodes: int, edges: Edges, roots: Roots, *, most_edges: int = EDGES * DEFAULT_NODE_BUDGET
) -> tuple[int, Edges, Roots]:
    """Trim, then merge until nothing changes, then number the nodes that are left from 0."""
    edges = _trimmed(edges, roots)
    while True:
        before = len({node for source, _, target in edges for node in (source, target)})
        for step in (_same_past, _free_entry, _free_exit, _same_future):
            merged_into = step(num_nodes, edges, roots)
            edges, roots = _renamed(edges, roots, merged_into)
        edges = _without_free_exits(edges, roots, most_edges)
        if before == len({node for source, _, target in edges for node in (source, target)}):
            return _renumbered(edges, roots)


def _trimmed(edges: Edges, roots: Roots) -> Edges:
    """The edges that lie on a path from the source to the target of some root edge."""
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for source, _, target in edges:
        forward.setdefault(source, []).append(target)
        backward.setdefault(target, []).append(source)
    targets_of: dict[int, set[int]] = {}
    for clauses in roots.values():
        for source, target in clauses:
            targets_of.setdefault(source, set()).add(target)
    between: list[tuple[set[int], set[int]]] = []
    for source, targets in sorted(targets_of.items(), key=lambda item: -len(item[1])):
        # A root edge between nodes that lie on the paths of another has all its paths among those.
        rest = {end for end in targets if not any(source in ahead and end in back for ahead, back in between)}
        if rest:
            between.append((reachable([source], forward), reachable(rest, backward)))
    return [edge for edge in edges if any(edge[0] in ahead and edge[2] in back for ahead, back in between)]


def _same_past(num_nodes: int, edges: Edges, roots: Roots) -> list[int]:
    sources = sorted({source for clauses in roots.values() for source, _ in clauses})
    block = [0] * num_nodes
    for index, node in enumerate(sources, start=1):
        block[node] = index
    incoming: list[list[tuple[str, int]]] = [[] for _ in range(num_nodes)]
    for source, label, target in edges:
        incoming[target].append((label, source))
    first: dict[int, int] = {}
    return [first.setdefault(number, node) for node, number in enumerate(alike(block, incoming))]


def _free_entry(num_nodes: int, edges: Edges, roots: Roots) -> list[int]:
    fixed = {source for clauses in roots.values() for source, _ in clauses}
    incoming: dict[int, list[tuple[int, str]]] = {}
    for source, label, target in edges:
        incoming.setdefault(target, []).append((source, label))
    merged_into = list(range(num_nodes))
    for node, arrivals in incoming.items():
        if len(arrivals) == 1 and arrivals[0][1] == FREE and node not in fixed:
            merged_into[node] = arrivals[0][0]
    return _resolved(merged_into)


def _free_exit(num_nodes: int, edges: Edges, roots: Roots) -> list[int]:
    outgoing: dict[int, list[tuple[str, int]]] = {}
    for source, label, target in edges:
        outgoing.setdefault(source, []).append((label, target))
    candidates = {
        node: [leaving[0][1]]
        for node, leaving in outgoing.items()
        if len(leaving) == 1 and leaving[0][0] == FREE
    }
    movable = _movable_ends(edges, roots, {node: others[0] for node, others in candidates.items()})
    return _merge_compatible(num_nodes, edges, roots, candidates, movable)


def _movable_ends(edges: Edges, roots: Roots, leads_on: Mapping[int, int]) -> set[int]:
    """Root ends c whose free move to v may be taken: from the root's source, v is entered through c alone."""
    forward: dict[int, list[int]] = {}
    entered_from: dict[int, set[int]] = {}
    for source, _, target in edges:
        forward.setdefault(source, []).append(target)
        entered_from.setdefault(target, set()).add(source)
    sources_of: dict[int, set[int]] = {}
    for clauses in roots.values():
        for source, target in clauses:
            sources_of.setdefault(target, set()).add(source)
    backward = {target: list(sources) for target, sources in entered_from.items()}
    return {
        end
        for end, sources in sources_of.items()
        if end in leads_on
        and all(
            leads_on[end] != source
            and (end == source or leads_to(source, end, forward, backward))
            and not any(
                other == source or leads_to(source, other, forward, backward)
                for other in entered_from[leads_on[end]]
                if other != end
            )
            for source in sources
        )
    }


def _without_free_exits(edges: Edges, roots: Roots, most_edges: int) -> Edges:
    """The edges after step 4, one node after the other, since each changes what the next one finds."""
    fixed = {node for clauses in roots.values() for pair in clauses for node in pair}
    kept = dict.fromkeys(edges)
    incoming: dict[int, dict[tuple[int, str], None]] = {}
    outgoing: dict[int, dict[tuple[str, int], None]] = {}
    for source, label, target in edges:
        incoming.setdefault(target, {})[source, label] = None
        outgoing.setdefault(source, {})[label, target] = None
    for node in sorted(outgoing.keys() - fixed):
        targets = [target for _, target in outgoing[node]]
        if any(label != FREE for label, _ in outgoing[node]) or any(
            not _can_also_enter(incoming[node], incoming[target]) for target in targets
        ):
            continue
        if len(kept) + len(targets) * len(incoming[node]) > most_edges:
            raise over_budget(most_edges, "edges")
        for target in targets:
            del kept[node, FREE, target], incoming[target][node, FREE]
            for source, label in incoming[node]:
                if (source, label) != (target, FREE):
                    kept[source, label, target] = None
                    incoming[target][source, label] = None
                    outgoing[source][label, target] = None
        for source, label in incoming[node]:
            del kept[source, label, node], outgoing[source][label, node]
        outgoing[node] = {}
    return list(kept)


def _can_also_enter(new: Iterable[tuple[int, str]], present: Iterable[tuple[int, str]]) -> bool:
    """Does (R2) allow these edges into a node that has those?"""
    source_of = {label: source for source, label in present if label != FREE}
    return all(source_of.get(label, source) == source for source, label in new if label != FREE)


def _same_future(num_nodes: int, edges: Edges, roots: Roots) -> list[int]:
    outgoing: dict[int, set[tuple[str, int]]] = {}
    for source, label, target in edges:
        outgoing.setdefault(source, set()).add((label, target))
    alike: dict[frozenset[tuple[str, int]], list[int]] = {}
    for node, leaving in outgoing.items():
        alike.setdefault(frozenset(leaving), []).append(node)
    ends = {target for clauses in roots.values() for _, target in clauses}
    candidates = {}
    for nodes in alike.values():
        partners = [node for node in nodes if node not in ends]
        for index, node in enumerate(partners):
            # The nearest few are enough: what is left over is tried again in the next round.
            candidates[node] = partners[max(0, index - _MOST_PARTNERS) : index]
    return _merge_compatible(num_nodes, edges, roots, candidates)


def _merge_compatible(
    num_nodes: int,
    edges: Edges,
    roots: Roots,
    candidates: Mapping[int, list[int]],
    movable: Collection[int] = (),
) -> list[int]:
    """Merge each node into the first of its candidates against which no root edge and no (R2) stands."""
    sources = {source for clauses in roots.values() for source, _ in clauses}
    fixed = sources | {target for clauses in roots.values() for _, target in clauses if target not in movable}
    source_by_label: list[dict[str, int]] = [{} for _ in range(num_nodes)]
    for source, label, target in edges:
        if label != FREE:
            source_by_label[target][label] = source
    merged_into = list(range(num_nodes))
    for node, partners in candidates.items():
        if node in fixed:
            continue
        for other in partners:
            # The smaller goes into the larger, or a thousand mergings into one node would cost a million steps.
            few, many = sorted((source_by_label[node], source_by_label[other]), key=len)
            if merged_into[other] == other and all(
                many.get(label, few[label]) == few[label] for label in few
            ):
                merged_into[node], source_by_label[other] = other, many
                many.update(few)
                if node in movable:
                    fixed.add(other)  # it ends a root edge now, so it must not move on in its turn
                break
    return _resolved(merged_into)


def _resolved(merged_into: list[int]) -> list[int]:
    """Follow chains of mergings to their end; a cycle of free moves ends at its smallest node."""
    final = []
    for start in range(len(merged_into)):
        node, seen = start, {start}
        while (following := merged_into[node]) != node:
            if following in seen:
                node = min(seen)
                break
            seen.add(following)
            node = following
        final.append(node)
    return final


def _renamed(edges: Edges, roots: Roots, merged_into: list[int]) -> tuple[Edges, Roots]:
    moved = dict.fromkeys(
        (merged_into[source], label, merged_into[target]) for source, label, target in edges
    )
    kept = [edge for edge in moved if not (edge[1] == FREE and edge[0] == edge[2])]
    return kept, {
        relation: tuple(dict.fromkeys((merged_into[s], merged_into[t]) for s, t in clauses))
        for relation, clauses in roots.items()
    }


def _renumbered(edges: Edges, roots: Roots) -> tuple[int, Edges, Roots]:
    order: dict[int, int] = {}
    for source, _, target in edges:
        order.setdefault(source, len(order))
        order.setdefault(target, len(order))
    return (
        len(order),
        [(order[source], label, order[target]) for source, label, target in edges],
        {
            relation: tuple((order[source], order[target]) for source, target in clauses)
            for relation, clauses in roots.items()
        },
    )


def _numbered(
    edges: Iterable[tuple[int, str, int]], taken: set[str]
) -> tuple[tuple[Edge, ...], frozenset[str]]:
    """Free moves become eq, eq1, eq2, ...: the n-th free move into a node gets the n-th identity."""
    names = (name for index in range(len(taken) + 10_000_000) if (name := identity_name(index)) not in taken)
    pool: list[str] = []
    arrived: dict[int, int] = {}
    numbered = []
    for source, label, target in edges:
        if label != FREE:
            numbered.append(Edge(source, label, target))
            continue
        place = arrived.get(target, 0)
        arrived[target] = place + 1
        while len(pool) <= place:
            pool.append(next(names))
        numbered.append(Edge(source, pool[place], target))
    return tuple(numbered), frozenset(pool)
