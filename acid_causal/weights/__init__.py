"""Weights files: the shipped ones, the recipe behind each, and how a file is read and written."""
