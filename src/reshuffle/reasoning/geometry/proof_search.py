"""Proofs: a shortest path of facts, read by the user's rules; intersections put several together.

The path spells a word that a relation's language holds, so some rule splits it into words of its body's
languages, and so on down to single facts. Languages are asked, never guessed: a split whose parts are words of
their languages cannot fail further down, so the search has no dead ends. Splits with a short last part come
first, which makes a chain of thousands of facts a matter of linear time; nothing recurses.
"""

from __future__ import annotations

import heapq
import itertools
import math
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reshuffle.kg.vocabulary import base_relation
from reshuffle.reasoning.geometry.kernels import product_search as kernel
from reshuffle.reasoning.geometry.relation_automata import SlotGraph, assemble
from reshuffle.reasoning.proofs import Proof, atom_triple, oriented, without_circles
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase
from reshuffle.rules.rule import ConstantRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg import Triple
    from reshuffle.reasoning.geometry.changing_graph import LiveGraph
    from reshuffle.reasoning.geometry.kernels.product_search import Workspaces
    from reshuffle.reasoning.geometry.relation_automata import Automaton, Machine

_MOST_NODES = 200_000  # of the product that looking for further paths may visit
_MOST_IN_VAIN = 200  # derivations looked at that bring no proof that was not there
_START = frozenset({0})  # where every automaton starts


class ProofSearch:
    """Finds derivations over the graph as it is now."""

    def __init__(
        self, constraints: OrderingConstraints, live: LiveGraph, machine: Machine, workspaces: Workspaces
    ) -> None:
        self._live, self._workspaces, self._machine = live, workspaces, machine
        self._has_rules = constraints.rules is not None
        self._rules = RuleBase(()) if constraints.rules is None else constraints.rules
        path_constraints = constraints
        if self._rules.intersection_rules:
            # What follows by paths alone has automata of its own.
            path_constraints = constraints_for(RuleBase(self._rules.path_rules))
            self._machine = assemble(path_constraints, live.labels)
        self._mixed = _depend_on_intersections(self._rules)
        self._readings = _Readings(self._rules, path_constraints, live.labels)

    def proofs(self, goal: Triple, *, most: int) -> list[Proof]:
        """Up to `most` derivations along shortest paths of facts, smaller ones first, none of them circular."""
        if not self._has_rules:
            return self._supports(goal)[:most]
        if goal.relation in self._mixed:
            found = self._mixed_proofs(goal, most=most)
        else:
            found = self._path_proofs(goal, most=most)
        different = dict.fromkeys(map(without_circles, found))
        return sorted(different, key=lambda proof: proof.size)[:most]

    # --- paths --------------------------------------------------------------------------------------

    def _path_proofs(self, goal: Triple, *, most: int) -> list[Proof]:
        """Derivations of shortest paths; a fact is its own.

        Walks in a circle go on for ever, and bring nothing new once their circles are cut out.
        """
        found: dict[Proof, int] = {}
        for tried, proof in enumerate(self._read_paths(goal, several=most > 1)):
            found.setdefault(without_circles(proof), tried)
            if len(found) >= most or tried - next(reversed(found.values())) >= _MOST_IN_VAIN:
                break
        return list(found)

    def _read_paths(self, goal: Triple, *, several: bool) -> Iterator[Proof]:
        for path in self._paths(goal, several=several):
            yield from Derivation(self._readings, path).proofs(goal.relation)

    def _paths(self, goal: Triple, *, several: bool) -> Iterator[Path]:
        """Paths of facts that make the goal follow, shortest first; without `several` just one."""
        if self._is_fact(goal):
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

    def _is_fact(self, goal: Triple) -> bool:
        if goal.relation not in self._live.labels:
            return False
        id_of = self._live.entities.id
        return self._live.is_fact(id_of(goal.head), goal.relation, id_of(goal.tail))

    def _shortest(self, goal: Triple, *, clause: int) -> Path | None:
        """A shortest path of facts that spells a word of this clause of the relation, or None."""
        id_of = self._live.entities.id
        nodes = self._workspaces.shortest_path(
            self._live, self._machine, (goal.relation, clause), id_of(goal.head), id_of(goal.tail)
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
                    and self._live.has_edge(before, self._live.labels[label], after)
                )
            )
        return Path(tuple(labels), tuple(self._live.entities.names(entities.astype(np.int32))))

    def _supports(self, goal: Triple) -> list[Proof]:
        """Proofs from constraints without rules: for each slot the path of facts by which its value arrives."""
        if self._is_fact(goal):
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
        """Proofs by paths alone, or by an intersection or one-atom rule whose premises are proved in turn.

        The depth is at most the number of relations, since no goal may rest on itself.
        """
        found = self._path_proofs(goal, most=most)
        below |= {goal}
        for rule in self._rules:
            assert not isinstance(rule, ConstantRule)  # these are encoded
            premises = self._premises(rule, goal)
            if premises is None or not below.isdisjoint(premises):
                continue
            proved = [self._best(premise, below) for premise in premises]
            if all(proof is not None for proof in proved):
                found.append(Proof(goal, rule, tuple(proof for proof in proved if proof is not None)))
        return list(dict.fromkeys(found))

    def _premises(self, rule: PathRule | IntersectionRule, goal: Triple) -> list[Triple] | None:
        """The premises of the goal by a rule on two variables, or None where the rule does not conclude it."""
        if base_relation(rule.head) != goal.relation:
            return None
        if isinstance(rule, PathRule) and (
            len(rule.body) > 1 or base_relation(rule.body[0]) not in self._mixed
        ):
            return None  # seen by the paths already
        return [atom_triple(relation, *oriented(rule.head, goal)) for relation in rule.body]

    def _best(self, goal: Triple, below: frozenset[Triple]) -> Proof | None:
        if goal.relation in self._mixed:
            found = self._mixed_proofs(goal, most=1, below=below)
        else:
            found = self._path_proofs(goal, most=1)
        return min(found, key=lambda proof: proof.size, default=None)


def _depend_on_intersections(rules: RuleBase) -> frozenset[str]:
    """The heads of intersections, and the relations that one-atom or intersection rules derive from them."""
    if not rules.intersection_rules:
        return frozenset()
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
            for neighbour in live.neighbours(entity, live.labels[label]).tolist():
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
            for neighbour in live.neighbours(entity, live.labels[label] ^ 1).tolist():
                if (neighbour, source) not in found:
                    found[neighbour, source] = found[entity, state] + 1
                    open_.append((neighbour, source))
    return found


Goal: TypeAlias = tuple[str, int, int]  # derive this relation from the facts between these places


@dataclass(frozen=True)
class Path:
    """Facts one after another: `labels[i]` (a relation, or an inverse walked backwards) leads from
    `entities[i]` to `entities[i + 1]`."""

    labels: tuple[str, ...]
    entities: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A rule as written, and its body in the order of the path: turned around where it was read backwards."""

    rule: PathRule
    body: tuple[str, ...]
    turned: bool


@dataclass(frozen=True)
class Language:
    """The words of a relation or an inverse, ready to be read from either end."""

    accepting: frozenset[int]
    onward: Mapping[tuple[int, str], list[int]]  # the states that follow a state over a relation
    back: Mapping[tuple[int, str], list[int]]  # the states that precede it
    longest: float  # length of the longest word; may be infinite


class _Readings:
    """How a word of relations can be read: the path rules by head, and the language of every relation."""

    def __init__(self, rules: RuleBase, constraints: OrderingConstraints, labels: Mapping[str, int]) -> None:
        self._constraints = constraints
        self._slots = SlotGraph(constraints, labels)
        self._languages: dict[str, Language | None] = {}
        self.steps: dict[str, list[Step]] = {}  # the rules that conclude a relation or an inverse
        for rule in rules.path_rules:
            self.steps.setdefault(rule.head, []).append(Step(rule, rule.body, turned=False))
            if rules.uses_inverses:
                turned = rule.reversed()
                self.steps.setdefault(turned.head, []).append(Step(rule, turned.body, turned=True))

    def language(self, relation: str) -> Language | None:
        """The words of a relation or an inverse; None where there are only its own facts."""
        if relation not in self._languages:
            known = relation in self._constraints.relation_ids
            self._languages[relation] = self._language(relation) if known else None
        return self._languages[relation]

    def _language(self, relation: str) -> Language:
        ((start, leave),) = self._constraints.decisive_slots(relation)
        automaton = self._slots.automaton(start, leave)
        onward: dict[tuple[int, str], list[int]] = {}
        back: dict[tuple[int, str], list[int]] = {}
        for source, label, target in automaton.arcs:
            onward.setdefault((source, label), []).append(target)
            back.setdefault((target, label), []).append(source)
        return Language(automaton.accepting, onward, back, _longest_word(automaton))

    def longest(self, relation: str) -> float:
        """The length of the longest word of a relation."""
        language = self.language(relation)
        return 1 if language is None else language.longest


def _longest_word(automaton: Automaton) -> float:
    """The length of the longest word; infinite with a loop (automata are trimmed, so every loop counts)."""
    following: dict[int, set[int]] = {}
    incoming = dict.fromkeys(range(automaton.num_states), 0)
    for source, _, target in automaton.arcs:
        if target not in following.setdefault(source, set()):
            following[source].add(target)
            incoming[target] += 1
    length = dict.fromkeys(incoming, 0)
    ready = [state for state, count in incoming.items() if count == 0]
    done = 0
    while ready:
        state = ready.pop()
        done += 1
        for target in following.get(state, ()):
            length[target] = max(length[target], length[state] + 1)
            incoming[target] -= 1
            if incoming[target] == 0:
                ready.append(target)
    return max(length.values()) if done == automaton.num_states else math.inf


@dataclass
class _Run:
    """How far an automaton has read, and the lengths at which it accepted; without states it will read no more."""

    states: frozenset[int]
    length: int = 0
    accepted: list[int] = field(default_factory=list)  # rising

    def read(self, label: str, steps: Mapping[tuple[int, str], list[int]], ends: frozenset[int]) -> None:
        """Read one label more; the word so far is accepted where a state of `ends` is reached."""
        self.states = frozenset(target for state in self.states for target in steps.get((state, label), ()))
        self.length += 1
        if not self.states.isdisjoint(ends):
            self.accepted.append(self.length)


class Derivation:
    """Derivation trees of one path: which rules read the word that it spells."""

    def __init__(self, readings: _Readings, path: Path) -> None:
        self._readings, self._path = readings, path
        self._onward: dict[tuple[str, int], _Run] = {}
        self._back: dict[tuple[str, int], _Run] = {}
        self._done: dict[Goal, Proof] = {}

    def proofs(self, relation: str) -> Iterator[Proof]:
        """Trees for the whole path, one for each first rule and split of it."""
        whole = (relation, 0, len(self._path.labels))
        for chain, choice in self._choices(whole):
            yield self._assembled(whole, chain, choice)

    # --- choosing rules -----------------------------------------------------------------------------

    def _choices(self, goal: Goal) -> Iterator[tuple[list[Step], tuple[Step, list[Goal]] | None]]:
        """Chains of one-atom rules from the goal, each ending in a fact (None) or in a longer rule and its parts.

        Breadth first, so the shortest chain comes first, and no relation comes twice.
        """
        relation, start, end = goal
        seen = {relation}
        open_: deque[tuple[str, list[Step]]] = deque([(relation, [])])
        while open_:
            here, chain = open_.popleft()
            if end - start == 1 and self._path.labels[start] == here:
                yield chain, None
            for step in self._readings.steps.get(here, ()):
                if len(step.body) == 1:
                    below = step.body[0]
                    if below not in seen and self._spells(below, start, end):
                        seen.add(below)
                        open_.append((below, [*chain, step]))
                else:
                    for parts in self._splits(step.body, start, end):
                        yield chain, (step, parts)

    def _splits(self, body: tuple[str, ...], start: int, end: int) -> Iterator[list[Goal]]:
        """Ways to cut start:end into words of the body's relations, short last parts first."""
        fixed: list[Goal] = []  # first atoms that are single facts
        while len(body) > 2 and self._readings.longest(body[0]) == 1 and end - start >= len(body):
            if not self._spells(body[0], start, start + 1):
                return
            fixed.append((body[0], start, start + 1))
            body, start = body[1:], start + 1
        open_: list[tuple[int, Iterator[int], list[Goal]]] = [(end, self._last_cuts(body, start, end), [])]
        while open_:
            stop, cuts, parts = open_[-1]
            cut = next(cuts, None)
            if cut is None:
                open_.pop()
                continue
            atom = len(body) - len(open_)
            more = [(body[atom], cut, stop), *parts]
            if atom > 1:
                open_.append((cut, self._last_cuts(body[:atom], start, cut), more))
            elif self._spells(body[0], start, cut):
                yield [*fixed, (body[0], start, cut), *more]

    def _last_cuts(self, body: tuple[str, ...], start: int, end: int) -> Iterator[int]:
        """Where the last atom may begin, near the end first; the atoms before it need room for their words."""
        *before, last = map(self._readings.longest, body)
        nearest = max(start + len(before), math.ceil(max(end - last, 0)))
        if len(before) == 1:
            before = [self._longest_from(body[0], start, end)]
        return self._cuts(body[-1], nearest, int(min(end - 1, start + sum(before))), end)

    # --- asking languages ---------------------------------------------------------------------------

    def _spells(self, relation: str, start: int, end: int) -> bool:
        """Is the word between two places one of the relation's? Reads on from `start`, once for all ends."""
        language = self._readings.language(relation)
        if language is None:
            return end - start == 1 and self._path.labels[start] == relation
        accepted = self._read_on(relation, language, start, end).accepted
        place = bisect_left(accepted, end - start)
        return accepted[place : place + 1] == [end - start]

    def _longest_from(self, relation: str, start: int, end: int) -> float:
        """How long a word of the relation from a place can be, where that is seen before the end."""
        language = self._readings.language(relation)
        if language is None:
            return 1
        run = self._read_on(relation, language, start, end - 1)
        return math.inf if run.states else (run.accepted or [0])[-1]

    def _read_on(self, relation: str, language: Language, start: int, end: int) -> _Run:
        run = self._onward.setdefault((relation, start), _Run(_START))
        while run.states and run.length < end - start:
            run.read(self._path.labels[start + run.length], language.onward, language.accepting)
        return run

    def _cuts(self, relation: str, nearest: int, farthest: int, stop: int) -> Iterator[int]:
        """The places from which the relation's words lead to `stop`, the last first. Reads backwards, once for all."""
        language = self._readings.language(relation)
        if language is None:
            if nearest <= stop - 1 <= farthest and self._path.labels[stop - 1] == relation:
                yield stop - 1
            return
        run = self._back.setdefault((relation, stop), _Run(language.accepting))
        place = bisect_left(run.accepted, stop - farthest)
        while True:
            while place == len(run.accepted) and run.states and run.length < stop - nearest:
                run.read(self._path.labels[stop - 1 - run.length], language.back, _START)
            if place == len(run.accepted) or run.accepted[place] > stop - nearest:
                return
            if run.accepted[place] >= stop - farthest:
                yield stop - run.accepted[place]
            place += 1

    # --- building the tree --------------------------------------------------------------------------

    def _assembled(self, goal: Goal, chain: list[Step], choice: tuple[Step, list[Goal]] | None) -> Proof:
        """The proof of a goal by this choice; the parts by the first choice that each has."""
        if choice is not None:
            for part in choice[1]:
                self._prove(part)
        return self._concluded(goal, chain, choice)

    def _prove(self, goal: Goal) -> None:
        """Fill `_done` for a goal and all below it, with a stack of its own."""
        stack = [(goal, *next(self._choices(goal)))] if goal not in self._done else []
        while stack:
            here, chain, choice = stack[-1]
            missing = [] if choice is None else [part for part in choice[1] if part not in self._done]
            if missing:
                stack.extend((part, *next(self._choices(part))) for part in missing)
            else:
                self._done[here] = self._concluded(here, chain, choice)
                stack.pop()

    def _concluded(self, goal: Goal, chain: list[Step], choice: tuple[Step, list[Goal]] | None) -> Proof:
        """The proof of a goal by the rules of a chain, whose last premise is a fact or follows by the choice."""
        relation, start, end = goal
        steps = list(chain)
        if choice is None:
            premises = [Proof(atom_triple(self._path.labels[start], *self._ends(start, end)))]
        else:
            steps.append(choice[0])
            premises = [self._done[part] for part in choice[1]]
        heads = [relation, *(step.body[0] for step in chain)]
        for step, head in reversed(list(zip(steps, heads, strict=False))):
            ordered = tuple(reversed(premises)) if step.turned else tuple(premises)
            premises = [Proof(atom_triple(head, *self._ends(start, end)), step.rule, ordered)]
        return premises[0]

    def _ends(self, start: int, end: int) -> tuple[str, str]:
        return self._path.entities[start], self._path.entities[end]
