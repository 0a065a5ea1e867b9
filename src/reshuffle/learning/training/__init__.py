"""One training: examples, objective, steps, early stopping, logs."""
