"""The test itself: a table and questions in, p-values out."""
