"""The joint reference and its remainder: choices, invariants, coverage, and what a row may see."""

import numpy as np
import pytest

from kernimpute.joint import fills
from kernimpute.joint.fills import fit_joint, fit_remainder
from kernimpute.joint.gaussian import Factors


def simulated(n_rows=300, n_columns=6, rate=0.3, seed=0, noise=0.3):
    """Return rows in [0, 1] of a normal with two factors, with gaps and complete."""
    generator = np.random.default_rng(seed)
    factors = generator.normal(size=(n_rows, 2))
    X = factors @ generator.normal(size=(2, n_columns)) + noise * generator.normal(
        size=(n_rows, n_columns)
    )
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return np.where(generator.random(X.shape) < rate, np.nan, X), X


def fitted(X, **given):
    n_rows, n_columns = X.shape
    numeric = np.ones(n_columns, dtype=bool)
    return fit_joint(X, np.arange(n_columns), numeric, np.ones(n_rows), **given)


def curved(n_rows=300, seed=0):
    """Return rows whose last column is a square of the first, which no normal knows."""
    generator = np.random.default_rng(seed)
    X = generator.random((n_rows, 3))
    X[:, 2] = 4.0 * (X[:, 0] - 0.5) ** 2
    return np.where(generator.random(X.shape) < 0.2, np.nan, X), X


def error(filled, X, truth):
    gaps = np.isnan(X)
    return float(np.sqrt(((filled - truth)[gaps] ** 2).mean()))


def test_fills_are_far_better_than_means_and_observed_cells_stay():
    X, truth = simulated()
    filled = fitted(X).fill(X)
    means = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert error(filled, X, truth) < 0.7 * error(means, X, truth)
    assert (filled[~np.isnan(X)] == X[~np.isnan(X)]).all()
    assert filled.min() >= 0.0 and filled.max() <= 1.0


def test_columns_that_know_nothing_of_each_other_are_filled_with_means():
    generator = np.random.default_rng(1)
    X = generator.random((400, 5))
    X[generator.random(X.shape) < 0.3] = np.nan
    joint = fitted(X)
    filled, gaps = joint.fill(X), np.isnan(X)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    np.testing.assert_allclose(filled[gaps], means[gaps], atol=0.05)
    assert joint.notes == ((fills.MEANS_NOTE,) if joint.strength == np.inf else ())


def test_a_tie_goes_to_the_strongest_prior():
    X, _ = simulated()
    # A single column is filled with its mean at any strength.
    assert fitted(X[:, :1]).strength == np.inf


@pytest.mark.parametrize("n_columns", [6, 160], ids=["dense", "factors"])
def test_a_row_is_filled_on_its_own_to_the_last_bit(n_columns):
    X, _ = simulated(120, n_columns)
    joint = fitted(X)
    together = joint.fill(X)
    for rows in (slice(0, 1), slice(50, 67), slice(119, 120)):
        assert (joint.fill(X[rows]) == together[rows]).all()


def test_too_few_cells_to_hide_are_noted():
    X, _ = simulated(12, 3)
    joint = fitted(X)
    assert joint.strength == fills.UNCHOSEN
    assert joint.notes == (fills.UNCHOSEN_NOTE,)


def test_cells_that_are_missing_by_the_same_seed_leave_others_to_hide():
    complete = simulated()[1]
    removed = np.random.default_rng(0).random(complete.shape) < 0.3
    assert fitted(np.where(removed, np.nan, complete), seed=0).notes == ()


def test_a_category_is_hidden_and_drawn_whole():
    generator = np.random.default_rng(0)
    kind = generator.integers(0, 3, 300)
    X = np.column_stack([np.eye(3)[kind], kind / 2.0 + 0.1 * generator.random(300)])
    X[:, 3] = (X[:, 3] - X[:, 3].min()) / np.ptp(X[:, 3])
    gappy = X.copy()
    gappy[::4, :3] = np.nan
    gappy[1::4, 3] = np.nan
    groups, numeric = np.array([0, 0, 0, 1]), np.array([False, False, False, True])
    joint = fit_joint(gappy, groups, numeric, np.ones(300))
    filled = joint.fill(gappy)
    assert (filled[::4, :3].argmax(axis=1) == kind[::4]).mean() > 0.95
    drawn = joint.sample(gappy, np.random.default_rng(0))
    assert (np.sort(drawn[::4, :3], axis=1) == [0.0, 0.0, 1.0]).all()
    observed = ~np.isnan(gappy)
    assert (drawn[observed] == gappy[observed]).all()
    # Its indicators give each other away, so no cell may be hidden in part.
    hidden = fills._hidden_cells(observed, groups, generator)
    assert (hidden[:, 0] == hidden[:, 1]).all()


def test_labels_shift_the_fills_of_their_own_rows_alone():
    generator = np.random.default_rng(0)
    classes = generator.integers(0, 2, 400)
    X = np.clip(0.3 + 0.4 * classes[:, None] + 0.1 * generator.normal(size=(400, 3)), 0.0, 1.0)
    X[generator.random(X.shape) < 0.3] = np.nan
    X[0] = np.nan
    joint = fitted(X, classes=classes)
    by_own = joint.fill(X, classes=classes)
    assert by_own[0].mean() == pytest.approx(0.3 + 0.4 * classes[0], abs=0.05)
    unknown = joint.fill(X, classes=np.full(400, -1))
    assert (unknown == joint.fill(X)).all()
    assert joint.fill(X)[0].mean() == pytest.approx(0.5, abs=0.05)


def test_a_quantity_is_one_more_column_and_unknown_where_it_is_not_given():
    X, _ = simulated()
    target = np.nan_to_num(X[:, 0] - np.nanmean(X[:, 0]))
    target /= target.std()
    joint = fitted(X, target=target)
    assert joint.fill(X).shape == X.shape
    row = np.full((1, 6), np.nan)
    low, high = (joint.fill(row, target=np.array([value]))[0, 0] for value in (-2.0, 2.0))
    assert low < joint.fill(row)[0, 0] < high


def test_weights_that_sum_to_one_are_worth_the_rows():
    X, _ = simulated(200)
    numeric = np.ones(6, dtype=bool)
    plain = fitted(X).fill(X)
    small = fit_joint(X, np.arange(6), numeric, np.full(200, 1e-5)).fill(X)
    np.testing.assert_allclose(small, plain, atol=1e-10)
    wild = np.where(np.arange(200) == 0, 1e-200, np.where(np.arange(200) == 1, 1e150, 1.0))
    assert np.isfinite(fit_joint(X, np.arange(6), numeric, wild).fill(X)).all()


def test_a_class_that_the_choice_does_not_see_is_known(monkeypatch):
    monkeypatch.setattr(fills, "FEWEST_CHOICE_ROWS", 50)
    monkeypatch.setattr(fills, "MOST_CHOICE_ROWS", 50)
    X, _ = simulated(300)
    classes = np.r_[np.zeros(299, dtype=int), 1]
    for seed in range(3):
        joint = fitted(X, classes=classes, seed=seed)
        assert np.isfinite(joint.fill(X, classes=classes)).all()


def test_draws_of_categories_and_numbers_agree_with_each_other():
    generator = np.random.default_rng(0)
    kind = generator.integers(0, 2, 600).astype(float)
    X = np.column_stack([kind, kind, 0.3 + 0.4 * kind + 0.05 * generator.normal(size=600)])
    X[::3] = np.nan
    joint = fit_joint(X, np.arange(3), np.array([False, False, True]), np.ones(600))
    drawn = joint.sample(X, generator)[::3]
    assert (drawn[:, 0] == drawn[:, 1]).mean() > 0.95
    assert drawn[drawn[:, 0] == 1.0, 2].mean() - drawn[drawn[:, 0] == 0.0, 2].mean() > 0.3


def test_costly_tables_are_low_rank_and_as_well_filled(monkeypatch):
    X, truth = simulated(300, 40, 0.5, noise=0.2)
    monkeypatch.setattr(fills, "MOST_REMAINDER_ROWS", 0)
    dense = error(fitted(X).fill(X), X, truth)
    monkeypatch.setattr(fills, "MOST_CUBES", 1.0)
    joint = fitted(X)
    assert isinstance(joint.normal, Factors)
    assert error(joint.fill(X), X, truth) < 1.1 * dense


def test_the_remainder_learns_what_is_not_linear():
    X, truth = curved()
    joint = fitted(X)
    assert 2 in [one.column for one in joint.remainder.second]
    gaps = np.isnan(X[:, 2]) & ~np.isnan(X[:, 0])
    alone = (joint.centre + joint.scale * joint.normal.fill((X - joint.centre) / joint.scale))[:, 2]
    wrong = np.abs(joint.fill(X)[gaps, 2] - truth[gaps, 2]).mean()
    assert wrong < 0.3 * np.abs(alone[gaps] - truth[gaps, 2]).mean()


def test_the_remainder_leaves_a_normal_alone():
    n_kept = [len(fitted(simulated(seed=seed)[0]).remainder.second) for seed in range(5)]
    assert np.mean(n_kept) <= 1.0


def test_the_size_of_the_fit_decides_whether_there_is_a_remainder(monkeypatch):
    X, _ = curved()
    monkeypatch.setattr(fills, "MOST_REMAINDER_ROWS", len(X) - 1)
    assert fitted(X).remainder.second == ()


def test_a_correction_is_the_kernel_ridge_of_what_was_hidden(monkeypatch):
    X, _ = curved(60)
    Z = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    monkeypatch.setattr(fills, "REMAINDER_RIDGES", (0.3,))
    generator = np.random.default_rng(0)
    found = fit_remainder(Z, np.arange(3), weights, np.nan_to_num, generator).first
    (one,) = (correction for correction in found if correction.column == 2)
    known = np.flatnonzero(~np.isnan(Z[:, 2]))
    rows, w = one.rows, weights[known] / weights[known].mean()
    K = np.exp(-np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2)) / one.width)
    fitted = (K + 0.3 * np.diag(1.0 / w)) @ one.coef
    np.testing.assert_allclose(fitted, Z[known, 2], atol=1e-10)


def test_rare_categories_are_left_to_their_means():
    generator = np.random.default_rng(0)
    kind = np.r_[generator.integers(0, 2, 198), 2, 2]
    X = np.column_stack([np.eye(3)[kind], 0.4 * kind + 0.1 * generator.random(200)])
    X[::5, :3] = np.nan
    groups, numeric = np.array([0, 0, 0, 1]), np.array([False, False, False, True])
    joint = fit_joint(X, groups, numeric, np.ones(200))
    assert joint.used.tolist() == [0, 1, 3]
    filled = joint.fill(X)
    assert (filled[::5, 2] == joint.centre[2]).all()
    assert (filled[:195:5, :3].argmax(axis=1) == kind[:195:5]).all()
    assert joint.standard_deviation(X).shape == X.shape


def test_a_table_of_rare_categories_alone_is_filled():
    X = np.vstack([np.eye(3), np.full((2, 3), np.nan)])
    joint = fit_joint(X, np.zeros(3, dtype=int), np.zeros(3, dtype=bool), np.ones(5))
    np.testing.assert_allclose(joint.fill(X)[3:], 1.0 / 3.0)


def test_a_corrected_column_has_the_noise_that_is_left():
    X, truth = curved(600)
    joint = fitted(X)
    gaps = np.isnan(X[:, 2])
    half = 1.6449 * joint.standard_deviation(X)[gaps, 2]
    covered = (np.abs(joint.fill(X)[gaps, 2] - truth[gaps, 2]) <= half).mean()
    assert 0.8 < covered < 0.99
    assert half.mean() < 0.7 * 1.6449 * joint.scale[2]
