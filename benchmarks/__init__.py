"""The paper's experiments, the comparisons and the timings behind the documentation's tables; README.md is the map."""
