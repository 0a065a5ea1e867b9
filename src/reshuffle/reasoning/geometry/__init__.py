"""Exact answers from ordering constraints: searches in the product of the graph and small automata.

changing_graph     the facts as rows that kernels walk, with additions and removals
relation_automata  from constraints to one automaton per relation, and to arrays
answers            names in and out, single questions, updates
all_pairs          all answers at once: searches from every entity, in bounded memory
stored_pairs       stored answers that follow the facts
proof_search       a path of facts, read by the user's rules
kernels            compiled inner loops, and what searches write on, borrowed so that several run at a time
"""
