"""Experiments on tables of numbers and categories."""
