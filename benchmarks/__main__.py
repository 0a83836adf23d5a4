"""Runs the command line of the benchmarks with a fixed hash seed."""

import os
import sys

if __name__ == "__main__":
    # FCI of causal-learn walks through sets, so its graph can change with the hash seed. Python
    # starts anew for it, before the imports, which take seconds.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    from benchmarks.command_line import run

    run()
