"""Rules meet data: `Reasoner(rules).on(graph)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError, did_you_mean, near_names
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.inverses import base_relation
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.resources import parsed_bytes
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules.coerce import as_rules

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning.answers import Answers
    from reshuffle.reasoning.sketch.answers import SketchedAnswers
    from reshuffle.rules import RuleBase
    from reshuffle.rules.coerce import Rules

ENGINES = ("auto", "chase")


class Reasoner:
    """Rules, or compiled constraints, made ready to answer over any graph.

    >>> from reshuffle import KnowledgeGraph, parse_rules
    >>> rules = parse_rules("parent(X, Y) -> ancestor(X, Y) \\n ancestor(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)")
    >>> answers = Reasoner(rules).on(KnowledgeGraph([("ann", "parent", "bob"), ("bob", "parent", "cleo")]))
    >>> answers.holds("ann", "ancestor", "cleo"), answers.exactness
    (True, 'exact')

    `engine="auto"` compiles the rules to geometry and raises `NotExpressibleError` where none is exact;
    `bound=m` answers what follows in m steps, for any path rules; `engine="chase"` computes the exact fixpoint
    of any rules, without geometry. `memory` limits the bytes that answering may take, as a number or as "2GB".
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
        self.constraints: OrderingConstraints | None = None
        if isinstance(rules, OrderingConstraints):
            self._take(rules, bound)
        else:
            self.rules: RuleBase | None = as_rules(rules)
            if engine == "auto":
                budget = {} if node_budget is None else {"node_budget": node_budget}
                self.constraints = constraints_for(self.rules, bound=bound, **budget)
        self._relations = self._own_relations()

    def _own_relations(self) -> dict[str, None]:
        """The relations of the rules in order, no inverse and no fresh relation among them."""
        if self.constraints is not None:
            return dict.fromkeys(self.constraints.answerable)
        assert self.rules is not None
        return dict.fromkeys(base_relation(relation) for relation in self.rules.relations)

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
        if self.constraints is None:
            return "exact fixpoint by chase: no geometry"
        return self.constraints.exactness

    def on(
        self,
        graph: Triples,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> Answers:
        """The answers over a graph, or over triples; `notes` hears when facts and rules share no relation."""
        facts = as_graph(graph)
        if len(facts.relations) and self._relations.keys().isdisjoint(facts.relations):
            # No error, since facts may be added later.
            notes(_nothing_shared(self._relations, facts.relations))
        if self.constraints is not None:
            from reshuffle.reasoning.geometry.answers import GeometryAnswers  # noqa: PLC0415 - compiled code

            return GeometryAnswers(self.constraints, facts, memory=self._memory, progress=progress)
        from reshuffle.reasoning.chase import ChaseAnswers  # noqa: PLC0415 - compiled code

        assert self.rules is not None
        return ChaseAnswers(self.rules, facts, memory=self._memory, progress=progress)

    def sketch(
        self,
        graph: Triples,
        *,
        channels: int | None = None,
        epsilon: float | None = None,
        seed: int = 0,
        progress: Progress = SILENT,
    ) -> SketchedAnswers:
        """Answers in constant time per question that never miss, and err by saying yes too often.

        Give the number of `channels`, or the mean false-positive rate `epsilon` to choose it by.
        """
        from reshuffle.reasoning.sketch.answers import SketchedAnswers  # noqa: PLC0415

        if self.constraints is None or self.constraints.bound is not None:
            raise InputError(
                "a sketch needs the geometry of an unbounded rule base",
                hint="use engine='auto' without a bound",
            )
        if seed < 0:
            raise InputError(f"a seed of {seed}", hint="a seed is 0 or a positive whole number")
        return SketchedAnswers(
            self.constraints,
            as_graph(graph),
            channels=channels,
            epsilon=epsilon,
            seed=seed,
            memory=self._memory,
            progress=progress,
        )

    def save(self, path: str | Path) -> None:
        """Write the compiled constraints, as JSON."""
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


def _check_engine(engine: str, bound: int | None) -> None:
    if engine not in ENGINES:
        raise InputError(
            f"unknown engine '{engine}'{did_you_mean(engine, ENGINES)}", hint="the engines are auto and chase"
        )
    if engine == "chase" and bound is not None:
        raise InputError(
            "the chase has no bound: it runs to the fixpoint",
            hint="leave out the bound, or use engine='auto'",
        )


def _nothing_shared(relations: Iterable[str], used: Iterable[str]) -> str:
    """What a user is told where no fact can meet a rule, with the names that are nearly the same."""
    names = list(used)
    near = [f"'{name}' (facts: '{found[0]}')" for name in relations if (found := near_names(name, names))]
    hint = f"; near names: {', '.join(near[:3])}" if near else ""
    return f"warning: facts and rules share no relation, so nothing follows{hint}"
