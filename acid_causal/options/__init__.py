"""Options that appear in several places: the values that they take, and their defaults."""
