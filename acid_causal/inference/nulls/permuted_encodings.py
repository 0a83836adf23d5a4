"""Statistics of questions after permutations of one variable's encoding.

Permuted are rows of the encoding and not of the table, so that nothing is encoded anew: the
residuals given Z, and features whose regression on Z has been subtracted. Rows move within cells of
rows for which Z predicts about the same of X and of Y, in mean and in scale. So what a regression
has missed, and noise that depends on Z, are the same in the draws and in the data.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import EncodedQuestions, Place
from acid_causal.inference.nulls.interface import Array
from acid_causal.inference.nulls.neighbourhoods import Integers, neighbourhoods, permutations
from acid_causal.inference.rows.hashes import Content, Hashes, ranks, read_content
from acid_causal.inference.rows.rows import Rows
from acid_causal.model import ACIDModel, TargetEncoding
from acid_causal.model.heads import CrossCovarianceHead, squared_norms
from acid_causal.model.numerics import eigh

# Principal components that are kept of a head's features; in shipped models they have 99 % of the
# norm of the covariance that a statistic is made of.
_COMPONENTS = 4
_Shape = tuple[torch.Size, ...]
# Tensors of an encoding whose last axis is that of the rows.
_OF_ROWS = ("features", "norms", "residuals")
# Smallest number of rows in a cell. Smaller cells hold the level a little more often where
# regressions fail, and find less, as a permutation keeps the sums of each cell (benchmarks/LOG.md).
_SMALLEST = 10
# Relative tolerance: statistics that differ by less count as equal. Discrete data have many ties.
_ROUNDING = 1e-4


class PermutedEncodings:
    """Counts draws that reach the observed statistic, for many questions at once.

    Args:
        network: the network, on the device of the rows.
        questions: questions with conditioning sets of equal size, encoded with predictions.
        chosen: which of the questions.
        entries: bound on the scalars that are permuted at once.
    """

    def __init__(
        self, network: ACIDModel, questions: EncodedQuestions, chosen: Sequence[int], entries: int
    ) -> None:
        self._network, self._entries = network, entries
        self._asked = [
            _prepare(questions.tasks[k], questions.pairs[k], questions.rows) for k in chosen
        ]
        self._n = questions.rows.n
        self._targets = _Targets(network, [place for one in self._asked for place in one.places])
        self._least = np.full(len(self._asked), np.nan)

    def count(self, which: Sequence[int], draws: range) -> Int64[Integers, " questions"]:
        """Counts the draws whose statistic is at least the one observed.

        Args:
            which: indices of the questions, among those chosen.
            draws: indices of the draws.
        """
        reached = np.zeros(len(which), dtype=np.int64)
        alike: dict[tuple[_Shape, _Shape], list[int]] = defaultdict(list)
        for place, k in enumerate(which):
            stays, moves = map(self._targets.shape, self._asked[k].places)
            alike[stays, moves].append(place)
        for same in alike.values():
            each = self._n * self._targets.width(self._asked[which[same[0]]].moves)
            at_once = max(1, self._entries // each)
            some_draws = max(1, min(len(draws), at_once))
            step = max(1, at_once // some_draws)
            for start in range(0, len(same), step):
                places = same[start : start + step]
                asked = [which[place] for place in places]
                self._observe(asked)
                for first in range(draws.start, draws.stop, some_draws):
                    part = range(first, min(first + some_draws, draws.stop))
                    taken = np.stack([self._asked[k].permutations(part) for k in asked])
                    statistics = self._statistics(asked, taken)
                    reached[places] += (statistics >= self._least[asked, None]).sum(axis=1)
        return reached

    def _observe(self, asked: Sequence[int]) -> None:
        """Computes the observed statistics, as those of the draws are computed."""
        new = [k for k in asked if np.isnan(self._least[k])]
        if new:
            rows = np.broadcast_to(np.arange(self._n), (len(new), 1, self._n))
            statistic = self._statistics(new, rows)[:, 0]
            self._least[new] = statistic - _ROUNDING * np.maximum(1.0, np.abs(statistic))

    def _statistics(
        self, asked: Sequence[int], taken: Int64[Integers, "questions draws n"]
    ) -> Float[Array, "questions draws"]:
        draws = taken.shape[1]
        stays = self._targets.select([self._asked[k].stays for k in asked])
        moves = self._targets.permuted([self._asked[k].moves for k in asked], taken)
        logits = self._network.score_grid(stays, moves, 1, draws)
        return logits[:, 0].double().cpu().numpy()


@dataclass(frozen=True)
class _Asked:
    """A question, and how its rows are permuted.

    Attributes:
        stays: the encoding whose rows stay.
        moves: the encoding whose rows are permuted.
        keys: hashes of the rows.
        cells: the cell of each row.
    """

    stays: Place
    moves: Place
    keys: Hashes
    cells: Int64[Integers, " n"]

    @property
    def places(self) -> tuple[Place, Place]:
        """Both encodings."""
        return self.stays, self.moves

    def permutations(self, draws: range) -> Int64[Integers, "draws n"]:
        """Draws permutations of the rows."""
        return permutations(self.keys, self.cells, draws)


def _prepare(task: Task, pair: tuple[Place, Place], rows: Rows) -> _Asked:
    content = read_content(*(rows.ranks(part) for part in (task.x, task.y, task.cond)))
    stays, moves = reversed(pair) if content.swapped else pair
    along, tested = _predicted(content, stays, moves), np.hstack([content.x, content.y])
    cells = neighbourhoods(along, tested, _SMALLEST)
    return _Asked(stays, moves, content.keys, cells)


def _predicted(content: Content, stays: Place, moves: Place) -> Int64[Integers, "n k"]:
    """Returns the ranks of what Z predicts of both variables."""
    if not content.z.shape[1]:
        return content.z
    parts = [place.predictions.flatten(0, 1).cpu().numpy() for place in (stays, moves)]
    predicted = np.concatenate(parts)
    if not any(len(np.unique(column)) == len(column) for column in content.z.T):
        # Rows with equal Z have equal predictions; without this, up to rounding.
        _, groups = np.unique(content.z, axis=0, return_inverse=True)
        groups = groups.reshape(-1)
        sizes = np.bincount(groups)
        predicted = np.stack([(np.bincount(groups, p) / sizes)[groups] for p in predicted])
    return np.stack([ranks(p) for p in predicted], axis=1)


class _Targets:
    """Encodings with few features, whose rows can be permuted.

    Args:
        network: the network.
        places: the encodings; those that occur twice are kept once.
    """

    def __init__(self, network: ACIDModel, places: Sequence[Place]) -> None:
        self._network = network
        distinct = list(dict.fromkeys(places))
        self._index = {place: k for k, place in enumerate(distinct)}
        self._encodings = [_with_few_features(network, place.encoding) for place in distinct]

    def shape(self, place: Place) -> _Shape:
        """Returns the shapes of a target's tensors, which must agree to be joined."""
        tensors = self._encodings[self._index[place]].tensors().values()
        return tuple(tensor.shape[1:] for tensor in tensors)

    def width(self, place: Place) -> int:
        """Returns the numbers of a row."""
        encoding = self._encodings[self._index[place]]
        parts = (encoding.features, encoding.norms, encoding.residuals)
        return sum(part[0].flatten(0, -2).shape[0] for part in parts)

    def select(self, places: Sequence[Place]) -> TargetEncoding:
        """Joins encodings of equal shape."""
        return _join([self._encodings[self._index[place]] for place in places])

    def permuted(
        self, places: Sequence[Place], taken: Int64[Integers, "targets draws n"]
    ) -> TargetEncoding:
        """Joins permuted copies of encodings: all draws of the first, then of the second, ..."""
        encodings = [self._encodings[self._index[place]] for place in places]
        joined, draws = _join(encodings), taken.shape[1]
        rows = torch.tensor(taken, device=joined.features.device)
        copies: dict[str, Tensor] = {}
        for name, part in joined.tensors().items():
            if name not in _OF_ROWS:
                copies[name] = part.repeat_interleave(draws, dim=0)
                continue
            copies[name] = part.new_empty(len(places) * draws, *part.shape[1:])
            if part.numel():
                # One by one: a target fits a CPU cache, and the copies come out contiguous.
                for k, copy in enumerate(copies[name].flatten(1, -2)):
                    target, draw = divmod(k, draws)
                    of_rows = part[target].flatten(0, -2)
                    torch.index_select(of_rows, 1, rows[target, draw], out=copy)
        return joined.holding(copies)


def _with_few_features(network: ACIDModel, encoding: TargetEncoding) -> TargetEncoding:
    """Keeps the principal components of each head's features.

    Those of a category are all kept: they are its levels, of which no few stand for the others.
    """
    head, features = network.head, encoding.features
    few = features.shape[3] <= _COMPONENTS
    if few or encoding.categories or not isinstance(head, CrossCovarianceHead):
        return encoding
    covariance = features @ features.mT / encoding.n
    _, vectors = eigh(covariance.flatten(0, 2))
    largest = vectors[..., -_COMPONENTS:].unflatten(0, covariance.shape[:3])
    features = largest.mT @ features
    spread = head.joint_spread if network.config.keeps_values else head.spread
    norms, spread_of = squared_norms(features), spread(features)
    return replace(encoding, features=features, norms=norms, spread=spread_of)


def _join(encodings: Sequence[TargetEncoding]) -> TargetEncoding:
    parts = [one.tensors() for one in encodings]
    return encodings[0].holding(
        {name: torch.cat([one[name] for one in parts]) for name in parts[0]}
    )
