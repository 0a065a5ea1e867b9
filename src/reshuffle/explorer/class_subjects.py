"""Ontologies without individuals as subjects: the edges that do not follow are facts, the axioms of properties rules.

`reasoning.classes.class_rules` says which. So a proof, what is derived, and what goes with an edge come as of any
facts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.explorer.rule_bases import RuleBaseSubject
from reshuffle.kg import KnowledgeGraph
from reshuffle.progress import SILENT
from reshuffle.reasoning.classes.class_answers import ClassAnswers
from reshuffle.reasoning.classes.class_rules import rules_between

if TYPE_CHECKING:
    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.rule_bases import RuleBaseWorld
    from reshuffle.explorer.subject import Source
    from reshuffle.progress import Progress
    from reshuffle.rules.ontologies.axioms import Ontology


class ClassSubject(RuleBaseSubject):
    """The classes of an ontology and the edges between them."""

    def __init__(self, ontology: Ontology, source: Source, *, progress: Progress = SILENT) -> None:
        edges = ClassAnswers(ontology, reduced=True, progress=progress)
        self._is_a, self.labels = edges.is_a, edges.names.labels
        rules = rules_between(ontology, edges)
        super().__init__(replace(rules, facts=()), replace(source, facts=KnowledgeGraph(rules.facts)))

    def world(self, edits: Edits, progress: Progress = SILENT) -> RuleBaseWorld:
        """As of all rules and facts; its facts are edges between classes."""
        world = super().world(edits, progress)
        world.is_a = self._is_a
        return world
