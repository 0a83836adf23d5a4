"""The rows that questions are asked about: which they are, and what their columns are like."""
