"""The least height of the proofs of every triple: the chase by rounds, over whole rows of bits.

A round joins the pairs of the round before with all that are known; what comes of that is known only in the next.
So the round in which a triple appears is the height of its lowest proof, fresh relations counted as steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reshuffle.compiled import compiled
from reshuffle.reasoning.chase.kernels.dense_joins import gather, taken
from reshuffle.reasoning.chase.kernels.pairs import lowest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reshuffle.reasoning.chase.kernels.joins import Triggers

UNREACHED = 65_535


class Rounds(NamedTuple):
    """Three states of a pair: known, new since the last round, coming in the next."""

    known: NDArray[np.uint64]  # direction relation entity word
    new: NDArray[np.uint64]
    coming: NDArray[np.uint64]
    rows: NDArray[np.int64]  # the rows that have something coming: code * entities + entity
    has_coming: NDArray[np.bool_]  # code * entities + entity
    heights: NDArray[np.uint16]  # relation head tail
    counters: NDArray[np.int64]  # how many rows


@compiled
def come(rounds: Rounds, code: int, start: int, end: int) -> None:
    """A pair comes in the next round.

    Invariant: a row with something coming is in `rows` once. Cost: constant.
    """
    rounds.coming[code & 1, code >> 1, start, end >> 6] |= np.uint64(1) << np.uint64(end & 63)
    row = code * rounds.known.shape[2] + start
    if not rounds.has_coming[row]:
        rounds.has_coming[row] = True
        rounds.rows[rounds.counters[0]] = row
        rounds.counters[0] += 1


@compiled
def all_rounds(rounds: Rounds, triggers: Triggers) -> None:
    """Run rounds until nothing comes any more.

    Invariant: after round h, all triples with a proof of height h are known.
    Cost: as `rows.fixpoint_by_rows`.
    """
    height = 0
    while rounds.counters[0] > 0:
        rows = rounds.rows[: rounds.counters[0]].copy()
        rounds.counters[0] = 0
        for row in rows:
            _arrive(rounds, row, height)
        for row in rows:
            _join(rounds, triggers, row)
        height += 1


@compiled
def _arrive(rounds: Rounds, row: int, height: int) -> None:
    """Make what was coming in a row new and known, and note its height.

    Invariant: nothing is coming in the row afterwards. Cost: one pass over its words and bits.
    """
    code, start = row // rounds.known.shape[2], row % rounds.known.shape[2]
    side, relation = code & 1, code >> 1
    rounds.has_coming[row] = False
    for index in range(rounds.known.shape[3]):
        word = rounds.coming[side, relation, start, index]
        rounds.coming[side, relation, start, index] = 0
        rounds.new[side, relation, start, index] = word
        rounds.known[side, relation, start, index] |= word
        while word != 0 and side == 0:
            rounds.heights[relation, start, 64 * index + lowest(word)] = height
            word &= word - np.uint64(1)


@compiled
def _join(rounds: Rounds, triggers: Triggers, row: int) -> None:
    """Let all consequences of a row's new pairs come, as in `rows.fixpoint_by_rows`.

    Invariant: `known` does not change within a round. Cost: one `or` of a row per new pair and chain.
    """
    code, start = row // rounds.known.shape[2], row % rounds.known.shape[2]
    ends = np.empty(64 * rounds.known.shape[3], dtype=np.int64)
    gathered = np.empty(rounds.known.shape[3], dtype=np.uint64)
    size = taken(rounds.new, code, start, ends, gathered)
    if code & 1 == 0:
        relation = code >> 1
        for index in range(triggers.copy_starts[relation], triggers.copy_starts[relation + 1]):
            _let_come(rounds, triggers.copy_head[index], start, gathered)
        for index in range(triggers.meet_starts[relation], triggers.meet_starts[relation + 1]):
            met = gathered.copy()
            for other in range(triggers.meet_from[index], triggers.meet_to[index]):
                atom = triggers.meet_others[other]
                met &= rounds.known[atom & 1, atom >> 1, start]
            _let_come(rounds, triggers.meet_head[index], start, met)
    for index in range(triggers.chain_starts[code], triggers.chain_starts[code + 1]):
        partner = triggers.chain_partner[index]
        gather(rounds.known, partner & 1, partner >> 1, ends[:size], gathered)
        _let_come(rounds, triggers.chain_head[index], start, gathered)


@compiled
def _let_come(rounds: Rounds, code: int, start: int, ends: NDArray[np.uint64]) -> None:
    """Let all pairs of a row come that are neither known nor coming.

    Invariant: both directions come together. Cost: one pass over the words, constant per pair.
    """
    side, relation = code & 1, code >> 1
    for index in range(len(ends)):
        word = ends[index] & ~rounds.known[side, relation, start, index]
        word &= ~rounds.coming[side, relation, start, index]
        while word != 0:
            end = 64 * index + lowest(word)
            word &= word - np.uint64(1)
            come(rounds, code, start, end)
            come(rounds, code ^ 1, end, start)
