"""Runs experiments: jobs, their result rows, the CSV files, and parts that experiments share."""
