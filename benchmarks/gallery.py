"""Graphs of tables that other packages ship, for the documents: `python -m benchmarks.gallery`.

Each is what `acid-causal discover TABLE.csv --bootstrap 50` draws; of diabetes it is known that age
and sex come first and that its progression was measured a year later (`--knowledge`).
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from sklearn import datasets
from statsmodels.datasets import modechoice

from acid_causal import discover
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.report.graph_picture import write_png
from acid_causal.errors import AcidWarning
from benchmarks.harness.committed import RESULTS

SAMPLES = 50

_DIABETES = {
    "s1": "cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol / HDL",
    "s5": "log triglycerides",
    "s6": "glucose",
    "bp": "blood pressure",
    "target": "progression",
}


def diabetes() -> tuple[pd.DataFrame, Knowledge]:
    """Loads 442 patients: age, sex, body mass, blood values, and the disease a year later."""
    frame = datasets.load_diabetes(as_frame=True, scaled=False).frame.rename(columns=_DIABETES)
    first, last = ("age", "sex"), ("progression",)
    between = tuple(name for name in frame if name not in first + last)
    return frame, Knowledge(tiers=(first, between, last))


def wine() -> tuple[pd.DataFrame, Knowledge]:
    """Loads the chemistry of 178 wines, without the cultivar."""
    frame = datasets.load_wine(as_frame=True).data
    return frame.rename(columns=lambda name: name.split("/")[0]), Knowledge()


_TRAVEL = {
    "ttme": "waiting time",
    "invt": "travel time",
    "invc": "cost",
    "hinc": "income",
    "psize": "party size",
}
_MODES = {1: "air", 2: "train", 3: "bus", 4: "car"}


def travel() -> tuple[pd.DataFrame, Knowledge]:
    """Loads 210 trips between Sydney and Melbourne: who travels, by which mode, and its terms."""
    whole = modechoice.load_pandas().data
    chosen = whole[whole["choice"] == 1].reset_index(drop=True)
    frame = chosen[list(_TRAVEL)].rename(columns=_TRAVEL).assign(mode=chosen["mode"].map(_MODES))
    terms = ("waiting time", "travel time", "cost")
    return frame, Knowledge(tiers=(("income", "party size"), ("mode",), terms))


def iris() -> tuple[pd.DataFrame, Knowledge]:
    """Loads the measures of 150 flowers of three species; the species comes first."""
    data = datasets.load_iris(as_frame=True)
    frame = data.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    measures = tuple(frame)
    species = pd.Categorical.from_codes(data.target, categories=list(data.target_names))
    return frame.assign(species=species), Knowledge(tiers=(("species",), measures))


TABLES: dict[str, Callable[[], tuple[pd.DataFrame, Knowledge]]] = {
    "diabetes": diabetes,
    "wine": wine,
    "travel": travel,
    "iris": iris,
}


def main(
    out: Annotated[Path, typer.Option(help="Folder of the pictures.")] = RESULTS,
    samples: Annotated[int, typer.Option(help="Subsamples of the rows.", min=0)] = SAMPLES,
) -> None:
    """Draws the graph of each table."""
    out.mkdir(parents=True, exist_ok=True)
    for name, load in TABLES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AcidWarning)
            frame, knowledge = load()
            found = discover(frame, bootstrap=samples, knowledge=knowledge)
        path = out / f"gallery-{name}.png"
        write_png(found, path)
        typer.echo(f"{path}: {len(found.edges)} edges")


if __name__ == "__main__":
    typer.run(main)
