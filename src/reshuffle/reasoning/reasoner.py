"""Rules meet data: `Reasoner(rules).on(graph)`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import BudgetError, InputError, did_you_mean, near_names, whole_number
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.class_answers import ClassAnswers, with_helpers
from reshuffle.reasoning.sharing import parsed_bytes
from reshuffle.rulegraphs import constraints_for
from reshuffle.rulegraphs.budgets import DEFAULT_NODE_BUDGET
from reshuffle.rules import RuleBase
from reshuffle.rules.parsing import as_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set
    from pathlib import Path

    from reshuffle.kg.coerce import Triples
    from reshuffle.kg.vocabulary import Vocabulary
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.answers import Answers
    from reshuffle.reasoning.sketch.answers import SketchedAnswers
    from reshuffle.rules.parsing import Rules

ENGINES = ("auto", "geometry", "chase")
_MOST_COMPARED = 200  # relations whose names are compared with those of the facts
_MOST_SHOWN = 3  # relations that a note names


class Reasoner:
    """Rules, or compiled constraints, made ready to answer over any graph.

    >>> from reshuffle import KnowledgeGraph, parse_rules
    >>> rules = parse_rules("parent(X, Y) -> ancestor(X, Y) \\n ancestor(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)")
    >>> answers = Reasoner(rules).on(KnowledgeGraph([("ann", "parent", "bob"), ("bob", "parent", "cleo")]))
    >>> answers.holds("ann", "ancestor", "cleo"), answers.exactness
    (True, 'exact')

    `engine="auto"` compiles the rules to geometry and raises `NotExpressibleError` where none is exact;
    `bound=m` answers what follows in m steps, for any path rules; `engine="chase"` computes the exact fixpoint of every
    rule base that can be read (paths and intersections, however recursive), without geometry. `memory` limits the bytes
    that answering may take, as a number or as "2GB".

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
        self.engine = engine
        self._memory = None if memory is None else parsed_bytes(str(memory))
        self.node_budget = DEFAULT_NODE_BUDGET if node_budget is None else _checked_nodes(node_budget)
        self.constraints: OrderingConstraints | None = None
        self._too_large: BudgetError | None = None
        if isinstance(rules, OrderingConstraints):
            self._take(rules, bound)
        else:
            self.rules: RuleBase | None = rules if isinstance(rules, RuleBase) else as_rules(rules)
            if engine != "chase":
                self._compile(self.rules, bound)
        # The relations of the rules in order, no inverse, no fresh and no helper relation among them.
        known = map(base_relation, self.rules.relations) if self.rules is not None else ()
        self._relations = dict.fromkeys(known if self.constraints is None else self.constraints.answerable)
        self._classes = None if self.rules is None else self.rules.classes
        for helper in () if self._classes is None else self._classes.relations:
            self._relations.pop(helper, None)

    def _compile(self, rules: RuleBase, bound: int | None) -> None:
        try:
            self.constraints = constraints_for(rules, bound=bound, node_budget=self.node_budget)
        except BudgetError as error:
            if self.engine == "geometry" or bound is not None:
                raise
            self._too_large = error

    def _take(self, constraints: OrderingConstraints, bound: int | None) -> None:
        self.rules = constraints.rules
        if bound is not None and bound != constraints.bound:
            compiled_for = "no bound" if constraints.bound is None else f"bound {constraints.bound}"
            raise InputError(
                f"these constraints were compiled for {compiled_for}, not for bound {bound}",
                hint="compile the rules again with that bound, or leave it out",
            )
        if self.engine == "chase":
            if constraints.rules is None:
                raise InputError(
                    "the chase needs rules, and these constraints come from none", hint="use engine='auto'"
                )
        else:
            self.constraints = constraints

    def __repr__(self) -> str:
        if self.constraints is None:
            return "<Reasoner: exact fixpoint by chase, no geometry>"
        return f"<Reasoner: geometry with {self.constraints.num_slots} slots, {self.exactness}>"

    @property
    def exactness(self) -> str:
        """What the answers will be: exact, exact within m steps, or the fixpoint of the chase."""
        if self._too_large is not None:
            return f"exact fixpoint by chase: {self._too_large.message}"
        if self.constraints is None:
            return "exact fixpoint by chase: no geometry"
        return self.constraints.exactness

    @property
    def names(self) -> tuple[str, ...]:
        """The relations and classes that the rules name."""
        classes = () if self._classes is None else self._classes.by_class
        return (*self._relations, *classes)

    def on(
        self,
        graph: Triples,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> Answers:
        """The answers over a graph, or over triples; `notes` hears when facts and rules share no relation."""
        facts = graph if isinstance(graph, KnowledgeGraph) else as_graph(graph)
        used = facts.relations
        if facts.literals is not None and self._classes is not None:  # domains may meet these
            used, _ = used.extended_by(facts.literals.relations)
        if notes is not UNHEARD and len(used):
            self._note_names(used, notes)
        if self._classes is None:
            return self._answers(facts, progress, notes)
        return self._with_classes(facts, lambda graph: self._answers(graph, progress, notes))

    def _note_names(self, used: Vocabulary, notes: Notes) -> None:
        """Note names that nothing can follow from. They are no errors, since facts may be added later."""
        missing = [] if self.rules is None else self.rules.never_met(used)
        if self._relations.keys().isdisjoint(used):
            notes(_nothing_shared(self._relations, used))
        elif self.rules is not None and missing:
            notes(_never_met(missing, {*used, *self.rules.concluded}))

    def _with_classes(self, facts: KnowledgeGraph, answered: Callable[[KnowledgeGraph], Answers]) -> Answers:
        """The answers over the facts and the helper facts of class axioms, which stay hidden."""
        assert self.rules is not None and self._classes is not None
        return ClassAnswers(answered(with_helpers(facts, self.rules)), self.rules, facts)

    def _answers(self, facts: KnowledgeGraph, progress: Progress, notes: Notes) -> Answers:
        too_large = self._too_large
        if self.constraints is not None:
            try:
                return self._by_geometry(self.constraints, facts, progress)
            except BudgetError as error:
                if not self._may_chase:
                    raise
                too_large = error
        if too_large is not None:
            notes(f"{too_large.message}: answered by the chase, as exactly")
        return self._by_chase(facts, too_large, progress)

    @property
    def _may_chase(self) -> bool:
        """May the chase take over from a geometry that is too large? It has no bound, and needs rules."""
        bounded = self.constraints is not None and self.constraints.bound is not None
        return self.engine == "auto" and not bounded and self.rules is not None

    def _by_geometry(
        self, constraints: OrderingConstraints, facts: KnowledgeGraph, progress: Progress
    ) -> Answers:
        from reshuffle.reasoning.geometry.answers import GeometryAnswers  # noqa: PLC0415 - compiled code

        # Without rules, as a hardened model has none, nothing else could answer.
        nodes = None if self.rules is None else self.node_budget
        return GeometryAnswers(constraints, facts, memory=self._memory, node_budget=nodes, progress=progress)

    def _by_chase(self, facts: KnowledgeGraph, too_large: BudgetError | None, progress: Progress) -> Answers:
        from reshuffle.reasoning.chase import ChaseAnswers  # noqa: PLC0415 - compiled code

        assert self.rules is not None
        return ChaseAnswers(
            self.rules,
            facts,
            memory=self._memory,
            progress=progress,
            without_geometry=None if too_large is None else too_large.message,
        )

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

        if self._too_large is not None:
            raise self._too_large
        if self.constraints is None or self.constraints.bound is not None:
            raise InputError(
                "a sketch needs the geometry of an unbounded rule base",
                hint="use engine='auto' without a bound",
            )
        hint = "a seed is 0 or a positive whole number"
        if whole_number("seed", seed, hint=hint) < 0:
            raise InputError(f"a seed of {seed}", hint=hint)
        constraints = self.constraints

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
        return sketched(facts) if self._classes is None else self._with_classes(facts, sketched)

    def save(self, path: str | Path) -> None:
        """Write the compiled constraints, as JSON."""
        if self._too_large is not None:
            raise self._too_large
        if self.constraints is None:
            raise InputError(
                "the chase compiles nothing that could be saved",
                hint="keep the rule file; it says everything",
            )
        self.constraints.save(path)

    @classmethod
    def load(cls, path: str | Path, *, memory: int | str | None = None) -> Reasoner:
        """A reasoner from a file that `save` (or `reshuffle compile`) wrote."""
        return cls(OrderingConstraints.load(path), memory=memory)


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


def _never_met(missing: list[str], given: Set[str]) -> str:
    """What a user is told of relations that rule bodies ask for and that neither a fact nor a head gives."""
    compared = missing[:_MOST_COMPARED]
    near = {name: found[0] for name in compared if (found := near_names(name, given, most=1))}
    shown = sorted(compared, key=lambda name: name not in near)[:_MOST_SHOWN]
    named = [f"'{name}'" + (f" (near: '{near[name]}')" if name in near else "") for name in shown]
    more = f" and {len(missing) - len(shown):,} more" if len(missing) > len(shown) else ""
    asked = "is a relation of a rule body" if len(missing) == 1 else "are relations of rule bodies"
    return f"note: {', '.join(named)}{more} {asked} that no fact has and no rule concludes"
