"""The permutation null: Y is permuted among rows of the user's table with similar Z.

If Z is discrete or empty, such a permutation test is exact. Otherwise its error vanishes as the
cells shrink (Kim, Neykov, Balakrishnan, Wasserman 2022, Local permutation tests for conditional
independence). The permuted copies of Y are further targets given the same conditioning set, so Z is
encoded once for all of them.
"""

from itertools import groupby

import numpy as np
import torch
from jaxtyping import Float

from acid_causal.errors import whole_number
from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import EncodedQuestions, Place, encode_conditioning
from acid_causal.inference.nulls.interface import Array, PValues
from acid_causal.inference.nulls.neighbourhoods import neighbourhoods, permutations
from acid_causal.inference.nulls.sequential import fewest_draws
from acid_causal.inference.rows.hashes import read_content
from acid_causal.inference.rows.rows import Rows
from acid_causal.model import ACIDModel, Conditioning

# With fewer permutations no p-value could be as small as .05.
FEWEST = 19
# Relative tolerance: statistics that differ by less count as equal. Discrete data have many ties.
_ROUNDING = 1e-4


class PermutationNull:
    """Draws statistics under H0 and counts how many reach the one observed.

    Args:
        network: the network, on the device of the rows.
        draws: permutations for each question, B.
        alpha: level at which one decides.
        batch_entries: scalars of permuted copies encoded at once; bounds memory.

    Raises:
        OptionError: draws is not an integer of at least 19, or too small for a p-value of alpha.
    """

    at_one_level = False
    beyond_training = "its power there is unknown"
    needs_predictions = False

    def __init__(self, network: ACIDModel, draws: int, alpha: float, batch_entries: int) -> None:
        fewest = max(FEWEST, fewest_draws(alpha))
        self._draws = whole_number("permutations", draws, fewest, f" at alpha = {alpha:g}")
        self._network, self._batch_entries = network, batch_entries

    @property
    def options(self) -> dict[str, int]:
        """The number of permutations."""
        return {"permutations": self._draws}

    @property
    def least_alpha(self) -> float:
        """The smallest p-value."""
        return 1 / (1 + self._draws)

    @property
    def cost(self) -> int:
        """The number of permutations: each takes about as long as a question."""
        return self._draws

    def pvalues(self, questions: EncodedQuestions, statistic: Float[Array, " m"]) -> PValues:
        """Computes p-values: (1 + number of draws that reach the statistic) / (1 + B).

        Args:
            questions: m questions with their encoded variables.
            statistic: their logits.
        """
        tasks, pairs, rows = questions.tasks, questions.pairs, questions.rows
        reached = np.zeros(len(tasks))
        order = sorted(range(len(tasks)), key=lambda k: tasks[k].cond)
        for cond, same in groupby(order, key=lambda k: tasks[k].cond):
            conditioning = encode_conditioning(self._network, [cond], rows)
            for k in same:
                least = statistic[k] - _ROUNDING * max(1.0, abs(statistic[k]))
                reached[k] = self._count(tasks[k], pairs[k], least, conditioning, rows)
        # Not exp(log p): 1 / 20 must not be rounded to slightly above .05.
        p = (1 + reached) / (1 + self._draws)
        draws = np.full(len(p), self._draws)
        return PValues(p, np.log(p), draws, ["permutation"] * len(p))

    def _count(
        self,
        task: Task,
        pair: tuple[Place, Place],
        least: float,
        conditioning: Conditioning,
        rows: Rows,
    ) -> int:
        """Counts the draws whose statistic is at least `least`."""
        content = read_content(*(rows.ranks(part) for part in (task.x, task.y, task.cond)))
        x, y = pair
        stays, moves = (y, task.x) if content.swapped else (x, task.y)
        values = rows.columns(moves)
        cells = neighbourhoods(content.z, np.hstack([content.x, content.y]))
        step = max(1, self._batch_entries // values.numel())
        reached = 0
        for start in range(0, self._draws, step):
            indices = range(start, min(start + step, self._draws))
            taken = torch.from_numpy(permutations(content.keys, cells, indices))
            copies = values[taken.to(values.device)]  # (draws, n, d)
            moved = self._network.encode_targets(
                copies[None], conditioning, categories=rows.is_category(moves)
            )
            logits = self._network.score_grid(stays.encoding, moved, 1, len(indices))
            reached += int((logits.double() >= least).sum())
        return reached
