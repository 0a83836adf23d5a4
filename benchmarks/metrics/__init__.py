"""Metrics of tests and of graphs, given the truth."""
