"""Each module of the package has its tests where one looks for them."""

from pathlib import Path

PACKAGE, TESTS = Path(__file__).parents[1] / "acid_causal", Path(__file__).parent

# Modules without a test file of their own, and the file that tests them through what they serve.
TESTED_IN = {
    "calibration/null_regression.py": "calibration/test_null.py",
    "calibration/scoring.py": "calibration/test_fitting.py",
    "cli/ask.py": "cli/test_cli.py",
    "cli/calibrate.py": "cli/test_cli.py",
    "cli/models.py": "cli/test_cli.py",
    "cli/output.py": "cli/test_cli.py",
    "discovery/evidence.py": "discovery/test_discovery.py",
    "discovery/provenance.py": "discovery/test_discovery.py",
    "discovery/search/meeks_rules.py": "discovery/search/test_orientation.py",
    "discovery/tetrad.py": "discovery/test_knowledge.py",
    "inference/batching.py": "inference/test_tester.py",
    "inference/encoding_cache.py": "inference/test_tester.py",
    "inference/engine.py": "inference/test_tester.py",
    "inference/nulls/interface.py": "inference/nulls/test_factory.py",
    "model/attention.py": "model/test_heads.py",
    "model/config.py": "weights/test_recipe.py",
    "model/encoder.py": "model/test_acid.py",
    "options/choices.py": "cli/test_options.py",
    "options/defaults.py": "cli/test_cli.py",
    "synthetic/draws.py": "synthetic/test_stream.py",
    "synthetic/mechanisms.py": "synthetic/test_stream.py",
    "synthetic/noise.py": "synthetic/test_stream.py",
    "synthetic/sem.py": "synthetic/test_stream.py",
    "training/processes.py": "training/test_trainer.py",
    "training/redrawing.py": "training/test_table_questions.py",
    "weights/shipped.py": "weights/test_checkpoint.py",
}


def test_every_module_has_its_tests() -> None:
    modules = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if not path.name.startswith("__")
    }
    own = {
        name for name in modules if (TESTS / name).with_name(f"test_{Path(name).name}").is_file()
    }
    assert modules - own == set(TESTED_IN)
    for place in TESTED_IN.values():
        assert (TESTS / place).is_file(), place


def test_no_folder_holds_more_than_a_dozen_modules() -> None:
    """All but `tests` itself, where the tests of the repository stand beside those of modules."""
    roots = PACKAGE, PACKAGE.parent / "benchmarks"
    folders = [*roots, *(path for root in (*roots, TESTS) for path in root.rglob("*"))]
    assert {str(folder) for folder in folders if len(list(folder.glob("*.py"))) > 12} == set()
