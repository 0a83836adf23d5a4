"""A discovered graph for people and for other programs: HTML, pictures, files."""
