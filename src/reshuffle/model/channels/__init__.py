"""What a channel of the states means: one file per family of kinds, chosen in `registry`."""
