# Two commands: `make sachs` recovers the Sachs protein graph, `make test` checks everything.
# Both build what they need in .venv when it is missing; `make sachs` needs less.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --constraint constraints.txt --editable
RUNS   := $(VENV)/.runs
READY  := $(VENV)/.ready

.PHONY: sachs test lint clean

sachs: $(RUNS)
	rm -rf runs/sachs
	@echo "PC with ACID, in a few seconds; then the comparison with its peers, which takes minutes:"
	$(BIN)/python examples/sachs.py
	$(BIN)/python -m benchmarks sachs-graph --methods acid,acid-checked,kci,rcit,fisherz --out runs/sachs

# Two processes of one thread each, and threads that wait sleep, as more of them than cores hold one
# another up. Each process has half of the tests in their order, so that tests of a file share what
# is made for them, and who is done first takes over from the other. Tests start processes, which
# shall not compile the package anew.
test: export OMP_NUM_THREADS = 1
test: export OMP_WAIT_POLICY = passive
test: export PYTHONDONTWRITEBYTECODE =
test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not gpu"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The package, its peers and pictures.
$(RUNS): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) ".[benchmarks]"
	touch $@

# Linters, and all that tests need.
$(READY): $(RUNS)
	$(PIP) ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
