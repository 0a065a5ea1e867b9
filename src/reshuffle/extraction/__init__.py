"""From weights to rules: what a model has captured, so that a person can read, correct and reuse it."""
