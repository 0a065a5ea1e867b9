"""Gone with release 0.3; importing it says what does its work now."""

raise ImportError(
    "reshuffle.learning.search went with release 0.3: docs/how-to/train.md does the same with ten lines of optuna"
)
