"""Inference: answer questions about a graph with rules or ordering constraints.

    reference     the GNN equation on Python sets: what everything here is tested against
    reasoner      `Reasoner(rules).on(graph)`, the way in
    answers       the interface of all engines: holds, tails, heads, triples, counts, add, remove, proofs
    geometry      exact answers from constraints: searches in the product of the graph and small automata
    sketch        k random channels for all entities at once; finds every answer, and some wrong ones
    chase         the exact fixpoint of every rule base that can be read, without geometry
    proofs        derivations as data; `why_not` and `violations` work on the answers of any engine
    sharing       what threads and searches share: answers, memory, cores
    keysets       sets of 64-bit keys, in which both exact engines keep triples

Exact and sketched inference run one equation, Z_f <- max(Z_f, max over (e, r, f) of B_r Z_e), from different
initial states: with a private column per (entity, start slot), captured means entailed. Random columns make a sketch:
it finds every answer, and some wrong ones; more channels make wrong answers less likely.
"""

from reshuffle.reasoning.answers import Answers, Count
from reshuffle.reasoning.reasoner import Reasoner

__all__ = ["Answers", "Count", "Reasoner"]
