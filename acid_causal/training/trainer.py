"""Training: an endless stream, binary cross-entropy, Adam, and a state that survives anything.

`python -m torch.distributed.run --nproc_per_node=G -m acid_causal.cli train RECIPE.toml` uses G
devices; each draws its own batches of the stream.
"""

import math
import time
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from acid_causal import defaults
from acid_causal.calibration.fitting import fit_null
from acid_causal.calibration.null import default_null
from acid_causal.calibration.scoring import score_pairs, transform_batch
from acid_causal.device import resolve_device
from acid_causal.errors import ModelError, OptionError
from acid_causal.model import ACIDModel
from acid_causal.settings import training_settings
from acid_causal.synthetic import Batch, Stream
from acid_causal.training.metrics import MetricsLog
from acid_causal.training.processes import join_process_group, rank_and_world
from acid_causal.training.state import (
    Progress,
    load_state,
    read_progress,
    save_state,
    state_file,
)
from acid_causal.weights.checkpoint import TrainedModel, load_model
from acid_causal.weights.recipe import Recipe, TrainingConfig

# A class that is rare in a batch counts for at most 1 / (2 * this) of its number more.
_RAREST = 0.1
# Settings of a model that its weights do not depend on: what they mean is the same with others.
_NO_ARCHITECTURE = frozenset({"dropout", "smoother_rank"})


class PairLoss(nn.Module):
    """Binary cross-entropy over all pairs of targets of a batch, balanced between the classes."""

    def __init__(self, model: ACIDModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """Computes the loss, in nats; about ln 2 for a model that knows nothing."""
        scored = score_pairs(self.model, batch)
        label = scored.label
        positive = label.mean()
        weight = torch.where(
            label > 0, 0.5 / positive.clamp(min=_RAREST), 0.5 / (1 - positive).clamp(min=_RAREST)
        )
        return binary_cross_entropy_with_logits(scored.logit, label, weight=weight)


def learning_rate(config: TrainingConfig, step: int) -> float:
    """Linear warm-up, then a cosine to a hundredth of the peak."""
    if step < config.warmup:
        return config.learning_rate * (step + 1) / config.warmup
    done = (step - config.warmup) / max(1, config.steps - config.warmup)
    return config.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(done, 1))))


def make_optimiser(model: ACIDModel, config: TrainingConfig) -> torch.optim.Adam:
    """Makes the optimiser of a run."""
    return torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.99))


def descend(
    model: ACIDModel,
    optimiser: torch.optim.Adam,
    loss: Float[Tensor, ""],
    config: TrainingConfig,
    step: int,
) -> Float[Tensor, ""]:
    """Takes a step down the gradient of a loss, unless the gradient is not finite.

    Returns:
        The norm of the gradient, before it was clipped.
    """
    for group in optimiser.param_groups:
        group["lr"] = learning_rate(config, step)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    if torch.isfinite(norm):
        optimiser.step()
    return norm


def train_model(
    recipe: Recipe,
    folder: Path | None = None,
    *,
    resume: bool = False,
    start: str | Path | None = None,
    device: str = defaults.DEVICE,
    null_questions: int = defaults.NULL_QUESTIONS,
    progress: bool = True,
) -> Path | None:
    """Trains a model, fits its null distribution, and writes the weights file.

    Args:
        recipe: what to train.
        folder: the run's folder; default runs/NAME.
        resume: go on from the folder's last checkpoint.
        start: name or file of a model whose weights to start from.
        device: "auto", "cpu" or "cuda"; under torchrun each process takes the GPU of its rank.
        null_questions: H0 questions for the null.
        progress: show bars.

    Returns:
        The weights file; None on all processes but the first.

    Raises:
        ModelError, OptionError: see `Trainer.run` and `load_model`.
        WriteError: see `Trainer.run`, and `TrainedModel.save_or_keep`.
    """
    folder = default_folder(recipe) if folder is None else Path(folder)
    joined = join_process_group()
    rank, world = rank_and_world()
    where = resolve_device(
        f"cuda:{rank % torch.cuda.device_count()}"
        if world > 1 and torch.cuda.is_available()
        else device
    )
    parent = None if start is None else load_model(start)
    network = Trainer(recipe, folder, where, resume, parent).run(progress=progress)
    if joined:
        dist.destroy_process_group()
    if rank > 0:
        return None
    null = fit_null(
        network, recipe.stream, seed=recipe.seed, questions=null_questions, device=where,
        progress=progress,
    )  # fmt: skip
    progressed = read_progress(state_file(folder))
    begun = {} if parent is None else parent.history
    history = {
        "steps": begun.get("steps", 0) + recipe.training.steps,
        "hours": round(begun.get("hours", 0) + progressed.seconds / 3600, 3),
        **({} if progressed.loss is None else {"loss": round(progressed.loss, 4)}),
        "torch": torch.__version__,
        "device": where.type,
        "null_questions": null_questions,
    }
    path = folder / f"{recipe.name}.safetensors"
    TrainedModel(network, null, recipe, history, default_null(recipe.stream)).save_or_keep(path)
    return path


def default_folder(recipe: Recipe) -> Path:
    """Returns the folder of a recipe's run if no other is asked for."""
    return Path("runs") / recipe.name


@dataclass
class Trainer:
    """A training run in a folder: `state.safetensors` (resumable) and `metrics.jsonl`.

    Attributes:
        recipe: what to train.
        folder: where the run lives.
        device: where it trains.
        resume: go on from the folder's state, exactly as if never interrupted.
        start: model whose weights to start from, instead of random ones.
    """

    recipe: Recipe
    folder: Path
    device: torch.device
    resume: bool = False
    start: TrainedModel | None = None

    def run(self, *, progress: bool = True) -> ACIDModel:
        """Trains to the recipe's last step and returns the model.

        Raises:
            ModelError: `resume` without a state, with a damaged one, or with that of another recipe
                or of another number of processes; `start` is of another architecture.
            WriteError: the state cannot be written; the last one stays whole.
            OptionError: the folder holds a run already, and `resume` was not asked for; bfloat16
                on a CPU.
        """
        config = self.recipe.training
        if config.precision == "bfloat16" and self.device.type == "cpu":
            raise OptionError(
                "precision bfloat16 is many times slower than float32 on a CPU; "
                'train on a GPU, or with precision = "float32"'
            )
        with training_settings(self.device):
            return self._train(progress)

    def _train(self, progress: bool) -> ACIDModel:
        config = self.recipe.training
        rank, world = rank_and_world()
        torch.manual_seed(self.recipe.seed)
        model = ACIDModel(self.recipe.model).to(self.device)
        if self.start is not None:
            self._check_architecture(self.start)
            model.load_state_dict(self.start.network.state_dict())
        optimiser = make_optimiser(model, config)
        progressed = self._restore(model, optimiser)
        step = progressed.step
        loss_of: nn.Module = PairLoss(model)
        if config.compile:
            loss_of = torch.compile(loss_of, dynamic=True)  # type: ignore[assignment]
        if world > 1:
            # An empty Z leaves the attention to it without a gradient.
            loss_of = DistributedDataParallel(loss_of, find_unused_parameters=True)
        stream = Stream(self.recipe.stream, self.recipe.seed, self.device)
        model.train()
        with ExitStack() as stack:
            bar = stack.enter_context(
                tqdm(
                    total=config.steps, initial=step, disable=not progress or rank > 0, unit="step"
                )
            )
            log = None
            if rank == 0:
                log = stack.enter_context(MetricsLog(self.folder / "metrics.jsonl", step))
            while step < config.steps:
                began = time.perf_counter()
                # Seeding each step makes dropout, too, a function of (seed, step) alone.
                torch.manual_seed(self.recipe.seed * 1_000_003 + step)
                batch = transform_batch(stream[step * world + rank], model.transform)
                with self._autocast():
                    loss = loss_of(batch)
                norm = descend(model, optimiser, loss, config, step)
                step += 1
                value = loss.item()
                seconds = time.perf_counter() - began
                progressed = progressed.after(value, seconds)
                bar.update()
                bar.set_postfix(loss=f"{progressed.loss:.3f}", refresh=False)
                if log is not None:
                    log.write(
                        step=step, loss=value, source=batch.source, n=batch.z.shape[1],
                        d_z=batch.z.shape[2], norm=norm.item(), seconds=seconds,
                    )  # fmt: skip
                    if step % config.checkpoint_every == 0 or step == config.steps:
                        log.flush()
                        self._save(model, optimiser, progressed)
        return model

    def _autocast(self) -> Any:
        if self.recipe.training.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _check_architecture(self, start: TrainedModel) -> None:
        """Refuses weights that do not fit, or that fit and would mean something else."""
        theirs, ours = asdict(start.recipe.model), asdict(self.recipe.model)
        other = [
            f"{name} is {theirs[name]!r} there and {ours[name]!r} in the recipe"
            for name in ours
            if theirs[name] != ours[name] and name not in _NO_ARCHITECTURE
        ]
        if other:
            raise ModelError(
                f"cannot start from {start.name!r}, a model of another architecture: "
                f"{'; '.join(other)}. Make the recipe's [model] equal to its own"
            )

    def _save(self, model: ACIDModel, optimiser: torch.optim.Adam, progressed: Progress) -> None:
        save_state(state_file(self.folder), model, optimiser, self.recipe, progressed)

    def _restore(self, model: ACIDModel, optimiser: torch.optim.Adam) -> Progress:
        """Loads the folder's state, if the run is to go on."""
        state = state_file(self.folder)
        if self.resume:
            return load_state(state, model, optimiser, self.recipe)
        if state.exists():
            raise OptionError(
                f"{str(self.folder)!r} holds a training run already; "
                "go on with --resume, or choose another folder"
            )
        return Progress()
