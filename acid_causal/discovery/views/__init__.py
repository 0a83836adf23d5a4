"""A discovered graph as text, as a DataFrame, for networkx, and compared with another one."""
