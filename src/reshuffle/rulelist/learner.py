"""Learning a rule model from facts: find rules, compute features, fit weights.

    model = learn_rules(facts)                         mines and fits
    model = learn_rules(facts, rules=mine)             rules from elsewhere take part as well
    model = learn_rules(facts, rules=mine, mine=False) only these
    model = refit(model, facts)                        the same rules, their weights fitted again
    model = measured_on(model, facts)                  the same rules and weights, measured and ordered by other facts

The result depends only on facts, rules, settings and seed. With a directory, the rules found and the state of the fit
are saved there, so an interrupted run can continue.
"""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from reshuffle.deadlines import NO_DEADLINE, deadline_in
from reshuffle.errors import InputError, did_you_mean
from reshuffle.evaluation.baselines.types import TypeBaseline
from reshuffle.extraction.order import reading_order
from reshuffle.kg.coerce import as_graph
from reshuffle.kg.splits import GraphSplit
from reshuffle.kg.symmetric_relations import mostly_symmetric
from reshuffle.kg.vocabulary import base_relation
from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.constants.constant_text import compacted
from reshuffle.rulelist.constants.weighing import ConstantLearning, Weighing
from reshuffle.rulelist.features import FeatureGraph
from reshuffle.rulelist.files.fit_checkpoints import Checkpoint, remove_checkpoint
from reshuffle.rulelist.fitting import Fit, FitSettings
from reshuffle.rulelist.links.likelihood_fit import fit_likelihood
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.rejected_links import RejectedLinks
from reshuffle.rulelist.rule_finding import find_rules, loops_of, measured
from reshuffle.rulelist.rule_model import DIGITS, RuleModel, Tables, WeightedRule, prior_of, scale_of
from reshuffle.rulelist.sampling.fact_samples import Budget
from reshuffle.rulelist.spark.features_on_spark import FeaturesOnSpark
from reshuffle.rulelist.spark.finding_on_spark import WalksOnSpark
from reshuffle.rulelist.training_rows import Room, questions_of, training_rows
from reshuffle.rulelist.type_tables import RoleCounts, log_shares
from reshuffle.rules import IntersectionRule
from reshuffle.rules.mining import Measures
from reshuffle.rules.parsing import as_rules
from reshuffle.rules.rule import ConstantRule
from reshuffle.spark.spark_session import IN_MEMORY, spark_of
from reshuffle.spark.workers import workers_on
from reshuffle.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from numpy.typing import NDArray

    from reshuffle.deadlines import Deadline
    from reshuffle.kg import KnowledgeGraph, Triple
    from reshuffle.kg.coerce import Triples
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.constants.constant_rules import ConstantRules
    from reshuffle.rulelist.constants.weighing import Trial
    from reshuffle.rulelist.fitting import FitState
    from reshuffle.rulelist.links.likelihood import Likelihood
    from reshuffle.rulelist.training_rows import TrainingRows
    from reshuffle.rules import Rule
    from reshuffle.rules.parsing import Rules
    from reshuffle.spark.spark_session import Spark
    from reshuffle.spark.workers import Workers

REJECTED_WEIGHT = 10
"""As how many wrong answers a rejected link counts (`benchmarks/decisions.py`)."""
_SAVED_EVERY = 50  # steps
_FOR_FINDING, _FOR_FEATURES, _FOR_FITTING, _FOR_ORDERING, _FOR_CONSTANTS = 0.3, 0.4, 0.4, 0.4, 0.7
"""Shares of the time that is left; what is left at the end is for calibrating and writing."""


_WITH_MORE_TIME = "with more time, rules are searched on more facts, and weights are fitted to more questions"

GONE_SETTINGS = {
    "least_share": "it went with release 0.3: listing and fewest_facts say how many facts mining looks at"
}
"""Settings of earlier releases, and what does their work now."""
GONE_ARGUMENTS = {
    "teacher": "it went with release 0.3, as weights that are fitted to facts alone are better; release 0.2 has it"
}


@dataclass(frozen=True)
class RuleSettings:
    """How rules are found and fitted."""

    finding: Budget = field(default_factory=Budget)
    room: Room = field(default_factory=Room)
    fit: FitSettings = field(default_factory=FitSettings)
    seed: int = 0
    constants: Weighing | None = field(default_factory=Weighing)
    """How rules about particular entities are found and weighed; None for a list that has none."""

    def changed(self, **changes: Any) -> RuleSettings:
        """The settings with some changed, by their own names: `changed(longest=2, prior=3.0)`."""
        parts = {name: getattr(self, name) for name in ("finding", "room", "fit")}
        known = {one.name: (name, one.type) for name, part in parts.items() for one in fields(part)}
        for name, value in changes.items():
            if name == "seed":
                continue
            if name not in known:
                hint = GONE_SETTINGS.get(name, f"the settings are seed, {', '.join(sorted(known))}")
                raise InputError(
                    f"there is no setting '{name}'{did_you_mean(name, [*known, 'seed'])}", hint=hint
                )
            part, _ = known[name]
            parts[part] = replace(parts[part], **{name: _checked(name, value, getattr(parts[part], name))})
        return replace(self, **parts, seed=_checked("seed", changes.get("seed", self.seed), self.seed))


def _checked(name: str, value: Any, default: Any) -> Any:
    """A value of the same kind as the default, and not negative."""
    kind = type(default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)) or value < 0:
        told = {bool: "true or false", int: "a whole number of at least 0", float: "a number of at least 0"}[
            kind
        ]
        raise InputError(f"found {name} = {value!r}, expected {told}", hint=f"the default is {default!r}")
    return value


def learn_rules(  # noqa: PLR0913 - each has a default, and all are keywords
    facts: Triples | GraphSplit,
    *,
    valid: Triples | None = None,
    rules: Rules = (),
    mine: bool = True,
    settings: RuleSettings | None = None,
    relations: Iterable[str] | None = None,
    minutes: float | None = None,
    directory: str | Path | None = None,
    resume: bool = False,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
    engine: str = IN_MEMORY,
    session: Any = None,
    master: str | None = None,
    partitions: int | None = None,
    folder: str | PathLike[str] | None = None,
    **gone: NoReturn,
) -> RuleModel:
    """A rule model of facts. Nothing is held out. Validation triples, also those of a benchmark's split, only say how
    likely answers are.

    Mined rules whose weights are fitted to 0 are left out; given ones stay.

    `relations` names those to learn, None for all: rules are looked for and fitted for these alone, with the whole
    budget. With `minutes` the model is there after so much time, whatever the graph; the search does as much as fits,
    more or less than it does without, and `notes` hears what was left out. How much that is depends on the machine.

    `engine="spark"` looks for rules and computes features on the workers of Spark (docs/how-to/scale.md), with the same
    result; weights are fitted here. A `session` that is given is used, and not stopped. `folder` is one that all
    workers see.
    """
    _refuse_gone(gone)
    spark = spark_of(engine, session=session, master=master, partitions=partitions, folder=folder)
    graph = _learned_from(facts)
    given: list[Rule] = [] if not rules else list(as_rules(rules).rules)
    given = [rule for rule in given if not isinstance(rule, ConstantRule)]
    about = None if relations is None else _known(relations, graph)
    deadline = deadline_in(minutes)
    learning = _Learning(graph, settings or RuleSettings(), progress, notes, spark, about, deadline)
    learning.valid = _validated(facts, valid)
    return learning.model(
        given, mine=mine, directory=None if directory is None else Path(directory), resume=resume
    )


def _refuse_gone(given: Mapping[str, object]) -> None:
    for name in given:
        told = f": {GONE_ARGUMENTS[name]}" if name in GONE_ARGUMENTS else ""
        raise TypeError(f"learn_rules() got an unexpected keyword argument '{name}'{told}")


def _learned_from(facts: Triples | GraphSplit) -> KnowledgeGraph:
    graph = facts.facts if isinstance(facts, GraphSplit) else as_graph(facts)
    if not len(graph):
        raise InputError("found no facts to learn from", hint="give at least one triple")
    return graph


def _validated(facts: Triples | GraphSplit, valid: Triples | None) -> KnowledgeGraph | None:
    """The validation triples that are given, or those of the split."""
    if valid is None and isinstance(facts, GraphSplit):
        valid = facts.valid
    found = None if valid is None else as_graph(valid)
    return found or None  # an empty one says nothing


def _known(relations: Iterable[str], graph: KnowledgeGraph) -> frozenset[str]:
    """The names, if facts have them."""
    asked, known = tuple(relations), list(graph.relations)
    for name in asked:
        if name not in graph.relations:
            hint = f"the facts have {counted(len(known), 'relation')}, such as {', '.join(known[:5])}"
            raise InputError(f"no fact has the relation '{name}'{did_you_mean(name, known)}", hint=hint)
    if not asked:
        raise InputError("found no relation to learn", hint="name one, or leave `relations` out for all")
    return frozenset(asked)


def refit(
    model: RuleModel,
    facts: Triples | GraphSplit,
    *,
    valid: Triples | None = None,
    settings: RuleSettings | None = None,
    rejected: Iterable[Triple] = (),
    weight: int = REJECTED_WEIGHT,
    progress: Progress = SILENT,
) -> RuleModel:
    """The same rules in their order, with weights and tables fitted to facts, and measured on them.

    Every link that is no fact counts as one wrong answer. `rejected` links count as `weight` of them
    (`rejected_links`). Validation triples only say how likely answers are.
    """
    if weight < 1:
        raise InputError(
            f"found the weight {weight} of a rejected link", hint="give a whole number from 1 on"
        )
    bare = [replace(one.rule, quality=None) for one in model.rules]
    if not bare:
        return model
    graph, settings = _learned_from(facts), settings or RuleSettings()
    settings = settings if model.constants else replace(settings, constants=None)
    learning = _Learning(graph, settings, progress, UNHEARD, None, None, NO_DEADLINE)
    learning.valid = _validated(facts, valid)
    learning.rejected = RejectedLinks.of(rejected, graph, weight=weight)
    learning.only = model.constants
    fitted = learning.model(bare, mine=False, directory=None, resume=False)
    by_rule = {one.rule: one for one in fitted.rules}
    rules = tuple(by_rule[one.rule] for one in model.rules)
    return replace(fitted, rules=rules, both_ways=model.both_ways).knowing(model.relations)


def measured_on(model: RuleModel, facts: Triples, *, progress: Progress = SILENT) -> RuleModel:
    """The model with its rules measured on facts, in the order in which they are read there.

    Weights and tables stay, so that it answers as before.
    """
    graph = as_graph(facts)
    bare = [replace(one.rule, quality=None) for one in model.rules]
    found = measured(bare, graph, progress=progress)
    rules = [replace(one, rule=rule) for one, rule in zip(model.rules, found, strict=True)]
    return replace(model, rules=tuple(_as_read(rules, graph, progress=progress)))


class _Learning:
    def __init__(
        self,
        graph: KnowledgeGraph,
        settings: RuleSettings,
        progress: Progress,
        notes: Notes,
        spark: Spark | None,
        about: frozenset[str] | None,
        deadline: Deadline,
    ) -> None:
        self.graph, self.settings = graph, settings
        self.progress, self._tell_user, self.spark = progress, notes, spark
        self._left_out = False
        self.about, self.deadline = about, deadline
        self.rejected = RejectedLinks()
        self.valid: KnowledgeGraph | None = None
        """By which probabilities are fitted; None for facts that are held out."""
        self.only: ConstantRules | None = None
        """Rules about particular entities that may take part; None for all."""

    def model(self, given: list[Rule], *, mine: bool, directory: Path | None, resume: bool) -> RuleModel:
        digest = self._digest(given, mine=mine)
        if directory is not None and not resume:
            remove_checkpoint(directory)
        checkpoint = None if directory is None else Checkpoint(directory, digest, resume)
        rules = checkpoint.rules() if checkpoint is not None else None
        with self._workers() as workers:
            if rules is None:
                rules = self._rules(given, workers, mine=mine)
                if checkpoint is not None:
                    checkpoint.save(rules, None)
            rows = self._rows(rules, workers, checkpoint)
        state = checkpoint.state() if checkpoint is not None else None
        kept = len(given)
        model = self._fitted(rules, rows, kept, state, checkpoint)
        if self.deadline.is_set and self._left_out:
            self._tell_user(_WITH_MORE_TIME)
        return model

    def notes(self, told: str) -> None:
        """Say what was left out."""
        self._left_out = True
        self._tell_user(told)

    def _workers(self) -> AbstractContextManager[Workers | None]:
        """The workers of Spark, for rules and features; None for this process alone."""
        if self.spark is None:
            return nullcontext()
        return workers_on(self.graph, self.spark, progress=self.progress)

    def _rules(self, given: list[Rule], workers: Workers | None, *, mine: bool) -> list[Rule]:
        """The given rules, measured where they bring no confidence, and behind them the mined ones."""
        options: dict[str, Any] = {"budget": self.settings.finding, "seed": self.settings.seed}
        rules = measured(given, self.graph, **options, progress=self.progress) if given else []
        if not mine:
            return rules
        options |= {"about": self.about, "deadline": self.deadline.part(_FOR_FINDING)}
        counter = None if workers is None else WalksOnSpark(workers, FeatureGraph(self.graph))
        found = find_rules(self.graph, **options, progress=self.progress, counter=counter)
        for told in found.notes:
            self.notes(told)
        there = set(map(_claim, rules))
        return [*rules, *(rule for rule in found.rules if _claim(rule) not in there)]

    def _rows(
        self, rules: list[Rule], workers: Workers | None, checkpoint: Checkpoint | None
    ) -> TrainingRows:
        """What the weights are fitted to."""
        features = FeatureGraph(self.graph)
        program = Program.of(rules, list(self.graph.relations), loops=loops_of(self.graph))
        rows = training_rows(
            features,
            program,
            room=self.settings.room,
            seed=self.settings.seed,
            about=self.about,
            deadline=self.deadline.part(_FOR_FEATURES),
            parts=checkpoint,
            rejected=self.rejected,
            counter=None if workers is None else FeaturesOnSpark(workers),
            progress=self.progress,
        )
        if len(rows) < (asked := len(questions_of(self.graph, self.about).anchors)):
            self.notes(f"weights are fitted to {len(rows):,} of {counted(asked, 'question')}")
        return rows

    def _fitted(
        self,
        rules: list[Rule],
        rows: TrainingRows,
        kept: int,
        state: FitState | None,
        checkpoint: Checkpoint | None,
    ) -> RuleModel:
        loops, seed, count = loops_of(self.graph), self.settings.seed, len(self.graph.relations)
        shares: NDArray[np.float64] = (
            TypeBaseline.fit(self.graph).confidences.astype(np.float64).round(DIGITS)
        )
        fit = Fit(
            rows,
            RoleCounts.of(self.graph, np.arange(count), count),
            log_shares(shares),
            np.array([prior_of(rule.quality) for rule in rules], dtype=np.float64),
            np.array([scale_of(rule) for rule in rules], dtype=np.int64),
            self.settings.fit,
            seed,
        )

        def keep(now: FitState) -> None:
            if checkpoint is not None and now.step % _SAVED_EVERY == 0:
                checkpoint.save(rules, now)

        time = self.deadline.part(_FOR_FITTING)
        state = fit.run(state, deadline=time, after_step=keep, progress=self.progress)
        if state.step < self.settings.fit.steps:
            self.notes(f"weights had time for {state.step} of {counted(self.settings.fit.steps, 'step')}")
        scales, weights, counts, distances, types, *_ = fit.shape.views(np.round(state.values, DIGITS) + 0.0)
        tables = Tables(tuple(self.graph.relations), distances.copy(), types.copy(), shares)
        weighted = [
            WeightedRule(rule, float(weight), float(count_weight))
            for rule, weight, count_weight in zip(rules, weights, counts, strict=True)
        ]
        kept_rules = [weighted[place] for place in _by_effect(weighted, rows, self.graph, kept)]
        time = self.deadline.part(_FOR_ORDERING)
        listed = _as_read(kept_rules, self.graph, deadline=time, progress=self.progress)
        if time.is_over:
            self.notes("there was no time to order the rules of all relations: theirs come last, by effect")
        both_ways = mostly_symmetric(self.graph)
        model = RuleModel(tuple(listed), tables, loops, tuple(scales.tolist()), both_ways)
        likelihood = self._likelihood(model)
        model = self._with_constants(replace(model, likelihood=likelihood))
        return model.knowing(
            base_relation(name) for one in weighted for name in (one.rule.head, *one.rule.body)
        )

    def _with_constants(self, model: RuleModel) -> RuleModel:
        """The model with rules about particular entities on top, which leave all that it says otherwise as it is."""
        if self.settings.constants is None:
            return model
        found, trial = ConstantLearning(
            model,
            self.graph,
            self.settings.constants,
            about=self.about,
            only=self.only,
            seed=self.settings.seed,
            deadline=self.deadline.part(_FOR_CONSTANTS),
            progress=self.progress,
            notes=self.notes,
        ).rules()
        if not found:
            return model
        likelihood = self._likelihood(replace(model, constants=found), trial)
        return replace(model, constants=compacted(replace(found, likelihood=likelihood)))

    def _likelihood(self, model: RuleModel, trial: Trial | None = None) -> Likelihood | None:
        return fit_likelihood(
            model,
            self.graph,
            trial=trial,
            valid=self.valid,
            in_haste=self.deadline.is_set,
            seed=self.settings.seed,
            progress=self.progress,
        )

    def _digest(self, given: Sequence[Rule], *, mine: bool) -> str:
        """Of all that a run depends on."""
        told = [
            asdict(self.settings),
            sorted(self.about or ()),
            mine,
            [(str(rule), rule.quality) for rule in given],
        ]
        digest = hashlib.sha256(repr(told).encode())
        for triples in (self.graph, self.valid or ()):
            digest.update("\n".join("\t".join(triple) for triple in triples).encode() + b"\n\n")
        return digest.hexdigest()


def _as_read(
    rules: Sequence[WeightedRule],
    graph: KnowledgeGraph,
    *,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = SILENT,
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
    first = [
        by_rule[told.rule]
        for told in reading_order(counts, graph, weeded=True, deadline=deadline, progress=progress)
    ]
    listed = {one.rule for one in first}
    return [*first, *(one for one in rules if one.rule not in listed)]


def _claim(rule: Rule) -> tuple[type[Rule], str, tuple[str, ...]]:
    """What a rule says, in whichever order the atoms of an intersection are written."""
    meets = isinstance(rule, IntersectionRule)
    return type(rule), rule.head, tuple(sorted(rule.body)) if meets else rule.body


def _by_effect(
    rules: Sequence[WeightedRule], rows: TrainingRows, graph: KnowledgeGraph, kept: int
) -> NDArray[np.int64]:
    """The places of the rules, largest effect first; mined ones without any weight are left out.

    The effect is what a rule adds to the score of an average fact of its relation.
    """
    weights = np.array([one.weight for one in rules], dtype=np.float64)
    counts = np.array([one.count_weight for one in rules], dtype=np.float64)
    right = rows.places == 0
    found, logs = rows.rules[right], rows.logs[right]
    added = np.bincount(found, weights[found] + counts[found] * logs, minlength=len(rules))
    numbers = {name: number for number, name in enumerate(graph.relations)}
    heads = np.array([numbers.get(one.rule.head, -1) for one in rules], dtype=np.int64)
    asked = np.bincount(rows.relations % max(1, len(graph.relations)), minlength=len(graph.relations))
    sizes = np.where(heads >= 0, asked[heads], 1) if len(asked) else np.ones(len(rules))
    speaks = (weights > 0) | (counts > 0) | (np.arange(len(rules)) < kept)
    order = np.lexsort((np.arange(len(rules)), -weights, -added / np.maximum(sizes, 1)))
    return order[speaks[order]]
