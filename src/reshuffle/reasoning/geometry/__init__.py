"""Exact answers from ordering constraints."""
