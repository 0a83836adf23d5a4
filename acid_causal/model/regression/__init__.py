"""Regressions on a conditioning set in closed form, which the network then need not learn."""
