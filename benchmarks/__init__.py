"""The experiments of the project, run by `python -m benchmarks NAME`.

A run reads top-down: `command_line` -> `experiments/` (what is asked: settings, one job's work, the
report) -> `harness/` (`runner`: jobs to rows; `store`: rows to CSV) -> `pictures/`.
`methods/`, `metrics/` and `data/` are what experiments are made of; `documents/`, `readme` and
`gallery` make what the project's documents show.
"""
