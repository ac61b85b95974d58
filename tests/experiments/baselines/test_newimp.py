"""NewImp: the flow against loops and Gaussians, the score against finite differences."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NewImp needs torch: install kernimpute[newimp]")

from experiments.baselines.newimp import NewImpImputer, flow_velocity, move_cells  # noqa: E402


def tensor(values):
    return torch.tensor(np.asarray(values, dtype=float))


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


def test_the_velocity_is_the_mean_over_rows_written_as_two_loops():
    rng = np.random.default_rng(1)
    rows, scores = rng.normal(size=(2, 7, 3))
    points = rng.normal(size=(4, 3))
    bandwidth, weight = 0.8, 2.5
    expected = np.zeros_like(points)
    for i, x in enumerate(points):
        for z, score in zip(rows, scores, strict=True):
            K = math.exp(-sum((x - z) ** 2) / (2.0 * bandwidth**2))
            # minus lambda times the kernel's gradient at z, K (x - z) / h^2
            expected[i] += (K * score - weight * K * (x - z) / bandwidth**2) / len(rows)
    found = flow_velocity(tensor(points), tensor(rows), tensor(scores), bandwidth, weight)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0.0, atol=1e-14)


def test_under_a_gaussians_exact_score_cells_go_to_the_conditional_mean():
    correlation = 0.8
    precision = tensor(np.linalg.inv([[1.0, correlation], [correlation, 1.0]]))
    known = np.linspace(-2.0, 2.0, 30)
    rows = tensor(np.column_stack([known, np.random.default_rng(4).normal(size=30)]))
    rows.requires_grad_()
    missing = torch.tensor([[False, True]]).expand(30, 2)

    def velocity(current):
        return flow_velocity(current, current, -current @ precision, 0.2, 0.0)

    move_cells(rows, missing, velocity, torch.optim.Adam([rows], lr=0.02), 1500)
    moved = rows.detach().numpy()
    np.testing.assert_array_equal(moved[:, 0], known)
    np.testing.assert_allclose(moved[:, 1], correlation * known, rtol=0.0, atol=0.02)


@pytest.fixture(scope="module")
def correlated():
    """Return rows near a plane, the same with 30 % gaps and an empty row and column, and a fit."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 8))
    truth += 0.1 * rng.normal(size=truth.shape)
    X = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    X[5], X[:, 2] = np.nan, np.nan
    imputer = NewImpImputer(random_state=0)
    return truth, X, imputer, imputer.fit_transform(X[:80])


def test_it_fills_at_half_the_error_of_means_within_the_observed_range(correlated):
    truth, X, imputer, filled = correlated
    low, high = np.nanmin(np.c_[X[:80]], axis=0, initial=0), np.nanmax(X[:80], axis=0, initial=0)
    for rows, found, true in (
        (X[:80], filled, truth[:80]),
        (X[80:], imputer.transform(X[80:]), truth[80:]),
    ):
        gaps = np.isnan(rows)
        np.testing.assert_array_equal(found[~gaps], rows[~gaps])
        assert (found[:, 2] == 0.0).all()
        assert ((found >= low) & (found <= high))[gaps].all()
        counted = gaps & ~np.isnan(rows).all(axis=1)[:, None]
        counted[:, 2] = False
        means = np.where(gaps, np.nanmean(np.nan_to_num(X[:80]), axis=0), true)
        assert rms((found - true)[counted]) < 0.5 * rms((means - true)[counted])


def test_new_rows_are_filled_each_by_itself_and_a_fit_repeats(correlated):
    _, X, imputer, _ = correlated
    together = imputer.transform(X[80:])
    np.testing.assert_allclose(imputer.transform(X[85:86]), together[5:6], rtol=1e-9)
    small = dict(hidden_units=16, n_epochs=20, n_steps=20)
    state = torch.get_rng_state()
    tables = [NewImpImputer(random_state=seed, **small).fit_transform(X) for seed in (7, 7, 8)]
    np.testing.assert_array_equal(tables[0], tables[1])
    assert not np.array_equal(tables[0], tables[2])
    assert torch.equal(torch.get_rng_state(), state)
