"""From a table to a causal graph, and how firm each of its edges is."""
