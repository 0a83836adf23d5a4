"""Views of a discovered graph: as text, as a DataFrame and for networkx, and beside another one."""
