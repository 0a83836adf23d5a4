"""The pictures: a common style, and one module for each kind."""
