"""Ontologies: without individuals they answer for their classes, with some for these.

In a format that knows classes alone, such as OBO, facts and rules beside an ontology are joined with the edges between
its classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.coerce import as_graph
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.classes.class_answers import ClassAnswers
from reshuffle.reasoning.classes.class_rules import rules_between
from reshuffle.rules.ontologies.names import expanded
from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone, read_ontologies, read_ontology
from reshuffle.rules.parsing import joined, read_together
from reshuffle.rules.rule import RuleBase
from reshuffle.text import counted
from reshuffle.theories import rule_files
from reshuffle.theories.rule_files import RuleTheory
from reshuffle.theories.theory import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning import Answers, Reasoner
    from reshuffle.rulelist.aggregation.aggregates import Aggregate
    from reshuffle.rules import Rule
    from reshuffle.rules.ontologies.axioms import Ontology
    from reshuffle.theories.theory import Reasoning
    from reshuffle.theories.theory_answers import TheoryAnswers


@dataclass(frozen=True, repr=False)
class OntologyTheory(RuleTheory):
    """An ontology: its axioms between classes, and the rules that they are for individuals."""

    ontology: Ontology = field(kw_only=True)

    kind = "ontology"

    def classes(
        self, *, short: bool = True, reduced: bool = False, progress: Progress = SILENT
    ) -> ClassAnswers:
        """What follows between the classes; see `ClassAnswers`."""
        return ClassAnswers(self.ontology, short=short, reduced=reduced, progress=progress)

    def is_about_classes(self, graph: KnowledgeGraph) -> bool:
        """Are there axioms, and no individuals, neither in the ontology nor among the facts?"""
        individuals = len(graph) or graph.literals or self.ontology.facts
        return bool(self.ontology.axioms) and not individuals

    def entailed(
        self, graph: KnowledgeGraph, how: Reasoning, *, progress: Progress = SILENT, notes: Notes = UNHEARD
    ) -> Answers:
        """What follows for individuals, or without any for the classes."""
        if self.is_about_classes(graph):
            return self.classes(progress=progress)
        return super().entailed(graph, how, progress=progress, notes=notes)

    def answered(
        self,
        reasoners: Sequence[Reasoner],
        graph: KnowledgeGraph,
        *,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> Answers:
        """The same by reasoners that are there."""
        if self.is_about_classes(graph):
            return self.classes(progress=progress)
        return super().answered(reasoners, graph, progress=progress, notes=notes)

    def edited(self, *, without: Iterable[Rule] = (), written: Iterable[Rule] = ()) -> RuleTheory:
        """The rules for individuals without some and with others; axioms between classes stay out."""
        base = super().edited(without=without, written=written).base
        return RuleTheory(base, self.name)


@dataclass(frozen=True, repr=False)
class ClassTheory(OntologyTheory):
    """An ontology in a format for classes: beside facts, the edges between them and what closes these."""

    reading: Reading = field(kw_only=True, default=Reading())
    """Whose notes hear what is classified, once it is."""

    @cached_property
    def rules(self) -> RuleBase:
        """What closes edges, with those that do not follow as facts."""
        return between(self.ontology, self.reading.notes, full_names=self.reading.full_names)

    @property
    def facts(self) -> tuple[tuple[str, str, str], ...]:
        """The edges that do not follow from others."""
        return self.rules.facts

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """Those of the edges."""
        return self._as_rules.relations

    def sources(self) -> tuple[RuleBase]:
        """The rules and the edges."""
        return (self.rules,)

    def on(
        self,
        graph: Triples,
        *,
        how: Reasoning | None = None,
        progress: Progress = SILENT,
        notes: Notes = UNHEARD,
    ) -> TheoryAnswers:
        """The answers over a graph and the edges; without a graph, of the classes."""
        facts = as_graph(graph)
        if not self.is_about_classes(facts):
            facts |= KnowledgeGraph(self.facts)
        return super().on(facts, how=how, progress=progress, notes=notes)

    @property
    def _as_rules(self) -> RuleTheory:
        return RuleTheory(self.rules, self.name)

    def certain(self, *, least: float | None = None, notes: Notes = UNHEARD) -> RuleTheory:
        """All of it; what closes edges has no confidences."""
        return self if least is None else self._as_rules.certain(least=least, notes=notes)

    def edited(self, *, without: Iterable[Rule] = (), written: Iterable[Rule] = ()) -> RuleTheory:
        """The rules between classes without some and with others."""
        return self._as_rules.edited(without=without, written=written)

    def aggregated(self, by: Aggregate) -> RuleTheory:
        """The rules between classes, ranked as `by` says."""
        return self._as_rules.aggregated(by)


def between(ontology: Ontology, notes: Notes = UNHEARD, *, full_names: bool = False) -> RuleBase:
    """The edges between the classes of an ontology, as rules and facts to join with others.

    Names are CURIEs where prefixes are known, or IRIs, as facts in RDF have them.
    """
    edges = ClassAnswers(ontology, short=not full_names, reduced=True)
    rules = rules_between(ontology, edges, every=True)
    told(edges, ontology.file, notes)
    for unread in rules.unread[len(edges.read_rules.unread) :]:
        notes(str(unread))
    if full_names:
        rules = _with_iris(rules)
    notes(
        f"{ontology.file}: {counted(len(rules.facts), 'edge')} and {counted(len(rules), 'rule')} join the facts"
    )
    return rules


def _with_iris(rules: RuleBase) -> RuleBase:
    """CURIEs of OBO, as its files have them, as the IRIs that they stand for."""

    def full(name: str) -> str:
        return expanded(name) or name

    facts = tuple((full(head), full(relation), full(tail)) for head, relation, tail in rules.facts)
    return replace(rules, given=tuple(rule.renamed(full) for rule in rules.given), facts=facts)


def read_all(paths: Sequence[Path], reading: Reading) -> RuleTheory:
    """The rules of several files as one theory; edges between classes are facts in it."""
    of_classes = list(filter(holds_axioms_alone, paths))
    others = [path for path in paths if path not in of_classes]
    bases = []
    if of_classes:
        bases.append(between(read_ontologies(of_classes), reading.notes, full_names=reading.full_names))
    if others:
        bases.append(
            read_together(
                others,
                skip_unsupported=reading.skip_unsupported,
                prefixes=reading.prefixes,
                notes=reading.notes,
            )
        )
    return rule_files.told(joined(bases), " ".join(map(str, paths)), reading)


def read(path: Path, reading: Reading) -> RuleTheory:
    """The ontology of a file; what is not read is told."""
    if not holds_axioms_alone(path):
        of_individuals = rule_files.read(path, reading)
        return OntologyTheory(of_individuals.base, of_individuals.name, ontology=read_ontology(path))
    ontology = read_ontology(path)
    base = RuleBase((), unread=ontology.unread)
    return ClassTheory(base, str(path), ontology=ontology, reading=reading)


def told(answers: ClassAnswers, name: str, notes: Notes) -> None:
    """Say what an ontology was taken for, what of it is not used, and which classes can have no members."""
    notes(
        f"{name}: an ontology without individuals: {counted(answers.num_classes, 'class', 'classes')} are classified"
    )
    for unread in answers.read_rules.unread:
        notes(str(unread))
    if empty := answers.empty_classes:
        named = ", ".join(empty[:_MOST_NAMED]) + (", ..." if len(empty) > _MOST_NAMED else "")
        notes(f"warning: {counted(len(empty), 'class', 'classes')} can have no members: {named}")


_MOST_NAMED = 5
