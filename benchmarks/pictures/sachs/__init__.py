"""The pictures of the experiments on the Sachs table."""
