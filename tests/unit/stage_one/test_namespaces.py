"""The steps of every variant compute on arrays of any namespace, and to the same numbers."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
import torch

from kernimpute import impute, learn_kernel
from kernimpute.core.arrays import to_numpy
from kernimpute.kernels import Gaussian
from kernimpute.stage_one import VARIANTS
from kernimpute.stage_one.assessments import Progress
from tests.namespaces import CONVERT
from tests.unit.stage_one.conftest import problem_of, small_rows


def one_round(problem, variant):
    """Return the state and the assessment after the steps of one round."""
    record = VARIANTS[variant]
    before = state = replace(record.start(problem), iteration=1)
    move = record.kernel_step(problem, state)
    state = replace(state, adjustment=move.value, kernel_moments=move.moments)
    move = record.perturbation_step(problem, state)
    state = replace(state, perturbation=move.value, perturbation_moments=move.moments)
    move = record.dual_step(problem, state)
    state = replace(state, dual_coef=move.value, dual_moments=move.moments)
    progress = Progress.between(before, state, record.objective(problem, state), np.nan)
    return state, record.assess(problem, state, progress, np.inf, None)


@pytest.mark.parametrize("n_complete", [0, 2])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("library", CONVERT)
def test_a_round_is_numpys_round(library, variant, n_complete):
    rows = small_rows(14, missing_rate=0.5, n_complete=n_complete, labels=np.arange(14) % 3)
    problem = problem_of(rows, variant, eta=0.5)
    state, assessment = one_round(problem, variant)
    elsewhere, assessed = one_round(problem.converted(CONVERT[library]), variant)
    library_type = type(CONVERT[library](np.zeros(1)))
    for field in fields(state)[:3]:
        found = getattr(elsewhere, field.name)
        assert isinstance(found, library_type), field.name
        expected = getattr(state, field.name)
        np.testing.assert_allclose(to_numpy(found), expected, atol=1e-10, err_msg=field.name)
    assert assessed.objective == pytest.approx(assessment.objective, rel=1e-10)
    assert assessed.watched == pytest.approx(assessment.watched, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_on_torchs_cpu_is_numpys_run(variant):
    rows = small_rows(16, missing_rate=0.5)
    y = rows.dual.targets[:, 0]
    options = {"kernel": Gaussian(0.5), "variant": variant, "max_iter": 12}
    plain = learn_kernel(rows.X, y, **options)
    learned = learn_kernel(rows.X, y, device="cpu", **options)
    assert learned.status is plain.status
    assert learned.n_iter == plain.n_iter
    for field in ("K", "target", "dual_coef"):
        found = getattr(learned, field)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, getattr(plain, field), atol=1e-8, err_msg=field)
    assert learned.intercept == pytest.approx(plain.intercept, abs=1e-8)
    np.testing.assert_allclose(learned.gap, plain.gap, atol=1e-8)


def test_a_real_table_on_torchs_cpu_is_numpys(data_dir):
    table = pd.read_csv(data_dir / "australian.csv").iloc[:90]
    X = table.iloc[:, :-1].to_numpy(float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = np.nan
    y = table["target"].to_numpy()
    plain = learn_kernel(X, y, kernel="gaussian")
    learned = learn_kernel(X, y, kernel="gaussian", device="cpu")
    assert (learned.status, learned.n_iter) == (plain.status, plain.n_iter)
    np.testing.assert_allclose(learned.K, plain.K, atol=1e-9)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA here")
def test_a_run_on_a_gpu_is_numpys_run():
    rows = small_rows(40, missing_rate=0.5)
    y = rows.dual.targets[:, 0]
    plain = learn_kernel(rows.X, y, kernel=Gaussian(0.5), tol=1e-5)
    learned = learn_kernel(rows.X, y, kernel=Gaussian(0.5), tol=1e-5, device="cuda")
    assert learned.status is plain.status
    np.testing.assert_allclose(learned.K, plain.K, atol=1e-4)


def test_impute_takes_a_device_and_direct_refuses_it():
    rows = small_rows(12)
    y = rows.dual.targets[:, 0]
    plain = impute(rows.X, y, variant="anchored", kernel=Gaussian(1.0))
    filled = impute(rows.X, y, variant="anchored", kernel=Gaussian(1.0), device="cpu")
    np.testing.assert_allclose(filled.X, plain.X, atol=1e-6)
    with pytest.raises(ValueError, match="'device' parameter of impute must be None for variant"):
        impute(rows.X, y, device="cpu")
    with pytest.raises(ValueError, match="'device' parameter of impute must be the name of a dev"):
        impute(rows.X, y, variant="anchored", device="abacus")
