"""All experiments by name. A module holds one experiment, or several with other settings."""

from benchmarks.experiments.calibration import CALIBRATION
from benchmarks.experiments.consistency import CONSISTENCY
from benchmarks.experiments.finetuning import FINETUNING
from benchmarks.experiments.graphs import GRAPHS
from benchmarks.experiments.mixed.calibration import MIXED_CALIBRATION
from benchmarks.experiments.mixed.graphs import MIXED_GRAPHS
from benchmarks.experiments.mixed.questions import MIXED
from benchmarks.experiments.nonlinearity import NONLINEARITY
from benchmarks.experiments.orientation import ORIENTATION
from benchmarks.experiments.random_dags import RANDOM_DAGS
from benchmarks.experiments.sachs.ci import SACHS_CI
from benchmarks.experiments.sachs.edges import SACHS_EDGES
from benchmarks.experiments.sachs.graph import SACHS_GRAPH
from benchmarks.experiments.six_models import DIMENSIONALITY, SAMPLE_SIZE
from benchmarks.experiments.speed import SPEED
from benchmarks.experiments.training_curve import TRAINING
from benchmarks.harness.jobs import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        SACHS_GRAPH,
        SACHS_EDGES,
        SACHS_CI,
        SAMPLE_SIZE,
        DIMENSIONALITY,
        NONLINEARITY,
        TRAINING,
        RANDOM_DAGS,
        CALIBRATION,
        CONSISTENCY,
        MIXED,
        MIXED_CALIBRATION,
        FINETUNING,
        GRAPHS,
        MIXED_GRAPHS,
        ORIENTATION,
        SPEED,
    )
}
