"""What a training step minimises, and how the validation triples are ranked for early stopping.

The ranks are full, filtered and computed on the device; the numbers that are reported come from `evaluation`.

There are two ways to score: the paper's, where all entities have states from one draw and a batch is compared with
sampled corruptions; and with a channel per query, where each true tail is compared with all other entities. Corruptions
follow the partial completeness assumption: a random entity in place of the head or the tail.

There are two losses of the scores of true triples and those of their corruptions [triple, negative]. The paper's is
L(e, r, f) = sum over negatives of max(0, s(negative) - s(e, r, f) + margin). The other one asks for the true triple to
be told from all its corruptions at once: -log softmax. A corruption of score -infinity does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor

from reshuffle.errors import ReshuffleError
from reshuffle.kg.rows import Rows, with_inverses
from reshuffle.model.channels.query import HeadChannels
from reshuffle.model.channels.registry import CHANNELS
from reshuffle.model.evidence.interface import Asked
from reshuffle.model.kernels import MOST_SLOTS
from reshuffle.model.propagation import ModelGraph, runs
from reshuffle.model.scoring import all_tail_scores, tail_scores
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from reshuffle.learning.training.examples import TrainingData
    from reshuffle.learning.training.trainer import Trainer
    from reshuffle.progress import Notes, Progress

_MOST_SCORES = 1 << 24
_MOST_NUMBERS = 1 << 26  # of the states of the queries of one look


class Objective(Protocol):
    """One way to score."""

    at_once: int  # queries of a look
    scores_per_step: int  # of triples and corruptions
    replayable: bool  # all batches of one size take the same kernels with the same shapes

    def loss(self, batch: Tensor) -> Tensor:
        """Of examples, by position."""
        ...

    def look(self, chance: torch.Generator | None = None) -> Callable[[Tensor, Tensor], Tensor]:
        """The function from heads and relations to the scores [query, entity] of all tails.

        It may draw: from the training's own generator, unless another one is given.
        """
        ...


def objective_of(trainer: Trainer) -> Objective:
    """The one that the model's initial states ask for."""
    kind = CHANNELS[trainer.model.architecture.initial]
    return AllTails(trainer) if kind.per_query else SampledCorruptions(trainer)


def compared(trainer: Trainer, positives: Tensor, negatives: Tensor) -> Tensor:
    """The loss that the settings name."""
    if trainer.settings.loss == "softmax":
        return softmax(positives, negatives)
    return margin_ranking(positives, negatives, margin=trainer.settings.margin)


def held_back(trainer: Trainer, examples: Tensor) -> Tensor | float:
    """What pulls weights of evidence to 0 and those of injected rules to where they were, given examples [relation]."""
    model, settings = trainer.model, trainer.settings
    counted = examples if settings.evidence_prior == "examples" else None
    total: Tensor | float = 0.0
    for part in (model.evidence, model.injected):
        if part is not None:
            total = total + part.penalty(counted)
    return settings.evidence_decay / settings.batch_size * total


def examples_per_relation(trainer: Trainer) -> Tensor:  # relation
    """How many examples each relation has, inverses included."""
    return torch.bincount(trainer.examples[:, 1], minlength=2 * trainer.data.num_relations)


class SampledCorruptions:
    """The paper's way, and with it evidence that needs no channel per query."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        graph = ModelGraph(trainer.model, trainer.data.triples, trainer.data.num_entities)
        self._graph = graph.messages.for_training()
        self.at_once = _MOST_SCORES // max(1, trainer.data.num_entities)
        self.scores_per_step = trainer.settings.batch_size * trainer.settings.num_negatives
        if trainer.model.evidence is not None:
            self._facts = graph.facts
            self._examples = examples_per_relation(trainer)
            trainer.model.evidence.fit_types(self._facts)
            self.at_once = min(self.at_once, _MOST_SCORES // max(1, len(self._facts.entities)))
        # "once" sets a generator's state in every step; how many roles the candidates have, and how many of the pairs
        # with a corrupted head are distinct, differs.
        self.replayable = (
            trainer.settings.redraw != "once"
            and trainer.model.evidence is None
            and trainer.model.architecture.num_slots <= MOST_SLOTS
        )

    def states(
        self,
        matrices: Tensor,
        edge_messages: Tensor | None = None,
        *,
        calls: int = 1,
        chance: torch.Generator | None = None,
    ) -> list[Tensor]:
        """The states for each of some scoring calls; with redraw "once" every call sees the same initial values."""
        trainer = self._trainer
        if trainer.settings.redraw == "once":
            generator = torch.Generator(trainer.device)
            generator.set_state(trainer.draw_state)
        else:
            generator = chance or trainer.chance
        states = trainer.model.states(
            self._graph, matrices, generator, edge_messages=edge_messages, draws=calls
        )
        return [part.contiguous() for part in states.chunk(calls, dim=2)]

    def loss(self, batch: Tensor) -> Tensor:
        """Half of the batch corrupted at the head, half at the tail."""
        settings, model, data = self._trainer.settings, self._trainer.model, self._trainer.data
        heads, relations, tails = self._trainer.examples[batch].T.contiguous()
        matrices = model.matrices()
        targets = batch % len(data.triples) if settings.hide_targets else None
        hidden = None if targets is None else self._graph.hiding(targets)
        drawn = self.states(matrices, hidden, calls=2 if settings.redraw == "call" else 1)
        states = drawn[0]
        bodies = model.bodies(matrices, states, heads, relations)
        positives = tail_scores(bodies, states, tails[:, None])
        half = len(batch) // 2
        if settings.redraw == "call":
            states = drawn[1]
            bodies = model.bodies(matrices, states, heads[half:], relations[half:])
        else:
            bodies = bodies[half:]
        others = [
            random_others(
                entities,
                settings.num_negatives,
                num_entities=data.num_entities,
                generator=self._trainer.chance,
            )
            for entities in (heads[:half], tails[half:])
        ]
        corrupted = [
            model.head_scores(matrices, states, others[0], relations[:half], tails[:half]),
            tail_scores(bodies, states, others[1]),
        ]
        negatives = torch.cat(corrupted)
        if model.evidence is None:
            return compared(self._trainer, positives, negatives)
        true = torch.cat([heads[:half], tails[half:]])
        candidates = torch.cat([true[:, None], torch.cat(others)], dim=1)
        told = self._evidence(candidates, heads, relations, tails, without=targets)
        loss = compared(self._trainer, positives + told[:, :1], negatives + told[:, 1:])
        return loss + held_back(self._trainer, self._examples)

    def _evidence(
        self, candidates: Tensor, heads: Tensor, relations: Tensor, tails: Tensor, *, without: Tensor | None
    ) -> Tensor:  # triple candidate
        """For candidates as heads of the first half of some triples, and as tails of the others.

        The head of (?, r, t) is the tail of (t, r^-1, ?), and true triples are asked about as their corruptions are.
        Each is hidden from its own question alone: to hide a large batch would change what evidence looks at.
        """
        evidence, half = self._trainer.model.evidence, len(heads) // 2
        assert evidence is not None  # the caller has looked
        count = self._trainer.data.num_relations
        anchors = torch.cat([tails[:half], heads[half:]])
        asked = torch.cat([(relations[:half] + count) % (2 * count), relations[half:]])
        parts = evidence.scores(Asked(anchors, asked, self._facts), candidates, without=without)
        return torch.stack(list(parts.values())).sum(0)

    def look(self, chance: torch.Generator | None = None) -> Callable[[Tensor, Tensor], Tensor]:
        """All queries of a look see one draw."""
        model, matrices = self._trainer.model, self._trainer.model.matrices()
        states = self.states(matrices, chance=chance)[0]

        def scores_of(heads: Tensor, relations: Tensor) -> Tensor:
            scores = all_tail_scores(model.bodies(matrices, states, heads, relations), states)
            if model.evidence is not None:
                scores += sum(model.evidence.scores(Asked(heads, relations, self._facts)).values())
            return scores

        return scores_of


class AllTails:
    """A channel per query, and every entity that is not known to be true as a corruption."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        data = trainer.data
        self._known = KnownTails.of(trainer.examples, num_entities=data.num_entities)
        self._examples = examples_per_relation(trainer)
        self.replayable = False  # how many relations and known tails a batch has differs
        self.scores_per_step = min(trainer.settings.batch_size, len(trainer.examples)) * data.num_entities
        numbers = data.num_entities * trainer.model.architecture.num_slots
        self.at_once = max(1, min(trainer.settings.batch_size, _MOST_NUMBERS // max(1, numbers)))
        graph = ModelGraph(trainer.model, data.triples, data.num_entities)
        self._channels = HeadChannels(graph, graph.messages.for_training())
        if trainer.model.evidence is not None:
            trainer.model.evidence.fit_types(graph.facts)

    def loss(self, batch: Tensor) -> Tensor:
        """The examples of a batch are all hidden from it, where the settings say so."""
        trainer = self._trainer
        heads, relations, tails = trainer.examples[batch].T.contiguous()
        hidden = self._hidden(batch % len(trainer.data.triples))
        matrices = trainer.model.matrices()
        shared = trainer.shares_heads
        scores = self._channels.scores(matrices, heads, relations, hidden=hidden, shared=shared).total
        positives = scores.gather(1, tails[:, None])
        loss = compared(trainer, positives, self._known.cleared(scores, heads, relations))
        return loss + held_back(trainer, self._examples)

    def _hidden(self, targets: Tensor) -> Tensor | None:
        """The targets, and up to a share of all other facts: other graphs may be less complete than this one."""
        trainer, count = self._trainer, len(self._trainer.data.triples)
        gone = torch.zeros(count, dtype=torch.bool, device=trainer.device)
        if trainer.settings.drop_facts:
            drawn = torch.rand(count + 1, generator=trainer.chance, device=trainer.device)
            gone = drawn[1:] < drawn[0] * trainer.settings.drop_facts
        if trainer.settings.hide_targets:
            gone[targets] = True
        hidden = gone.nonzero().flatten()
        return hidden if len(hidden) else None

    def look(self, chance: torch.Generator | None = None) -> Callable[[Tensor, Tensor], Tensor]:
        """With all facts in sight, and without chance."""
        del chance
        matrices = self._trainer.model.matrices()
        return lambda heads, relations: self._channels.scores(matrices, heads, relations).total


def random_others(
    entities: Tensor, num_negatives: int, *, num_entities: int, generator: torch.Generator
) -> Tensor:  # triple negative
    """Uniform over all entities but the true one: draw from one fewer and step over it."""
    drawn = torch.randint(
        max(num_entities - 1, 1), (len(entities), num_negatives), generator=generator, device=entities.device
    )
    return (drawn + (drawn >= entities[:, None])).clamp(max=num_entities - 1)


@dataclass(frozen=True)
class KnownTails:
    """The true tails of every (head, relation) of some triples, so that none of them counts as a corruption."""

    keys: Tensor  # triple: relation x entities + head, sorted
    tails: Tensor  # triple
    num_entities: int

    @classmethod
    def of(cls, triples: Tensor, *, num_entities: int) -> KnownTails:
        """From triples of ids [triple, (head relation tail)]."""
        keys, order = torch.sort(triples[:, 1] * num_entities + triples[:, 0], stable=True)
        return cls(keys, triples[order, 2].contiguous(), num_entities)

    def cleared(self, scores: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        """Scores [query, entity] with -infinity for every known tail of the query."""
        wanted = relations * self.num_entities + heads
        first = torch.searchsorted(self.keys, wanted)
        number = torch.searchsorted(self.keys, wanted, right=True) - first
        queries, places = runs(first, number)
        known = torch.zeros_like(scores, dtype=torch.bool)
        known[queries, self.tails[places]] = True
        return scores.masked_fill(known, -torch.inf)


def margin_ranking(positives: Tensor, negatives: Tensor, *, margin: float) -> Tensor:
    """The paper's loss, as the mean over all pairs: Adam does not care for the factor, and a step size does."""
    return torch.relu(negatives - positives + margin).mean()


def softmax(positives: Tensor, negatives: Tensor) -> Tensor:
    """-log of the share that the true triple has among it and its corruptions, as the mean over triples."""
    everything = torch.cat([positives.reshape(-1, 1), negatives], dim=1)
    return (torch.logsumexp(everything, dim=1) - positives.flatten()).mean()


@dataclass(frozen=True)
class ValidationQueries:
    """(anchor, relation, ?) with one true answer each, both directions, and the other answers that are known."""

    anchors: Tensor  # query
    relations: Tensor  # query
    answers: Tensor  # query
    known_queries: Tensor  # known
    known_entities: Tensor  # known

    @classmethod
    def drawn(
        cls, data: TrainingData, *, most: int, seed: int, device: torch.device | None = None
    ) -> ValidationQueries:
        """Those of at most `most` validation triples, drawn by seed; all others are known answers as well."""
        chosen = np.sort(np.random.default_rng(seed).permutation(len(data.valid))[:most])
        return cls.build(
            data.valid[chosen],
            np.concatenate([data.triples, data.valid]),
            num_entities=data.num_entities,
            num_relations=data.num_relations,
            device=device,
        )

    @classmethod
    def build(
        cls,
        triples: NDArray[np.int64],
        known: NDArray[np.int64],
        *,
        num_entities: int,
        num_relations: int,
        device: torch.device | None = None,
    ) -> ValidationQueries:
        """Head queries go through the inverse relation, as in the official code."""
        queries = with_inverses(triples, num_relations)
        facts = np.unique(with_inverses(np.concatenate([known, triples]), num_relations), axis=0)
        asked, row = np.unique(facts[:, 1] * num_entities + facts[:, 0], return_inverse=True)
        answers = Rows.grouped(row.reshape(-1), facts[:, 2], num_rows=len(asked))
        # Every query is a fact itself, so that each of them is found.
        owner, entities = answers.entries(
            np.searchsorted(asked, queries[:, 1] * num_entities + queries[:, 0])
        )
        others = entities != queries[owner, 2]
        columns = (queries[:, 0], queries[:, 1], queries[:, 2], owner[others], entities[others])
        return cls(*(torch.from_numpy(np.ascontiguousarray(column)).to(device) for column in columns))

    def __len__(self) -> int:
        return len(self.anchors)

    def part(self, rows: slice) -> ValidationQueries:
        """Some of them, from one place to another."""
        inside = (self.known_queries >= rows.start) & (self.known_queries < rows.stop)
        return ValidationQueries(
            self.anchors[rows],
            self.relations[rows],
            self.answers[rows],
            self.known_queries[inside] - rows.start,
            self.known_entities[inside],
        )


@torch.no_grad()
def realistic_ranks(
    scores_of: Callable[[Tensor, Tensor], Tensor],
    queries: ValidationQueries,
    *,
    at_once: int,
    report: Callable[[int], None] = lambda _done: None,
    between_pieces: Callable[[], None] = lambda: None,
) -> Tensor:  # query
    """Mean of the optimistic and the pessimistic rank among all entities that are not known answers.

    `scores_of` gets heads and relations, and returns the scores [query, entity] of all tails. Where one of them is NaN
    the rank is NaN: no comparison with it holds, so that any answer would look best.
    """
    ranks = []
    step = max(1, at_once)
    for start in range(0, len(queries.anchors), step):
        piece = slice(start, start + step)
        scores = scores_of(queries.anchors[piece], queries.relations[piece])
        senseless = scores.isnan().any(1)
        inside = (queries.known_queries >= start) & (queries.known_queries < start + step)
        scores[queries.known_queries[inside] - start, queries.known_entities[inside]] = -torch.inf
        true = scores.gather(1, queries.answers[piece, None])
        better = (scores > true).sum(1)
        equal = (scores == true).sum(1) - 1
        ranks.append((better + equal / 2 + 1).masked_fill(senseless, torch.nan))
        report(len(ranks[-1]))
        between_pieces()
    return torch.cat(ranks) if ranks else torch.zeros(0, device=queries.anchors.device)


def ranks_within_memory(
    look: Callable[[], Callable[[Tensor, Tensor], Tensor]],
    queries: ValidationQueries,
    *,
    at_once: int,
    notes: Notes,
    progress: Progress = SILENT,
    between_pieces: Callable[[], None] = lambda: None,
) -> tuple[Tensor, int]:
    """The ranks of a look, and how many queries it took at a time: half as many while the GPU's memory runs out."""
    at_once = max(1, min(at_once, len(queries.anchors)))
    scores_of: Callable[[Tensor, Tensor], Tensor] | None = None
    while True:
        try:
            with progress("validating", total=len(queries.anchors), unit="queries") as report:
                scores_of = scores_of or look()  # once: it draws
                ranks = realistic_ranks(
                    scores_of, queries, at_once=at_once, report=report, between_pieces=between_pieces
                )
            return ranks, at_once
        except torch.cuda.OutOfMemoryError as error:
            reason = str(error).split(". ", maxsplit=1)[0]
        # Outside of the handler, whose exception still holds the tensors that did not fit.
        if scores_of is None or at_once == 1:
            raise ReshuffleError(
                f"not enough GPU memory for a single validation triple: {reason}",
                hint="lower num_channels or num_slots, or train with --device cpu",
            )
        at_once //= 2
        torch.cuda.empty_cache()
        notes(f"out of GPU memory: continuing with {at_once} validation queries at a time ({reason})")
