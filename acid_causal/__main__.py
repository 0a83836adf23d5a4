"""Runs the command line: `python -m acid_causal`."""

from acid_causal.cli import main

if __name__ == "__main__":
    main()
