"""How experiments run: jobs to rows, rows to files, and what several experiments share."""
