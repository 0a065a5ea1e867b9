"""Inference: rules, or any ordering constraints, meet a graph and answer."""
