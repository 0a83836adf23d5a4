"""Questions for tests of methods."""

import numpy as np

from benchmarks.methods import Question


def question(*, effect: float, d_z: int = 2, n: int = 150) -> Question:
    """Draws X and Y of common causes Z; Y depends on X, too, by `effect`."""
    generator = np.random.default_rng(3)
    z = generator.normal(size=(n, d_z))
    cause = z.sum(axis=1, keepdims=True)
    x = cause + generator.normal(size=(n, 1))
    y = cause + 0.7 * generator.normal(size=(n, 1)) + effect * x
    return x, y, z if d_z else None
