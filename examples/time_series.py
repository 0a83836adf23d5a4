"""A time series: PCMCI of tigramite with ACID as its test.

Needs pip install '.[tigramite]'.
"""

import numpy as np
from tigramite.data_processing import DataFrame
from tigramite.pcmci import PCMCI

from acid_causal.tigramite import ACID

# Wind drives waves one step later, and waves move sand one step after that; no relation is linear.
rng = np.random.default_rng(0)
wind, waves, sand = rng.normal(size=(3, 400))
waves[1:] += 1.5 * wind[:-1] ** 2
sand[1:] += np.sin(waves[:-1])
names = ["wind", "waves", "sand"]

data = DataFrame(np.column_stack([wind, waves, sand]), var_names=names)
found = PCMCI(data, ACID(), verbosity=0).run_pcmci(tau_max=2, pc_alpha=0.05, alpha_level=0.01)

arrows = [
    f"{names[cause]} -> {names[effect]} after {lag}"
    for cause, effect, lag in np.argwhere(found["graph"] == "-->")
]
print(*arrows, sep="\n")
