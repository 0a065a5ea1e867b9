"""Sketches: random channels instead of searches. They find every answer, and sometimes wrong ones.

channels     how many channels a rate of false positives needs
fan_in       how many values arrive at an entity, which decides that number
propagation  random initial states, and layers until nothing changes
answers      questions in constant time
kernels      compiled inner loops
"""
