"""What `acid-base` was made for: more rows, more truth, in plain relations."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from acid_causal import Tester, ci_test, discover
from acid_causal.errors import AcidWarning
from benchmarks.data.plain_cases import draw_case
from benchmarks.methods import get_method
from benchmarks.methods.method import Question

Array = NDArray[np.float64]
# From a generator, n and the correlation of the noises to a table: X, Y, then Z.
Draw = Callable[[Generator, int, float], Array]


def log10_p(table: Array) -> float:
    return log10_p_of_pairs(*np.split(table, [1, 2], axis=1))[0]


def log10_p_of_pairs(x: Array, y: Array, z: Array) -> list[float]:
    """Tests X and each column of Y given Z; what they share is computed once."""
    d = 1 + y.shape[1]
    cond = tuple(range(d, d + z.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        tester = Tester(np.hstack([x, y, z]), model="acid-base")
        found = tester.test_many([(0, j, cond) for j in range(1, d)])
    return [one.log_pvalue / np.log(10) for one in found]


def p_values(questions: list[Question]) -> Array:
    """Computes the p-values of questions of one shape, which are asked together."""
    in_batches = get_method("acid:acid-base").in_batches
    assert in_batches is not None
    return np.array(in_batches(questions))


def rejections(questions: list[Question]) -> int:
    """Counts rejections at .05 among questions of one shape."""
    return int((p_values(questions) < 0.05).sum())


def noises(rng: Generator, n: int, rho: float) -> tuple[Array, Array]:
    first, other = rng.normal(size=(2, n))
    return first, mixed(first, other, rho)


def mixed(first: Array, other: Array, rho: float) -> Array:
    """Mixes two noises into one that correlates with the first by rho."""
    return rho * first + np.sqrt(1 - rho**2) * other


def sensors(noise: float, d_z: int = 1) -> Draw:
    def draw(rng: Generator, n: int, rho: float) -> Array:
        z = rng.normal(size=(n, d_z))
        thing = z.sum(axis=1) / np.sqrt(d_z)
        e = noises(rng, n, rho)
        return np.column_stack([thing + noise * e[0], thing + noise * e[1], z])

    return draw


def clusters(rng: Generator, n: int, rho: float) -> Array:
    z = rng.choice([-2.2, 2.2], n) + 0.3 * rng.normal(size=n)
    e = noises(rng, n, rho)
    return np.column_stack([z + e[0], z + e[1], z])


def volatility(depth: float) -> Draw:
    def draw(rng: Generator, n: int, rho: float) -> Array:
        z = rng.normal(size=n)
        return np.column_stack([*(np.exp(depth * z) * e for e in noises(rng, n, rho)), z])

    return draw


def zero_inflated(rng: Generator, n: int, rho: float) -> Array:
    z = rng.normal(size=n)
    counts = rng.poisson(np.exp(0.6 * z + 0.7), (2, n)) * (rng.random((2, n)) > 0.3)
    return np.column_stack([*counts, z]).astype(float)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize(
    "draw",
    [sensors(0.1), clusters, volatility(0.5), volatility(1.0), zero_inflated],
    ids=["sensors", "clusters", "volatility", "strong-volatility", "zero-inflated"],
)
def test_independent(draw: Draw, n: int) -> None:
    """At a level of .05 more than 7 of 40 come once in two thousand times."""
    tables = [draw(np.random.default_rng(k), n, 0.0) for k in range(40)]
    assert rejections([(t[:, :1], t[:, 1:2], t[:, 2:]) for t in tables]) <= 7


@pytest.mark.parametrize("n", [50, 500])
def test_without_z_the_level_holds(n: int) -> None:
    """Without Z the statistic depends on ranks alone, so this is the level on all such tables."""
    check_level_of_every_pair(
        Tester(np.random.default_rng(0).normal(size=(n, 29)), model="acid-base")
    )


def check_level_of_every_pair(tester: Tester) -> None:
    """Expects p-values of independent columns, without Z: those of two pairs are independent."""
    questions = [(i, j, ()) for i in range(tester.d) for j in range(i)]
    p = np.array([one.pvalue for one in tester.test_many(questions)])
    for level in (0.05, 0.01):
        low, high = stats.binom.interval(0.998, len(p), level)
        assert low <= (p < level).sum() <= high


def test_hardly_more_rows_than_columns_of_z() -> None:
    noise = np.random.default_rng(0).normal(size=(60, 20, 32))

    def ask(d_z: int) -> list[Question]:
        return [(x[:, :1], x[:, 1:2], x[:, 2 : 2 + d_z]) for x in noise]

    assert rejections(ask(16)) <= 8
    for d_z in (17, 18, 30):
        x, y, z = ask(d_z)[0]
        with pytest.warns(AcidWarning, match=r"20 rows are too few .* leave nothing \(p = 1\)"):
            assert ci_test(x, x + 0.1 * y, z).pvalue == 1


@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize(("levels", "categorical"), [(2, False), (3, False), (3, True), (6, True)])
def test_few_values_keep_the_level(levels: int, categorical: bool, n: int) -> None:
    """Every pair of 35 independent columns, without Z."""
    rng, columns = np.random.default_rng(levels), 35
    table = np.column_stack(
        [rng.choice(levels, n, p=rng.dirichlet(np.full(levels, 5.0))) for _ in range(columns)]
    )
    coded = range(columns) if categorical else ()
    tester = Tester(table.astype(float), model="acid-base", categorical=list(coded))
    check_level_of_every_pair(tester)


@pytest.mark.parametrize(
    ("case", "d_z", "most"),
    [
        ("squares", 4, 0.08),
        ("exponentials", 4, 0.08),
        ("products", 4, 0.19),  # of the rows of `consistency`: with 200 rows it is not mended
        ("jumps", 4, 0.08),
        ("waves", 2, 0.08),
    ],
)
def test_one_function_of_several_causes_in_both(case: str, d_z: int, most: float) -> None:
    independent: list[Question] = [
        draw_case(case, 200, d_z, dependent=False, seed=seed) for seed in range(80)
    ]
    dependent: list[Question] = [
        draw_case(case, 200, d_z, dependent=True, seed=seed) for seed in range(20)
    ]
    assert rejections(independent) <= stats.binom.ppf(0.999, 80, most)
    assert rejections(dependent) >= 19


@pytest.mark.parametrize(
    ("draw", "rho"),
    [(sensors(0.15), 0.9), (sensors(0.2, d_z=3), 0.8)],
    ids=["one-cause", "three-causes"],
)
def test_shared_noise_of_good_sensors_is_seen_the_better_the_more_rows(
    draw: Draw, rho: float
) -> None:
    p = [
        np.median([log10_p(draw(np.random.default_rng(k), n, rho)) for k in range(3)])
        for n in (200, 1000, 4000)
    ]
    assert p[0] < -4
    assert p[1] < -10
    assert p[2] < p[1] < p[0]


def test_a_driver_in_an_autoregression() -> None:
    def draw(n: int, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        e = rng.normal(size=(2, n + 1))
        x, y = np.zeros(n + 1), np.zeros(n + 1)
        for t in range(1, n + 1):
            x[t] = 0.95 * x[t - 1] + e[0, t]
            y[t] = 0.95 * y[t - 1] + 0.5 * x[t - 1] + e[1, t]
        return np.column_stack([x[1:-1], y[2:], y[1:-1], x[:-2]])

    p = [np.median([log10_p(draw(n, k)) for k in range(7)]) for n in (250, 1000)]
    assert p[0] < -3
    assert p[1] < min(p[0], -10)


def test_an_edge_of_which_little_is_left() -> None:
    """T and X given Z and Y: 1.7 % of X is left, all of it linear."""
    rng = np.random.default_rng(0)
    z, t = rng.normal(size=(2, 1000))
    x = 2 * z + 8 * t + rng.normal(size=1000)
    y = 5 * z + 7 * x + rng.normal(size=1000)
    assert log10_p(np.column_stack([t, x, z, y])) < -1.8


@pytest.mark.filterwarnings("ignore:a deterministic relation")
@pytest.mark.parametrize("n", [100, 1000])
def test_a_total_is_independent_given_its_parts(n: int) -> None:
    for seed in range(10):
        first, second, noise = np.random.default_rng(seed).normal(size=(3, n))
        parts = np.column_stack([first, second])
        assert ci_test(first + second, first + noise, parts).pvalue == 1


def test_whole_numbers_with_a_little_noise() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 25, 5000)
    columns = [x, x + rng.integers(-2, 3, 5000), rng.integers(0, 3, 5000)]
    assert log10_p(np.column_stack(columns).astype(float)) < -30


def medians(
    population: Callable[[Generator, int], tuple[Array, Array]], strengths: Sequence[float], n: int
) -> Array:
    """Computes the median log10 p-value of three datasets at each correlation of the noises.

    Args:
        population: from a generator and n to what X and Y have of Z, and Z.
        strengths: the correlations; the datasets share X and Z.
        n: number of rows.
    """
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        signal, z = population(rng, n)
        first, other = rng.normal(size=(2, n))
        x, *y = (signal + e for e in (first, *(mixed(first, other, rho) for rho in strengths)))
        found.append(log10_p_of_pairs(x[:, None], np.column_stack(y), z))
    return np.median(found, axis=0)


def test_strength_and_rows_lower_the_median_p_value() -> None:
    def noisy(rng: Generator, n: int) -> tuple[Array, Array]:
        z = rng.normal(size=(n, 1))
        return z[:, 0], z

    by_strength = medians(noisy, (0.1, 0.3, 0.6, 0.9, 0.97, 0.99), 500)
    assert (np.diff(by_strength) < 0).all()
    by_rows = [medians(noisy, (0.9,), n)[0] for n in (100, 200, 500, 1000, 5000)]
    assert (np.diff(by_rows) < 0).all()
    assert by_rows[-1] < -100


@pytest.mark.parametrize("components", [3, 10])
def test_components_keep_the_level(components: int) -> None:
    questions: list[Question] = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(2, 100, components))
        questions.append((x, y, rng.normal(size=(100, 1))))
    assert rejections(questions) <= 7


def test_order_of_rows_and_columns_and_units_change_nothing() -> None:
    rng = np.random.default_rng(1)
    table = sensors(0.5, d_z=2)(rng, 300, 0.3)
    expected = log10_p(table)
    for factor in (-1.0, 1e6, -3e-7):
        assert log10_p(factor * table + 5.0 * abs(factor)) == pytest.approx(expected, rel=1e-3)
    moved = table[rng.permutation(300)][:, [0, 1, 3, 2]]
    assert log10_p(moved) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("levels", "d_z", "seed"),
    [(2, 2, 14), (3, 3, 38), (4, 2, 50), *((4, 3, seed) for seed in range(6))],
)
def test_order_changes_nothing_where_all_values_are_equally_frequent(
    levels: int, d_z: int, seed: int
) -> None:
    """Such columns can only be told apart by the rows that have their values."""
    rng = np.random.default_rng([seed, levels, d_z])
    x = rng.normal(size=(60, 2 + d_z)) @ rng.normal(size=(2 + d_z, 2 + d_z))
    x = np.floor(levels * x.argsort(axis=0).argsort(axis=0) / 60)
    rows, columns = rng.permutation(60), rng.permutation(2 + d_z)
    places = np.argsort(columns).tolist()
    expected = Tester(x).test(0, 1, range(2, 2 + d_z)).pvalue
    assert Tester(x[rows]).test(0, 1, range(2, 2 + d_z)).pvalue == pytest.approx(expected, 5e-4)
    turned = Tester(x[:, columns]).test(places[0], places[1], places[2:])
    assert turned.pvalue == pytest.approx(expected, 5e-4)


@pytest.mark.parametrize(("levels", "d_z"), [(2, 1), (2, 2), (3, 2), (3, 3), (4, 3)])
def test_names_and_order_change_nothing_where_all_levels_are_equally_frequent(
    levels: int, d_z: int
) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, levels, d_z])
        x = rng.normal(size=(60, 2 + d_z)) @ rng.normal(size=(2 + d_z, 2 + d_z))
        x = np.floor(levels * x.argsort(axis=0).argsort(axis=0) / 60)
        names = np.column_stack([rng.permutation(levels)[column.astype(int)] for column in x.T])
        columns = rng.permutation(2 + d_z)
        places, given = np.argsort(columns).tolist(), range(2, 2 + d_z)
        expected, renamed, reordered = (
            Tester(table.astype(float), categorical=list(range(2 + d_z))).test(i, j, cond).pvalue
            for table, i, j, cond in (
                (x, 0, 1, given),
                (names, 0, 1, given),
                (x[rng.permutation(60)][:, columns], places[0], places[1], places[2:]),
            )
        )
        assert renamed == pytest.approx(expected, 5e-4)
        assert reordered == pytest.approx(expected, 5e-4)


# Populations of one or two causes: what X and Y are of them, and the size of the noise.
_MARGINS: dict[str, Callable[[Generator, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "clusters": lambda rng, n: rng.choice([-2.2, 2.2], n) + 0.3 * rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_t(3, n),
    "skewed": lambda rng, n: rng.exponential(size=n),
}
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "linear, little noise": lambda z: 10 * z,
    "linear": lambda z: z,
    "saturation": lambda z: 2 * np.tanh(z),
    "square": lambda z: z**2,
    "jump": lambda z: np.where(z > 0.5, 2.0, 0.0),
}
_POPULATIONS = [(margin, name) for margin in _MARGINS for name in _FUNCTIONS]


@pytest.mark.parametrize(
    ("margin", "name"),
    [
        pytest.param(*one, marks=() if one[1] == "jump" else pytest.mark.slow)
        for one in _POPULATIONS
    ],
)
def test_median_p_values_fall_in_strength_and_in_rows(margin: str, name: str) -> None:
    def population(rng: Generator, n: int) -> tuple[Array, Array]:
        z = _MARGINS[margin](rng, n)
        return _FUNCTIONS[name](z), z[:, None]

    by_strength = medians(population, (0.1, 0.3, 0.6, 0.9, 0.97, 0.99), 1000)
    assert (np.diff(by_strength) < 0).all()
    by_rows = [medians(population, (0.6,), n)[0] for n in (100, 300, 1000, 5000)]
    assert (np.diff(by_rows) < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.3, 0.9])
@pytest.mark.parametrize("name", list(_FUNCTIONS))
def test_rows_up_to_two_hundred_thousand_lower_the_p_value(name: str, rho: float) -> None:
    p = []
    for n in (5000, 50_000, 200_000):
        rng = np.random.default_rng(0)
        z = rng.normal(size=n)
        columns = (_FUNCTIONS[name](z) + e for e in noises(rng, n, rho))
        p.append(log10_p(np.column_stack([*columns, z])))
    assert (np.diff(p) < 0).all()


@pytest.mark.parametrize(
    "n", [200, 1000, 5000, *(pytest.param(n, marks=pytest.mark.slow) for n in (20_000, 200_000))]
)
def test_pc_finds_a_linear_chain(n: int) -> None:
    rng = np.random.default_rng(n)
    e = rng.normal(size=(3, n))
    x = e[0]
    y = 0.8 * x + 0.6 * e[1]
    w = 0.8 * y + 0.6 * e[2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        found = discover(np.column_stack([x, y, w]), alpha=0.001, model="acid-base")
    assert {frozenset((edge.a, edge.b)) for edge in found.edges} == {
        frozenset(["X1", "X2"]),
        frozenset(["X2", "X3"]),
    }
