"""ACID as a test of causal-learn: `pc(data, 0.05, indep_test=acid)`.

Importing this package registers the test under the name "acid", through causal-learn's own
registry.
"""

from acid_causal.causal_learn.adapter import ACID, acid

__all__ = ["ACID", "acid"]
