"""Training: from triples to matrices (needs torch)."""
