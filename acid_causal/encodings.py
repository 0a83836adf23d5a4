"""What a variable looks like given a conditioning set: computed once, kept within bounds."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch

from acid_causal.inputs import Columns
from acid_causal.model import ACIDModel, Conditioning, TargetEncoding
from acid_causal.rows import Rows

# So many times the entries of a batch may pass through the encoder for one conditioning set: its
# rows go in blocks, and what is kept of a target is all that its memory costs.
_SLICE = 16

# A conditioning set and a target, both as columns.
Pair = tuple[Columns, Columns]


class Encodings:
    """Encodes targets given conditioning sets, and keeps the latest up to a number of bytes.

    Args:
        network: the network, on the device of the rows.
        cache_bytes: bound on what is kept.
        batch_entries: scalars of data encoded at once.
    """

    def __init__(self, network: ACIDModel, cache_bytes: int, batch_entries: int) -> None:
        self._network, self._batch_entries = network, batch_entries
        self._limit, self._bytes = cache_bytes, 0
        self._kept: OrderedDict[tuple[Columns, Pair], TargetEncoding] = OrderedDict()

    @property
    def kept_bytes(self) -> int:
        """Bytes of the encodings kept now."""
        return self._bytes

    def encode(self, wanted: Iterable[Pair], rows: Rows) -> Mapping[Pair, TargetEncoding]:
        """Looks up or computes the encodings of targets given conditioning sets of one size."""
        encoded: dict[Pair, TargetEncoding] = {}
        lacking: dict[Columns, list[Columns]] = defaultdict(list)
        for pair in dict.fromkeys(wanted):
            found = self._kept.get((rows.gaps, pair))
            if found is None:
                lacking[pair[0]].append(pair[1])
            else:
                self._kept.move_to_end((rows.gaps, pair))
                encoded[pair] = found
        if lacking:
            for pair, encoding in self._compute(lacking, rows):
                encoded[pair] = encoding
                self._keep((rows.gaps, pair), encoding)
        return encoded

    def _compute(
        self, lacking: Mapping[Columns, list[Columns]], rows: Rows
    ) -> Iterator[tuple[Pair, TargetEncoding]]:
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
    ) -> Iterator[tuple[Pair, TargetEncoding]]:
        """Encodes equally many targets of equally many columns for each set."""
        targets = list(zip(*(targets for _, targets in batch), strict=True))
        # A table of many rows goes through a few targets at a time.
        step = max(1, _SLICE * self._batch_entries // (len(batch) * rows.n * len(targets[0][0])))
        for start in range(0, len(targets), step):
            part = targets[start : start + step]
            x = torch.stack(
                [
                    torch.stack([rows.columns(c) for c in of_set])
                    for of_set in zip(*part, strict=True)
                ]
            )
            encoding = self._network.encode_targets(x, conditioning)
            pairs = [
                (cond, t)
                for (cond, _), of_set in zip(batch, zip(*part, strict=True), strict=True)
                for t in of_set
            ]
            if len(pairs) == 1:
                yield pairs[0], encoding
            else:
                for k, pair in enumerate(pairs):
                    # Indexing by a tensor copies, so that dropping one later frees its memory.
                    yield pair, encoding[torch.tensor([k], device=x.device)]
            del encoding  # before the next part is encoded

    def _keep(self, key: tuple[Columns, Pair], encoding: TargetEncoding) -> None:
        self._kept[key] = encoding
        self._bytes += encoding.nbytes
        while self._bytes > self._limit:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes


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
