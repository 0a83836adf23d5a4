"""What a variable looks like given a conditioning set: computed once, kept within bounds."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from acid_causal.calibration.facts import Facts, TargetFacts
from acid_causal.calibration.reference import summarise
from acid_causal.inference.batching import Task
from acid_causal.inference.rows import Rows
from acid_causal.model import ACIDModel, Conditioning, TargetEncoding
from acid_causal.tables.inputs import Columns

# So many times the entries of a batch may pass through the encoder for one conditioning set: its
# rows go in blocks, and what is kept of a target is all that its memory costs.
_SLICE = 16

# A conditioning set and a target, both as columns.
Pair = tuple[Columns, Columns]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Targets that were encoded together, set by set; they are kept and dropped as one.

    Attributes:
        targets: their encodings.
        facts: what is known of each target.
        determined: which components are functions of Z.
        numbers: what each target looks like; see `acid_causal.calibration.reference`.
    """

    targets: TargetEncoding
    facts: TargetFacts
    determined: Bool[NDArray[np.bool_], "m d"]
    numbers: Float[NDArray[np.float64], "m numbers"]

    @classmethod
    def of(cls, targets: TargetEncoding) -> "Encoded":
        """Reads from the device, once, what every question about the targets needs to know."""
        return cls(
            targets,
            facts=TargetFacts.of(targets),
            determined=targets.determined.cpu().numpy(),
            numbers=summarise(targets),
        )


@dataclass(frozen=True)
class Place:
    """Where the encoding of one target is.

    Attributes:
        among: the targets that it was encoded with.
        index: which of them it is.
    """

    among: Encoded
    index: int

    @property
    def encoding(self) -> TargetEncoding:
        """The encoding itself, not a copy."""
        return self.among.targets[self.index : self.index + 1]

    @property
    def explained(self) -> float:
        """Share of the target's variance that Z explains."""
        return float(self.among.facts.explained[self.index])

    @property
    def nonlinear(self) -> float:
        """Share of what least squares leave of the target that other regressions explain."""
        return float(self.among.facts.nonlinear[self.index])

    @property
    def determined(self) -> Bool[NDArray[np.bool_], " d"]:
        """Which components are functions of Z."""
        return self.among.determined[self.index]

    @property
    def numbers(self) -> Float[NDArray[np.float64], " numbers"]:
        """What the target looks like."""
        return self.among.numbers[self.index]


@dataclass(frozen=True)
class EncodedQuestions:
    """Questions of one size about the same rows, with the encodings of their variables.

    Attributes:
        tasks: m questions, whose conditioning sets are equally large.
        pairs: where the encodings of X and Y of each question are.
        rows: the rows that they share.
    """

    tasks: Sequence[Task]
    pairs: Sequence[tuple[Place, Place]]
    rows: Rows

    @cached_property
    def facts(self) -> Facts:
        """What is known of the questions before their statistics are seen."""
        x, y = (
            TargetFacts(
                np.array([place.explained for place in of_side]),
                np.array([place.nonlinear for place in of_side]),
            )
            for of_side in zip(*self.pairs, strict=True)
        )
        pairs = np.array([float(len(task.x) * len(task.y)) for task in self.tasks])
        return Facts.of_one_size(self.rows.n, len(self.tasks[0].cond), x, y, pairs)


class Encodings:
    """Encodes targets given conditioning sets, and keeps the latest up to a number of bytes.

    Args:
        network: the network, on the device of the rows.
        cache_bytes: bound on what is kept; one `Encoded` of more is dropped at once.
        batch_entries: scalars of data encoded at once.
    """

    def __init__(self, network: ACIDModel, cache_bytes: int, batch_entries: int) -> None:
        self._network, self._batch_entries = network, batch_entries
        self._limit, self._bytes = cache_bytes, 0
        self._places: dict[tuple[Columns, Pair], Place] = {}
        # What is kept, by the keys of its places; the latest used comes last.
        self._kept: OrderedDict[Encoded, list[tuple[Columns, Pair]]] = OrderedDict()

    @property
    def kept_bytes(self) -> int:
        """Bytes of the encodings kept now."""
        return self._bytes

    def encode(self, wanted: Iterable[Pair], rows: Rows) -> Mapping[Pair, Place]:
        """Looks up or computes the encodings of targets given conditioning sets of one size."""
        places: dict[Pair, Place] = {}
        lacking: dict[Columns, list[Columns]] = defaultdict(list)
        for pair in dict.fromkeys(wanted):
            found = self._places.get((rows.gaps, pair))
            if found is None:
                lacking[pair[0]].append(pair[1])
            else:
                self._kept.move_to_end(found.among)
                places[pair] = found
        if lacking:
            for pairs, encoded in self._compute(lacking, rows):
                new = {pair: Place(encoded, index) for index, pair in enumerate(pairs)}
                places.update(new)
                self._keep(encoded, {(rows.gaps, pair): place for pair, place in new.items()})
        return places

    def _compute(
        self, lacking: Mapping[Columns, list[Columns]], rows: Rows
    ) -> Iterator[tuple[list[Pair], Encoded]]:
        """Encodes all conditioning sets together, then targets of sets that lack equally many."""
        sets = sorted(
            (_OfSet(cond, tuple(_by_width(targets))) for cond, targets in lacking.items()),
            key=lambda of_set: of_set.shape,
        )
        conditioning = self._network.encode_conditioning(
            torch.stack([rows.columns(of_set.cond) for of_set in sets])
        )
        first = 0
        for shape, run in groupby(sets, key=lambda of_set: of_set.shape):
            alike = list(run)
            for k, (width, count) in enumerate(shape):
                entries = rows.n * (conditioning.d_z + width * count)
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
    ) -> Iterator[tuple[list[Pair], Encoded]]:
        """Encodes equally many targets of equally many columns for each set."""
        targets = list(zip(*(targets for _, targets in batch), strict=True))
        # A table of many rows goes through a few targets at a time.
        step = max(1, _SLICE * self._batch_entries // (len(batch) * rows.n * len(targets[0][0])))
        for start in range(0, len(targets), step):
            part = list(zip(*targets[start : start + step], strict=True))
            x = torch.stack([torch.stack([rows.columns(c) for c in of_set]) for of_set in part])
            encoded = Encoded.of(self._network.encode_targets(x, conditioning))
            yield (
                [(cond, t) for (cond, _), of_set in zip(batch, part, strict=True) for t in of_set],
                encoded,
            )
            del encoded  # before the next part is encoded

    def _keep(self, encoded: Encoded, places: Mapping[tuple[Columns, Pair], Place]) -> None:
        self._places.update(places)
        self._kept[encoded] = list(places)
        self._bytes += encoded.targets.nbytes
        while self._bytes > self._limit:
            oldest, keys = self._kept.popitem(last=False)
            self._bytes -= oldest.targets.nbytes
            for key in keys:
                del self._places[key]


@dataclass(frozen=True)
class _OfSet:
    """What one conditioning set lacks.

    Attributes:
        cond: the set.
        targets: its targets, by their number of columns.
    """

    cond: Columns
    targets: tuple[list[Columns], ...]

    @property
    def shape(self) -> tuple[tuple[int, int], ...]:
        """How many columns a target of each kind has, and how many there are."""
        return tuple((len(same[0]), len(same)) for same in self.targets)


def _by_width(targets: Iterable[Columns]) -> Iterator[list[Columns]]:
    for _, same in groupby(sorted(targets, key=len), key=len):
        yield list(same)
