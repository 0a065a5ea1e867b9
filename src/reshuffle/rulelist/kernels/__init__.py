"""Inner loops: walks along bodies, words between two entities, sums of scores, losses."""
