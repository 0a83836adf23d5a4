"""The committed rows, as documents read them."""

from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness.committed import _in_order, committed


def test_methods_come_as_the_experiment_lists_them() -> None:
    """README's picture leads with the first; the files have the order in which they were run."""
    experiment = EXPERIMENTS["sachs-graph"]
    assert _in_order(["rcit", "other", "acid:mine", "kci", "acid"], experiment) == [
        "acid:mine",
        "acid",
        "kci",
        "rcit",
        "other",
    ]
    rows, _ = committed(experiment)
    assert next(method for method in rows["method"] if method != "empty") == "acid"


def test_a_change_of_what_was_read_does_not_last() -> None:
    experiment = EXPERIMENTS["sachs-graph"]
    rows, _ = committed(experiment)
    rows["method"] = "changed"
    assert "changed" not in set(committed(experiment)[0]["method"])
