"""Missing links of a whole graph: the search, its unfinished parts, and how likely links are."""
