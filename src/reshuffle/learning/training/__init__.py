"""One training: data, objective, trainer with early stopping, and the loop with logs and checkpoints."""
