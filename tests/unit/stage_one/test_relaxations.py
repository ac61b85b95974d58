"""The bounds of the adjustment hold what they must, and nothing is divided by zero."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from kernimpute.stage_one import relaxations
from kernimpute.stage_one.problem import ReferenceMachine
from tests.unit.stage_one.conftest import small_rows

KERNELS = [Gaussian(2.0), Laplacian(1.5), Linear(), Polynomial(), Sigmoid(), Chi2()]


def completions(rows, n_completions=100, seed=1):
    generator = np.random.default_rng(seed)
    for _ in range(n_completions):
        yield np.where(rows.observed, rows.X, generator.random(rows.X.shape))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("relax", [relaxations.ratio, relaxations.printed])
def test_the_adjustment_of_every_completion_is_within_the_bounds(kernel, relax):
    rows = small_rows(kernel=kernel)
    relaxation = relax(rows.X, rows.observed, kernel, None)
    for X in completions(rows):
        adjustment = kernel(X, X) / relaxation.base
        assert (adjustment >= relaxation.lower - 1e-12).all()
        assert (adjustment <= relaxation.upper + 1e-12).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_kernel_of_every_completion_is_within_the_bounds_of_the_kernel_itself(kernel):
    rows = small_rows(kernel=kernel)
    relaxation = relaxations.kernel_itself(
        rows.X, rows.observed, kernel, ReferenceMachine(rows, None)
    )
    raised = relaxation.ridge * np.eye(rows.X.shape[0])
    for X in completions(rows):
        K = kernel(X, X) + raised
        assert (K >= relaxation.lower - 1e-12).all()
        assert (K <= relaxation.upper + 1e-12).all()
    assert (relaxation.anchor >= relaxation.lower).all()
    assert (relaxation.anchor <= relaxation.upper).all()


def test_only_a_kernel_that_is_not_psd_gets_a_ridge():
    for kernel in KERNELS:
        rows = small_rows(kernel=kernel, n_samples=20)
        relaxation = relaxations.kernel_itself(
            rows.X, rows.observed, kernel, ReferenceMachine(rows, None)
        )
        assert np.linalg.eigvalsh(relaxation.anchor)[0] >= -1e-10
        if kernel.is_positive_semidefinite:
            assert relaxation.ridge == 0.0


def test_the_exact_diagonal_of_a_distance_is_one_and_the_printed_one_is_not():
    rows = small_rows()
    exact = relaxations.ratio(rows.X, rows.observed, rows.kernel, None)
    printed = relaxations.printed(rows.X, rows.observed, rows.kernel, None)
    gaps = (~rows.observed).sum(axis=1)
    np.testing.assert_array_equal(np.diag(exact.lower), 1.0)
    np.testing.assert_allclose(np.diag(printed.lower), np.exp(-gaps), rtol=1e-15)
    off_diagonal = ~np.eye(len(gaps), dtype=bool)
    np.testing.assert_array_equal(exact.lower[off_diagonal], printed.lower[off_diagonal])


def test_the_ratio_does_not_underflow_where_the_observed_kernel_does():
    X = np.array([[0.0] * 35 + [np.nan], [1.0] * 35 + [np.nan]])
    relaxation = relaxations.ratio(X, ~np.isnan(X), Gaussian(gamma=32.0), None)
    assert relaxation.base[0, 1] == 0.0
    assert relaxation.lower[0, 1] == pytest.approx(np.exp(-32.0))


def test_a_vanishing_observed_kernel_is_refused_with_its_pair():
    X = np.array([[0.5, np.nan], [np.nan, 0.5]])
    with pytest.raises(ValueError, match=r"Linear\(.*gives 0 for rows 0 and 1"):
        relaxations.ratio(X, ~np.isnan(X), Linear(offset=0.0), None)


def test_the_released_bounds_know_masks_only():
    rows = small_rows()
    relaxation = relaxations.union_of_masks(rows.X, rows.observed, rows.kernel, None)
    in_either = (rows.observed[:, None, :] | rows.observed[None, :, :]).sum(axis=2)
    np.testing.assert_allclose(relaxation.lower, np.exp(-1.0 * in_either), rtol=1e-14)
    np.testing.assert_array_equal(relaxation.upper, 1.0)
    with pytest.raises(ValueError, match="gaussian or laplacian, without categorical"):
        relaxations.union_of_masks(rows.X, rows.observed, Linear(), None)
