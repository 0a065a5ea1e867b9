"""Rule models on Spark: their missing links, and the search for rules."""
