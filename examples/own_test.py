"""Your own test beside ACID, in the same search on the same table.

causal-learn finds a test by the name under which it was registered.
"""

import networkx as nx
import numpy as np
from causallearn.search.ConstraintBased.PC import pc
from causallearn.utils.cit import CIT_Base, register_ci_test
from scipy import stats

from acid_causal import acid


class RankCorrelation(CIT_Base):
    """Partial correlation of the ranks."""

    def __init__(self, data, **kwargs):
        super().__init__(data, **kwargs)
        self.method = "rank-correlation"
        self.correlation = stats.spearmanr(data).statistic

    def __call__(self, X, Y, condition_set=None):
        """Returns the p-value of columns X and Y given the columns of the set."""
        columns = [X, Y, *(condition_set or ())]
        precision = np.linalg.inv(self.correlation[np.ix_(columns, columns)])
        r = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
        z = np.arctanh(r) * np.sqrt(len(self.data) - len(columns) - 1)
        return 2 * stats.norm.sf(abs(z))


register_ci_test("rank-correlation", RankCorrelation)

# a -> b -> c and d -> c; the relation of b and c is not monotone.
rng = np.random.default_rng(0)
a, d, *noise = rng.normal(size=(4, 400))
b = a + 0.5 * noise[0]
c = b**2 + d + 0.5 * noise[1]
data = np.column_stack([a, b, c, d])
truth = nx.Graph([(0, 1), (1, 2), (2, 3)])

for test in ("rank-correlation", acid):
    found = pc(data, 0.05, indep_test=test, show_progress=False)
    skeleton = nx.from_numpy_array(found.G.graph != 0)
    right = len(nx.intersection(skeleton, truth).edges)
    extra = len(skeleton.edges) - right
    print(f"{test}: {right} of {len(truth.edges)} edges, and {extra} that are not there")
