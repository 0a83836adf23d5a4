"""What a variable looks like given a conditioning set: computed once, kept within bounds."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

import torch

from acid_causal.inputs import Columns
from acid_causal.model import ACIDModel, TargetEncoding
from acid_causal.rows import Rows

# So many times the entries of a batch may pass through the encoder for one conditioning set: its
# rows go in blocks, and what is kept of a target is all that its memory costs.
_SLICE = 8

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
        for batch in self._batches(lacking, rows.n):
            for pair, encoding in self._compute(batch, rows):
                encoded[pair] = encoding
                self._keep((rows.gaps, pair), encoding)
        return encoded

    def _batches(
        self, lacking: Mapping[Columns, list[Columns]], n: int
    ) -> Iterable[list[tuple[Columns, list[Columns]]]]:
        """Groups sets that lack equally many targets of equally many columns."""
        alike: dict[tuple[int, int], list[tuple[Columns, list[Columns]]]] = defaultdict(list)
        for cond, targets in lacking.items():
            by_width: dict[int, list[Columns]] = defaultdict(list)
            for target in targets:
                by_width[len(target)].append(target)
            for width, same in by_width.items():
                alike[width, len(same)].append((cond, same))
        for (width, count), sets in alike.items():
            entries = n * (len(sets[0][0]) + width * count)
            step = max(1, self._batch_entries // entries)
            for start in range(0, len(sets), step):
                yield sets[start : start + step]

    def _compute(
        self, batch: Sequence[tuple[Columns, list[Columns]]], rows: Rows
    ) -> Iterable[tuple[Pair, TargetEncoding]]:
        z = torch.stack([rows.columns(cond) for cond, _ in batch])
        conditioning = self._network.encode_conditioning(z)
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


def concatenate(encodings: Sequence[TargetEncoding]) -> TargetEncoding:
    """Joins encodings of targets of equally many columns, given sets of one size."""
    if len(encodings) == 1:
        return encodings[0]
    parts = [field.name for field in fields(TargetEncoding) if field.name != "d_z"]
    return TargetEncoding(
        **{part: torch.cat([getattr(e, part) for e in encodings]) for part in parts},
        d_z=encodings[0].d_z,
    )
