"""Generated parts of the documents: tables from committed rows, and the output of examples."""
