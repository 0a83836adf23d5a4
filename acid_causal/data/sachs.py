"""The protein-signalling data of Sachs et al. (2005), embedded and checked at each load."""

import csv
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from acid_causal.errors import InputError, unknown

if TYPE_CHECKING:
    import networkx as nx

Edges = tuple[tuple[str, str], ...]

DIRECTORY = Path(__file__).parent

# Data that were silently changed would make every published figure wrong, hence a digest for each.
SHA256 = {
    "sachs_observational.csv": "c6f109d1d98550e2f8ee57ee021b30713c08ba6cfe626b3e23805568c54cec8e",
    "sachs_consensus_17.csv": "1164297a0c66d34812f2b1a144454547ad984cbfc1005b9d8714b7ba6cb148b6",
    "sachs_consensus_20.csv": "403363bc635046bc0f091198739915d86d95276ab936d5d43f6f63617a2fa050",
}


@dataclass(frozen=True, eq=False, repr=False)
class Sachs:
    """The observational Sachs table and what is held to be true about it.

    Attributes:
        data: Raw intensities of the 853 cells without a reagent, float64 of shape (853, 11). All
            are at least 1 and strongly skewed to the right.
        columns: Names of the 11 proteins, in the order of the columns.
        consensus_17: The 17 edges (cause, effect) that Sachs et al. inferred; the primary truth.
        consensus_20: The 20 edges expected from the literature or reported there.
    """

    data: NDArray[np.float64]
    columns: tuple[str, ...]
    consensus_17: Edges
    consensus_20: Edges

    def __repr__(self) -> str:
        n, d = self.data.shape
        networks = f"{len(self.consensus_17)} and {len(self.consensus_20)} edges"
        return f"Sachs({n} rows, {d} columns: {', '.join(self.columns)}; networks of {networks})"

    def graph(self, edges: Literal[17, 20] = 17) -> "nx.DiGraph":
        """Returns a consensus network as a directed acyclic graph.

        Args:
            edges: Which of the two networks, by its number of edges.

        Returns:
            A `networkx.DiGraph` whose 11 nodes are in the order of the columns.

        Raises:
            OptionError: There is no consensus network with so many edges.
        """
        import networkx as nx

        networks = {17: self.consensus_17, 20: self.consensus_20}
        if edges not in networks:
            raise unknown("number of consensus edges", edges, map(str, networks))
        graph = nx.DiGraph()
        graph.add_nodes_from(self.columns)
        graph.add_edges_from(networks[edges])
        return graph


def load_sachs() -> Sachs:
    """Loads the 853 observational rows of Sachs et al. (2005) and the two consensus networks.

    How it works: the table and the edges are files of the package, compared with their SHA-256 at
    each load.

    Limitations: the networks are a consensus, and the true graph is not known. Of the first
    one's 17 edges 8 leave no trace in these rows for any of four tests (docs/results.md).

    Returns:
        A new `Sachs`; its table may be changed freely.

    Raises:
        InputError: An embedded file is missing or damaged.

    References:
        K. Sachs et al., Science 308:523-529 (2005), doi:10.1126/science.1105809.
    """
    text = _read("sachs_observational.csv")
    columns = tuple(text.partition("\n")[0].split(","))
    data = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    return Sachs(data, columns, _edges("sachs_consensus_17.csv"), _edges("sachs_consensus_20.csv"))


def _edges(name: str) -> Edges:
    """Reads an edge list with the header `cause,effect`."""
    rows = csv.DictReader(io.StringIO(_read(name)))
    return tuple((row["cause"], row["effect"]) for row in rows)


def _read(name: str) -> str:
    """Reads an embedded file and checks it."""
    try:
        content = (DIRECTORY / name).read_bytes()
    except FileNotFoundError as error:
        raise InputError(
            f"the embedded file {name} is missing: reinstall acid-causal, whose wheel carries it."
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[name]:
        raise InputError(
            f"the embedded file {name} is damaged: its sha256 is {digest}, expected "
            f"{SHA256[name]}. Reinstall acid-causal, or undo the change (line ends count)."
        )
    return content.decode("ascii")
