"""Learned matrices: soft ordering constraints, the GNN that runs them, and the score (needs torch).

The model is `Z_f <- max(Z_f, max over (e, r, f) in G of B_r Z_e)` with soft B_r, rows of a softmax over l + 1 logits
of which the last is dropped, so that a row can be all zeros. A triple scores
s(e, r, f) = -||ReLU(B_r Z_e - Z_f)||_2, which is 0 iff the triple is captured.
Hard matrices are the special case of one-hot or zero rows: `harden` and `from_constraints` go back and forth.
"""
