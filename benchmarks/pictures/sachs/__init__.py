"""The pictures of the Sachs table: its graph, its questions, its edges."""
