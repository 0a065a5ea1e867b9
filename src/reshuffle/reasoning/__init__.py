"""Inference: rules, or any ordering constraints, meet a graph and answer.

    reference     the GNN equation on Python sets: what everything here is tested against
    reasoner      `Reasoner(rules).on(graph)`, the way in
    answers       what every engine answers: holds, tails, heads, triples, counts, add, remove, proofs
    geometry      exact answers from constraints: searches in the product of the graph and small automata
    sketch        k random channels for all entities at once; never misses an answer, says yes too often
    chase         the exact fixpoint of every rule base that can be read, without geometry
    proofs        derivations as data; `why_not` and `violations` work on the answers of any engine
    sharing       what threads and searches share: answers, memory, cores
    keysets       sets of 64-bit keys, in which both exact engines keep triples

Exact and sketched inference run one equation, Z_f <- max(Z_f, max over (e, r, f) of B_r Z_e), from different
initial states: a private column per (entity, start slot) makes captured equal entailed; random columns make a
sketch that never misses and says yes too often with a probability that more channels lower.
"""

from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.reasoner import Reasoner

__all__ = ["Answers", "Count", "Reasoner"]
