"""The kernel ridge: scikit-learn's, and leave-one-out scores that equal refits."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from kernimpute.joint import ridge as module
from kernimpute.joint.ridge import MixedKernel, Rows, fit_ridge, spectrum_of

MIXED = MixedKernel(width=2.0, linear=0.3, mask=0.3)


def made_rows(n_rows=60, n_columns=4, seed=0):
    """Return filled rows with what was observed of them, values, and weights."""
    generator = np.random.default_rng(seed)
    Z = generator.normal(size=(n_rows, n_columns))
    observed = (generator.random(Z.shape) > 0.3).astype(float)
    values = np.column_stack([np.sin(2.0 * Z[:, 0]) + Z[:, 1], observed[:, 2]])
    Y = values + generator.normal(scale=0.3, size=values.shape)
    return Rows(Z, observed), Y - Y.mean(axis=0), generator.uniform(0.2, 3.0, n_rows)


def test_the_mixed_kernel_is_what_its_formula_says():
    rows, _, _ = made_rows(7)
    K = MIXED(rows, rows)
    for i in range(7):
        for j in range(7):
            z, other = rows.Z[i], rows.Z[j]
            agreement = (rows.observed[i] == rows.observed[j]).mean()
            squares = ((z - other) ** 2).sum()
            expected = np.exp(-squares / 2.0) + 0.3 * (z @ other) / 4 + 0.3 * agreement + 1.0
            assert K[i, j] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 30.0])
def test_it_is_scikit_learns_kernel_ridge(penalty):
    rows, Y, weights = made_rows()
    K = MIXED(rows, rows)
    spectrum = spectrum_of(K, weights)
    theirs = KernelRidge(alpha=penalty, kernel="precomputed")
    theirs.fit(K, Y, sample_weight=weights / weights.mean())
    coef = spectrum.coef(spectrum.rotated(Y), penalty)
    np.testing.assert_allclose(coef, theirs.dual_coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(K @ coef, theirs.predict(K), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 30.0])
def test_leave_one_out_scores_are_those_of_refits(penalty):
    rows, Y, weights = made_rows()
    K = MIXED(rows, rows)
    spectrum = spectrum_of(K, weights)
    scores = Y - spectrum.held_out_errors(Y, spectrum.rotated(Y), penalty)
    scaled = weights / weights.mean()
    for row in range(len(Y)):
        others = np.arange(len(Y)) != row
        inner = K[np.ix_(others, others)] + penalty * np.diag(1.0 / scaled[others])
        refit = K[row, others] @ np.linalg.solve(inner, Y[others])
        np.testing.assert_allclose(scores[row], refit, atol=1e-10)


def test_five_fits_of_the_least_error_are_averaged():
    rows, Y, weights = made_rows()
    fitted, held_out = fit_ridge(rows, Y, weights, np.arange(len(Y)))
    fits = module._compared(rows, Y, weights)
    assert len(fits) == 5
    np.testing.assert_allclose(held_out, np.mean([fit.scores for fit in fits], axis=0))
    new, _, _ = made_rows(20, seed=1)
    expected = np.mean([fit.kernel(new, rows) @ fit.coef for fit in fits], axis=0)
    np.testing.assert_allclose(fitted.scores(new), expected, atol=1e-10)


def test_a_rows_score_does_not_depend_on_the_others():
    rows, Y, weights = made_rows()
    fitted, _ = fit_ridge(rows, Y, weights, np.arange(len(Y)))
    new, _, _ = made_rows(23, seed=1)
    alone = [fitted.scores(new.at(slice(i, i + 1)))[0] for i in range(23)]
    np.testing.assert_array_equal(fitted.scores(new), alone)


def test_beyond_the_landmarks_leave_one_out_scores_are_those_of_refits(monkeypatch):
    rows, Y, weights = made_rows(80)
    landmarks = rows.at(np.arange(0, 80, 4))
    spectrum = module._nystroem(MIXED, rows, landmarks, weights)
    scores = Y - spectrum.held_out_errors(Y, spectrum.rotated(Y), 0.3)
    K, inner = MIXED(rows, landmarks), MIXED(landmarks, landmarks)
    inner += 1e-8 * np.eye(20) * inner.trace() / 20
    scaled = (weights / weights.mean())[:, None]
    for row in range(80):
        others = np.arange(80) != row
        A = K[others].T @ (scaled[others] * K[others]) + 0.3 * inner
        coef = np.linalg.solve(A, K[others].T @ (scaled[others] * Y[others]))
        np.testing.assert_allclose(scores[row], K[row] @ coef, atol=1e-6)
    monkeypatch.setattr(module, "MOST_LANDMARKS", 40)
    many, held_out = fit_ridge(rows, Y, weights, np.arange(len(Y)))
    assert len(many.landmarks.Z) == 40
    assert held_out.shape == (80, 2)
    # Half of the rows as landmarks predict nearly as well as all.
    new, truth, _ = made_rows(200, seed=3)
    monkeypatch.setattr(module, "MOST_LANDMARKS", 80)
    exact, _ = fit_ridge(rows, Y, weights, np.arange(len(Y)))
    errors = [((one.scores(new) - truth) ** 2).mean() for one in (many, exact)]
    assert errors[0] < 1.15 * errors[1]


def test_duplicated_rows_and_constant_values_are_no_obstacle():
    rows, _, weights = made_rows(50)
    same = Rows(np.repeat(rows.Z[:1], 50, axis=0), np.ones_like(rows.observed))
    fitted, held_out = fit_ridge(same, np.zeros((50, 1)), weights, np.arange(50))
    np.testing.assert_array_equal(fitted.scores(rows), np.zeros((50, 1)))
    np.testing.assert_array_equal(held_out, np.zeros((50, 1)))
