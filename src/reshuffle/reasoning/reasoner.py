"""Apply rules to data: `Reasoner(rules).on(graph)`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import (
    BudgetError,
    InputError,
    NotExpressibleError,
    did_you_mean,
    near_names,
    whole_number,
)
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.axioms_in_facts import axioms_among, told_axioms
from reshuffle.reasoning.constant_answers import ConstantAnswers, with_helpers
from reshuffle.reasoning.ontology_answers import OntologyAnswers
from reshuffle.reasoning.scaling.engine_interface import Deduction
from reshuffle.reasoning.sharing import parsed_bytes
from reshuffle.rulegraphs import budgets, constraints_for
from reshuffle.rulegraphs.budgets import DEFAULT_NODE_BUDGET
from reshuffle.rules import RuleBase
from reshuffle.rules.encoding import encoding_of, without_constants
from reshuffle.rules.exactness import Exactness, by_chase, within
from reshuffle.rules.parsing import as_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set
    from pathlib import Path

    from reshuffle.errors import ReshuffleError
    from reshuffle.kg.coerce import Triples
    from reshuffle.kg.vocabulary import Vocabulary
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.answers import Answers
    from reshuffle.reasoning.sketch.answers import SketchedAnswers
    from reshuffle.rules.parsing import Rules

ENGINES = ("auto", "geometry", "chase")
CHEAPER = "cheaper here than a geometry"
_MOST_COMPARED = 200  # relations whose names are compared with those of the facts
_MOST_SHOWN = 3  # relations that a note names


class Reasoner:
    """Rules, or compiled constraints, made ready to answer over any graph.

    >>> from reshuffle import KnowledgeGraph, parse_rules
    >>> rules = parse_rules("parent(X, Y) -> ancestor(X, Y) \\n ancestor(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)")
    >>> answers = Reasoner(rules).on(KnowledgeGraph([("ann", "parent", "bob"), ("bob", "parent", "cleo")]))
    >>> answers.holds("ann", "ancestor", "cleo"), answers.exactness
    (True, 'exact')

    `engine="auto"` takes an exact engine: geometry where there is one and it is cheap, else the chase; `exactness` says
    which. `engine="geometry"` raises `NotExpressibleError` where no geometry is exact; `bound=m` answers what follows
    in m steps, for any path rules; `engine="chase"` computes the exact fixpoint of every rule base that can be read
    (paths and intersections, however recursive), without geometry. `memory` limits the bytes that answering may take,
    as a number or as "2GB".

    A geometry that is larger than its budget (`rulegraphs.budgets`; `node_budget` raises it) is not built: "auto"
    takes the chase, which is exact too, and says so in `exactness`; "geometry" and a bound raise `BudgetError`.
    """

    def __init__(
        self,
        rules: Rules | OrderingConstraints,
        *,
        bound: int | None = None,
        engine: str = "auto",
        memory: int | str | None = None,
        node_budget: int | None = None,
    ) -> None:
        _check_engine(engine, bound)
        self.engine, self._bound = engine, bound
        self._memory = None if memory is None else parsed_bytes(str(memory))
        self.node_budget = DEFAULT_NODE_BUDGET if node_budget is None else _checked_nodes(node_budget)
        self._constraints: OrderingConstraints | None = None
        self._uncompiled = False
        self.no_geometry: ReshuffleError | None = None
        """Why the chase answers, where nobody asked for it."""
        if isinstance(rules, OrderingConstraints):
            self._take(rules, bound)
        else:
            self.rules: RuleBase | None = rules if isinstance(rules, RuleBase) else as_rules(rules)
            if engine == "auto" and bound is None and _construction(self.rules) > budgets.QUICK:
                self._uncompiled = True  # until facts or somebody who needs a geometry ask for it
            elif engine != "chase":
                self._compile(self.rules, bound)
        # The relations of the rules in order, no inverse, no fresh and no helper relation among them.
        known = map(base_relation, self.rules.relations) if self.rules is not None else ()
        self.encoding = None if self.rules is None else encoding_of(self.rules)
        geometry = None if self.encoding is not None else self._constraints
        self._relations = dict.fromkeys(known if geometry is None else geometry.answerable)

    @property
    def constraints(self) -> OrderingConstraints | None:
        """The geometry; None where there is none, or where the chase was asked for."""
        if self._uncompiled:
            assert self.rules is not None
            self._compile(self.rules, None)
            self._uncompiled = False
        return self._constraints

    def _compile(self, rules: RuleBase, bound: int | None) -> None:
        try:
            self._constraints = constraints_for(rules, bound=bound, node_budget=self.node_budget)
        except (BudgetError, NotExpressibleError) as error:
            if self.engine == "geometry" or bound is not None:
                raise
            self.no_geometry = error

    def _take(self, constraints: OrderingConstraints, bound: int | None) -> None:
        self.rules = constraints.rules and (constraints.rules.source or constraints.rules)
        if bound is not None and bound != constraints.bound:
            compiled_for = "no bound" if constraints.bound is None else f"bound {constraints.bound}"
            raise InputError(
                f"these constraints were compiled for {compiled_for}, not for bound {bound}",
                hint="compile the rules again with that bound, or leave it out",
            )
        if self.engine == "chase":
            if constraints.rules is None:
                raise InputError(
                    "the chase needs rules, but these constraints were not compiled from rules",
                    hint="use engine='auto'",
                )
        else:
            self._constraints = constraints

    def __repr__(self) -> str:
        if self._constraints is None:
            return f"<Reasoner: {self.exactness}>"
        return f"<Reasoner: geometry with {self._constraints.num_slots} slots, {self.exactness}>"

    @property
    def exactness(self) -> str:
        """What the answers will be: exact, exact within m steps, or the fixpoint of the chase."""
        return str(self.claim())

    def claim(self, facts: KnowledgeGraph | None = None, *, notes: Notes = UNHEARD) -> Exactness:
        """The same as an object that is false where answers will not be exact; `notes` hears of axioms among facts."""
        if self._constraints is None and not self._uncompiled:
            way = by_chase(None if self.no_geometry is None else _reason(self.no_geometry))
        else:
            way = within(None if self._constraints is None else self._constraints.bound)
        among = () if facts is None or self.rules is None else axioms_among(facts, self.rules)
        if among:
            notes(told_axioms(among))
        return Exactness.of(way, self.rules, among)

    @property
    def names(self) -> tuple[str, ...]:
        """The relations and entities that the rules name."""
        return (*self._relations, *(() if self.encoding is None else self.encoding.named))

    def on(
        self,
        graph: Triples,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> Answers:
        """The answers over a graph, or over triples; `notes` hears when facts and rules share no relation."""
        facts = graph if isinstance(graph, KnowledgeGraph) else as_graph(graph)
        if self.rules is not None and self.rules.stated is not None:
            return OntologyAnswers(self, facts, progress=progress, notes=notes)
        return self.over(facts, progress=progress, notes=notes)

    def with_rules(self, rules: RuleBase) -> Reasoner:
        """A reasoner like this one with other rules; this one, where they are its own."""
        if rules is self.rules:
            return self
        return Reasoner(
            rules, bound=self._bound, engine=self.engine, memory=self._memory, node_budget=self.node_budget
        )

    def over(self, facts: KnowledgeGraph, *, progress: Progress = SILENT, notes: Notes = UNHEARD) -> Answers:
        """The answers over a graph by the rules as they stand, whatever the graph says of axioms."""
        used = facts.relations
        if facts.literals is not None and self.encoding is not None:  # domains may meet these
            used, _ = used.extended_by(facts.literals.relations)
        if notes is not UNHEARD and len(used):
            self._note_names(used, facts.entities, notes)
        if self.encoding is None:
            answers = self._answers(facts, progress, notes)
        else:
            answers = self._with_constants(facts, lambda graph: self._answers(graph, progress, notes))
        self._note_axioms(answers, facts, notes)
        return answers

    def _note_axioms(self, answers: Answers, facts: KnowledgeGraph, notes: Notes) -> None:
        """Nothing follows from axioms among the facts, so that answers are not exact, and a user should know."""
        if self.rules is not None and (found := axioms_among(facts, self.rules)):
            answers.unread_facts = found
            notes(told_axioms(found))

    def _note_names(self, used: Vocabulary, entities: Vocabulary, notes: Notes) -> None:
        """Note names that nothing can follow from. They are no errors, since facts may be added later."""
        missing = [] if self.rules is None else self.rules.never_met(used)
        if self.rules is not None and (
            taken := sorted(name for name in self.rules.variables if name in entities)
        ):
            notes(_taken_for_variables(taken))
        if self._relations.keys().isdisjoint(used):
            notes(_nothing_shared(self._relations, used))
        elif self.rules is not None and missing:
            notes(_never_met(missing, {*used, *self.rules.concluded}))

    def _with_constants(
        self, facts: KnowledgeGraph, answered: Callable[[KnowledgeGraph], Answers]
    ) -> Answers:
        """The answers over the facts and the helper facts of rules with constants, which stay hidden."""
        assert self.rules is not None
        return ConstantAnswers(answered(with_helpers(facts, self.rules)), self.rules, facts)

    def _answers(self, facts: KnowledgeGraph, progress: Progress, notes: Notes) -> Answers:
        if self._uncompiled and self._is_cheaper_chased(facts):
            notes("answered by the chase: for so few facts it is cheaper than the geometry of these rules")
            return self._by_chase(facts, CHEAPER, progress)
        constraints, reason = self.constraints, self.no_geometry
        if constraints is not None:
            try:
                return self._by_geometry(constraints, facts, progress)
            except BudgetError as error:
                if not self._may_chase:
                    raise
                reason = error
        if reason is not None:
            notes(f"{reason.message}: answered by the chase")
        return self._by_chase(facts, None if reason is None else _reason(reason), progress)

    def _is_cheaper_chased(self, facts: KnowledgeGraph) -> bool:
        """Does the chase derive everything sooner than a geometry is built?"""
        assert self.rules is not None
        return _construction(self.rules) > budgets.FACTS * len(facts)

    @property
    def _may_chase(self) -> bool:
        """May the chase take over from a geometry that is too large? It has no bound, and needs rules."""
        bounded = self._constraints is not None and self._constraints.bound is not None
        return self.engine == "auto" and not bounded and self.rules is not None

    def _by_geometry(
        self, constraints: OrderingConstraints, facts: KnowledgeGraph, progress: Progress
    ) -> Answers:
        from reshuffle.reasoning.geometry.answers import GeometryAnswers  # noqa: PLC0415 - one engine is enough

        # Without rules, as a hardened model has none, nothing else could answer.
        nodes = None if self.rules is None else self.node_budget
        return GeometryAnswers(constraints, facts, memory=self._memory, node_budget=nodes, progress=progress)

    def chased(self, rules: RuleBase, facts: KnowledgeGraph) -> Answers:
        """What other rules derive from other facts, by the chase, within the same memory."""
        from reshuffle.reasoning.chase import ChaseAnswers  # noqa: PLC0415 - compiled code

        return ChaseAnswers(rules, facts, memory=self._memory)

    def _by_chase(self, facts: KnowledgeGraph, reason: str | None, progress: Progress) -> Answers:
        from reshuffle.reasoning.chase import ChaseAnswers  # noqa: PLC0415 - one engine is enough

        assert self.rules is not None
        return ChaseAnswers(
            without_constants(self.rules),
            facts,
            memory=self._memory,
            progress=progress,
            without_geometry=reason,
        )

    @property
    def deduction(self) -> Deduction:
        """What answers are derived by, for an engine outside of this process, which needs helper facts, too."""
        rules = None if self.rules is None else without_constants(self.rules)
        return Deduction(self.constraints, rules, self.node_budget)

    def sketch(
        self,
        graph: Triples,
        *,
        channels: int | None = None,
        epsilon: float | None = None,
        seed: int = 0,
        progress: Progress = SILENT,
    ) -> Answers:
        """Answers in constant time per question that never miss, and err by saying yes too often.

        Give the number of `channels`, or the mean false-positive rate `epsilon` to choose it by.
        """
        from reshuffle.reasoning.sketch.answers import SketchedAnswers  # noqa: PLC0415

        constraints = self.constraints
        if self.no_geometry is not None:
            raise self.no_geometry
        if constraints is None or constraints.bound is not None:
            raise InputError(
                "a sketch needs the geometry of an unbounded rule base",
                hint="use engine='auto' without a bound",
            )
        hint = "a seed is 0 or a positive whole number"
        if whole_number("seed", seed, hint=hint) < 0:
            raise InputError(f"a seed of {seed}", hint=hint)

        def sketched(facts: KnowledgeGraph) -> SketchedAnswers:
            return SketchedAnswers(
                constraints,
                facts,
                channels=channels,
                epsilon=epsilon,
                seed=seed,
                memory=self._memory,
                progress=progress,
            )

        facts = as_graph(graph)
        return sketched(facts) if self.encoding is None else self._with_constants(facts, sketched)

    def save(self, path: str | Path) -> None:
        """Write the compiled constraints, as JSON."""
        constraints = self.constraints
        if self.no_geometry is not None:
            raise self.no_geometry
        if constraints is None:
            raise InputError(
                "the chase has no compiled form to save",
                hint="keep the rule file instead",
            )
        constraints.save(path)

    @classmethod
    def load(cls, path: str | Path, *, memory: int | str | None = None) -> Reasoner:
        """A reasoner from a file that `save` (or `reshuffle compile`) wrote."""
        return cls(OrderingConstraints.load(path), memory=memory)


def _construction(rules: RuleBase) -> int:
    """What a geometry costs to build."""
    return budgets.construction(without_constants(rules))


def _reason(error: ReshuffleError) -> str:
    """Why there is no geometry, as `exactness` tells it."""
    return error.message if isinstance(error, NotExpressibleError) else f"no geometry: {error.message}"


def _checked_nodes(node_budget: int) -> int:
    hint = "give the number of nodes that a rule graph may have, 1 or more"
    if whole_number("node_budget", node_budget, hint=hint) < 1:
        raise InputError(f"node_budget = {node_budget} allows no rule graph", hint=hint)
    return node_budget


def _check_engine(engine: str, bound: int | None) -> None:
    if not isinstance(engine, str):
        raise InputError(
            f"found engine = {engine!r}, expected a name", hint="the engines are auto, geometry and chase"
        )
    if engine not in ENGINES:
        raise InputError(
            f"unknown engine '{engine}'{did_you_mean(engine, ENGINES)}",
            hint="the engines are auto, geometry and chase",
        )
    if engine == "chase" and bound is not None:
        raise InputError(
            "the chase has no bound: it runs to the fixpoint",
            hint="leave out the bound, or use engine='auto'",
        )


def _nothing_shared(relations: Iterable[str], used: Iterable[str]) -> str:
    """What a user is told where no fact can meet a rule, with the names that are nearly the same."""
    names = list(used)
    compared = itertools.islice(relations, _MOST_COMPARED)
    near = [f"'{name}' (facts: '{found[0]}')" for name in compared if (found := near_names(name, names))]
    hint = f"; near names: {', '.join(near[:3])}" if near else ""
    return f"warning: facts and rules share no relation, so nothing follows{hint}"


def _taken_for_variables(names: list[str]) -> str:
    """What a user is told of entities whose names a rule file uses as variables."""
    named = ", ".join(names[:_MOST_SHOWN])
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    are = ("is a variable", "an entity") if len(names) == 1 else ("are variables", "entities")
    return f'warning: {named}{more} {are[0]} in the rules and {are[1]} in the facts; write "{names[0]}" for the entity'


def _never_met(missing: list[str], given: Set[str]) -> str:
    """What a user is told of relations that rule bodies ask for and that neither a fact nor a head gives."""
    compared = missing[:_MOST_COMPARED]
    near = {name: found[0] for name in compared if (found := near_names(name, given, most=1))}
    shown = sorted(compared, key=lambda name: name not in near)[:_MOST_SHOWN]
    named = [f"'{name}'" + (f" (near: '{near[name]}')" if name in near else "") for name in shown]
    more = f" and {len(missing) - len(shown):,} more" if len(missing) > len(shown) else ""
    asked = "is a relation of a rule body" if len(missing) == 1 else "are relations of rule bodies"
    return f"note: {', '.join(named)}{more} {asked} that no fact has and no rule concludes"
