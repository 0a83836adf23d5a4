# Two commands: `make sachs` recovers the Sachs protein graph, `make test` checks everything.
# Both build their own environment in .venv when it is missing.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: sachs test lint clean

sachs: $(READY)
	rm -rf runs/sachs
	$(BIN)/python -m benchmarks sachs-graph --out runs/sachs

test: lint
	$(BIN)/python -m pytest -m "not slow and not gpu"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
