"""`finetuning`: a model before and after fine-tuning on a table, without labels.

Fine-tuning should help with questions about the table. These have known answers, and are made in
another way than fine-tuning makes its own (`benchmarks.data.matched_questions`). It must do no harm
on the model's training stream and on mechanisms that `acid-ranks` never saw. There is one row for
each (table, steps of fine-tuning, kind of questions, n, d_z); steps = 0: before fine-tuning.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from acid_causal import ci_test, finetune, load_model
from acid_causal.synthetic import Stream
from acid_causal.synthetic.datasets import LabelledDatasets
from acid_causal.synthetic.draws import seeded
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.data.matched_questions import table_questions
from benchmarks.data.real_tables import CATEGORIES, real_table
from benchmarks.harness.folds import as_questions
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import DEFAULT_MODEL, Question
from benchmarks.methods.mixed import acid_pvalue
from benchmarks.metrics.ci_metrics import METRICS, metrics_of
from benchmarks.pictures.training.finetuning import draw_finetuning

Labelled = tuple[list[Question], NDArray[np.int64]]

TABLES = ("sachs", "diabetes", "diabetes-coarse", "wine-coarse", "marriage")
QUICK_TABLES = ("wine-coarse",)
STEPS, QUICK_STEPS = 500, 40
NULL_QUESTIONS, QUICK_NULL_QUESTIONS = 15_000, 3000
SAMPLE_SIZES, QUICK_SAMPLE_SIZES = (60, 200), (60,)
DIMENSIONS, QUICK_DIMENSIONS = (0, 1, 3, 5), (1, 3)
DATASETS, QUICK_DATASETS = 300, 60  # of a cell
STREAM_QUESTIONS, QUICK_STREAM_QUESTIONS = 2000, 200
# Values of `StreamConfig.mechanisms`; the questions of these streams have mixed sizes.
STREAMS = ("training", "held-out")
SEED = 9_300_000
# From each batch of a stream come so many questions of each label.
_QUESTIONS_PER_LABEL = 8


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (table, method, steps, cell)."""
    steps = QUICK_STEPS if quick else STEPS
    asked = QUICK_STREAM_QUESTIONS if quick else STREAM_QUESTIONS
    jobs = []
    for table in QUICK_TABLES if quick else TABLES:
        cells: list[tuple[str, int | str, int | str, int]] = [
            ("table", n, d_z, QUICK_DATASETS if quick else DATASETS)
            for n in (QUICK_SAMPLE_SIZES if quick else SAMPLE_SIZES)
            for d_z in (QUICK_DIMENSIONS if quick else DIMENSIONS)
            if n <= len(real_table(table)) // 2
        ]
        cells += [(stream, "all", "all", asked) for stream in STREAMS]
        for method in methods:
            for done in (0, steps):
                for kind, n, d_z, datasets in cells:
                    setting = (
                        ("table", table),
                        ("steps", done),
                        ("questions", kind),
                        ("n", n),
                        ("d_z", d_z),
                        ("datasets", datasets),
                    )
                    jobs.append(Job("finetuning", method, setting, SEED))
    return jobs


def run(job: Job) -> Results:
    """Scores the model, before or after fine-tuning, on the questions of one cell."""
    name, steps = model_of(job.method), job.number("steps")
    model, spent = prepared(name, str(job["table"]), steps, job.seed)
    if job["questions"] == "table":
        drawn = _of_table(job)
        questions, labels = as_questions(drawn.x, drawn.y, drawn.z), drawn.label.numpy()
        kinds = drawn.categorical
    else:
        # Numbers alone: categories would come as indicators.
        stream = replace(
            load_model(name).recipe.stream, mechanisms=str(job["questions"]), categories=0.0
        )
        questions, labels = _of_stream(Stream(stream, job.seed), job.number("datasets"))
        kinds = None
    start = time.perf_counter()
    if kinds is None:
        pvalues = [ci_test(x, y, z, model=model).pvalue for x, y, z in questions]
    else:
        pvalues = [
            acid_pvalue(
                np.hstack([x, y] if z is None else [x, y, z]), np.flatnonzero(codes).tolist(), model
            )
            for (x, y, z), codes in zip(questions, kinds.numpy(), strict=True)
        ]
    seconds = (time.perf_counter() - start) / len(questions)
    return {
        **metrics_of(np.array(pvalues), labels),
        "finetuning_seconds": spent if steps else None,
        "seconds_per_test": seconds,
    }


def model_of(method: str) -> str:
    """Returns the name or the file of a method's model."""
    return method.partition(":")[2] or DEFAULT_MODEL


@cache
def prepared(name: str, table: str, steps: int, seed: int) -> tuple[TrainedModel, float]:
    """Loads a model and, unless steps = 0, fine-tunes it on a table.

    Returns:
        The model, and the seconds that fine-tuning took.
    """
    model = load_model(name)
    if not steps:
        return model, 0.0
    questions = NULL_QUESTIONS if steps == STEPS else QUICK_NULL_QUESTIONS
    start = time.perf_counter()
    tuned = finetune(
        real_table(table),
        model=model,
        steps=steps,
        seed=seed,
        null_questions=questions,
        categorical=CATEGORIES.get(table, ()),
        progress=False,
    )
    return tuned, time.perf_counter() - start


def _of_table(job: Job) -> LabelledDatasets:
    return table_questions(
        real_table(str(job["table"])),
        count=job.number("datasets"),
        n=job.number("n"),
        d_z=job.number("d_z"),
        seed=job.seed,
        categorical=CATEGORIES.get(str(job["table"]), ()),
    )


def _of_stream(stream: Stream, count: int) -> Labelled:
    """Draws questions of mixed sizes from a stream, half of each label if batches hold enough."""
    questions: list[Question] = []
    labels: list[int] = []
    number = 0
    while len(questions) < count:
        generator = seeded("benchmark", "fine-tuning", stream.seed, number)
        number += 1
        batch = stream.draw(generator)
        t = batch.x.shape[1]
        i, j = torch.triu_indices(t, t, 1)
        x, z = batch.x.double().numpy(), batch.z.double().numpy()
        for label in (0, 1):
            dataset, pair = (batch.dependent[:, i, j] == bool(label)).nonzero(as_tuple=True)
            order = torch.randperm(len(dataset), generator=generator)[:_QUESTIONS_PER_LABEL]
            for b, p in zip(dataset[order].tolist(), pair[order].tolist(), strict=True):
                given = z[b] if z.shape[2] else None
                questions.append((x[b, int(i[p])], x[b, int(j[p])], given))
                labels.append(label)
    return questions[:count], np.array(labels[:count])


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints means over cells before and after fine-tuning, and draws them."""
    summary = summarise(rows)
    draw_finetuning(summary, picture)
    header = ("table", "questions", "model", "cells", "steps", *METRICS, "minutes")
    cells = [[row[name] for name in header] for row in summary.to_dict("records")]
    return "\n".join([CAPTION, "", aligned(header, cells)])


CAPTION = """Fine-tuning without labels; 0 steps: the model as it is. Level .05; means over cells.
table: X and Z of the table, Y drawn from neighbours in Z, not as in fine-tuning. training: the
model's own stream. held-out: mechanisms that acid-ranks never saw, and acid-base did."""


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Averages over cells: one row for each (table, questions, method, steps)."""
    summary = []
    key = ["table", "questions", "method", "steps"]
    for names, cells in rows.groupby(key, sort=False):
        row: dict[str, object] = dict(zip(key, names, strict=True)) | {"cells": len(cells)}
        row["model"] = Path(model_of(str(row["method"]))).stem
        row |= {name: float(cells[name].mean()) for name in METRICS}
        row["minutes"] = float(cells["finetuning_seconds"].astype(float).mean()) / 60
        summary.append(row)
    return pd.DataFrame(summary).sort_values(["table", "questions"], kind="stable")


FINETUNING = Experiment(
    name="finetuning",
    methods=("acid",),
    quick_methods=("acid",),
    setting_columns=("table", "steps", "questions", "n", "d_z", "datasets"),
    result_columns=(*METRICS, "finetuning_seconds", "seconds_per_test"),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("table", "method"),
)
