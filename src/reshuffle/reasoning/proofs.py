"""Derivations as data."""
