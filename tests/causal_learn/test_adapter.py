"""The adapter inside causal-learn, with test doubles in place of the trained model."""

import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, SupportsIndex

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from causallearn.graph.GraphNode import GraphNode
from causallearn.search.ConstraintBased.CDNOD import cdnod
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.search.ConstraintBased.PC import pc
from causallearn.utils.cit import CIT, CIT_Base
from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge
from oracle import CountingTester, FisherZTester, FisherZThroughACID, linear_data, random_dag

from acid_causal import ACID, acid
from acid_causal.errors import CacheError, InputError, InputTypeError, ModelError, OptionError
from acid_causal.tables.inputs import Question
from benchmarks.metrics.endpoints import cpdag_of

QUIET = {"show_progress": False}


def table(seed: int = 0, d: int = 8, n: int = 200, degree: float = 3.0) -> np.ndarray:
    return linear_data(random_dag(d, degree, seed), n, seed)


# ---- graphs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(50))
def test_pc_recovers_the_true_cpdag_from_d_separations(seed: int) -> None:
    dag = random_dag(4 + seed % 6, 2.5, seed)
    data = np.zeros((50, len(dag)))
    found = pc(data, 0.05, "acid-oracle", stable=seed % 3 > 0, dag=dag, **QUIET)
    np.testing.assert_array_equal(found.G.graph, cpdag_of(dag))


def test_fci_finds_the_latent_confounder_from_d_separations() -> None:
    # 0 -> 1 <- (4) -> 2 <- 3, variable 4 hidden: 0 o-> 1 <-> 2 <-o 3.
    dag = nx.DiGraph([(0, 1), (4, 1), (4, 2), (3, 2)])
    graph, _ = fci(np.zeros((50, 4)), "acid-oracle", 0.05, dag=dag, **QUIET)
    edges = {str(edge) for edge in graph.get_graph_edges()}
    assert edges == {"X1 o-> X2", "X2 <-> X3", "X4 o-> X3"}


PC_WAYS = [
    {"stable": False},
    {"uc_rule": 0, "uc_priority": 3},
    {"uc_rule": 1, "uc_priority": 0},
    {"uc_rule": 1, "uc_priority": 4},
    {"uc_rule": 2},
    {"uc_rule": 2, "stable": False, "uc_priority": -1},
    {"max_k": 1},
    {"verbose": True},
    {"node_names": [f"gene {i}" for i in range(8)]},
]


@pytest.mark.parametrize("way", PC_WAYS, ids=str)
def test_pc_equals_causal_learn_s_own_on_the_same_p_values(way: dict[str, Any]) -> None:
    for seed in range(3):
        found = pc(table(seed), 0.05, "acid-fisherz", **QUIET, **way)
        expected = pc(table(seed), 0.05, "mv_fisherz", **QUIET, **way)
        np.testing.assert_array_equal(found.G.graph, expected.G.graph)


def test_background_knowledge() -> None:
    nodes = [GraphNode(f"X{i + 1}") for i in range(8)]
    knowledge = BackgroundKnowledge()
    knowledge.add_forbidden_by_node(nodes[0], nodes[1])
    knowledge.add_forbidden_by_node(nodes[1], nodes[0])
    knowledge.add_required_by_node(nodes[2], nodes[3])
    for stable in (True, False):
        found, expected = (
            pc(table(), 0.05, name, stable, background_knowledge=knowledge, **QUIET)
            for name in ("acid-fisherz", "mv_fisherz")
        )
        np.testing.assert_array_equal(found.G.graph, expected.G.graph)
        assert found.G.graph[0, 1] == 0


def test_show_progress() -> None:
    pc(table(), 0.05, "acid-fisherz", show_progress=True)


def test_fci_equals_causal_learn_s_own_on_the_same_p_values() -> None:
    for seed in range(3):
        data = table(seed, d=9)[:, 2:]
        found, expected = (
            fci(data, name, 0.05, **QUIET)[0] for name in ("acid-fisherz", "mv_fisherz")
        )
        np.testing.assert_array_equal(found.graph, expected.graph)


def test_cdnod() -> None:
    domain = np.repeat([0.0, 1.0], 100)[:, None]
    found, expected = (
        cdnod(table(), domain, 0.05, name, **QUIET) for name in ("acid-fisherz", "mv_fisherz")
    )
    np.testing.assert_array_equal(found.G.graph, expected.G.graph)


@pytest.mark.filterwarnings("ignore:causal-learn's mvpc corrects")
def test_mvpc_with_missing_values() -> None:
    data = table(1, d=6, n=400)
    data[data[:, 0] > 1.0, 3] = np.nan  # column 0 decides whether column 3 is missing
    data[::17, 5] = np.nan
    graphs = []
    for name in ("acid-fisherz", "mv_fisherz"):
        np.random.seed(0)  # noqa: NPY002 - causal-learn's correction draws from the global generator
        graphs.append(pc(data, 0.05, name, mvpc=True, **QUIET).G.graph)
    np.testing.assert_array_equal(*graphs)


# ---- one test ------------------------------------------------------------------------------------


def test_is_a_proper_test_of_causal_learn() -> None:
    test = CIT(table(), "acid-fisherz")
    assert isinstance(test, CIT_Base)
    assert test.method == "acid"
    assert (test.sample_size, test.num_features) == (200, 8)
    assert isinstance(test.data, np.ndarray)


def test_any_spelling_of_a_question_has_one_answer() -> None:
    test = FisherZThroughACID(table(), prefetch=False)
    expected = test(0, 1, (2, 3))
    assert type(expected) is float
    assert 0.0 <= expected <= 1.0
    spellings: list[tuple[SupportsIndex, SupportsIndex, Iterable[SupportsIndex]]] = [
        (1, 0, (2, 3)),
        (0, 1, [3, 2]),
        (0, 1, {2, 3}),
        (0, 1, (2, 3, 2)),
        (np.int64(0), np.int32(1), np.array([3, 2])),
    ]
    assert [test(*spelling) for spelling in spellings] == [expected] * 5
    assert (test.n_asked, test.n_computed) == (6, 1)
    assert test(0, 1) == test(0, 1, None) == test(0, 1, ()) == test(0, 1, (), "skeleton", {})


@pytest.mark.usefixtures("wrong_types")
@pytest.mark.parametrize(
    "question", [(0, 0), (0, 8), (-1, 2), (0, 1, (1,)), (0, 1, (9,)), ((0, 1), 2)], ids=str
)
def test_impossible_questions_are_refused(question: tuple[Any, ...]) -> None:
    test = FisherZThroughACID(table())
    with pytest.raises((InputError, InputTypeError)):
        test(*question)
    assert test.n_computed == 0


def test_data_frame() -> None:
    data = table()
    frame = pd.DataFrame(data, columns=list("abcdefgh"))
    assert FisherZThroughACID(frame)(0, 1, (2,)) == FisherZThroughACID(data)(0, 1, (2,))


SEARCHES: dict[str, Callable[[Any], object]] = {
    "pc": lambda data: pc(data, 0.05, acid, **QUIET),
    "mvpc": lambda data: pc(data, 0.05, acid, mvpc=True, **QUIET),
    "fci": lambda data: fci(data, acid, **QUIET),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_searches_that_are_given_a_frame_say_what_to_give(search: Callable[[Any], object]) -> None:
    """causal-learn itself ends in an AssertionError without a message."""
    frame = pd.DataFrame(table(), columns=list("abcdefgh"))
    with pytest.raises(InputTypeError, match="not DataFrame: data, names ="):
        search(frame)


def test_nan_is_never_returned() -> None:
    class Unsure(CountingTester):
        def pvalue(self, question: Question) -> float:
            return float("nan")

    with pytest.raises(ModelError, match="nan"):
        ACID(table(), tester=Unsure(table()))(0, 1)


def test_a_tester_that_was_made_beforehand() -> None:
    tester = FisherZTester(table())
    test = ACID(table(), tester=tester)
    assert test(0, 1, (2,)) == FisherZTester(table()).pvalue((0, 1, (2,)))
    assert tester.batches == [[(0, 1, (2,))]]
    pc(table(), 0.05, acid, tester=tester, **QUIET)
    assert len(tester.batches) > 1
    with pytest.raises(InputError, match=r"another table, of 200 rows and 8 columns.*\(200, 5\)"):
        ACID(table(d=5), tester=tester)
    with pytest.raises(OptionError, match=r"^device, null: give this to the tester"):
        ACID(table(), tester=tester, null="sized", device="cpu")


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_level_of_the_search_decides_what_is_prefetched(alpha: float) -> None:
    """Of a search that creates the test; nothing needs to be said."""

    def searched(**options: Any) -> Any:
        return pc(table(), alpha, "acid-fisherz", **options, **QUIET).test

    alone: Any = FisherZThroughACID(table())
    test, other = searched(), searched(prefetch_alpha=0.1)
    assert test._prefetch._given_alpha == alpha
    assert test.n_computed <= other.n_computed
    assert other._prefetch._given_alpha == 0.1
    assert alone._prefetch._given_alpha == 0.05


def test_a_tester_for_other_levels_than_that_of_the_search_is_refused() -> None:
    class Draws(FisherZTester):
        least_alpha = 0.02

    assert pc(table(), 0.02, acid, tester=Draws(table()), **QUIET).G.get_num_edges()
    with pytest.raises(OptionError, match=r"for levels from 0.02 on.* alpha=0.01, and"):
        pc(table(), 0.01, acid, tester=Draws(table()), **QUIET)


def test_progress_is_handed_on_and_stays_in_its_process() -> None:
    class Telling(FisherZTester):
        def test_many(self, questions: Any, progress: Any = None) -> Any:
            progress(len(questions))
            return super().test_many(questions)

    told: list[int] = []
    test = ACID(table(), tester=Telling(table()), progress=told.append)
    test(0, 1)
    assert told == [1]
    assert test.__getstate__()["_progress"] is None


@pytest.mark.usefixtures("wrong_types")
def test_unknown_options_are_refused_with_the_closest_names() -> None:
    with pytest.raises(OptionError, match="'prefetch_alpha'"):
        pc(table(), 0.05, "acid-fisherz", prefetch_alfa=0.1, **QUIET)
    with pytest.raises(OptionError, match="Did you mean 'model'"):
        pc(table(), 0.05, acid, modle="acid-base", **QUIET)
    wrong: Any
    for wrong in (0, 1, 2.0, float("nan"), "0.05"):
        with pytest.raises(OptionError, match="prefetch_alpha"):
            FisherZThroughACID(table(), prefetch_alpha=wrong)
    wrong = "no"
    with pytest.raises(OptionError, match="prefetch must"):
        FisherZThroughACID(table(), prefetch=wrong)


# ---- copies, processes, threads ------------------------------------------------------------------


def test_deepcopy_is_the_object_itself() -> None:
    test = FisherZThroughACID(table())
    assert copy.deepcopy(test) is test
    assert copy.deepcopy({"test": test})["test"] is test


def test_name_is_the_string_acid() -> None:
    assert acid == "acid"
    assert hash(acid) == hash("acid")
    assert isinstance(acid, str)
    assert {acid: 1}["acid"] == 1
    assert pickle.loads(pickle.dumps(acid)) is acid
    assert copy.deepcopy(acid) is acid


def test_pickled_test_gives_the_same_p_values(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    test = FisherZThroughACID(table(), cache_path=path)
    expected = test(0, 1, (2,))
    other = pickle.loads(pickle.dumps(test))
    assert other(0, 1, (2,)) == expected
    assert other.n_computed == test.n_computed
    assert other(3, 4) == test(3, 4)
    with pytest.raises(CacheError):
        other.save()  # the file belongs to the one it was copied from


def ask(test: FisherZThroughACID) -> tuple[int, float]:
    return os.getpid(), test(0, 1, (2, 3))


def test_worker_process() -> None:
    test = FisherZThroughACID(table())
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pid, pvalue = pool.apply(ask, (test,))
    assert pid != os.getpid()
    assert pvalue == test(0, 1, (2, 3))


def test_threads_compute_each_question_once() -> None:
    test = FisherZThroughACID(table(), prefetch=False)
    questions = [(i, j, (k,)) for i in range(3) for j in range(3, 5) for k in range(5, 8)] * 20
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda q: test(*q), questions))
    assert test.n_computed == 18
    assert test.n_asked == 360
    plain = FisherZThroughACID(table(), prefetch=False)
    assert answers == [plain(*q) for q in questions]


def test_threads_with_prefetch_get_the_same_graph() -> None:
    test = FisherZThroughACID(table())
    barrier = threading.Barrier(4)

    def search(order: int) -> dict[tuple[int, int], float]:
        barrier.wait()
        rng = np.random.default_rng(order)
        pairs = [(i, j) for i in range(8) for j in range(i)]
        return {(i, j): test(i, j) for i, j in rng.permutation(pairs).tolist()}

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(search, range(4))
    assert all(other == first for other in others)
