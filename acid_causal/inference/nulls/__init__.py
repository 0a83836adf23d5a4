"""Null distributions of the test: fitted ones, and the permutation null of the user's table."""
