"""The reference: targets like those of the fit lie within its bound, others beyond."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from acid_causal.calibration.reference import Reference, summarise
from acid_causal.model import TargetEncoding


def draw(m: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Numbers that move with what is known of a target, correlated and of unequal spread."""
    n = np.exp(rng.uniform(np.log(20), np.log(1000), m))
    d_z = rng.integers(0, 8, m).astype(float)
    explained = rng.uniform(0, 0.9, m)
    noise = rng.normal(size=(m, 3)) @ np.array([[1.0, 0.9, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.1]])
    moved = np.stack([np.log(n), -np.log1p(d_z), np.log1p(-explained)], axis=1)
    return moved + noise, n, d_z, explained


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference.fit(*draw(20_000, np.random.default_rng(0)))


def test_one_in_a_thousand_lies_beyond_the_bound(reference: Reference) -> None:
    numbers, n, d_z, explained = draw(20_000, np.random.default_rng(1))
    beyond = reference.distance(numbers, n, d_z, explained) > 1
    for part in (n < 60, n > 400, d_z == 0, explained > 0.7, np.ones_like(n, dtype=bool)):
        assert beyond[part].mean() < 0.004
    assert beyond.mean() > 0.0002


def test_what_is_unlike_is_far(reference: Reference) -> None:
    numbers, n, d_z, explained = draw(100, np.random.default_rng(2))
    for away in ([6, 0, 0], [0, 2, 0], [0, 0, 0.8], [0, 0, -0.8]):
        assert (reference.distance(numbers + away, n, d_z, explained) > 1).mean() > 0.95
    # The second number goes along with the first, and so less is odd about both than about one.
    step = np.array([2, 1.8, 0])
    along = reference.distance(numbers + step, n, d_z, explained)
    against = reference.distance(numbers + step * [1, -1, 1], n, d_z, explained)
    assert np.median(along) < 0.3 * np.median(against)


def test_beyond_its_sizes_the_nearest_is_taken(reference: Reference) -> None:
    numbers = np.array([[np.log(1000), 0.0, 0.0]])
    explained = np.zeros(1)
    edge = reference.distance(numbers, np.exp(reference.high[:1]), np.zeros(1), explained)
    far = reference.distance(numbers, np.array([1e7]), np.zeros(1), explained)
    np.testing.assert_allclose(far, edge)


def test_a_number_that_never_varied_does_not_blow_up() -> None:
    rng = np.random.default_rng(3)
    numbers, n, d_z, explained = draw(3000, rng)
    flat = np.hstack([numbers, np.zeros((3000, 1))])
    fitted = Reference.fit(flat, n, d_z, explained)
    assert np.isfinite(fitted.distance(flat + 1e-6, n, d_z, explained)).all()
    assert (fitted.distance(flat + 1e-6, n, d_z, explained) > 1).mean() < 0.01


def test_survives_its_header(reference: Reference) -> None:
    again = Reference.from_dict(reference.to_dict())
    numbers, n, d_z, explained = draw(500, np.random.default_rng(4))
    np.testing.assert_allclose(
        again.distance(numbers, n, d_z, explained),
        reference.distance(numbers, n, d_z, explained),
        rtol=0.02,
    )
    assert Reference.from_dict(again.to_dict()).to_dict() == again.to_dict()


def test_a_broken_header_is_refused(reference: Reference) -> None:
    whole = reference.to_dict()
    for broken, message in (
        ({"usual": [[1.0]]}, "shape"),
        ({"whitening": whole["whitening"][0]}, "shape"),
        ({"bounds": []}, "shape"),
        ({"high": [np.inf, 1.0]}, "not finite"),
        ({"bounds": [0.0 for _ in whole["bounds"]]}, "bounds"),
        ({"sizes": whole["sizes"][::-1]}, "bounds"),
    ):
        with pytest.raises(ValueError, match=message):
            Reference.from_dict(whole | broken)
    with pytest.raises(KeyError):
        Reference.from_dict({})


def test_summary_of_an_encoding_by_hand() -> None:
    norms = torch.zeros(2, 1, 2, 4)
    norms[0, 0, 0] = 4.0  # all rows share alike
    norms[0, 0, 1, 0] = 16.0  # one row has it all
    norms[1] = 9 * norms[0]
    encoding = TargetEncoding(
        features=torch.zeros(2, 1, 2, 3, 4),
        norms=norms,
        spread=torch.ones(2, 1, 2),
        residuals=torch.zeros(2, 1, 0, 4),
        explained=torch.zeros(2, 1),
        nonlinear=torch.zeros(2, 1),
        determined=torch.zeros(2, 1, dtype=torch.bool),
        ties=torch.zeros(2, 1),
        d_z=0,
    )
    size, unevenness = np.split(np.exp(summarise(encoding)), 2, axis=1)
    np.testing.assert_allclose(size, [[4.0, 4.0], [36.0, 36.0]], rtol=1e-5)
    np.testing.assert_allclose(unevenness, [[1.0, 4.0], [1.0, 4.0]], rtol=1e-5)
    moved = replace(encoding, norms=norms[..., torch.tensor([2, 0, 3, 1])])
    np.testing.assert_allclose(summarise(moved), summarise(encoding), rtol=1e-5)
