"""Inference: rules, or any ordering constraints, meet a graph and answer.

    reference     the GNN equation on Python sets: what everything here is tested against
    reasoner      `Reasoner(rules).on(graph)`, the way in
    answers       what every engine answers: holds, tails, heads, triples, counts, add, remove, proofs
    geometry      exact answers from constraints: searches in the product of the graph and small automata
                  (automaton, machine: from constraints to arrays; live: the graph that changes; walking, sweeping,
                  sorting: all answers at once, in bounded memory; updating: stored answers that follow the facts;
                  deriving, explaining: proofs)
    sketching     k random channels for all entities at once; channels: how large k must be
    chase         the exact fixpoint of any rules, without geometry
    kernels       compiled inner loops

Exact and sketched inference run one equation, Z_f <- max(Z_f, max over (e, r, f) of B_r Z_e), from different
initial states: a private column per (entity, start slot) makes captured equal entailed; random columns make a
sketch that never misses and says yes too often with a probability that more channels lower.
"""

from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.reasoner import Reasoner

__all__ = ["Answers", "Count", "Reasoner"]
