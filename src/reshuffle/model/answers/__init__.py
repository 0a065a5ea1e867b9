"""A trained model on a graph: scores, predictions, missing links and explanations."""
