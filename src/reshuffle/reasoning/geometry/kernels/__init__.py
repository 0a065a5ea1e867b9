"""Compiled inner loops. Each takes plain arrays and holds no state; the modules around them own the memory."""
