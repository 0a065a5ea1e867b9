"""In which order the rules of a model are read, and how well they do on given facts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.extraction.order import reading_order
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT
from reshuffle.rulelist.rule_finding import measured
from reshuffle.rules.mining import Measures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Progress
    from reshuffle.rulelist.rule_model import RuleModel, WeightedRule
    from reshuffle.rules import Rule


def measured_on(model: RuleModel, facts: Triples, *, progress: Progress = SILENT) -> RuleModel:
    """The model with its rules measured on facts, in the order in which they are read there.

    Weights and tables stay, so that it answers as before.
    """
    graph = as_graph(facts)
    bare = [replace(one.rule, quality=None) for one in model.rules]
    found = measured(bare, graph, progress=progress)
    rules = [replace(one, rule=rule) for one, rule in zip(model.rules, found, strict=True)]
    return replace(model, rules=tuple(as_read(rules, graph, progress=progress)))


def as_read(
    rules: Sequence[WeightedRule], graph: KnowledgeGraph, *, progress: Progress = SILENT
) -> list[WeightedRule]:
    """First the rules that explain most of what no rule before them explains (`extraction.order`), then the rest."""
    numbers = np.bincount(graph.relation_ids, minlength=len(graph.relations))
    sizes = dict(zip(graph.relations, numbers.tolist(), strict=True))
    counts: dict[Rule, Measures] = {}
    for one in rules:
        quality = one.rule.quality
        known = all(base_relation(name) in sizes for name in (one.rule.head, *one.rule.body))
        speaks = one.weight > 0 or one.count_weight > 0
        if quality is not None and quality.support and quality.predictions and known and speaks:
            found, joined = quality.support, quality.predictions
            counts[one.rule] = Measures(found, joined, joined, sizes[one.rule.head])
    by_rule = {one.rule: one for one in rules}
    first = [by_rule[told.rule] for told in reading_order(counts, graph, weeded=True, progress=progress)]
    listed = {one.rule for one in first}
    return [*first, *(one for one in rules if one.rule not in listed)]
