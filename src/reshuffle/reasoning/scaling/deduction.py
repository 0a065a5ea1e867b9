"""The program to run: automata of constraints, or the chase's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reshuffle.errors import BudgetError
from reshuffle.kg import inverse_name, refuse_inverse_names
from reshuffle.kg.vocabulary import base_relation, is_inverse, label_of
from reshuffle.reasoning.chase.program import CodedRule, Program
from reshuffle.reasoning.geometry.relation_automata import assemble
from reshuffle.reasoning.scaling.machine_tables import machine_tables
from reshuffle.reasoning.scaling.rule_tables import rule_tables
from reshuffle.rules.class_axioms import SAME_AS, forbidden
from reshuffle.rules.encoding import encoding_of
from reshuffle.rules.rule import SAME, DisjointEnds, Disjointness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reshuffle.reasoning.geometry.relation_automata import Automaton, Machine
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.scaling.machine_tables import MachineTables
    from reshuffle.reasoning.scaling.rule_tables import RuleTables
    from reshuffle.rules.rule import Constraint


def on_relations(deduction: Deduction, used: Sequence[str]) -> Deducing:
    """A deduction over facts that use these relations, in the order of their ids."""
    refuse_inverse_names(used)
    own: Iterable[str] = ()
    if deduction.constraints is not None:
        own = deduction.constraints.answerable
    elif deduction.rules is not None:
        rules = deduction.rules
        own = (name for name in map(base_relation, rules.relations) if name not in rules.fresh)
    relation_ids = {name: number for number, name in enumerate(dict.fromkeys([*used, *own]))}
    return Deducing(deduction, relation_ids, _machine(deduction, used))


def _machine(deduction: Deduction, used: Sequence[str]) -> Machine | None:
    """The automata; None where there are no constraints, or where the rules take over from too many states."""
    if deduction.constraints is None:
        return None
    labels: dict[str, int] = {}
    for number, relation in enumerate(used):
        labels[relation] = label_of(number, backwards=False)
        labels[inverse_name(relation)] = label_of(number, backwards=True)
    may_chase = deduction.rules is not None and deduction.constraints.bound is None
    budget = deduction.node_budget if may_chase else None
    try:
        return assemble(deduction.constraints, labels, node_budget=budget)
    except BudgetError:
        if not may_chase:
            raise
        return None


@dataclass(frozen=True)
class Deducing:
    """A deduction over the relations of some facts: their ids come first, then those of rules alone."""

    deduction: Deduction
    relation_ids: dict[str, int]
    machine: Machine | None

    @property
    def names(self) -> list[str]:
        """The relations of facts and rules, by id; no inverse and no fresh relation is among them."""
        return list(self.relation_ids)

    @property
    def disjointness(self) -> tuple[Disjointness, ...]:
        """The constraints on pairs that answers should not break."""
        return tuple(pair for pair in self._constraints if isinstance(pair, Disjointness))

    @property
    def disjoint_ends(self) -> tuple[DisjointEnds, ...]:
        """The ends that no entity should lead to both of."""
        return tuple(pair for pair in self._constraints if isinstance(pair, DisjointEnds))

    @property
    def _constraints(self) -> tuple[Constraint, ...]:
        """Those of relations that somebody uses: no other can be broken."""
        rules = self.deduction.rules
        known = {*self.relation_ids, SAME}
        found = () if rules is None else forbidden(rules.source or rules)
        return tuple(pair for pair in found if known.issuperset(map(base_relation, pair.relations)))

    @property
    def equality(self) -> str | None:
        """The relation `owl:sameAs` of an ontology: that a name is the same as itself holds, and is not listed."""
        rules = self.deduction.rules
        of_ontology = rules is not None and (rules.source or rules).stated is not None
        return SAME_AS if of_ontology and SAME_AS in self.relation_ids else None

    @property
    def hidden(self) -> frozenset[str]:
        """The helper relations of rules with constants, among those of the facts."""
        encoding = None if self.deduction.rules is None else encoding_of(self.deduction.rules)
        return frozenset() if encoding is None else encoding.relations & self.relation_ids.keys()

    def machine_tables(self) -> list[MachineTables]:
        """The automata as tables; there must be some."""
        assert self.machine is not None
        return machine_tables(self.machine, self.relation_ids)

    def rule_tables(self) -> RuleTables:
        """The rules as tables. Where there are none, or only within a bound, the automata are read as rules."""
        bounded = self.deduction.constraints is not None and self.deduction.constraints.bound is not None
        if self.deduction.rules is None or bounded:
            assert self.machine is not None
            return rule_tables(_as_rules(self.machine, self.relation_ids), walked=len(self.relation_ids))
        program = Program(self.deduction.rules, self.relation_ids)
        return rule_tables(program.coded)


def _as_rules(machine: Machine, relation_ids: dict[str, int]) -> Iterator[CodedRule]:
    """Automata as rules: a fresh relation per state, which leads from a source to where that state is reached.

    Automata walk facts alone, which therefore have relations of their own (`rule_tables.start_query`).
    """
    size = len(relation_ids)
    fresh = 2 * size + 1
    reached: list[int] = []  # automaton to the relation that holds where it accepts
    for automaton in machine.automata:
        yield from _rules_of(automaton, fresh, relation_ids)
        reached.append(fresh + automaton.num_states)
        fresh += automaton.num_states + 1
    for relation, clauses in machine.clauses_of.items():
        body = tuple(2 * reached[clause] for clause in clauses)
        kind = "copy" if len(body) == 1 else "meet"
        yield CodedRule(kind, body, 2 * relation_ids[relation], None)


def _rules_of(automaton: Automaton, fresh: int, relation_ids: dict[str, int]) -> Iterator[CodedRule]:
    size, accepted = len(relation_ids), 2 * (fresh + automaton.num_states)
    for source, name, target in automaton.arcs:
        atom = label_of(size + relation_ids[base_relation(name)], backwards=is_inverse(name))
        if source == 0:
            yield CodedRule("copy", (atom,), 2 * (fresh + target), None)
        yield CodedRule("chain", (2 * (fresh + source), atom), 2 * (fresh + target), None)
    for state in automaton.accepting:
        yield CodedRule("copy", (2 * (fresh + state),), accepted, None)
        if state == 0:  # the empty word leads from each entity to itself
            yield CodedRule("copy", (2 * 2 * size,), accepted, None)
