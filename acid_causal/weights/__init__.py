"""Weights files: the shipped ones with their recipes, and reading and writing of files."""
