"""Null distributions and their fit, and the reference that tells whether data resemble training."""
