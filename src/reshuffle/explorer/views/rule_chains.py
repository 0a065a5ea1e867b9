"""The graph of relations and rules, and the path of one rule in the rule graph."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from reshuffle.errors import ReshuffleError
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, in_one_step
from reshuffle.rulegraphs import build
from reshuffle.rulegraphs.draw import node_names
from reshuffle.rules.encoding import spoken
from reshuffle.rules.rule import ConstantRule, IntersectionRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reshuffle.explorer.subject import World
    from reshuffle.progress import Progress, Report
    from reshuffle.rulegraphs.graph import Edge, RuleGraph
    from reshuffle.rules import Rule, RuleBase

MOST_RELATIONS = 40
MOST_AT_ONCE = 14
"""Relations that are drawn together; of more, one is drawn with those around it."""
_MOST_BESIDE = 60  # relations on one side of the one that is looked at
_MOST_EDGES = 300
_MOST_RULES = 400  # of a base whose slots are drawn


def rule_graph_page(
    world: World,
    *,
    focus: str | None = None,
    rule: Rule | None = None,
    slots: bool = False,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Relations and how they chain, around one of them where `focus` names it; with `slots` the graph of slots.

    Where there are too many to be drawn together, the focus is the relation of `rule`, or the one that most rules
    conclude.
    """
    if slots:
        return _slots(world.rules, rule, progress)
    rules = world.listed_rules
    by_use = _by_use(rules)
    if focus is None and len(by_use) > MOST_AT_ONCE:
        focus = by_use[0] if rule is None else base_relation(rule.head)
    with progress("looking at rules", total=len(rules), unit="rules") as report:
        chosen = _around(rules, focus, report)
    edges: dict[tuple[str, str], list[str]] = {}
    for one in chosen:
        for atom in one.body:
            edges.setdefault((base_relation(atom), base_relation(one.head)), []).append(str(one))
    concluded = {base_relation(one.head) for one in chosen}
    names = dict.fromkeys([end for pair in edges for end in pair])
    path = [] if rule is None else [[base_relation(atom), base_relation(rule.head)] for atom in rule.body]
    return {
        "kind": "relations",
        "nodes": [
            {"id": name, "concluded": name in concluded, "facts": _count(world, name)} for name in names
        ],
        "edges": [
            {"from": pair[0], "to": pair[1], "rules": list(dict.fromkeys(rules))}
            for pair, rules in edges.items()
        ],
        "rules": [str(one) for one in chosen],
        "left_out": len(rules) - len(chosen),
        "focus": focus,
        "path": path,
        "relations": by_use,
        "around": None if focus is None else _sides(world, rules, focus),
    }


def _sides(world: World, rules: Sequence[Rule], focus: str) -> dict[str, Any]:
    """What rules conclude a relation from, and what they conclude from it, each with its number of rules."""
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for rule in rules:
        head, body = base_relation(rule.head), set(map(base_relation, rule.body))
        if head == focus:
            _count_each(before, body)
        if focus in body:
            _count_each(after, {head})
    sides = {"before": before, "after": after}
    return {
        "relation": focus,
        "facts": _count(world, focus),
        **{side: _most_first(world, counts) for side, counts in sides.items()},
        "left_out": {side: max(0, len(counts) - _MOST_BESIDE) for side, counts in sides.items()},
    }


def _count_each(counts: dict[str, int], names: Iterable[str]) -> None:
    for name in names:
        counts[name] = counts.get(name, 0) + 1


def _most_first(world: World, counts: dict[str, int]) -> list[dict[str, Any]]:
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    return [
        {"relation": name, "rules": counts[name], "facts": _count(world, name)}
        for name in ordered[:_MOST_BESIDE]
    ]


def _count(world: World, relation: str) -> int:
    code = world.facts.relations.find(relation)
    return 0 if code is None else len(world.facts.edges(code)[0])


def _by_use(rules: Sequence[Rule]) -> list[str]:
    """The relations that rules conclude, those of most rules first."""
    counts: dict[str, int] = {}
    for rule in rules:
        _count_each(counts, [base_relation(rule.head)])
    return sorted(counts, key=lambda name: -counts[name])


def _around(rules: Sequence[Rule], focus: str | None, report: Report) -> list[Rule]:
    """The rules about one relation, those that conclude it first; or all, as long as there is room for them."""
    ordered: Iterable[Rule] = rules
    if focus is not None:
        concluding = [rule for rule in rules if base_relation(rule.head) == focus]
        using = [rule for rule in rules if focus in map(base_relation, rule.body)]
        ordered = dict.fromkeys([*concluding, *using])
    kept: list[Rule] = []
    names: set[str] = set()
    for rule in ordered:
        report(1)
        more = names | {base_relation(name) for name in (rule.head, *rule.body)}
        if len(more) <= MOST_RELATIONS and len(kept) < _MOST_EDGES:
            names = more
            kept.append(rule)
    return kept


# --- slots: the graph that the geometry is made of --------------------------------------------------------------------


def _slots(rules: RuleBase, rule: Rule | None, progress: Progress) -> dict[str, Any]:
    if len(rules) > _MOST_RULES:
        return _no_slots(f"{len(rules):,} rules make a graph that is too large to look at")
    try:
        with in_one_step(progress, "building the graph of slots"):
            graph = build(rules)
    except ReshuffleError as error:  # no exact geometry, or one that is too large
        return _no_slots(error.message)
    run = [] if rule is None else _run_of(graph, rule)
    edges = graph.edges
    if run or len(edges) > _MOST_EDGES:  # what lies around the run of a rule
        on_run = {node for edge in run for node in (edge.source, edge.target)}
        edges = tuple(edge for edge in edges if {edge.source, edge.target} <= on_run)
    used = sorted({node for edge in edges for node in (edge.source, edge.target)})
    names, highlighted = node_names(graph), set(run)
    return {
        "kind": "slots",
        "nodes": [{"id": str(node), "name": names[node]} for node in used],
        "edges": [
            {
                "from": str(edge.source),
                "to": str(edge.target),
                "label": spoken(rules, edge.label),
                "identity": edge.label in graph.identities,
                "on_path": edge in highlighted,
            }
            for edge in edges
        ],
        "left_out": len(graph.edges) - len(edges),
        "rules": [str(one) for one in rules.rules],
        "run": [[str(edge.source), edge.label, str(edge.target)] for edge in run],
    }


def _no_slots(reason: str) -> dict[str, Any]:
    return {
        "kind": "slots",
        "nodes": [],
        "edges": [],
        "left_out": 0,
        "rules": [],
        "run": [],
        "reason": reason,
    }


def _run_of(graph: RuleGraph, rule: Rule) -> list[Edge]:
    """The edges by which the body leads between the two nodes that decide the head, clause by clause."""
    if isinstance(rule, ConstantRule):  # its atoms lead to constants, not along a path
        return []
    words = [(atom,) for atom in rule.body] if isinstance(rule, IntersectionRule) else [rule.body]
    found: dict[Edge, None] = {}
    for source, target in graph.roots.get(rule.head, ()):
        for word in words:
            found |= dict.fromkeys(_path(graph, source, word, target))
    return list(found)


def _path(graph: RuleGraph, source: int, word: tuple[str, ...], target: int) -> list[Edge]:
    """A shortest path that spells the word, identities between its labels."""
    came: dict[tuple[int, int], tuple[tuple[int, int], Edge] | None] = {(source, 0): None}
    waiting = deque(came)
    leaving: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        leaving.setdefault(edge.source, []).append(edge)
    while waiting:
        node, done = here = waiting.popleft()
        if node == target and done == len(word):
            return _edges_to(came, here)
        for edge in leaving.get(node, ()):
            free = edge.label in graph.identities
            if free or (done < len(word) and edge.label == word[done]):
                there = (edge.target, done if free else done + 1)
                if there not in came:
                    came[there] = (here, edge)
                    waiting.append(there)
    return []


def _edges_to(
    came: dict[tuple[int, int], tuple[tuple[int, int], Edge] | None], end: tuple[int, int]
) -> list[Edge]:
    edges = []
    while (step := came[end]) is not None:
        end, edge = step
        edges.append(edge)
    return edges[::-1]
