"""Training on the synthetic stream with binary cross-entropy and Adam; it can be resumed.

`python -m torch.distributed.run --nproc_per_node=G -m acid_causal.cli train RECIPE.toml` uses G
devices; each draws its own batches of the stream.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.parallel import DistributedDataParallel

from acid_causal.calibration.fitting import fit_null
from acid_causal.calibration.null import default_null
from acid_causal.compute.device import resolve_device
from acid_causal.compute.settings import training_settings
from acid_causal.errors import ModelError, OptionError
from acid_causal.model import ACIDModel
from acid_causal.model.compilation import compile_module
from acid_causal.options import defaults
from acid_causal.progress import Estimate, progress_bar
from acid_causal.synthetic import Stream
from acid_causal.training.descent import TIMED_STEPS, PairLoss, Step, descend, make_optimiser
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

# Settings of a model that may differ from those of the weights it starts from.
_NO_ARCHITECTURE = frozenset({"dropout", "smoother_rank", "learned_directions"})


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
        network,
        recipe.stream,
        seed=recipe.seed,
        questions=null_questions,
        device=where,
        progress=progress,
    )
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
        on_save: called with the model and the number of steps whenever the state has been saved. A
            run that it ends by an exception can be resumed from there.
    """

    recipe: Recipe
    folder: Path
    device: torch.device
    resume: bool = False
    start: TrainedModel | None = None
    on_save: Callable[[ACIDModel, int], object] | None = None

    def run(self, *, progress: bool = True) -> ACIDModel:
        """Trains to the recipe's last step and returns the model.

        Raises:
            ModelError: `resume` without a state, with a damaged one, or with that of another recipe
                or of another number of processes; `start` is of another architecture.
            WriteError: the state cannot be written; the last one stays whole.
            OptionError: the folder holds a run already, and `resume` was not asked for; bfloat16
                on a CPU.
        """
        self._check_precision()
        config, (rank, world) = self.recipe.training, rank_and_world()
        with training_settings(self.device), ExitStack() as stack:
            model, optimiser, progressed = self._set_up()
            stream = Stream(self.recipe.stream, self.recipe.seed, self.device)
            steps = descend(
                model,
                optimiser,
                lambda step: stream[step * world + rank],
                config,
                seed=self.recipe.seed,
                start=progressed.step,
                loss_of=self._loss(model, world),
            )
            report = None
            if rank == 0:
                report = stack.enter_context(_Report(self.folder, config, progressed, progress))
            for step in steps:
                progressed = progressed.after(step.loss, step.seconds)
                if report is None:
                    continue
                report.tell(step, progressed)
                if step.number % config.checkpoint_every == 0 or step.number == config.steps:
                    report.flush()
                    self._save(model, optimiser, progressed)
        return model

    # ---- before the first step -----------------------------------------------------

    def _check_precision(self) -> None:
        if self.recipe.training.precision == "bfloat16" and self.device.type == "cpu":
            raise OptionError(
                "precision bfloat16 is many times slower than float32 on a CPU; "
                'train on a GPU, or with precision = "float32"'
            )

    def _set_up(self) -> tuple[ACIDModel, torch.optim.Adam, Progress]:
        """Builds the model and its optimiser, or restores them."""
        torch.manual_seed(self.recipe.seed)
        model = ACIDModel(self.recipe.model).to(self.device)
        if self.start is not None:
            self._check_architecture(self.start)
            model.load_state_dict(self._inherited(self.start, model.state_dict()))
        optimiser = make_optimiser(model, self.recipe.training)
        return model, optimiser, self._restore(model, optimiser)

    def _loss(self, model: ACIDModel, world: int) -> nn.Module:
        loss_of: nn.Module = PairLoss(model)
        if self.recipe.training.compile:
            loss_of = compile_module(loss_of)
        if world > 1:
            # With an empty Z the attention to it has no gradient.
            loss_of = DistributedDataParallel(loss_of, find_unused_parameters=True)
        return loss_of

    def _inherited(self, start: TrainedModel, ours: dict[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights, with those that the run takes over in their place.

        It takes over all, or all but another kind of classifier. Facts that only our classifier
        knows (`category_facts`) come last, and begin with weight 0.
        """
        theirs = start.network.state_dict()
        if start.recipe.model.keeps_values != self.recipe.model.keeps_values:
            theirs = {k: v for k, v in theirs.items() if not k.startswith("classifier.")}
        wider = {
            k: pad(v, (0, ours[k].shape[1] - v.shape[1]))
            for k, v in theirs.items()
            if v.shape != ours[k].shape
        }
        return {**ours, **theirs, **wider}

    def _check_architecture(self, start: TrainedModel) -> None:
        """Checks that the weights fit, and that the settings they depend on are the same."""
        theirs, ours = asdict(start.recipe.model), asdict(self.recipe.model)
        # The encoder of ranks is a good start for one that is shown values, too.
        if self.recipe.model.keeps_values and theirs["transform"] == "rank-normal":
            theirs["transform"] = ours["transform"]
        if self.recipe.model.category_facts:
            theirs["category_facts"] = True
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

    # ---- checkpoints ---------------------------------------------------------------

    def _save(self, model: ACIDModel, optimiser: torch.optim.Adam, progressed: Progress) -> None:
        save_state(state_file(self.folder), model, optimiser, self.recipe, progressed)
        if self.on_save is not None:
            self.on_save(model, progressed.step)

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


class _Report:
    """Shows the steps of a run in a progress bar, and writes them to the metrics file.

    Args:
        folder: where the run lives.
        config: how many steps there will be.
        progressed: how many there were.
        show: show the bar.
    """

    def __init__(
        self, folder: Path, config: TrainingConfig, progressed: Progress, show: bool
    ) -> None:
        done = progressed.step
        label = "steps of training"
        self._bar = progress_bar(total=config.steps, label=label, unit="step", done=done, show=show)
        left = config.steps - done
        self._estimate = Estimate(label, left, after=TIMED_STEPS, show=show)
        self._log = MetricsLog(folder / "metrics.jsonl", done)

    def tell(self, step: Step, progressed: Progress) -> None:
        """Records a finished step."""
        self._bar.set_postfix(loss=f"{progressed.loss:.3f}", refresh=False)
        self._bar.update()
        self._estimate.advance()
        self._log.write(
            step=step.number,
            loss=step.loss,
            source=step.batch.source,
            n=step.batch.z.shape[1],
            d_z=step.batch.z.shape[2],
            norm=step.norm,
            seconds=step.seconds,
        )

    def flush(self) -> None:
        """Flushes the lines to the operating system."""
        self._log.flush()

    def __enter__(self) -> "_Report":
        return self

    def __exit__(self, *_: object) -> None:
        self._log.__exit__()
        self._bar.close()
