"""The cost of a full run of each experiment, from the committed rows."""

from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness import committed
from benchmarks.harness.jobs import Experiment
from benchmarks.harness.tables import aligned

_COSTLIEST = 4  # number of methods that are named


def table() -> str:
    """Lists the minutes on one thread that the rows of each experiment took."""
    lines = [
        _line(experiment)
        for name, experiment in EXPERIMENTS.items()
        if (committed.RESULTS / f"{name}.csv").exists()
    ]
    header = ("experiment", "rows", "minutes", "the costliest methods")
    return aligned(header, lines, digits=0)


def _line(experiment: Experiment) -> tuple[str, int, float, str]:
    rows, _ = committed.committed(experiment)
    minutes = rows.groupby("method")["seconds"].sum().sort_values(ascending=False) / 60
    costliest = minutes.head(_COSTLIEST).items()
    named = ", ".join(f"{method} {_text(spent)}" for method, spent in costliest)
    return experiment.name, len(rows), float(minutes.sum()), named


def _text(minutes: float) -> str:
    return f"{minutes:.0f}" if minutes >= 1 else f"{minutes:.1f}"
