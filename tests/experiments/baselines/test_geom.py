"""GEOM: an ordinary machine on complete rows, optimal rounds, restricted norms by their sum."""

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments.baselines import geom
from experiments.baselines.geom import GEOMKernels, fit_geom, solve_rounds, with_margins
from kernimpute.core.dual import make_dual


def gappy(seed, n_rows=60, n_features=5, share=0.5):
    generator = np.random.default_rng(seed)
    X = generator.random((n_rows, n_features))
    y = (X[:, 0] + X[:, 1] + 0.2 * generator.normal(size=n_rows) > 1.0).astype(int)
    X[generator.random(X.shape) < share] = np.nan
    return X, y


def kernel_on(X, Z, features, gamma):
    """Return the Gaussian kernel of two rows on those of some features that both show."""
    terms = [(X[p] - Z[p]) ** 2 for p in features if not np.isnan(X[p] + Z[p])]
    return np.exp(-gamma * sum(terms))


@pytest.mark.parametrize("C", [0.5, 8.0])
def test_complete_rows_make_it_the_ordinary_machine(C):
    X, y = gappy(0, share=0.0)
    new = np.nan_to_num(gappy(1)[0])
    expected = SVC(C=C, gamma=2.0, tol=1e-8).fit(X, y).decision_function(new)
    for values in fit_geom(GEOMKernels(X, 2.0), y, C)(new):
        assert np.allclose(values, expected, atol=1e-5)


def test_margins_are_the_restricted_norms_by_their_sum(monkeypatch):
    gamma = 2.0
    kernels = GEOMKernels(gappy(4, 12)[0], gamma)
    X = kernels.X
    coef = np.random.default_rng(5).normal(size=(len(X), 2))
    found = kernels.margins(coef)
    for column, margins in zip(coef.T, found.T, strict=True):
        whole = column @ kernels.K @ column
        assert whole > 0.0
        for k, row in enumerate(X):
            features = np.flatnonzero(~np.isnan(row))
            K = np.array([[kernel_on(x, z, features, gamma) for z in X] for x in X])
            share = float(column @ K @ column) / whole
            assert margins[k] == pytest.approx(np.sqrt(np.clip(share, 1e-4, 1.0)), abs=1e-4)
    monkeypatch.setattr(geom, "LARGEST_KEPT", 0)
    monkeypatch.setattr(geom, "BLOCK", 7)
    assert np.allclose(GEOMKernels(X, gamma).margins(coef), found, atol=1e-5)


@pytest.mark.parametrize(("C", "gamma"), [(0.1, 0.05), (1.0, 1.0), (32.0, 4.0)])
def test_every_round_meets_the_conditions_of_its_quadratic_program(C, gamma):
    X, y = gappy(8, share=0.6)
    kernels = GEOMKernels(X, gamma)
    sign = np.where(y[kernels.shown] == 1, 1.0, -1.0)
    dual = make_dual(sign, sign.size, C=C)
    for done in solve_rounds(kernels, dual, 4):
        s = done.margins[:, 0]
        # A round returns P b only, so b is solved for anew.
        b = with_margins(dual, done.margins).solve(kernels.K_positive)[:, 0]
        values = kernels.K_positive @ b + done.intercept
        assert np.allclose(values, done.decision(kernels.K), atol=1e-6)
        assert abs(b.sum()) <= 1e-9 * C
        multiplier, largest = sign * b, C / s
        assert (multiplier >= -1e-12 * largest).all()
        assert (multiplier <= largest * (1.0 + 1e-12)).all()
        slack = sign * values / s - 1.0
        can_rise, can_fall = multiplier < largest * (1.0 - 1e-9), multiplier > 1e-9 * largest
        tolerance = 1e-6 / s.min()
        assert (slack[can_rise] >= -tolerance).all() and (slack[can_fall] <= tolerance).all()


def test_rows_without_observed_cells_take_part_in_nothing():
    X, y = gappy(14)
    empty = np.full((3, 5), np.nan)
    more = fit_geom(GEOMKernels(np.vstack([X, empty]), 1.0), np.r_[y, 0, 1, 1], 1.0)
    assert np.allclose(more(X), fit_geom(GEOMKernels(X, 1.0), y, 1.0)(X))
    assert np.isfinite(more(empty)).all()
    hidden = np.where((y == 1)[:, None], np.nan, X)
    with pytest.raises(ValueError, match="Each class must have a row with an observed cell"):
        fit_geom(GEOMKernels(hidden, 1.0), y, 1.0)
