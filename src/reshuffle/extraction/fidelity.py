"""Gone with release 0.3; importing it says what does its work now."""

raise ImportError(
    "reshuffle.extraction.fidelity went with release 0.3: it is benchmarks.agreement in the checkout"
)
