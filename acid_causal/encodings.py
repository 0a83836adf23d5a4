"""What a variable looks like given a conditioning set: computed once, kept within bounds."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.inputs import MIN_SAMPLES, Columns
from acid_causal.model import ACIDModel, TargetEncoding

# A conditioning set and a target, both as columns.
Pair = tuple[Columns, Columns]


class Rows:
    """The rows that some tests share.

    Attributes:
        gaps: the columns whose missing values decided the rows.
        n: number of rows.
        constant: which columns have a single value there.
        transformed: all columns as the network reads them, (n, d).
    """

    def __init__(
        self,
        values: Float[NDArray[np.float64], "n d"],
        gaps: Columns,
        network: ACIDModel,
        device: torch.device,
    ) -> None:
        self.gaps, self.n = gaps, len(values)
        if self.n < MIN_SAMPLES:
            return
        # fmax and fmin pass over the NaN of columns that these tests do not read.
        self.constant = np.fmax.reduce(values, axis=0) == np.fmin.reduce(values, axis=0)
        self.transformed = network.transform(torch.from_numpy(values)[None])[0].float().to(device)


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

    def clear(self) -> None:
        """Forgets everything."""
        self._kept.clear()
        self._bytes = 0

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
        columns = rows.transformed
        z = torch.stack([columns[:, list(cond)] for cond, _ in batch])
        x = torch.stack(
            [torch.stack([columns[:, list(target)] for target in targets]) for _, targets in batch]
        )
        encoding = self._network.encode_targets(x, self._network.encode_conditioning(z))
        pairs = [(cond, target) for cond, targets in batch for target in targets]
        for k, pair in enumerate(pairs):
            # Indexing by a tensor copies, so that dropping one later frees its memory.
            yield pair, encoding[torch.tensor([k], device=columns.device)]

    def _keep(self, key: tuple[Columns, Pair], encoding: TargetEncoding) -> None:
        self._kept[key] = encoding
        self._bytes += encoding.nbytes
        while self._bytes > self._limit:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes


def concatenate(encodings: Sequence[TargetEncoding]) -> TargetEncoding:
    """Joins encodings of targets of equally many columns."""
    return TargetEncoding(
        torch.cat([e.features for e in encodings]),
        torch.cat([e.spread for e in encodings]),
        torch.cat([e.explained for e in encodings]),
        encodings[0].d_z,
    )
