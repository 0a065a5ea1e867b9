"""Ontologies: without individuals they answer for their classes, with some for these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reshuffle.progress import SILENT, UNHEARD
from reshuffle.reasoning.classes.class_answers import ClassAnswers
from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone, read_ontology
from reshuffle.rules.rule import RuleBase
from reshuffle.text import counted
from reshuffle.theories import rule_files
from reshuffle.theories.rule_files import RuleTheory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Notes, Progress
    from reshuffle.reasoning import Answers, Reasoner
    from reshuffle.rules import Rule
    from reshuffle.rules.ontologies.axioms import Ontology
    from reshuffle.theories.theory import Reading, Reasoning


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


def read(path: Path, reading: Reading) -> RuleTheory:
    """The ontology of a file; what is not read is told."""
    if not holds_axioms_alone(path):
        of_individuals = rule_files.read(path, reading)
        return OntologyTheory(of_individuals.base, of_individuals.name, ontology=read_ontology(path))
    ontology = read_ontology(path)
    return OntologyTheory(RuleBase((), unread=ontology.unread), str(path), ontology=ontology)


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
