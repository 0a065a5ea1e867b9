"""What mining looks at: samples of facts, and the walks that are counted on them."""
