"""Answers from a sketch: k random channels for all entities in one pass, then each question in constant time.

The states run to the fixpoint of Z_f <- max(Z_f, max over (e, r, f) of B_r Z_e), and (a, r, b) is taken to hold when
Z_a[start] ⪯ Z_b[exit] for every pair that decides r. Every triple that follows is found. A triple that does not follow
passes with a probability that falls exponentially with k (`channels`); the rate depends on how many values arrive at b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import BudgetError, InputError, whole_number
from reshuffle.kg import Triple
from reshuffle.kg.coerce import as_triples
from reshuffle.progress import SILENT
from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.geometry.answers import GeometryAnswers
from reshuffle.reasoning.sharing import Shared, spelled_bytes, stepwise
from reshuffle.reasoning.sketch import kernels as kernel
from reshuffle.reasoning.sketch.channels import (
    channels_for_mean,
    density_for,
    fewest_bits,
    mean_false_positives,
    separation_of_bits,
    separation_of_values,
)
from reshuffle.reasoning.sketch.fan_in import sample_of
from reshuffle.reasoning.sketch.propagation import moves_of, propagate, random_states, start_slots
from reshuffle.rules.exactness import sketched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from reshuffle.constraints import OrderingConstraints
    from reshuffle.kg import KnowledgeGraph
    from reshuffle.progress import Progress
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.reasoning.scaling.engine_interface import Deduction
    from reshuffle.reasoning.violations import Violation
    from reshuffle.reasoning.why_not import PartialDerivation
    from reshuffle.rules import RuleBase
    from reshuffle.rules.exactness import Way

_MEMORY = 4_000_000_000  # for the states, unless the user says otherwise
_SAMPLE = 1000  # triples that do not follow, on which the error is estimated and measured


class SketchedAnswers(Answers):
    """A superset of what follows. Made by `Reasoner.sketch`."""

    def __init__(
        self,
        constraints: OrderingConstraints,
        graph: KnowledgeGraph,
        *,
        channels: int | None = None,
        epsilon: float | None = None,
        seed: int = 0,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> None:
        self.shared = Shared()
        _check_choice(channels, epsilon)
        self._exact = GeometryAnswers(constraints, graph, memory=memory)
        self.constraints = constraints
        self._seed, self._progress = seed, progress
        self._memory = _MEMORY if memory is None else memory
        self._relations = [r for r in constraints.answerable if constraints.decisive_slots(r)]
        self._starts = start_slots(constraints, self._relations)
        self._sample = sample_of(self._exact, self._relations, self._starts, size=_SAMPLE, seed=seed)
        self._choose(channels, epsilon)
        self._compute()

    def _choose(self, channels: int | None, epsilon: float | None) -> None:
        """Continuous values where they fit, since they need fewer channels; otherwise bits."""
        fan_in = self._sample.fan_in
        separation = separation_of_values(fan_in)
        wanted = channels_for_mean(separation, epsilon) if channels is None and epsilon else channels or 1
        self.channels, self._separation = wanted, separation
        self.density: float | None = None
        if 4 * self._size(wanted) <= self._memory:
            return
        if channels is None and epsilon:
            self.density, self.channels = fewest_bits(fan_in, epsilon)
        else:
            self.density = density_for(fan_in, wanted)
        self._separation = separation_of_bits(fan_in, self.density)
        needed = self._size((self.channels + 63) // 64 * 64) // 8
        if needed > self._memory:
            asked = f"a mean false-positive rate of {epsilon}" if channels is None else "such a sketch"
            raise BudgetError(
                f"{asked} needs {self.channels:,} channels, {spelled_bytes(needed)} as packed bits; "
                f"{spelled_bytes(self._memory)} are allowed",
                hint="allow more memory, use a larger epsilon, or exact answers without a sketch",
            )

    def _size(self, channels: int) -> int:
        """The number of values of all states together."""
        return self._exact.num_entities * self.constraints.num_slots * channels

    def _compute(self) -> None:
        live = self._exact.live
        self._states = random_states(
            len(live.entities),
            self.constraints.num_slots,
            self._starts,
            channels=self.channels,
            density=self.density,
            seed=self._seed,
        )
        self._moves = moves_of(self.constraints, live.relations)
        self.layers = propagate(live, self._moves, self._states, progress=self._progress)

    # --- how good -----------------------------------------------------------------------------------

    @property
    def bound_on_false_positives(self) -> float:
        """The mean of the theoretical bounds over the sampled triples that do not follow."""
        return mean_false_positives(self._separation, self.channels)

    @property
    def measured_false_positives(self) -> float:
        """The share of the sampled triples that pass although they do not follow."""
        with self.shared.reading():
            passed = [self._captured(head, relation, tail) for head, relation, tail in self._sample.triples]
        return float(np.mean(passed)) if passed else 0.0

    @property
    def deduction(self) -> Deduction:
        """A sketch has none: other engines answer exactly."""
        raise InputError("a sketch is computed in memory only", hint="write exact answers with this engine")

    @property
    def way(self) -> Way:
        """How it answers, with the rate of false positives as bounded and as measured."""
        kind = "continuous values" if self.density is None else f"bits with P(1) = {self.density:.3g}"
        return sketched(
            f"sketch: false positives {self.measured_false_positives:.4f} measured on {len(self._sample.triples)} "
            f"triples that do not follow, {self.bound_on_false_positives:.4f} bounded; {self.channels:,} channels, "
            f"{kind}; nothing is missed"
        )

    @property
    def read_rules(self) -> RuleBase | None:
        """The rules that were read."""
        return self.constraints.rules

    def __repr__(self) -> str:
        return f"<answers over {self.facts!r}: {self.exactness}>"

    # --- questions ----------------------------------------------------------------------------------

    @property
    def facts(self) -> KnowledgeGraph:
        """The graph as it is now, updates included."""
        return self._exact.facts

    def holds(self, head: str, relation: str, tail: str) -> bool:
        """Does the triple follow? Yes may be wrong; no never is."""
        with self.shared.reading():
            live = self._exact.live
            source, target = live.entities.id(head), live.entities.id(tail)
            if not self._exact.is_derivable(relation):
                return self._exact.holds(head, relation, tail)
            return self._captured(source, relation, target)

    def _captured(self, source: int, relation: str, target: int) -> bool:
        """Is B_r Z_a ⪯ Z_b on the slots that decide r?"""
        for start, leave in self.constraints.decisive_slots(relation):
            low, high = self._states[source, start], self._states[target, leave]
            exceeds = low > high if self.density is None else low & ~high
            if exceeds.any():
                return False
        return True

    def tails(self, head: str, relation: str) -> Iterator[str]:
        """All f for which (head, relation, f) holds, and some more."""
        with self.shared.reading():
            if not self._exact.is_derivable(relation):
                return self._exact.tails(head, relation)
            live = self._exact.live
            return iter(live.entities.names(self._tail_ids(live.entities.id(head), relation)))

    def _tail_ids(self, source: int, relation: str) -> NDArray[np.int32]:
        kept = np.ones(len(self._states), dtype=np.bool_)
        for start, leave in self.constraints.decisive_slots(relation):
            kernel.keep_above(self._states, self._states[source, start], leave, kept)
        return np.flatnonzero(kept).astype(np.int32)

    def heads(self, relation: str, tail: str) -> Iterator[str]:
        """All e for which (e, relation, tail) holds, and some more."""
        with self.shared.reading():
            if not self._exact.is_derivable(relation):
                return self._exact.heads(relation, tail)
            live = self._exact.live
            return iter(live.entities.names(self._head_ids(relation, live.entities.id(tail))))

    def _head_ids(self, relation: str, target: int) -> NDArray[np.int32]:
        kept = np.ones(len(self._states), dtype=np.bool_)
        for start, leave in self.constraints.decisive_slots(relation):
            kernel.keep_below(self._states, self._states[target, leave], start, kept)
        return np.flatnonzero(kept).astype(np.int32)

    def triples(self) -> Iterator[Triple]:
        """The triples that pass and are not facts, grouped by relation."""
        unchanged = self.shared.unchanged()
        for relation, head, tails in stepwise(self._derived_rows(), unchanged):
            for tail in tails:
                yield Triple(head, relation, tail)
            with unchanged():
                pass  # who changes facts between two triples hears of it, even behind the last row

    def _derived_rows(self) -> Iterator[tuple[str, str, list[str]]]:
        """A relation, a head, and the tails that pass and are no facts, by name."""
        live = self._exact.live
        for relation, source, tails in self._everything():
            _, new = live.without_facts(relation, np.full_like(tails, source), tails)
            yield relation, live.entities[source], live.entities.names(new)

    def _everything(self) -> Iterator[tuple[str, int, NDArray[np.int32]]]:
        for relation in self._exact.derivable:
            for source in range(len(self._states)):
                tails = self._tail_ids(source, relation)
                if len(tails):
                    yield relation, source, tails

    def counts(self) -> dict[str, Count]:
        """Per relation, how many pass and are no facts, and how many pass."""
        with self.shared.reading():
            totals = dict.fromkeys(self._exact.derivable, 0)
            for relation, _, tails in self._everything():
                totals[relation] += len(tails)
            facts = {relation: self._exact.fact_count(relation) for relation in self._exact.relations}
        return {
            relation: Count(totals.get(relation, known) - known, totals.get(relation, known))
            for relation, known in facts.items()
        }

    # --- updates ------------------------------------------------------------------------------------

    def add(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Add facts; layers run again from the entities of the new facts."""
        given = as_triples(triples)
        with self.shared.writing():
            self._exact.add(given)
            self.shared.note_change()
            self._follow(given)

    def _follow(self, new: list[tuple[str, str, str]]) -> None:
        """Let the states grow by what the new facts bring."""
        live = self._exact.live
        self._moves = moves_of(self.constraints, live.relations)
        self._make_room()
        changed = np.zeros(len(self._states), dtype=np.bool_)
        changed[[live.entities.id(name) for head, _, tail in new for name in (head, tail)]] = True
        propagate(live, self._moves, self._states, changed=changed, progress=self._progress)

    def _make_room(self) -> None:
        before = len(self._states)
        new = len(self._exact.live.entities) - before
        if new:
            more = random_states(
                new,
                self.constraints.num_slots,
                self._starts,
                channels=self.channels,
                density=self.density,
                seed=self._seed + before,
            )
            self._states = np.concatenate([self._states, more])

    def remove(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Take facts back. Maxima cannot be taken back, so the states are computed anew."""
        given = as_triples(triples)
        with self.shared.writing():
            self._exact.remove(given)
            self.shared.note_change()
            self._compute()

    def proofs(self, head: str, relation: str, tail: str, *, most: int = 1) -> list[Proof]:
        """Derivations, found exactly: none for a false positive."""
        return self._exact.proofs(head, relation, tail, most=most)

    def why_not(
        self, head: str, relation: str, tail: str, *, most: int = 5, progress: Progress = SILENT
    ) -> list[PartialDerivation]:
        """The nearest partial derivations, found exactly."""
        return self._exact.why_not(head, relation, tail, most=most, progress=progress)

    def violations(self) -> Iterator[Violation]:
        """Broken disjointness constraints, found exactly: a sketch would see more than there are."""
        return self._exact.violations()


def _check_choice(channels: int | None, epsilon: float | None) -> None:
    if (channels is None) == (epsilon is None):
        raise InputError(
            "a sketch takes either the number of channels or epsilon", hint="give one of the two"
        )
    if channels is not None and whole_number("channels", channels, hint="64 is a good start") < 1:
        raise InputError(f"a sketch needs at least one channel, not {channels}", hint="64 is a good start")
    if epsilon is not None and not (isinstance(epsilon, int | float) and 0 < epsilon < 1):
        raise InputError(f"epsilon is a rate between 0 and 1, not {epsilon!r}", hint="0.01 is a good start")
