"""Distributed training: one process per device, started by torchrun."""

import os

import torch
import torch.distributed as dist


def join_process_group() -> bool:
    """Joins the process group if torchrun started this process; returns whether it did."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        return False
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return True


def rank_and_world() -> tuple[int, int]:
    """Returns the rank of this process, and the number of processes."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
