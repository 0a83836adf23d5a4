"""Training: an endless stream, binary cross-entropy, Adam, and a state that survives anything.

`python -m torch.distributed.run --nproc_per_node=G -m acid_causal.cli train RECIPE.toml` uses G
devices; each draws its own batches of the stream.
"""

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from acid_causal import defaults
from acid_causal.calibration.fitting import fit_null
from acid_causal.calibration.null import default_null
from acid_causal.device import resolve_device
from acid_causal.errors import ModelError, OptionError
from acid_causal.model import ACIDModel
from acid_causal.settings import training_settings
from acid_causal.synthetic import Stream
from acid_causal.training.descent import PairLoss, Step, descend, make_optimiser
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

