"""`training`: AUC and loss during training, in the paper's setting.

MLP-16 links, n from 50 to 200, d_z from 5 to 20. One run has the paper's head and one has ours; the
rest of the recipe is the same. At some steps the network is evaluated on fixed datasets, which
gives one row for each (head, step, seed). A job goes on from the step of the job before it, in
`runs/training`; so the jobs of a run depend on each other, and a stopped run can go on.

The paper's 50,000 steps of 25,000 entries would take a day on one core for each head, so they need
a GPU. A reduced run, with fewer steps and smaller batches, runs anywhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from acid_causal.calibration.scoring import score_pairs, transform_batch
from acid_causal.compute.device import resolve_device
from acid_causal.model import ACIDModel
from acid_causal.synthetic import Batch, LabelledDatasets, six_models
from acid_causal.training.metrics import read_metrics
from acid_causal.weights.recipe import Recipe
from benchmarks.harness.folds import MECHANISM
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.staged_training import network_at
from benchmarks.harness.tables import aligned
from benchmarks.pictures.training.curve import draw_training

RECIPES = Path(__file__).parents[1] / "recipes"
HEADS = {"paper-head": "acid-mlp16-paper.toml", "our-head": "acid-mlp16-our-head.toml"}
RUNS = Path("runs/training")


@dataclass(frozen=True)
class Plan:
    """One run of a head.

    Attributes:
        steps: Steps at which the network is evaluated; the last one ends the run.
        entries: Scalars in a batch.
        warmup: Steps of warm-up.
        datasets: Number of datasets in each of the six cells of the evaluation.
        needs_gpu: Whether a CPU would take about a day.
    """

    steps: tuple[int, ...]
    entries: int
    warmup: int
    datasets: int
    needs_gpu: bool = False


PAPER = Plan((500, 1000, 2000, 5000, 10_000, 20_000, 50_000), 25_000, 500, 200, needs_gpu=True)
REDUCED = Plan((250, 500, 1000, 2000), 6000, 100, 200)
# Shows that everything works; too few steps to learn much.
QUICK = Plan((20, 60, 120), 6000, 20, 40)
SEEDS = (0,)

SAMPLE_SIZES = (50, 200)
DIMENSIONS = (5, 10, 20)
EVALUATION_SEED = 9_400_000
AT_A_TIME = 20
# The training loss of a step is a mean over this share of the steps before it.
RECENT = 0.1


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (head, seed, step); steps of a run are in order."""
    return [
        Job(
            "training",
            method,
            (("steps", plan.steps[-1]), ("step", step), ("datasets", plan.datasets)),
            seed,
        )
        for plan in ([QUICK] if quick else [REDUCED, PAPER])
        for method in methods
        for seed in SEEDS
        for step in plan.steps
    ]


def plan_of(job: Job) -> Plan:
    """Returns the run that a job belongs to."""
    plans = {plan.steps[-1]: plan for plan in (QUICK, REDUCED, PAPER)}
    return plans[job.number("steps")]


def runs_here(job: Job) -> bool:
    """Says whether this machine is fast enough for a job."""
    return torch.cuda.is_available() or not plan_of(job).needs_gpu


def run(job: Job) -> Results:
    """Trains until the job's step and evaluates the network on the fixed datasets."""
    plan, step, device = plan_of(job), job.number("step"), resolve_device("auto")
    recipe = recipe_of(job.method, job.seed, plan)
    folder = RUNS / f"{job.method}-{plan.steps[-1]}-{job.seed}"
    network = network_at(recipe, folder, step, frozenset(plan.steps), device)
    lines = [line for line in read_metrics(folder / "metrics.jsonl") if line["step"] <= step]
    recent = [line["loss"] for line in lines if line["step"] > (1 - RECENT) * step]
    return {
        **evaluate(network, job.number("datasets"), device),
        "training_loss": float(np.mean(recent)),
        "training_seconds": float(sum(line["seconds"] for line in lines)),
        "device": device.type,
    }


def recipe_of(method: str, seed: int, plan: Plan) -> Recipe:
    """Reads a head's recipe and gives it the steps and the batches of a plan."""
    recipe = Recipe.read(RECIPES / HEADS[method])
    return replace(
        recipe,
        seed=seed,
        stream=replace(recipe.stream, entries=plan.entries),
        training=replace(
            recipe.training,
            steps=plan.steps[-1],
            warmup=plan.warmup,
            checkpoint_every=math.gcd(*plan.steps),
        ),
    )


def evaluate(network: ACIDModel, datasets: int, device: torch.device) -> Results:
    """Scores a network on the fixed datasets: means over the cells, AUC also by sample size."""
    auc: dict[int, list[float]] = {n: [] for n in SAMPLE_SIZES}
    losses = []
    for n, data in evaluation_sets(datasets):
        logit = logits(network, data, device)
        auc[n].append(float(roc_auc_score(data.label, logit)))
        losses.append(float(binary_cross_entropy_with_logits(logit, data.label.float())))
    return {
        "auc": float(np.mean(list(auc.values()))),
        **{f"auc_n{n}": float(np.mean(values)) for n, values in auc.items()},
        "loss": float(np.mean(losses)),
    }


@cache
def evaluation_sets(datasets: int) -> list[tuple[int, LabelledDatasets]]:
    """Draws the datasets of the six cells, each with its n."""
    return [
        (n, six_models(datasets, n, d_z, mechanism=MECHANISM, seed=EVALUATION_SEED))
        for n in SAMPLE_SIZES
        for d_z in DIMENSIONS
    ]


def logits(network: ACIDModel, data: LabelledDatasets, device: torch.device) -> Tensor:
    """Returns the network's logit of dependence for each dataset, shape (datasets,)."""
    parts = []
    for x, y, z in zip(*(v.split(AT_A_TIME) for v in (data.x, data.y, data.z)), strict=True):
        unknown = torch.zeros(len(x), 2, 2, dtype=torch.bool)
        batch = Batch(z.to(device), torch.stack([x, y], 1).to(device), unknown.to(device), "six")
        with torch.inference_mode():
            scored = score_pairs(network, transform_batch(batch, network.transform))
        parts.append(scored.logit.cpu())
    return torch.cat(parts)


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints AUC and loss by step, and draws them, of the longest run."""
    longest = rows[rows["steps"] == rows["steps"].max()]
    draw_training(longest, SAMPLE_SIZES, picture)
    columns = {
        "auc": "AUC",
        **{f"auc_n{n}": f"AUC, n = {n}" for n in SAMPLE_SIZES},
        "loss": "loss",
        "training_loss": "training loss",
    }
    cells = [
        (
            row["method"],
            row["seed"],
            f"{row['step']}/{row['steps']}",
            *(row[name] for name in columns),
            f"{row['training_seconds'] / 60:.1f}",
            row["device"],
        )
        for row in rows.to_dict("records")
    ]
    count = int(rows["datasets"].iloc[0])
    caption = (
        f"Six data models, MLP-16: {count} datasets in each cell of n = "
        f"{' and '.join(map(str, SAMPLE_SIZES))} x d_z = {', '.join(map(str, DIMENSIONS))}.\n"
        f"loss: cross-entropy in nats, chance {np.log(2):.3f}; training loss: mean over the last "
        f"{RECENT:.0%} of the steps."
    )
    header = ("head", "seed", "step", *columns.values(), "minutes", "device")
    return "\n".join([caption, "", aligned(header, cells)])


TRAINING = Experiment(
    name="training",
    methods=tuple(HEADS),
    quick_methods=tuple(HEADS),
    setting_columns=("steps", "step", "datasets"),
    result_columns=(
        "auc",
        *(f"auc_n{n}" for n in SAMPLE_SIZES),
        *("loss", "training_loss", "training_seconds", "device"),
    ),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("steps",),
    runs_here=runs_here,
)
