"""How near to the machine's arithmetic do we get? `python -m benchmarks.floor [--device cuda]`.

The floor of a piece of work is the time that its matrix products would take at the rate that the
machine reaches on one large product (float32; bfloat16 where a GPU trains in it). What lies above
it is memory traffic, everything that is no product, and many small products in place of one large.
Training is about a step: a batch drawn, scored, and its gradient. Testing is about Sachs' size.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

import acid_causal
from acid_causal import load_model
from acid_causal.calibration.scoring import transform_batch
from acid_causal.model import ACIDModel
from acid_causal.synthetic import Batch, Stream
from acid_causal.training.trainer import PairLoss
from acid_causal.weights.recipe import Recipe
from benchmarks.harness.tables import aligned

RECIPES = {
    "acid-base": Path(acid_causal.__file__).parent / "weights" / "acid-base.toml",
    "paper": Path(__file__).parent / "recipes" / "acid-mlp16-paper.toml",
}
TRAINING_SIZES = ((100, 3), (100, 10), (500, 5))  # n, d_z
TESTING_N, TESTING_D_Z = 853, (0, 1, 3)
SETS, TARGETS = 8, 4  # of a level of PC: conditioning sets, and targets of each
REPEATS = 7
_PRODUCT = {"cpu": 1024, "cuda": 8192}  # rows of the large product
_OPERATORS = 8


@dataclass(frozen=True)
class Cost:
    """What a piece of work costs.

    Attributes:
        flops: of its matrix products.
        seconds: median.
    """

    flops: int
    seconds: float


def main(
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(help="CPU threads.", min=1)] = 1,
    operators: Annotated[bool, typer.Option(help="Also where the time goes.")] = False,
) -> None:
    """Prints the floor of training and testing, and the share of it that is reached."""
    torch.set_num_threads(threads)
    where = torch.device(device)
    precision = torch.bfloat16 if device == "cuda" else torch.float32
    rates = {dtype: product_rate(where, dtype) for dtype in {torch.float32, precision}}
    for dtype, rate in rates.items():
        print(
            f"{device}, {dtype}: {rate / 1e9:.0f} GFLOP/s in a product of {_PRODUCT[device]} rows"
        )
    rows = []
    for work, run in pieces(where, precision):
        cost = measure(run, where)
        rate = rates[torch.float32 if work.startswith("test") else precision]
        floor = cost.flops / rate
        rows.append((
            work, cost.flops / 1e9, 1e3 * cost.seconds, 1e3 * floor, f"{floor / cost.seconds:.0%}",
        ))  # fmt: skip
        if operators:
            print(f"\n{work}\n{share_by_operator(run, where)}")
    print()
    print(aligned(("work", "GFLOP", "ms", "floor, ms", "reached"), rows, digits=1))


def product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Measures the machine's rate in one large matrix product, in FLOP/s."""
    m = _PRODUCT[device.type]
    a, b = (torch.randn(m, m, device=device, dtype=dtype) for _ in range(2))
    return 2 * m**3 / measure(lambda: a @ b, device).seconds


def measure(run: Callable[[], Any], device: torch.device) -> Cost:
    """Counts the products of a piece of work and takes its median time."""
    with FlopCounterMode(display=False) as counter:
        run()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        _synchronise(device)
        seconds.append(time.perf_counter() - start)
    return Cost(counter.get_total_flops(), statistics.median(seconds))


def pieces(device: torch.device, precision: torch.dtype) -> list[tuple[str, Callable[[], Any]]]:
    """Lists what is measured, each with a name."""
    out: list[tuple[str, Callable[[], Any]]] = []
    for name, path in RECIPES.items():
        recipe = Recipe.read(path)
        network = ACIDModel(recipe.model).to(device)
        stream = Stream(recipe.stream, 0, device)
        for number, (n, d_z) in enumerate(TRAINING_SIZES):
            batch = stream.draw(torch.Generator(device).manual_seed(number), n=n, d_z=d_z)
            batch = transform_batch(batch, network.transform)
            out.append((
                f"training, {name}, n={n}, |Z|={d_z}", _step(PairLoss(network), batch, precision)
            ))  # fmt: skip
    shipped = load_model("acid-base").network.to(device)
    for d_z in TESTING_D_Z:
        out.append((
            f"testing, {SETS} sets x {TARGETS} targets, n={TESTING_N}, |Z|={d_z}",
            _encoding(shipped, d_z, device),
        ))  # fmt: skip
        out.append((f"testing, its encoder of targets alone, |Z|={d_z}", _encoder(shipped, d_z)))
    return out


def _step(loss_of: PairLoss, batch: Batch, precision: torch.dtype) -> Callable[[], None]:
    def run() -> None:
        half = precision != torch.float32
        with torch.autocast(batch.x.device.type, dtype=torch.bfloat16, enabled=half):
            loss = loss_of(batch)
        loss.backward()
        loss_of.zero_grad(set_to_none=True)

    return run


def _encoding(network: ACIDModel, d_z: int, device: torch.device) -> Callable[[], Any]:
    z = torch.randn(SETS, TESTING_N, d_z, device=device)
    x = torch.randn(SETS, TARGETS, TESTING_N, 1, device=device)

    def run() -> None:
        with torch.inference_mode():
            network.encode_targets(x, network.encode_conditioning(z))

    return run


def _encoder(network: ACIDModel, d_z: int) -> Callable[[], Any]:
    shape = (SETS, network.config.e, TARGETS, TESTING_N)
    tokens = torch.randn(shape, device=network.device)
    with torch.inference_mode():
        z = torch.randn(SETS, TESTING_N, d_z, device=network.device)
        contexts = network.encode_conditioning(z).contexts or ()

    def run() -> None:
        with torch.inference_mode():
            network.head.features(network.encoder.encode_targets(tokens, 1, contexts))

    return run


def share_by_operator(run: Callable[[], Any], device: torch.device) -> str:
    """Says which operators the time goes to, a line each."""
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiled:
        run()
        _synchronise(device)
    events = profiled.key_averages()
    attribute = "self_device_time_total" if device.type == "cuda" else "self_cpu_time_total"
    times = {event.key: getattr(event, attribute) for event in events}
    whole = sum(times.values())
    largest = sorted(times, key=lambda key: -times[key])[:_OPERATORS]
    return "\n".join(f"  {times[key] / whole:4.0%}  {key}" for key in largest)


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    typer.run(main)
