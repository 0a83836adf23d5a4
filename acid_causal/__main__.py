"""Runs the command line: `acid-causal`, or `python -m acid_causal`."""

import sys


def run() -> None:
    """Runs a command; Ctrl-C ends with a message even while modules are still loading."""
    try:
        from acid_causal.cli import main

        main()
    except KeyboardInterrupt:
        print("stopped; no result was written", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
