"""Runs the command line for torchrun: `torchrun -m acid_causal.cli train RECIPE.toml`."""

from acid_causal.cli import main

if __name__ == "__main__":
    main()
