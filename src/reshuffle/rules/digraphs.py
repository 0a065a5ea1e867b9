"""Directed graphs as dictionaries: reachability, nodes on cycles, bisimilar nodes.

Rule bases may have a hundred thousand rules, so nothing here takes more than about linear time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Container,
        Hashable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

Node = TypeVar("Node", bound="Hashable")


def reachable(starts: Iterable[Node], following: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """The nodes of a directed graph that paths from `starts` reach, `starts` themselves included.

    `following` gives the direct successors of a node; a node that it lacks has none.

    >>> sorted(reachable(["a"], {"a": ["b"], "b": ["a", "c"], "d": ["a"]}))
    ['a', 'b', 'c']
    """
    found = set(starts)
    waiting = list(found)
    while waiting:
        for node in following.get(waiting.pop(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


def strongly_connected(calls: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """Strongly connected components of a graph, each after those that it calls (Kosaraju, without recursion).

    >>> strongly_connected({"a": ["b"], "b": ["a", "c"], "c": []})
    [('c',), ('a', 'b')]
    """
    callers: dict[str, list[str]] = {node: [] for node in calls}
    for node, called in calls.items():
        for callee in called:
            callers[callee].append(node)
    placed: set[str] = set()
    finished = [node for root in calls for node in _postorder(root, calls, placed)]
    placed.clear()
    components = [tuple(reversed(_postorder(root, callers, placed))) for root in reversed(finished)]
    return [component for component in reversed(components) if component]


def _postorder(root: str, graph: Mapping[str, Collection[str]], seen: set[str]) -> list[str]:
    """The nodes reachable from `root` and not `seen` before, each after those it leads to."""
    order: list[str] = []
    work = [] if root in seen else [(root, iter(graph[root]))]
    seen.add(root)
    while work:
        node, pending = work[-1]
        following = next((other for other in pending if other not in seen), None)
        if following is None:
            order.append(node)
            work.pop()
        else:
            seen.add(following)
            work.append((following, iter(graph[following])))
    return order


def walked(
    start: Node,
    following: Mapping[Node, Iterable[Node]],
    *,
    closed: Container[Node] = (),
    only: Container[Node] | None = None,
) -> Iterator[Node]:
    """The nodes that paths of at least one edge lead to from `start`, each once, as a search meets them.

    No path enters a node of `closed`, nor one that is not in `only`, where that is given.
    """
    found: set[Node] = set()
    waiting = [start]
    while waiting:
        for node in following.get(waiting.pop(), ()):
            if node not in found and node not in closed and (only is None or node in only):
                found.add(node)
                waiting.append(node)
                yield node


def leads_to(
    start: Node,
    goal: Node,
    following: Mapping[Node, Iterable[Node]],
    leading: Mapping[Node, Iterable[Node]],
    *,
    closed: Container[Node] = (),
) -> bool:
    """Is there a path of at least one edge from `start` to `goal`? `leading` has the edges the other way round.

    Both ends are searched from in turn: where one of them has few nodes around it, so has the search.

    >>> leads_to("a", "a", {"a": ["b"], "b": ["a", "c"]}, {"b": ["a"], "a": ["b"], "c": ["b"]})
    True
    """
    ahead, behind = walked(start, following, closed=closed), walked(goal, leading, closed=closed)
    return any(after == goal or before == start for after, before in zip(ahead, behind, strict=False))


def alike(block: Sequence[int], neighbours: Sequence[Sequence[tuple[str, int]]]) -> list[int]:
    """The coarsest refinement of `block` in which nodes of one block have the same (label, block) neighbours.

    Only nodes with a neighbour that changed its block are looked at again, and the largest part of a block keeps
    its number, so that a node changes its block a logarithmic number of times.

    >>> alike([0, 0, 0, 1], [[("r", 3)], [("r", 3)], [("r", 0)], []])
    [0, 0, 2, 1]
    """
    blocks = list(block)
    members: dict[int, set[int]] = {}
    beside: list[list[int]] = [[] for _ in blocks]
    for node, number in enumerate(blocks):
        members.setdefault(number, set()).add(node)
        for _, neighbour in neighbours[node]:
            beside[neighbour].append(node)

    def signature(node: int) -> Hashable:
        return frozenset((label, blocks[neighbour]) for label, neighbour in neighbours[node])

    changed: Iterable[int] = range(len(blocks))
    number = max(members, default=0)
    while changed:
        suspects = _by_block(changed, blocks, members)
        # All blocks are split before any is renumbered: a signature means the same for all nodes of a round.
        parts = [
            part for nodes in suspects for part in _split_off(nodes, members[blocks[nodes[0]]], signature)
        ]
        for part in parts:
            number += 1
            members[blocks[part[0]]].difference_update(part)
            members[number] = set(part)
            for node in part:
                blocks[node] = number
        changed = dict.fromkeys(node for part in parts for other in part for node in beside[other])
    return blocks


def _by_block(
    nodes: Iterable[int], blocks: Sequence[int], members: Mapping[int, Collection[int]]
) -> Iterable[list[int]]:
    """The nodes grouped by their block; those that are alone in theirs are left out, since nothing splits it."""
    groups: dict[int, list[int]] = {}
    for node in nodes:
        if len(members[blocks[node]]) > 1:
            groups.setdefault(blocks[node], []).append(node)
    return groups.values()


def _split_off(
    suspects: list[int], block: Collection[int], signature: Callable[[int], Hashable]
) -> list[list[int]]:
    """The parts that leave a block of which only `suspects` may look different now; its largest part stays."""
    parts: dict[Hashable, list[int]] = {}
    for node in suspects:
        parts.setdefault(signature(node), []).append(node)
    num_others = len(block) - len(suspects)
    if num_others:
        known = set(suspects)
        likeness = signature(next(node for node in block if node not in known))
        with_others = parts.pop(likeness, [])
        if all(len(part) <= num_others + len(with_others) for part in parts.values()):
            return list(parts.values())
        parts[likeness] = [*with_others, *(node for node in block if node not in known)]
    largest = max(parts.values(), key=len)
    return [part for part in parts.values() if part is not largest]
