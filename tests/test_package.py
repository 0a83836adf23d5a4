"""What `import acid_causal` gives, and what it does not cost."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acid_causal
from acid_causal import andrey, ci_test, pgmpy, tigramite
from acid_causal.discovery.discovery import discover
from acid_causal.inference.tester import Tester
from acid_causal.tables import inputs
from acid_causal.weights.checkpoint import TrainedModel

# What is loaded in a process of its own after each step, where what is under the GPL, pgmpy and
# tigramite, is not installed.
STEPS = """
import json, sys
sys.modules["tigramite"] = sys.modules["pgmpy"] = None
loaded = {}

def note(step):
    loaded[step] = sorted(sys.modules)

import acid_causal
assert set(acid_causal.__all__) <= set(dir(acid_causal))
assert acid_causal.__version__
note("the package")
import torch
note("torch")
import numpy as np
from acid_causal import ci_test
x, y, z = np.random.default_rng(0).normal(size=(3, 50))
ci_test(x, y, z)
note("an answer")
import acid_causal.training.trainer
note("training")
import importlib, pkgutil
for found in pkgutil.walk_packages(acid_causal.__path__, "acid_causal."):
    if found.name not in {"acid_causal.tigramite", "acid_causal.pgmpy"}:
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
note("every module")
json.dump(loaded, sys.stdout)
"""


# Public names that are texts.
PLAIN = ("__version__", "acid")


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    done = subprocess.run([sys.executable, "-c", STEPS], check=True, capture_output=True, text=True)
    return {step: set(modules) for step, modules in json.loads(done.stdout).items()}


def test_import_is_cheap_and_lazy(loaded: dict[str, set[str]]) -> None:
    heavy = {"torch", "causallearn", "numpy", "pandas", "networkx"}
    assert heavy & loaded["the package"] == set()


def test_an_answer_loads_only_what_it_needs(loaded: dict[str, set[str]]) -> None:
    """Neither torch's compiler nor what searches, reports and fits need; so the first answer
    takes little longer than torch's import."""
    unneeded = {
        *("torch._dynamo", "torch._inductor", "torch.onnx", "sympy"),
        *("scipy.stats", "scipy.optimize"),
        *("causallearn", "pandas", "networkx", "sklearn", "matplotlib", "typer", "rich", "joblib"),
        *("tqdm", "acid_causal.training", "acid_causal.discovery"),
    }
    of_torch = loaded["torch"] - loaded["the package"]
    assert (loaded["an answer"] - of_torch) & unneeded == set()


@pytest.mark.parametrize(
    "public",
    [
        *(getattr(acid_causal, name) for name in acid_causal.__all__ if name not in PLAIN),
        *(adapter.ACID for adapter in (pgmpy, tigramite, andrey)),
    ],
    ids=lambda public: f"{public.__module__}.{public.__name__}",
)
def test_public_docstrings_say_how_it_works_and_where_it_fails(public: Any) -> None:
    text = inspect.getdoc(public) or ""
    assert text.index("\nHow it works: ") < text.index("\nLimitations: ")


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = acid_causal.no_such_name


def test_a_table_is_read_once(
    monkeypatch: pytest.MonkeyPatch, table: np.ndarray, tiny_model: TrainedModel
) -> None:
    read: list[str] = []
    split = inputs._split

    def reading(array: Any, name: str) -> Any:
        read.append(name)
        return split(array, name)

    monkeypatch.setattr(inputs, "_split", reading)
    ci_test(table[:, 0], table[:, 1], table[:, 2:], model=tiny_model)
    assert read == ["x", "y", "z"]
    calls: list[Callable[..., Any]] = [Tester, acid_causal.ACID, pgmpy.ACID, discover]
    for call in calls:
        read.clear()
        call(table, model=tiny_model)
        assert read == ["data"], call


def test_nothing_under_the_gpl_is_needed_nor_causal_learn_for_training(
    loaded: dict[str, set[str]],
) -> None:
    """Every module but the adapters is imported where pgmpy and tigramite are not installed."""
    assert {"causallearn", "pandas"} & loaded["training"] == set()
    assert {"acid_causal.discovery.report.html", "causallearn"} <= loaded["every module"]
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [need for need in project["dependencies"] if "tigramite" in need or "pgmpy" in need]


@pytest.mark.parametrize(
    ("place", "parameters"),
    [
        ("utils.cit.CIT_Base", "data cache_path"),
        ("utils.cit.register_ci_test", "name test_class"),
        ("search.ConstraintBased.FCI.fci", "dataset independence_test_method alpha depth"),
        ("search.ConstraintBased.PC.mvpc_alg", "data indep_test correction_name"),
        ("graph.GraphClass.CausalGraph", "no_of_var node_names"),
        ("graph.Edge.Edge", "node1 node2 end1 end2"),
        ("graph.GraphNode.GraphNode", "name"),
        ("utils.PCUtils.UCSepset.uc_sepset", "cg priority background_knowledge"),
        ("utils.PCUtils.Meek.meek", "cg background_knowledge"),
        (
            "utils.PCUtils.BackgroundKnowledgeOrientUtils.orient_by_background_knowledge",
            "cg background_knowledge",
        ),
    ],
)
def test_causal_learn_still_has_what_we_use_of_it(place: str, parameters: str) -> None:
    module, _, name = place.rpartition(".")
    found = getattr(importlib.import_module(f"causallearn.{module}"), name)
    assert set(parameters.split()) <= set(inspect.signature(found).parameters)


def test_make_sachs_installs_what_its_scripts_import() -> None:
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = project["dependencies"] + project["optional-dependencies"]["benchmarks"]
    modules = {"scikit-learn": "sklearn", "causal-learn": "causallearn"}
    names = {re.match(r"[\w-]+", line)[0] for line in installed}  # type: ignore[index]
    known = {modules.get(name, name) for name in names} | {"acid_causal", "benchmarks"}
    imported = set()
    for path in (*(root / "benchmarks").rglob("*.py"), root / "examples" / "sachs.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    assert imported - sys.stdlib_module_names - known == set()
