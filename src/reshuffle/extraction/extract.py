"""`extract_rules`: find the rules that a model captures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError
from reshuffle.extraction.hard import captured_rules
from reshuffle.extraction.measure import measured
from reshuffle.extraction.order import reading_order
from reshuffle.extraction.redundancy import goes_nowhere, redundant_rules
from reshuffle.extraction.result import ExtractedRule, ExtractedRules
from reshuffle.extraction.soft import Joins, graded_by_degree, graded_by_evidence
from reshuffle.extraction.soft_matrices import Hardenable, HasSoftMatrices, SoftMatrices
from reshuffle.extraction.type_rules import type_rules
from reshuffle.kg import refuse_inverse_names
from reshuffle.kg.coerce import as_graph
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Progress

Model: TypeAlias = "OrderingConstraints | SoftMatrices | HasSoftMatrices | Hardenable"

_FEWEST_PER_RELATION = 50
_LOOKED_AT = 10
"""With a graph, this many rules are measured for each that is kept: evidence alone prefers short bodies."""


def extract_rules(  # noqa: PLR0913 - each has a default, and all are keywords
    model: Model,
    *,
    on: Triples | None = None,
    max_length: int = 3,
    min_confidence: float = 0.0,
    min_support: int = 0,
    min_degree: float = 0.0,
    most: int = 2000,
    budget: int | None = None,
    types: bool = False,
    progress: Progress = SILENT,
) -> ExtractedRules:
    """The rules of up to `max_length` atoms that a model has captured, best first.

    Hard constraints (compiled, or a model's `harden()`) capture a rule or not; a soft model does so to a degree, or,
    if it has starts and weights, gives each path some evidence. With a graph `on`, the rules are measured there and
    come in the order that a person should read them in (`order`): first what explains most of its head's facts that
    no rule before explains, then the rest by falling confidence. Those below `min_confidence` or `min_support` are left
    out; `types` adds the rules about single entities.
    Where a model gives evidence, rules that the graph rules out (`soft.Joins`) are not looked at: they have no support.
    Rules that go forth and back around their own head (`r ; s ; s^-1 -> r`) tell nothing and are never listed.
    No more than `most` rules are kept, and in soft matrices no more than `budget` prefixes of bodies are grown (1,000,
    or where there is evidence 100 per relation); the result says whether anything was left out for that.

    >>> from reshuffle.kg import KnowledgeGraph
    >>> from reshuffle.rulegraphs import constraints_for
    >>> from reshuffle.rules import parse_rules
    >>> constraints = constraints_for(parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"))
    >>> facts = KnowledgeGraph(
    ...     [("ada", "bornIn", "london"), ("london", "cityIn", "uk"), ("ada", "citizenOf", "uk")]
    ... )
    >>> print(extract_rules(constraints, on=facts))
    1 rule
    confidence  support    pca  head coverage  degree  rule
         0.167        1  1.000          1.000   1.000  bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
    """
    graph = None if on is None else as_graph(on)
    _check(min_confidence, min_support, graph, types=types)
    refuse_inverse_names(() if graph is None else graph.relations)
    source = _source_of(model)
    if isinstance(source, OrderingConstraints):
        found = _from_constraints(source, max_length, most, progress)
    else:
        found = _from_matrices(source, graph, max_length, min_degree, most, budget, progress)
    if graph is not None:
        found = _measured(found, graph, min_confidence, min_support, progress)
    found = _kept(found, most)
    if graph is not None:
        found = _as_to_be_read(found, graph, progress)
    found = _with_redundancy(found)
    if types and graph is not None:
        found = replace(found, types=tuple(type_rules(graph, min_confidence=max(min_confidence, 0.5))))
    return found


def _check(min_confidence: float, min_support: int, graph: KnowledgeGraph | None, *, types: bool) -> None:
    if not 0 <= min_confidence <= 1:
        raise InputError(f"minimum confidence {min_confidence}", hint="give a number from 0 to 1")
    if min_support < 0:
        raise InputError(f"minimum support {min_support}", hint="give 0 or more")
    if graph is None and (min_confidence > 0 or min_support > 0 or types):
        raise InputError(
            "confidences, supports and type rules need a graph, but none was given",
            hint="pass on=graph, or --on FACTS",
        )


def _source_of(model: Model) -> OrderingConstraints | SoftMatrices:
    if isinstance(model, OrderingConstraints | SoftMatrices):
        return model
    if isinstance(model, HasSoftMatrices):
        return model.soft_matrices()
    if isinstance(model, Hardenable):
        return model.harden()
    raise InputError(
        f"found {type(model).__name__}, expected constraints, soft matrices or a model that has one of them",
        hint="a model needs a method soft_matrices() or harden()",
    )


def _from_constraints(
    constraints: OrderingConstraints, max_length: int, most: int, progress: Progress
) -> ExtractedRules:
    found = captured_rules(constraints, max_length=max_length, most_per_relation=most, progress=progress)
    rules = tuple(ExtractedRule(rule, degree=1.0) for rule in found.rules)
    return ExtractedRules(rules, unconstrained=found.unconstrained, complete=found.complete)


def _from_matrices(
    matrices: SoftMatrices,
    graph: KnowledgeGraph | None,
    max_length: int,
    min_degree: float,
    most: int,
    budget: int | None,
    progress: Progress,
) -> ExtractedRules:
    rules: tuple[ExtractedRule, ...]
    if graph is not None:
        most *= _LOOKED_AT
    if matrices.starts is None:
        found = graded_by_degree(
            matrices,
            max_length=max_length,
            min_degree=min_degree,
            most=most,
            budget=1000 if budget is None else budget,
            progress=progress,
        )
        rules = tuple(ExtractedRule(rule, degree=grade) for rule, grade in found.grades.items())
    else:
        each = max(_FEWEST_PER_RELATION, most // max(1, len(matrices.letters)))
        found = graded_by_evidence(
            matrices,
            max_length=max_length,
            most_per_relation=each,
            budget=100 if budget is None else budget,
            joins=None if graph is None else Joins(matrices, graph),
            progress=progress,
        )
        rules = tuple(ExtractedRule(rule, evidence=grade) for rule, grade in found.grades.items())
    return ExtractedRules(rules, unconstrained=_zero(matrices), complete=found.cut is None, cut=found.cut)


def _zero(matrices: SoftMatrices) -> tuple[str, ...]:
    """The relations that no row constrains."""
    return tuple(matrices.relations[place] for place in matrices.letters if not matrices.constrained[place])


def _measured(
    found: ExtractedRules,
    graph: KnowledgeGraph,
    min_confidence: float,
    min_support: int,
    progress: Progress,
) -> ExtractedRules:
    """The rules with their measures. One whose body joins too many pairs is left out, and `complete` says so."""
    counts = measured((one.rule for one in found), graph, progress=progress)
    rules = tuple(replace(one, measures=counts[one.rule]) for one in found if one.rule in counts)
    sure = tuple(
        one
        for one in rules
        if (one.quality.confidence or 0.0) >= min_confidence and (one.quality.support or 0) >= min_support
    )
    return replace(found, rules=sure, complete=found.complete and len(rules) == len(found))


def _kept(found: ExtractedRules, most: int) -> ExtractedRules:
    """The `most` best rules, best first, without those that go forth and back around their head."""
    telling = [one for one in found if not goes_nowhere(one.rule)]
    ordered = tuple(sorted(telling, key=_place)[:most])
    return replace(found, rules=ordered, complete=found.complete and len(telling) <= most)


def _as_to_be_read(found: ExtractedRules, graph: KnowledgeGraph, progress: Progress) -> ExtractedRules:
    """The rules in reading order: first those with a gain, then the rest as they were."""
    counts = {one.rule: one.measures for one in found if one.measures is not None}
    gains = {told.rule: told.gain for told in reading_order(counts, graph, progress=progress)}
    by_rule = {one.rule: one for one in found}
    first = [replace(by_rule[rule], gain=gain) for rule, gain in gains.items()]
    return replace(found, rules=(*first, *(replace(one, gain=0.0) for one in found if one.rule not in gains)))


def _with_redundancy(found: ExtractedRules) -> ExtractedRules:
    redundant = redundant_rules(
        [one.rule for one in found],
        trusted=sum(bool(one.gain) for one in found),
        confidences={one.rule: one.measures.confidence for one in found if one.measures is not None},
    )
    return replace(found, rules=tuple(replace(one, redundant=one.rule in redundant) for one in found))


def _place(one: ExtractedRule) -> tuple[float, float, int, str]:
    confidence = 0.0 if one.measures is None else one.measures.confidence
    return (-confidence, -one.grade, len(one.rule.body), str(one.rule))
