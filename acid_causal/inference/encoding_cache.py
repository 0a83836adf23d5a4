"""Encodings of variables given conditioning sets: computed once and cached, within a byte limit."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from acid_causal.calibration.facts import Facts, TargetFacts
from acid_causal.calibration.reference import summarise
from acid_causal.inference.batching import Task
from acid_causal.inference.nulls.predictions import predict
from acid_causal.inference.rows.rows import Rows
from acid_causal.model import ACIDModel, Conditioning, Layout, TargetEncoding
from acid_causal.tables.inputs import Columns

# `encode_targets` works in blocks of rows, so it may get this many times `batch_entries`. Most of
# its memory is that of the encodings it returns.
_SLICE = 16

# A conditioning set and a target, both given by their columns.
TargetKey = tuple[Columns, Columns]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Targets that were encoded together; the cache keeps or drops them together.

    Attributes:
        targets: their encodings.
        facts: the facts of each target.
        determined: which components are functions of Z.
        summaries: the summary of each target; see `acid_causal.calibration.reference.summarise`.
        predictions: what Z predicts of each target; None where no null needs it.
    """

    targets: TargetEncoding
    facts: TargetFacts
    determined: Bool[NDArray[np.bool_], "m d"]
    summaries: Float[NDArray[np.float64], "m numbers"]
    predictions: Float[Tensor, "m d predicted n"] | None

    @classmethod
    def of(
        cls, targets: TargetEncoding, predictions: Float[Tensor, "m d predicted n"] | None
    ) -> "Encoded":
        """Copies facts and summaries from the device, once for all questions."""
        return cls(
            targets,
            predictions=predictions,
            facts=TargetFacts.of(targets),
            determined=targets.determined.cpu().numpy(),
            summaries=summarise(targets),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors."""
        return self.targets.nbytes + (0 if self.predictions is None else self.predictions.nbytes)


@dataclass(frozen=True)
class Place:
    """A reference to the encoding of one target.

    Attributes:
        among: the targets that were encoded together with it.
        index: its index among them.
    """

    among: Encoded
    index: int

    @property
    def encoding(self) -> TargetEncoding:
        """The encoding, as a view."""
        return self.among.targets[self.index : self.index + 1]

    @property
    def predictions(self) -> Float[Tensor, "d predicted n"]:
        """What Z predicts of the target; see `acid_causal.inference.nulls.predictions.predict`."""
        assert self.among.predictions is not None
        return self.among.predictions[self.index]

    @property
    def explained(self) -> float:
        """Share of the target's variance that Z explains."""
        return float(self.among.facts.explained[self.index])

    @property
    def determined(self) -> Bool[NDArray[np.bool_], " d"]:
        """Which components are functions of Z."""
        return self.among.determined[self.index]

    @property
    def summary(self) -> Float[NDArray[np.float64], " numbers"]:
        """The summary of the target; see `acid_causal.calibration.reference.summarise`."""
        return self.among.summaries[self.index]


@dataclass(frozen=True)
class EncodedQuestions:
    """Questions about the same rows, with the encodings of their variables.

    Attributes:
        tasks: m questions with conditioning sets of equal size.
        pairs: the encodings of X and Y of each question.
        rows: their rows.
    """

    tasks: Sequence[Task]
    pairs: Sequence[tuple[Place, Place]]
    rows: Rows

    @cached_property
    def facts(self) -> Facts:
        """The covariates of the null distribution."""
        x, y = (
            TargetFacts.gather([(place.among.facts, place.index) for place in of_side])
            for of_side in zip(*self.pairs, strict=True)
        )
        d_z = np.array([float(place.among.targets.d_z) for place, _ in self.pairs])
        return Facts.of_targets(self.rows.n, d_z, x, y)


class Encodings:
    """Encodes targets given conditioning sets; a least-recently-used cache of limited size.

    Args:
        network: the network, on the device of the rows.
        cache_bytes: limit of the cache; a larger `Encoded` is not kept.
        batch_entries: bound on the scalars encoded at once.
        predictions: whether to keep what Z predicts of each target.
    """

    def __init__(
        self, network: ACIDModel, cache_bytes: int, batch_entries: int, *, predictions: bool = False
    ) -> None:
        self._network, self._batch_entries = network, batch_entries
        self._predicts = predictions
        self._limit, self._bytes = cache_bytes, 0
        self._places: dict[tuple[Columns, TargetKey], Place] = {}
        # The keys in `_places` of what is kept; the most recently used comes last.
        self._kept: OrderedDict[Encoded, list[tuple[Columns, TargetKey]]] = OrderedDict()

    @property
    def kept_bytes(self) -> int:
        """Bytes of the encodings in the cache."""
        return self._bytes

    def encode(self, wanted: Iterable[TargetKey], rows: Rows) -> Mapping[TargetKey, Place]:
        """Looks up or computes encodings; all conditioning sets have the same size."""
        places: dict[TargetKey, Place] = {}
        lacking: dict[Columns, list[Columns]] = defaultdict(list)
        for pair in dict.fromkeys(wanted):
            found = self._places.get((rows.incomplete, pair))
            if found is None:
                lacking[pair[0]].append(pair[1])
            else:
                self._kept.move_to_end(found.among)
                places[pair] = found
        if lacking:
            for pairs, encoded in self._compute(lacking, rows):
                new = {pair: Place(encoded, index) for index, pair in enumerate(pairs)}
                places.update(new)
                self._keep(encoded, {(rows.incomplete, pair): place for pair, place in new.items()})
        return places

    def _compute(
        self, lacking: Mapping[Columns, list[Columns]], rows: Rows
    ) -> Iterator[tuple[list[TargetKey], Encoded]]:
        """Encodes all conditioning sets of one shape in one batch, then the targets.

        Sets whose missing targets agree in number and shape share batches of targets.
        """
        sets = sorted(
            (_OfSet.of(cond, targets, rows) for cond, targets in lacking.items()),
            key=lambda of_set: (of_set.shape, of_set.targets_shape),
        )
        for _, together in groupby(sets, key=lambda of_set: of_set.shape):
            yield from self._encode_sets(list(together), rows)

    def _encode_sets(
        self, sets: Sequence["_OfSet"], rows: Rows
    ) -> Iterator[tuple[list[TargetKey], Encoded]]:
        conditioning = encode_conditioning(self._network, [of_set.cond for of_set in sets], rows)
        first = 0
        for shape, run in groupby(sets, key=lambda of_set: of_set.targets_shape):
            alike = list(run)
            for k, (_, width, count) in enumerate(shape):
                entries = rows.n * (conditioning.z.shape[2] + width * count)
                step = max(1, self._batch_entries // entries)
                for start in range(0, len(alike), step):
                    batch = [(s.cond, s.targets[k]) for s in alike[start : start + step]]
                    place = slice(first + start, first + start + len(batch))
                    yield from self._encode_targets(batch, conditioning[place], rows)
            first += len(alike)

    def _encode_targets(
        self,
        batch: Sequence[tuple[Columns, Sequence[Columns]]],
        conditioning: Conditioning,
        rows: Rows,
    ) -> Iterator[tuple[list[TargetKey], Encoded]]:
        """Encodes the same number of targets, of equal widths, for each set."""
        targets = list(zip(*(targets for _, targets in batch), strict=True))
        width, categories = len(rows.components(targets[0][0])), rows.is_category(targets[0][0])
        # For tables of many rows, a few targets at a time.
        step = max(1, _SLICE * self._batch_entries // (len(batch) * rows.n * width))
        for start in range(0, len(targets), step):
            part = list(zip(*targets[start : start + step], strict=True))
            x = torch.stack([torch.stack([rows.columns(c) for c in of_set]) for of_set in part])
            predictions = predict(x, conditioning) if self._predicts else None
            encoding = self._network.encode_targets(x, conditioning, categories=categories)
            encoded = Encoded.of(encoding, predictions)
            yield (
                [(cond, t) for (cond, _), of_set in zip(batch, part, strict=True) for t in of_set],
                encoded,
            )
            del encoding, encoded  # before the next part is encoded

    def _keep(self, encoded: Encoded, places: Mapping[tuple[Columns, TargetKey], Place]) -> None:
        if encoded.nbytes > self._limit:
            return
        self._places.update(places)
        self._kept[encoded] = list(places)
        self._bytes += encoded.nbytes
        while self._bytes > self._limit:
            oldest, keys = self._kept.popitem(last=False)
            self._bytes -= oldest.nbytes
            for key in keys:
                del self._places[key]


def encode_conditioning(network: ACIDModel, sets: Sequence[Columns], rows: Rows) -> Conditioning:
    """Encodes conditioning sets of equally many numbers, categories and columns."""
    z = torch.stack([rows.conditioning(cond) for cond in sets])
    if not network.config.keeps_values:
        return network.encode_conditioning(z)
    layout = Layout.from_widths([rows.widths(cond) for cond in sets], z.device)
    return network.encode_conditioning(z, layout)


@dataclass(frozen=True)
class _OfSet:
    """The targets that still have to be encoded for one conditioning set.

    Attributes:
        cond: the set.
        shape: its numbers of variables, of categories and of input columns.
        targets: the targets, grouped by their shape.
        targets_shape: of each group, whether its targets are categories, the number of input
            columns per target, and the number of targets.
    """

    cond: Columns
    shape: tuple[int, int, int]
    targets: tuple[list[Columns], ...]
    targets_shape: tuple[tuple[bool, int, int], ...]

    @classmethod
    def of(cls, cond: Columns, targets: Iterable[Columns], rows: Rows) -> "_OfSet":
        """Groups the targets."""

        def shape(target: Columns) -> tuple[bool, int]:
            return rows.is_category(target), len(rows.components(target))

        groups = [list(alike) for _, alike in groupby(sorted(targets, key=shape), key=shape)]
        widths = rows.widths(cond)
        return cls(
            cond,
            (len(widths), len(widths) - widths.count(1), sum(widths)),
            tuple(groups),
            tuple((*shape(alike[0]), len(alike)) for alike in groups),
        )
