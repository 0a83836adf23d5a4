"""The style of all pictures. Methods differ in colour, line and marker."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# The palette of Okabe and Ito, safe for colour-blind readers.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
OLIVE = "#8C8200"  # Okabe and Ito's yellow, dark enough for a line on white
GREY = "#8A8A8A"
INK = "#222222"

_RC: dict[str, Any] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "savefig.dpi": 160,
    "savefig.facecolor": "white",
}


@dataclass(frozen=True)
class MethodStyle:
    """How a method is drawn in every picture."""

    label: str
    color: str
    dashes: Any
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of matplotlib's `plot` for a line of the method."""
        return {
            "color": self.color,
            "linestyle": self.dashes,
            "marker": self.marker,
            "label": self.label,
        }


_STYLES = {
    "acid": MethodStyle("ACID", BLUE, "-", "o"),
    "acid:acid-fast": MethodStyle("ACID (acid-fast)", BLUE, (0, (1, 1)), "v"),
    "acid-permutation": MethodStyle("ACID, permutation null", SKY, (0, (2, 1)), "*"),
    "acid-checked": MethodStyle("ACID, checked", SKY, (0, (4, 2)), "p"),
    "acid-adapted": MethodStyle("ACID, adapted", SKY, (0, (5, 1)), "h"),
    "acid-labelled": MethodStyle("ACID, told labels", PURPLE, (0, (3, 1)), "d"),
    "kcit": MethodStyle("KCI", VERMILION, (0, (5, 1.5)), "s"),
    "kci": MethodStyle("KCI", VERMILION, (0, (5, 1.5)), "s"),
    "rcit": MethodStyle("RCIT", GREEN, (0, (6, 1.5, 1, 1.5)), "^"),
    "fisherz": MethodStyle("Fisher-z", INK, (0, (1, 1.2)), "D"),
    "fastkci": MethodStyle("FastKCI", PURPLE, (0, (3, 1, 1, 1, 1, 1)), "v"),
    "scit": MethodStyle("SCIT", SKY, (0, (4, 1, 1, 1)), "<"),
    "scit-two-sided": MethodStyle("SCIT, two-sided", SKY, (0, (1, 1)), ">"),
    "lcit": MethodStyle("LCIT", ORANGE, (0, (2, 1)), "X"),
    "causalts": MethodStyle("KCI (causalts)", PURPLE, (0, (5, 1, 2, 1)), "H"),
    "andrey-kci": MethodStyle("KCI (andrey)", VERMILION, (0, (1, 1)), "X"),
    "andrey-kci-rank": MethodStyle("KCI (andrey, low rank)", ORANGE, (0, (5, 1, 1, 1)), "d"),
    "andrey-rcot": MethodStyle("RCoT (andrey)", OLIVE, (0, (2, 1)), "P"),
    "degen_gauss": MethodStyle("degenerate Gaussian", ORANGE, (0, (2, 1)), "s"),
    "cond_gauss": MethodStyle("conditional Gaussian", VERMILION, (0, (4, 1)), "^"),
    "pillai": MethodStyle("Pillai's trace", GREEN, (0, (6, 1)), "D"),
    "chisq": MethodStyle("chi-square", PURPLE, (0, (3, 1)), "v"),
    "gsq": MethodStyle("G-square", INK, (0, (1, 1)), "x"),
    "cmiknn-mixed": MethodStyle("CMIknnMixed", OLIVE, (0, (3, 1, 1, 1)), "P"),
    "gcm": MethodStyle("GCM", OLIVE, (0, (8, 1.5, 2, 1.5)), "p"),
}

# ACID with a model that has no style of its own.
_OTHER_MODEL = MethodStyle("ACID", BLUE, (0, (3, 1.5)), "P")


def style_of(method: str) -> MethodStyle:
    """Returns a method's style.

    `METHOD:MODEL` has the model in its label, and `acid:MODEL` other dashes than the default model.
    """
    base, _, model = method.partition(":")
    style = _STYLES.get(method)
    if style is None:
        style = _OTHER_MODEL if base == "acid" else _STYLES[base]
        style = replace(style, label=f"{style.label} ({Path(model).stem})")
    return style


@contextmanager
def picture(path: Path, width: float, height: float) -> Iterator[Figure]:
    """Gives a figure in this style and writes it to a PNG at the end.

    Args:
        path: The file; its folder is created.
        width: In inches.
        height: In inches.
    """
    # rc_context restores the caller's settings. A plain Figure needs no window or global state.
    with mpl.rc_context(rc=_RC):  # type: ignore[arg-type]
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Software": None})
