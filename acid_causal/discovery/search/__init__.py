"""The search for a graph: skeleton, orientation, and a record of every question."""
