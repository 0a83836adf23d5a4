"""The pictures: one look (`style`), one module for each kind."""
