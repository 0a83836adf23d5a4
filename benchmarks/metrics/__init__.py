"""How far tests and graphs are from the truth."""
