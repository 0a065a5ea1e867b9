"""The interface of a theory: `on(graph)` gives its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from reshuffle.errors import InputError, Place
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.coerce import as_graph
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning import Reasoner
from reshuffle.reasoning.joined_answers import JoinedAnswers
from reshuffle.theories.theory_answers import TheoryAnswers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.extraction.extract import Model
    from reshuffle.kg import Triple
    from reshuffle.kg.coerce import Triples
    from reshuffle.kg.io.prefixes import Prefixes
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning import Answers
    from reshuffle.rulelist import RuleModel
    from reshuffle.rulelist.aggregation.aggregates import Aggregate
    from reshuffle.rules import Rule, RuleBase
    from reshuffle.theories.theory_answers import Ranked


@dataclass(frozen=True)
class Reasoning:
    """How the certain part of a theory is computed; see `Reasoner`."""

    engine: str = "auto"
    bound: int | None = None
    memory: int | str | None = None
    node_budget: int | None = None

    def reasoner(self, source: RuleBase | OrderingConstraints) -> Reasoner:
        """The reasoner of rules or constraints."""
        return Reasoner(
            source, engine=self.engine, bound=self.bound, memory=self.memory, node_budget=self.node_budget
        )


@dataclass(frozen=True)
class Reading:
    """How a theory is read from its files."""

    skip_unsupported: bool = False
    """Pass over rules of other kinds, and say how many."""
    prefixes: Prefixes | None = None
    device: str = "auto"
    """Where a network computes."""
    notes: Notes = field(default=UNHEARD, repr=False)
    full_names: bool = False
    """IRIs of classes beside facts, where CURIEs are usual."""


class Theory(ABC):
    """Rules with or without weights, ordering constraints, or a trained network."""

    kind: ClassVar[str]
    """What it is, in the words that people read."""
    name: str
    """Where it comes from: the path, or what somebody called it."""
    ranks: ClassVar[bool] = False
    """Is a triple explained by its score? Otherwise by a proof."""
    trained: ClassVar[bool] = False
    """Does it come from training facts, of which it brings the type baseline?"""
    edits_rules: ClassVar[bool] = True
    """Does `edited` take rules?"""
    shown_reasons: ClassVar[int] = 1
    """How many reasons an explanation shows unless told."""
    shares_questions: ClassVar[bool] = False
    """Do several processes share the questions of `missing`?"""

    # --- what a kind says ---------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def relations(self) -> tuple[str, ...]:
        """The relations that the theory speaks about."""

    @abstractmethod
    def sources(self) -> Sequence[RuleBase | OrderingConstraints]:
        """What entails; several where a network has injected rules."""

    @abstractmethod
    def certain(self, *, least: float | None = None, notes: Notes = UNHEARD) -> Theory:
        """The part that entails. `least` takes rules of at least that confidence; without it, of a rule list those
        without an exception, of rules all, of a network the constraints nearest to its matrices.
        """

    @abstractmethod
    def edited(self, *, without: Iterable[Rule] = (), written: Iterable[Rule] = ()) -> Theory:
        """The theory without some rules and with others."""

    def aggregated(self, by: Aggregate) -> Theory:
        """The rules, constants included, whose confidences rank as `by` says; of rule files alone."""
        del by
        raise no_rule_file(f"a {self.kind}", self.name)

    @abstractmethod
    def ranker(self, graph: KnowledgeGraph, *, notes: Notes = UNHEARD) -> Ranked:
        """What scores questions about a graph; a kind that cannot raises `cannot`."""

    @property
    def facts(self) -> tuple[tuple[str, str, str], ...]:
        """Triples that stand among the rules, as in a Datalog program."""
        return ()

    @property
    def rules(self) -> RuleBase | None:
        """The rules that people read; None where there are only matrices."""
        return None

    def readable_rules(self, facts: KnowledgeGraph, *, progress: Progress = SILENT) -> RuleBase:
        """The rules that people read; those of matrices are extracted, and measured on facts."""
        del facts, progress
        return self.written_rules()

    def written_rules(self) -> RuleBase:
        """The rules that somebody wrote or that were fitted."""
        if self.rules is None:
            raise cannot(
                self,
                "cannot be read as rules",
                "give the rules; `reshuffle rules` extracts them from matrices",
            )
        return self.rules

    def matrices(self, *, hard: bool = False) -> Model | None:
        """What rules are extracted from; None where the rules are there already."""
        del hard
        return None

    def weighted(self) -> RuleModel:
        """The rules with their weights, or with those that their confidences say."""
        from reshuffle.rulelist import RuleModel  # noqa: PLC0415 - reasoning does not need it

        return RuleModel.from_rules(self.written_rules())

    def paths_alone(self, *, notes: Notes = UNHEARD) -> Theory:
        """The theory without rules that a bound has no meaning for; `notes` hears how many."""
        del notes
        return self

    @property
    def heading(self) -> str:
        """What it is, in a few words."""
        return self.weighted().heading

    @property
    def remark(self) -> str | None:
        """What a reader of its rules should know, if there is anything."""
        return None

    @property
    def nothing_follows(self) -> str | None:
        """What to say where nothing follows, if there is anything to say."""
        return None

    def remark_on(self, graph: KnowledgeGraph, triple: Triple) -> str | None:
        """What to say about a triple that no reason supports, if there is anything to say."""
        del graph, triple
        return None

    # --- what all have ------------------------------------------------------------------------------------------------

    def on(
        self,
        graph: Triples,
        *,
        how: Reasoning | None = None,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> TheoryAnswers:
        """The answers over a graph. What they need is computed when it is first asked for."""
        facts = graph if isinstance(graph, KnowledgeGraph) else as_graph(graph)
        return TheoryAnswers(self, facts, how=how or Reasoning(), progress=progress, notes=notes)

    def reasoners(self, how: Reasoning) -> list[Reasoner]:
        """Each part that entails, ready for any graph."""
        return [how.reasoner(source) for source in self.sources()]

    def entailed(
        self, graph: KnowledgeGraph, how: Reasoning, *, progress: Progress = SILENT, notes: Notes = UNHEARD
    ) -> Answers:
        """What follows on a graph."""
        certain = self.certain()
        return certain.answered(certain.reasoners(how), graph, progress=progress, notes=notes)

    def answered(
        self,
        reasoners: Sequence[Reasoner],
        graph: KnowledgeGraph,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> Answers:
        """What follows by each of the reasoners, as one."""
        each = [reasoner.on(graph, progress=progress, notes=notes) for reasoner in reasoners]
        return each[0] if len(each) == 1 else JoinedAnswers(each)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.kind} '{self.name}'>"


def no_rule_file(what: str, name: str) -> InputError:
    """The error for aggregates of what is no rule file."""
    return InputError(
        f"--aggregate is for a rule file, and this is {what}",
        place=Place(name),
        hint="leave it out, or give a file of rules with confidences",
    )


def cannot(theory: Theory, what: str, hint: str) -> InputError:
    """The error for what a kind of theory cannot do.

    >>> from reshuffle import parse_rules
    >>> from reshuffle.theories.rule_files import RuleTheory
    >>> print(cannot(RuleTheory(parse_rules("a(X, Y) -> b(X, Y)")), "cannot sing", "ask a bird"))
    rules cannot sing
      hint: ask a bird
    """
    place = Place(theory.name) if theory.name != theory.kind else None
    return InputError(f"{theory.kind} {what}", place=place, hint=hint)
