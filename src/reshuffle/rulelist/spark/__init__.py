"""Rule models on Spark: their missing links, the search for rules, and the features that weights are fitted to."""
