"""Experiments on the data of Sachs et al. (2005)."""
