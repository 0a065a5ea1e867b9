"""Proofs: a shortest path of facts, read by the user's rules; intersections put several together."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.kg.inverses import base_relation, is_inverse
from reshuffle.reasoning.geometry.automaton import SlotGraph
from reshuffle.reasoning.geometry.derivations import Derivation, Grammar, Path
from reshuffle.reasoning.geometry.kernels import search as kernel
from reshuffle.reasoning.geometry.machine import alphabet_of, assemble, fact_label
from reshuffle.reasoning.proofs import Proof, atom_triple
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg import Triple
    from reshuffle.reasoning.geometry.automaton import Automaton
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.machine import Machine
    from reshuffle.reasoning.geometry.workspace import Workspace

_MOST_NODES = 200_000  # of the product that looking for further paths may visit


class Explainer:
    """Finds derivations over the graph as it is now."""

    def __init__(
        self, constraints: OrderingConstraints, live: LiveGraph, machine: Machine, workspace: Workspace
    ) -> None:
        self._live, self._workspace = live, workspace
        rules = constraints.rules if constraints.rules is not None else RuleBase(())
        self._rules = rules
        self._has_rules = constraints.rules is not None
        self._machine = machine
        words = constraints
        if rules.intersection_rules:
            # What follows by paths alone has automata of its own.
            words = constraints_for(RuleBase(rules.path_rules))
            self._machine = assemble(words, live.relations)
        self._mixed = _depend_on_intersections(rules)
        self._slots = SlotGraph(words, alphabet_of(words, live.relations))
        self._words = words
        self._languages: dict[str, Automaton | None] = {}
        self._grammar = Grammar(rules, self._language)

    def _language(self, relation: str) -> Automaton | None:
        """The words of a relation or an inverse; None where it has only its facts."""
        if relation not in self._languages:
            automaton = None
            if relation in self._words.relation_ids:
                ((start, leave),) = self._words.decisive_slots(relation)
                automaton = self._slots.automaton(start, leave)
            self._languages[relation] = automaton
        return self._languages[relation]

    def proofs(self, goal: Triple, *, most: int) -> list[Proof]:
        """Up to `most` derivations, smallest first."""
        if not self._has_rules:
            return self._supports(goal)[:most]
        if goal.relation in self._mixed:
            found = self._mixed_proofs(goal, most=most)
        else:
            found = self._path_proofs(goal, most=most)
        return sorted(found, key=lambda proof: proof.size)[:most]

    # --- paths --------------------------------------------------------------------------------------

    def _path_proofs(self, goal: Triple, *, most: int) -> list[Proof]:
        """A fact needs no derivation; otherwise the derivations of shortest paths."""
        found: dict[Proof, None] = {}
        for path in self._paths(goal, several=most > 1):
            for proof in Derivation(self._grammar, path).proofs(goal.relation):
                found[proof] = None
                if len(found) >= most:
                    return list(found)
        return list(found)

    def _paths(self, goal: Triple, *, several: bool) -> Iterator[Path]:
        """Paths of facts that make the goal follow, shortest first; without `several` just one."""
        ids = self._live.find(goal)
        if ids is not None and self._live.contains(*ids):
            yield Path((goal.relation,), (goal.head, goal.tail))
            if not several:
                return
        places = self._machine.clauses_of.get(goal.relation)
        if places is None:
            return
        if several:
            yield from _walks(self._live, self._machine.automata[places[0]], goal)
        else:
            path = self._shortest(goal, clause=0)
            if path is not None:
                yield path

    def _shortest(self, goal: Triple, *, clause: int) -> Path | None:
        clauses = self._machine.clauses(goal.relation)
        nodes = kernel.trace(
            self._live.edges,
            self._machine.forwards,
            clauses,
            clause,
            self._workspace.scratch,
            self._workspace.ticks(1),
            kernel.room_for(clauses),
            self._live.entities.id(goal.head),
            self._live.entities.id(goal.tail),
        )[::-1]
        if len(nodes) == 0:
            return None
        place = self._machine.clauses_of[goal.relation][clause]
        states = (nodes & kernel.STATE_MASK) - self._machine.first[place]
        return self._spelled(self._machine.automata[place], nodes >> kernel.STATE_BITS, states)

    def _spelled(
        self,
        automaton: Automaton,
        entities: NDArray[np.int64],
        states: NDArray[np.int64],
    ) -> Path:
        """The labels between the nodes of a path: any arc that a fact allows."""
        labels = []
        for place in range(len(entities) - 1):
            before, after = int(entities[place]), int(entities[place + 1])
            labels.append(
                next(
                    label
                    for source, label, target in automaton.arcs
                    if (source, target) == (states[place], states[place + 1])
                    and self._live.has_edge(before, fact_label(label, self._live.relations), after)
                )
            )
        return Path(tuple(labels), tuple(self._live.entities.names(entities.astype(np.int32))))

    def _supports(self, goal: Triple) -> list[Proof]:
        """Constraints without rules: for each slot the path of facts by which its value arrives."""
        ids = self._live.find(goal)
        if ids is not None and self._live.contains(*ids):
            return [Proof(goal)]
        found: dict[Proof, None] = {}
        for clause in range(len(self._machine.clauses_of.get(goal.relation, ()))):
            path = self._shortest(goal, clause=clause)
            if path is None:
                return []
            ends = itertools.pairwise(path.entities)
            leaves = [Proof(atom_triple(label, *pair)) for label, pair in zip(path.labels, ends, strict=True)]
            found[Proof(goal, PathRule(path.labels, goal.relation), tuple(leaves))] = None
        return list(found)

    # --- intersections ------------------------------------------------------------------------------

    def _mixed_proofs(
        self, goal: Triple, *, most: int, below: frozenset[Triple] = frozenset()
    ) -> list[Proof]:
        """By paths alone, or by an intersection or one-atom rule whose premises are proved in turn.

        The depth is at most the number of relations, since no goal may rest on itself.
        """
        found = self._path_proofs(goal, most=most)
        below |= {goal}
        for rule in self._rules:
            premises = self._premises(rule, goal)
            if premises is None or not below.isdisjoint(premises):
                continue
            proved = [self._best(premise, below) for premise in premises]
            if all(proof is not None for proof in proved):
                found.append(Proof(goal, rule, tuple(proof for proof in proved if proof is not None)))
        return list(dict.fromkeys(found))

    def _premises(self, rule: PathRule | IntersectionRule, goal: Triple) -> list[Triple] | None:
        """What a rule that keeps its two variables asks for, if the goal is its head."""
        if base_relation(rule.head) != goal.relation:
            return None
        if isinstance(rule, PathRule) and (
            len(rule.body) > 1 or base_relation(rule.body[0]) not in self._mixed
        ):
            return None  # seen by the paths already
        ends = (goal.tail, goal.head) if is_inverse(rule.head) else (goal.head, goal.tail)
        return [atom_triple(relation, *ends) for relation in rule.body]

    def _best(self, goal: Triple, below: frozenset[Triple]) -> Proof | None:
        if goal.relation in self._mixed:
            found = self._mixed_proofs(goal, most=1, below=below)
        else:
            found = self._path_proofs(goal, most=1)
        return min(found, key=lambda proof: proof.size, default=None)


def _depend_on_intersections(rules: RuleBase) -> frozenset[str]:
    """Intersection heads, and what one-atom or intersection rules make of them."""
    mixed = {base_relation(rule.head) for rule in rules.intersection_rules}
    changed = True
    while changed:
        changed = False
        for rule in rules:
            keeps_ends = isinstance(rule, IntersectionRule) or len(rule.body) == 1
            head = base_relation(rule.head)
            if keeps_ends and head not in mixed and any(base_relation(r) in mixed for r in rule.body):
                mixed.add(head)
                changed = True
    return frozenset(mixed)


def _walks(live: LiveGraph, automaton: Automaton, goal: Triple) -> Iterator[Path]:
    """All accepted walks from head to tail by length: best-first search with the exact distance to the goal."""
    head, tail = live.entities.id(goal.head), live.entities.id(goal.tail)
    left = _distances(live, automaton, tail)
    number = itertools.count()  # equal lengths come in the order in which they were met
    open_: list[tuple[int, int, int, int, tuple[str, ...], tuple[int, ...]]] = []
    if (head, 0) in left:
        open_.append((left[head, 0], next(number), head, 0, (), (head,)))
    while open_:
        length, _, entity, state, labels, entities = heapq.heappop(open_)
        if length == len(labels) and entity == tail and state in automaton.accepting and labels:
            yield Path(labels, tuple(live.entities.names(np.array(entities, dtype=np.int32))))
        for source, label, target in automaton.arcs:
            if source != state:
                continue
            for neighbour in live.labelled(entity, fact_label(label, live.relations)):
                if (neighbour, target) in left:
                    total = len(labels) + 1 + left[neighbour, target]
                    longer = (*labels, label), (*entities, neighbour)
                    heapq.heappush(open_, (total, next(number), neighbour, target, *longer))


def _distances(live: LiveGraph, automaton: Automaton, tail: int) -> dict[tuple[int, int], int]:
    """How many facts each node of the product is away from an accepting node at `tail`."""
    found = dict.fromkeys(((tail, state) for state in sorted(automaton.accepting)), 0)
    open_ = deque(found)
    while open_ and len(found) < _MOST_NODES:
        entity, state = open_.popleft()
        for source, label, target in automaton.arcs:
            if target != state:
                continue
            for neighbour in live.labelled(entity, fact_label(label, live.relations) ^ 1):
                if (neighbour, source) not in found:
                    found[neighbour, source] = found[entity, state] + 1
                    open_.append((neighbour, source))
    return found
