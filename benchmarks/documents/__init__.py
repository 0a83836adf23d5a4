"""What the project's documents show: tables from committed rows, and printed output of examples."""
