"""Graph searches: distances between entities."""
