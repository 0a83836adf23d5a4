"""The experiments, by name; a module is one of them, or a family that differs in settings."""

from benchmarks.experiments.calibration import CALIBRATION
from benchmarks.experiments.sachs_graph import SACHS_GRAPH
from benchmarks.experiments.six_models import DIMENSIONALITY, SAMPLE_SIZE
from benchmarks.jobs import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (SACHS_GRAPH, SAMPLE_SIZE, DIMENSIONALITY, CALIBRATION)
}
