"""Experiments, comparisons and timings behind the tables of the documentation; README.md leads to the numbers."""
