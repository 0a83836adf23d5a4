"""From a table to a causal graph, and how certain each of its edges is."""
