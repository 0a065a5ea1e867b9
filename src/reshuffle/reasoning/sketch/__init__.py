"""Random channels: fast, never missing an answer, sometimes wrongly yes."""
