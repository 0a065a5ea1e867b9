"""The chase: the exact fixpoint of any rule base, without geometry.

Most rule bases as a miner writes them have no exact geometry. The chase derives all their consequences bottom
up (semi-naive), keeps each relation as rows of ends or as a matrix of bits, whichever is cheaper, and answers
from that: `holds` is one probe.

    program       rules as integer tables: what a new pair sets off, how a triple can be derived
    store         the memory of the kernels: growing, turning relations dense, the limit
    answers       names in and out, updates, the graph as it is now
    proof_search  proofs, smallest first
    proof_sizes   how small proofs are: what guides the search
    kernels       compiled inner loops
"""

from reshuffle.reasoning.chase.answers import ChaseAnswers

__all__ = ["ChaseAnswers"]
